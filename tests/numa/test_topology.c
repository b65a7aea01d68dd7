/* SPDX-License-Identifier: Apache-2.0 */
#include <unistd.h>

#include "alloc_int.h"
#include "device_int.h"
#include "testing.h"
#include "topology_int.h"
#include "topology_kit.h"

static const char two_nodes[] = SLUICE_TEST_DATA "/topology/two-nodes-gpus.xml";
static const char container[] = SLUICE_TEST_DATA "/topology/container.xml";

static void the_machine_we_run_on_is_read(void)
{
    sli_topology *topology = NULL;
    uint32_t cpus = 0;
    sli_cpus mine;

    T_OK(sli_cpus_of_thread(&mine));
    T_OK(sli_topology_open(NULL, &topology));
    T_TRUE(topology->node_count > 0 && topology->core_count > 0);
    T_TRUE(topology->machine_core_count >= topology->core_count);
    T_TRUE(topology->memory_limit > 0);
    for (uint32_t i = 0; i < topology->core_count; i++) {
        const sli_cpus *core = &topology->cores[i].cpus;

        cpus += sli_cpus_count(core);
        for (int cpu = sli_cpus_next(core, 0); cpu >= 0;
             cpu = sli_cpus_next(core, (uint32_t)cpu + 1)) {
            T_TRUE(sli_cpus_has(&mine, (uint32_t)cpu));
        }
    }
    T_EQ(cpus, sli_cpus_count(&topology->allowed));
    sli_topology_close(topology);
}

static void reading_it_changes_nothing_of_the_process(void)
{
    extern char **environ;
    char **const before_environ = environ;
    sli_topology *topology = NULL;
    uint32_t count = 0;
    uint32_t count_after = 0;
    sli_cpus before;
    sli_cpus after;

    for (char **entry = environ; *entry != NULL; entry++) {
        count++;
    }
    T_OK(sli_cpus_of_thread(&before));
    T_OK(sli_topology_open(NULL, &topology));
    (void)sli_topology_node_of_pci(NULL, "0000:ff:1f.7");
    T_OK(sli_cpus_of_thread(&after));
    for (char **entry = environ; *entry != NULL; entry++) {
        count_after++;
    }
    T_EQ(memcmp(&before, &after, sizeof(before)), 0);
    T_TRUE(environ == before_environ && count == count_after);
    sli_topology_close(topology);
}

static sli_topology *narrowed;
static sluice_status narrowed_status;

static void open_on_one_cpu(void *arg)
{
    (void)arg;
    narrowed_status = sli_topology_open(NULL, &narrowed);
}

/* What taskset leaves out is not used, though hwloc still shows it. */
static void an_affinity_narrows_what_is_allowed(void)
{
    sli_cpus mine;
    sli_cpus one = {{0}};
    sli_thread thread;

    T_OK(sli_cpus_of_thread(&mine));
    T_NEEDS(sli_cpus_count(&mine) >= 2, "needs two CPUs");
    sli_cpus_add(&one, (uint32_t)sli_cpus_next(&mine, 0));
    T_OK(sli_thread_start(&thread, "narrow", &one, open_on_one_cpu, NULL));
    sli_thread_join(&thread);
    T_OK(narrowed_status);
    if (!narrowed->this_system) {
        sli_topology_close(narrowed);
        T_SKIP("hwloc is told of another machine by its environment variables");
    }
    T_EQ(memcmp(&narrowed->allowed, &one, sizeof(one)), 0);
    T_EQ(narrowed->core_count, 1);
    T_TRUE(narrowed->bound);
    T_EQ(memcmp(&narrowed->cores[0].cpus, &one, sizeof(one)), 0);
    sli_topology_close(narrowed);
}

static void synthetic_machines_are_read(void)
{
    static const struct {
        const char *text;
        uint32_t packages, nodes, cores, cpus;
    } machines[] = {
        {"pack:2 [numa(memory=1GB)] core:4 pu:2", 2, 2, 8, 16},
        {"numa:2 core:4 pu:1", 1, 2, 8, 8},
        {"pack:2 numa:2 core:3 pu:2", 2, 4, 12, 24},
        {"pack:2 die:2 [numa] core:2 pu:1", 2, 4, 8, 8},
        {"pu:1", 1, 1, 1, 1},
        {"numa:3 pu:2", 1, 3, 6, 6}, /* no cores told: each CPU is one */
        {"core:4 pu:1", 1, 1, 4, 4},
        {"numa:2(indexes=5,9) core:2 pu:2", 1, 2, 4, 8},
        {"pack:1 [numa(memory=8GB)] [numa(memory=4GB)] core:4 pu:1", 1, 2, 4, 4},
        {"numa:64 core:4 pu:2", 1, 64, 256, 512},
    };

    for (size_t i = 0; i < sizeof(machines) / sizeof(machines[0]); i++) {
        sli_topology *topology = open_text(machines[i].text);
        uint32_t on_nodes = 0;

        T_EQ(topology->package_count, machines[i].packages);
        T_EQ(topology->node_count, machines[i].nodes);
        T_EQ(topology->core_count, machines[i].cores);
        T_EQ(topology->machine_core_count, machines[i].cores);
        T_EQ(topology->machine_cpu_count, machines[i].cpus);
        T_EQ(sli_cpus_count(&topology->allowed), machines[i].cpus);
        for (uint32_t n = 0; n < topology->node_count; n++) {
            on_nodes += topology->nodes[n].core_count;
        }
        T_EQ(on_nodes, machines[i].cores);
        sli_topology_close(topology);
    }
}

static void cores_know_their_siblings_and_nodes(void)
{
    sli_topology *topology = open_text("pack:2 [numa(indexes=3,7 memory=1GB)] core:2 pu:2");
    char text[32];

    T_EQ(topology->cores[0].node, 3);
    T_EQ(topology->cores[3].node, 7);
    T_EQ(topology->cores[3].package, 1);
    T_STR(sli_cpus_format(&topology->cores[1].cpus, text, sizeof(text)), "2-3");
    T_STR(sli_cpus_format(&topology->nodes[1].cpus, text, sizeof(text)), "4-7");
    T_EQ(topology->nodes[1].id, 7);
    T_EQ(topology->nodes[1].memory_bytes, 1000000000);
    T_TRUE(sli_topology_find_node(topology, 7) == &topology->nodes[1]);
    CU_ASSERT_PTR_NULL(sli_topology_find_node(topology, 0));
    CU_ASSERT_PTR_NULL(sli_topology_find_node(topology, -1));
    sli_topology_close(topology);
}

/* With slow and fast memory beside the same CPUs, the cores count for the first. */
static void of_two_nodes_with_the_same_cpus_one_has_the_cores(void)
{
    sli_topology *topology = open_text("pack:1 [numa(memory=8GB)] [numa(memory=4GB)] core:4 pu:1");

    T_EQ(topology->nodes[0].core_count, 4);
    T_EQ(topology->nodes[1].core_count, 0);
    T_EQ(topology->nodes[1].memory_bytes, 4000000000);
    sli_topology_close(topology);
}

static void cpus_beyond_our_limit_are_left_out(void)
{
    sli_topology *topology = open_text("pack:8 core:300 pu:2");

    T_EQ(topology->machine_cpu_count, 4800);
    T_EQ(sli_cpus_count(&topology->allowed), SLI_MAX_CPUS);
    T_EQ(topology->core_count, SLI_MAX_CPUS / 2);
    sli_topology_close(topology);
}

static void wrong_texts_are_refused(void)
{
    static const char *const texts[] = {
        "",
        "  ",
        "garbage",
        "pack:2 core:4",
        "pu",
        "pu:0",
        "pu:-1",
        "numa:2 [numa] core:2 pu:1",
        "pu:4294967297",
        "pu:1000000",
        "pack:1000 core:1000 pu:2",
        "core:2 pu:2(indexes=9999999",
        "core:2 pu:2(indexes=4000000000,1,2,3)",
        "pack:2 [numa core:2 pu:1",
        "core:0x pu",
    };

    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        const sli_topology_config config = {.synthetic = texts[i]};
        sli_topology *topology = NULL;

        T_STATUS(sli_topology_open(&config, &topology), SLUICE_E_INVALID);
        CU_ASSERT_PTR_NULL(topology);
        T_CONTAINS(sluice_last_error(), texts[i]);
    }
}

static void bytes_that_are_not_utf_8_are_escaped(void)
{
    const sli_topology_config config = {.synthetic = "\xff\xfe"};
    sli_topology *topology = NULL;

    T_STATUS(sli_topology_open(&config, &topology), SLUICE_E_INVALID);
    T_CONTAINS(sluice_last_error(), "\\xff\\xfe");
}

static void a_text_and_a_file_exclude_each_other(void)
{
    const sli_topology_config config = {.synthetic = "pu:1", .xml = two_nodes};
    sli_topology *topology = NULL;

    T_STATUS(sli_topology_open(&config, &topology), SLUICE_E_INVALID);
    T_CONTAINS(sluice_last_error(), "one must be NULL");
}

static void files_say_what_a_container_allows(void)
{
    const sli_topology_config config = {.xml = container};
    sli_topology *topology = NULL;
    char text[32];

    T_OK(sli_topology_open(&config, &topology));
    T_STR(sli_cpus_format(&topology->allowed, text, sizeof(text)), "1-4,6");
    T_EQ(topology->core_count, 4);
    T_EQ(topology->machine_cpu_count, 8);
    T_STR(sli_cpus_format(&topology->cores[0].cpus, text, sizeof(text)), "1");
    T_TRUE(topology->nodes[0].memory_allowed);
    T_TRUE(!topology->nodes[1].memory_allowed);
    T_EQ(topology->nodes[1].core_count, 2);
    sli_topology_close(topology);
}

static void missing_files_and_folders_are_refused(void)
{
    const sli_topology_config missing = {.xml = "/nonexistent/m.xml"};
    const sli_topology_config folder = {.xml = t_folder()};
    const sli_topology_config endless = {.xml = "/dev/zero"};
    sli_topology *topology = NULL;

    T_STATUS(sli_topology_open(&missing, &topology), SLUICE_E_IO);
    T_CONTAINS(sluice_last_error(), "/nonexistent/m.xml");
    T_STATUS(sli_topology_open(&folder, &topology), SLUICE_E_INVALID);
    T_STATUS(sli_topology_open(&endless, &topology), SLUICE_E_INVALID);
    CU_ASSERT_PTR_NULL(topology);
}

static size_t read_fixture(char *text, size_t size)
{
    FILE *file = fopen(two_nodes, "rb");
    size_t got;

    T_TRUE(file != NULL);
    got = fread(text, 1, size - 1, file);
    fclose(file);
    text[got] = '\0';
    return got;
}

/* As a file, as newer versions of hwloc give synthetic nodes without memory some. */
static void a_node_may_have_no_memory(void)
{
    static const char memory[] = "local_memory=\"1000000000\"";
    static char text[16384];
    const sli_topology_config config = {.xml = t_path(t_folder(), "no_memory.xml")};
    const size_t size = read_fixture(text, sizeof(text));
    sli_topology *topology = NULL;
    char *place = strstr(text, "type=\"NUMANode\" os_index=\"1\"");

    T_TRUE(place != NULL);
    place = strstr(place, memory);
    T_TRUE(place != NULL);
    place[strlen(memory) - strlen("1000000000\"")] = '0';
    t_write_file(config.xml, text, size);
    T_OK(sli_topology_open(&config, &topology));
    T_EQ(topology->nodes[1].memory_bytes, 0);
    T_EQ(topology->nodes[1].core_count, 2);
    sli_topology_close(topology);
}

/* A file cut anywhere is refused or (in its last elements) read, and never crashes hwloc. */
static void files_cut_short_are_refused(void)
{
    static char text[16384];
    const size_t size = read_fixture(text, sizeof(text));
    const char *path = t_path(t_folder(), "cut.xml");
    const sli_topology_config config = {.xml = path};

    for (size_t length = 0; length < size; length += 7) {
        sli_topology *topology = NULL;
        sluice_status st;

        t_write_file(path, text, length);
        st = sli_topology_open(&config, &topology);
        T_TRUE(st == SLUICE_E_INVALID || length > size - 300);
        sli_topology_close(topology);
    }
}

/* Each of these changes made hwloc 2.9 crash, abort or print. */
static void files_that_contradict_themselves_are_refused(void)
{
    static const struct {
        const char *from, *to;
    } changes[] = {
        {"complete_cpuset=\"0x0000000f\"", "complete_xpuset=\"0x0000000f\""},
        {" nodeset=\"0x00000001\"", " nodeset=\"\""},
        {" cpuset=\"0x0000000f\"", " cpuset=\"0xf000000f\""},
        {"allowed_cpuset=\"0x000000ff\"", "allowed_cpuset=\",0x0000ff\""},
        {"type=\"PU\" os_index=\"1\"", "type=\"PU\" os_index=\"2\""},
        {"type=\"Core\"", "type=\"Kern\""},
        {"version=\"2.0\"", "version=\"3.0\""},
        {"complete_cpuset=\"0x00000003\"", "complete_cpuset=\"0xf...f\""},
    };
    static char text[16384];

    for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++) {
        const sli_topology_config config = {.xml = t_path(t_folder(), "wrong.xml")};
        const size_t size = read_fixture(text, sizeof(text));
        const size_t length = strlen(changes[i].from);
        sli_topology *topology = NULL;
        char *place = strstr(text, changes[i].from);

        T_TRUE(place != NULL);
        T_TRUE(strlen(changes[i].to) <= length);
        memset(place, ' ', length);
        memcpy(place, changes[i].to, strlen(changes[i].to));
        t_write_file(config.xml, text, size);
        T_STATUS(sli_topology_open(&config, &topology), SLUICE_E_INVALID);
        T_CONTAINS(sluice_last_error(), config.xml);
    }
}

static void devices_are_found_by_their_bus_id(void)
{
    const sli_topology_config file = {.xml = two_nodes};
    const sli_topology_config text = {.synthetic = "numa:2 core:1 pu:1"};
    sluice_device *device = NULL;

    T_EQ(sli_topology_node_of_pci(&file, "0000:17:00.0"), 0);
    T_EQ(sli_topology_node_of_pci(&file, "00000000:65:00.0"), 1);
    T_EQ(sli_topology_node_of_pci(&file, "65:00.0"), 1);
    T_EQ(sli_topology_node_of_pci(&file, "0000:02:00.0"), -1); /* below the whole machine */
    T_EQ(sli_topology_node_of_pci(&file, "0000:99:00.0"), -1);
    T_EQ(sli_topology_node_of_pci(&file, "0000:65:00"), -1);
    T_EQ(sli_topology_node_of_pci(&file, ""), -1);
    T_EQ(sli_topology_node_of_pci(&text, "0000:65:00.0"), -1);

    T_OK(sluice_device_open("host:0,node=1", &device));
    T_EQ(sli_topology_node_of_device(&file, device), 1);
    device->caps.node = -1;
    T_EQ(sli_topology_node_of_device(&file, device), -1);
    snprintf(device->caps.pci_bus_id, sizeof(device->caps.pci_bus_id), "0000:17:00.0");
    T_EQ(sli_topology_node_of_device(&file, device), 0);
    sluice_device_close(device);
}

static void opening_survives_running_out_of_memory(void)
{
    static const sli_topology_config configs[] = {
        {.synthetic = "numa:4 core:16 pu:2"}, {.xml = two_nodes}, {NULL, NULL}};

    for (size_t i = 0; i < sizeof(configs) / sizeof(configs[0]); i++) {
        sli_topology *topology = NULL;
        int64_t passes = 0;
        sluice_status st;

        do {
            sli_alloc_fail_after(passes++);
            st = sli_topology_open(&configs[i], &topology);
            sli_alloc_fail_after(-1);
            T_TRUE(st == SLUICE_OK || st == SLUICE_E_NO_MEMORY);
        } while (st != SLUICE_OK);
        T_TRUE(passes > 3);
        sli_topology_close(topology);
    }
}

const t_test topology_tests[] = {
    T_TEST(the_machine_we_run_on_is_read),
    T_TEST(reading_it_changes_nothing_of_the_process),
    T_TEST(an_affinity_narrows_what_is_allowed),
    T_TEST(synthetic_machines_are_read),
    T_TEST(cores_know_their_siblings_and_nodes),
    T_TEST(a_node_may_have_no_memory),
    T_TEST(of_two_nodes_with_the_same_cpus_one_has_the_cores),
    T_TEST(cpus_beyond_our_limit_are_left_out),
    T_TEST(wrong_texts_are_refused),
    T_TEST(bytes_that_are_not_utf_8_are_escaped),
    T_TEST(a_text_and_a_file_exclude_each_other),
    T_TEST(files_say_what_a_container_allows),
    T_TEST(missing_files_and_folders_are_refused),
    T_TEST(files_cut_short_are_refused),
    T_TEST(files_that_contradict_themselves_are_refused),
    T_TEST(devices_are_found_by_their_bus_id),
    T_TEST(opening_survives_running_out_of_memory),
    T_END,
};
