/* SPDX-License-Identifier: Apache-2.0 */
#include <sluice/topology.h>

#include <stddef.h>

#include "alloc_int.h"
#include "device_int.h"
#include "testing.h"

static char *report(const char *synthetic, sluice_device *device, uint32_t ranks, bool json)
{
    sluice_topology_config config;
    char *text = NULL;

    sluice_topology_config_init(&config);
    config.synthetic = synthetic;
    config.device = device;
    config.ranks = ranks;
    config.json = json;
    T_OK(sluice_topology_report(&config, &text));
    return text;
}

static void the_table_shows_machine_nodes_and_plan(void)
{
    char *text = report("pack:2 [numa(memory=4294967296)] core:4 pu:2", NULL, 1, false);

    T_STR(text, "machine  2 packages, 2 nodes, 8 cores, 16 CPUs, 8.0 GiB (synthetic: pack:2\n"
                "         [numa(memory=4294967296)] core:4 pu:2)\n"
                "allowed  8 cores, CPUs 0-15, no CPU quota, memory 8.0 GiB\n"
                "\n"
                "  node  cores  CPUs             memory\n"
                "  0     4      0-7              4.0 GiB\n"
                "  1     4      8-15             4.0 GiB\n"
                "\n"
                "plan\n"
                "  thread           CPUs             node\n"
                "  workers 0-3      0-7              0  one core each\n"
                "  workers 4-7      8-15             1  one core each\n"
                "  copier           0-15             0,1\n"
                "  buffers          -                as the kernel chooses\n"
                "\n"
                "remarks\n"
                "  none\n");
    sluice_string_free(text);
}

static void each_rank_has_a_plan_and_each_remark_comes_once(void)
{
    sluice_device *device = NULL;
    char *text;
    const char *first;

    T_OK(sluice_device_open("host:0,node=1", &device));
    text = report("pack:2 [numa(memory=1GB)] core:2 pu:1", device, 4, false);
    T_CONTAINS(text, "plan of rank 3 of 4 for device host:0 on node 1\n");
    T_CONTAINS(text, "  step             2                1  shared with the workers\n");
    first = strstr(text, "shares the only core");
    T_TRUE(first != NULL && strstr(first + 1, "shares the only core") == NULL);
    sluice_string_free(text);
    sluice_device_close(device);
}

static void remarks_name_the_rank_that_they_are_about(void)
{
    sluice_device *device = NULL;
    char *text;

    T_OK(sluice_device_open("host:0,node=0", &device));
    text = report("pack:2 [numa(memory=1GB)] core:2 pu:1", device, 4, false);
    T_CONTAINS(text, "  - rank 1 and 1 more: the 2 cores of node 0, the device's, went to other");
    sluice_string_free(text);
    sluice_device_close(device);
}

/* Counts brackets outside of strings; -1 when they do not match. */
static int depth_of_json(const char *text)
{
    int depth = 0;
    bool string = false;

    for (; *text != '\0' && depth >= 0; text++) {
        if (*text == '\\' && string) {
            text++;
        } else if (*text == '"') {
            string = !string;
        } else if (!string) {
            depth += (*text == '{' || *text == '[') - (*text == '}' || *text == ']');
        }
    }
    return string ? -1 : depth;
}

static void the_json_has_the_same(void)
{
    sluice_device *device = NULL;
    char *text;

    T_OK(sluice_device_open("host:0", &device));
    text = report("pack:2 [numa(memory=1GB)] core:2 pu:2", device, 2, true);
    T_EQ(depth_of_json(text), 0);
    T_TRUE(strstr(text, "{\"machine\":{\"source\":\"synthetic\",\"name\":\"pack:2 [") == text);
    T_CONTAINS(text,
               "\"nodes\":[{\"node\":0,\"cores\":2,\"cpus\":\"0-3\",\"memory_bytes\":1000000000,"
               "\"memory_allowed\":true},{\"node\":1,");
    T_CONTAINS(text, "\"plans\":[{\"local_rank\":0,\"local_world\":2,\"device_node\":null,"
                     "\"workers\":2,\"cores\":2,\"threads\":[{\"name\":\"worker 0\","
                     "\"cpus\":\"0-1\",\"nodes\":[0]},");
    T_CONTAINS(text, "\"buffers\":{\"node\":1},\"notes\":[\"the step has");
    T_CONTAINS(text, "}],\"notes\":[\"the step has no core of its own: each of the 2 cores has");
    sluice_string_free(text);
    sluice_device_close(device);
}

static const char *emitted(sluice_launcher launcher, const char *synthetic)
{
    static char kept[2000];
    sluice_device *device = NULL;
    sluice_topology_config config;
    char *text = NULL;

    T_OK(sluice_device_open("host:0", &device));
    sluice_topology_config_init(&config);
    config.synthetic = synthetic;
    config.device = device;
    config.ranks = 2;
    config.emit = launcher;
    T_OK(sluice_topology_report(&config, &text));
    snprintf(kept, sizeof(kept), "%s", text);
    sluice_string_free(text);
    sluice_device_close(device);
    return kept;
}

static void launch_lines_bind_each_rank_to_its_part(void)
{
    static const char machine[] = "pack:2 [numa(memory=1GB)] core:2 pu:2";

    T_STR(emitted(SLUICE_LAUNCHER_NUMACTL, machine),
          "RANK=0 WORLD_SIZE=2 LOCAL_RANK=0 LOCAL_WORLD_SIZE=2 numactl --physcpubind=0-3 "
          "--preferred=0 ./train &\n"
          "RANK=1 WORLD_SIZE=2 LOCAL_RANK=1 LOCAL_WORLD_SIZE=2 numactl --physcpubind=4-7 "
          "--preferred=1 ./train &\n"
          "wait\n");
    T_STR(emitted(SLUICE_LAUNCHER_MPIRUN, machine), "cat >rankfile <<'END'\n"
                                                    "rank 0=localhost slot=0-1\n"
                                                    "rank 1=localhost slot=2-3\n"
                                                    "END\n"
                                                    "mpirun -n 2 --rankfile rankfile ./train\n");
    T_STR(emitted(SLUICE_LAUNCHER_SRUN, machine),
          "srun --ntasks-per-node=2 --cpu-bind=mask_cpu:0xf,0xf0 ./train\n");
    T_STR(emitted(SLUICE_LAUNCHER_TORCHRUN, machine),
          "torchrun --no-python --nproc-per-node=2 sh -c '\n"
          "case $LOCAL_RANK in\n"
          "0) exec numactl --physcpubind=0-3 --preferred=0 ./train ;;\n"
          "1) exec numactl --physcpubind=4-7 --preferred=1 ./train ;;\n"
          "esac'\n");
    T_CONTAINS(emitted(SLUICE_LAUNCHER_SRUN, "core:256 pu:1"),
               "mask_cpu:0xffffffffffffffffffffffffffffffff,"
               "0xffffffffffffffffffffffffffffffff00000000000000000000000000000000 ");
}

/* ---- several devices ------------------------------------------------------------------------- */

static const char two_gpus[] = SLUICE_TEST_DATA "/topology/two-nodes-gpus.xml";

static sluice_status report_devices(const char *devices, const char *pci, bool json,
                                    char **text_out)
{
    sluice_topology_config config;

    sluice_topology_config_init(&config);
    config.xml = two_gpus;
    config.devices = devices;
    config.pci = pci;
    config.json = json;
    return sluice_topology_report(&config, text_out);
}

static void a_recorded_machine_has_its_gpus_by_pci_address(void)
{
    char *text = NULL;

    T_OK(report_devices("cuda:all", NULL, false, &text));
    T_CONTAINS(text, "\n  device        PCI address   node\n"
                     "  cuda:0        0000:02:00.0  unknown\n"
                     "  cuda:1        0000:17:00.0  0\n"
                     "  cuda:2        0000:65:00.0  1\n");
    T_CONTAINS(text, "\nplan of rank 0 of 3 for device cuda:0\n");
    T_CONTAINS(text, "\nplan of rank 1 of 3 for device cuda:1 on node 0\n"
                     "  thread           CPUs             node\n"
                     "  worker 0         2-3              0\n");
    T_CONTAINS(text, "\nplan of rank 2 of 3 for device cuda:2 on node 1\n");
    T_CONTAINS(text, "the node of device cuda:0 (PCI 0000:02:00.0) is unknown");
    sluice_string_free(text);
    T_OK(report_devices("cuda:2,cuda:1", NULL, false, &text));
    T_CONTAINS(text, "\nplan of rank 0 of 2 for device cuda:2 on node 1\n");
    T_CONTAINS(text, "\nplan of rank 1 of 2 for device cuda:1 on node 0\n");
    T_CONTAINS(text, "  buffers          -                0\n\nremarks\n  none\n");
    sluice_string_free(text);
}

static void pci_addresses_name_any_device(void)
{
    char *text = NULL;

    T_OK(report_devices(NULL, "65:00.0,00000000:17:00.0", true, &text));
    T_EQ(depth_of_json(text), 0);
    T_CONTAINS(text, "\"devices\":[{\"name\":\"0000:65:00.0\",\"pci\":\"0000:65:00.0\",\"node\":1},"
                     "{\"name\":\"0000:17:00.0\",\"pci\":\"0000:17:00.0\",\"node\":0}],\"plans\":[{"
                     "\"local_rank\":0,\"local_world\":2,\"device_node\":1,");
    sluice_string_free(text);
}

static void ranks_use_the_devices_in_turn(void)
{
    sluice_topology_config config;
    char *text = NULL;

    sluice_topology_config_init(&config);
    config.xml = two_gpus;
    config.pci = "0000:17:00.0,0000:65:00.0";
    config.ranks = 3;
    T_OK(sluice_topology_report(&config, &text));
    T_CONTAINS(text, "plan of rank 2 of 3 for device 0000:17:00.0 on node 0\n");
    sluice_string_free(text);
}

static void devices_that_are_not_there_are_refused(void)
{
    static const struct {
        const char *devices;
        const char *pci;
        const char *says;
    } wrong[] = {
        {"cuda:3", NULL, "two-nodes-gpus.xml has cuda:0 to cuda:2"},
        {"host:0", NULL, "device host:0: "},
        {"cuda:1,", NULL, "devices: an entry is empty"},
        {"", NULL, "devices: an entry is empty"},
        {"cuda:1,cuda:00000000000000000000000000000001", NULL, "or too long, at \"cuda:0"},
        {NULL, "0000:66:00.0", "two-nodes-gpus.xml has no PCI device 0000:66:00.0; `lstopo`"},
        {NULL, "a GPU", "PCI address \"a GPU\" must be of the form 0000:65:00.0"},
        {NULL, "0000:65:00.0 ", "PCI address \"0000:65:00.0 \""},
        {"cuda:1", "0000:65:00.0", "set only one of them"},
    };

    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        char *text = NULL;

        T_STATUS(report_devices(wrong[i].devices, wrong[i].pci, false, &text), SLUICE_E_INVALID);
        T_CONTAINS(sluice_last_error(), wrong[i].says);
        CU_ASSERT_PTR_NULL(text);
    }
}

static void a_machine_without_gpus_says_so(void)
{
    sluice_topology_config config;
    char *text = NULL;

    sluice_topology_config_init(&config);
    config.synthetic = "numa:2 core:2 pu:1";
    config.devices = "cuda:all";
    T_STATUS(sluice_topology_report(&config, &text), SLUICE_E_INVALID);
    T_CONTAINS(sluice_last_error(), "has no NVIDIA GPU");
    config.devices = "host:all";
    config.synthetic = NULL;
    T_STATUS(sluice_topology_report(&config, &text), SLUICE_E_INVALID);
    T_CONTAINS(sluice_last_error(), "use cuda:all, or names");
    config.devices = "host:1,host:0";
    T_OK(sluice_topology_report(&config, &text));
    T_CONTAINS(text, "\n  host:1        -             unknown\n");
    T_CONTAINS(text, "plan of rank 1 of 2 for device host:0\n");
    sluice_string_free(text);
}

static void unknown_launchers_are_refused(void)
{
    sluice_topology_config config;
    char *text = NULL;

    sluice_topology_config_init(&config);
    for (int i = 0; i < 2; i++) {
        config.emit = (sluice_launcher)(i == 0 ? 5 : -1);
        T_STATUS(sluice_topology_report(&config, &text), SLUICE_E_INVALID);
        T_CONTAINS(sluice_last_error(), "; it must be a launcher of sluice_launcher, from 0 to 4");
    }
    config.emit = SLUICE_LAUNCHER_SRUN;
    config.json = true;
    T_STATUS(sluice_topology_report(&config, &text), SLUICE_E_INVALID);
    T_CONTAINS(sluice_last_error(), "emit and json");
}

static void this_machine_needs_no_configuration(void)
{
    char *text = NULL;

    T_OK(sluice_topology_report(NULL, &text));
    T_CONTAINS(text, "machine  ");
    T_CONTAINS(text, "worker");
    sluice_string_free(text);
}

static void a_device_of_unknown_place_is_told(void)
{
    sluice_device *device = NULL;
    char *text;

    T_OK(sluice_device_open("host:0", &device));
    snprintf(device->caps.pci_bus_id, sizeof(device->caps.pci_bus_id), "0000:65:00.0");
    text = report("numa:2 core:2 pu:1", device, 1, false);
    T_CONTAINS(text, "the node of device host:0 (PCI 0000:65:00.0) is unknown");
    T_TRUE(strstr(text, "  step ") == NULL);
    sluice_string_free(text);
    sluice_device_close(device);
}

static void wrong_configurations_are_refused(void)
{
    sluice_topology_config config;
    char *text = NULL;

    sluice_topology_config_init(&config);
    T_STATUS(sluice_topology_report(&config, NULL), SLUICE_E_INVALID);
    config.struct_size = 0;
    T_STATUS(sluice_topology_report(&config, &text), SLUICE_E_INVALID);
    T_CONTAINS(sluice_last_error(), "struct_size");
    sluice_topology_config_init(&config);
    config.ranks = 1025;
    T_STATUS(sluice_topology_report(&config, &text), SLUICE_E_INVALID);
    config.ranks = 1;
    config.workers = 1025;
    T_STATUS(sluice_topology_report(&config, &text), SLUICE_E_INVALID);
    config.workers = 0;
    config.synthetic = "nonsense";
    T_STATUS(sluice_topology_report(&config, &text), SLUICE_E_INVALID);
    T_CONTAINS(sluice_last_error(), "nonsense");
    config.synthetic = NULL;
    config.xml = "/nonexistent.xml";
    T_STATUS(sluice_topology_report(&config, &text), SLUICE_E_IO);
    CU_ASSERT_PTR_NULL(text);
}

static void reporting_survives_running_out_of_memory(void)
{
    for (int json = 0; json < 2; json++) {
        sluice_topology_config config;
        char *text = NULL;
        int64_t passes = 0;
        sluice_status st;

        sluice_topology_config_init(&config);
        config.synthetic = "numa:2 core:2 pu:2";
        config.ranks = 3;
        config.json = json != 0;
        if (json != 0) {
            config.synthetic = NULL;
            config.xml = two_gpus;
            config.devices = "cuda:all";
        }
        do {
            sli_alloc_fail_after(passes++);
            st = sluice_topology_report(&config, &text);
            sli_alloc_fail_after(-1);
            T_TRUE(st == SLUICE_OK || st == SLUICE_E_NO_MEMORY);
        } while (st != SLUICE_OK);
        T_TRUE(passes > 10);
        sluice_string_free(text);
    }
}

const t_test topology_report_tests[] = {
    T_TEST(the_table_shows_machine_nodes_and_plan),
    T_TEST(each_rank_has_a_plan_and_each_remark_comes_once),
    T_TEST(remarks_name_the_rank_that_they_are_about),
    T_TEST(the_json_has_the_same),
    T_TEST(launch_lines_bind_each_rank_to_its_part),
    T_TEST(a_recorded_machine_has_its_gpus_by_pci_address),
    T_TEST(pci_addresses_name_any_device),
    T_TEST(ranks_use_the_devices_in_turn),
    T_TEST(devices_that_are_not_there_are_refused),
    T_TEST(a_machine_without_gpus_says_so),
    T_TEST(unknown_launchers_are_refused),
    T_TEST(this_machine_needs_no_configuration),
    T_TEST(a_device_of_unknown_place_is_told),
    T_TEST(wrong_configurations_are_refused),
    T_TEST(reporting_survives_running_out_of_memory),
    T_END,
};
