/* SPDX-License-Identifier: Apache-2.0 */
/* What a report says of runs on the CUDA device, on the fake of CUDA. */
#include <stdlib.h>

#include "cuda_kit.h"
#include "pci_link_int.h"
#include "testing.h"

/* A sysfs in which the fake's first device has this link, of generation 5 with 16 lanes at most. */
static const char *write_link(const char *speed, const char *width)
{
    static const char device[] = "bus/pci/devices/0000:17:00.0";
    const struct {
        const char *name;
        const char *value;
    } files[] = {{"current_link_speed", speed},
                 {"current_link_width", width},
                 {"max_link_speed", "32.0 GT/s PCIe"},
                 {"max_link_width", "16"}};
    const char *root = t_folder();
    char path[600];

    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
        snprintf(path, sizeof(path), "%s/%s/%s", root, device, files[i].name);
        t_write_file(path, files[i].value, strlen(files[i].value));
    }
    return root;
}

/* The texts of a run's report; the caller's. */
static void report_run(const char *device, const char *sysfs, char **text, char **json)
{
    kit k;

    fake_cuda_start(&cuda_kit_machine);
    cuda_kit_init(&k);
    k.device = device;
    k.config.sink_size = 50;
    k.config.epochs = 2;
    sli_pci_set_root(sysfs);
    T_OK(kit_run(&k));
    sli_pci_set_root(NULL);
    kit_check(&k);
    T_OK(sluice_report_text(k.report, text));
    T_OK(sluice_report_json(k.report, json));
    kit_fini(&k);
    cuda_kit_nothing_is_live();
}

static void it_names_the_device_its_driver_and_its_link(void)
{
    char version[16];
    char line[100];
    char *text = NULL;
    char *json = NULL;

    snprintf(version, sizeof(version), "%d.%d", CUDART_VERSION / 1000, CUDART_VERSION % 1000 / 10);
    report_run("cuda:0", write_link("32.0 GT/s PCIe", "16"), &text, &json);
    snprintf(line, sizeof(line), "\ndevice cuda:0: Fake GPU 0, driver %s, PCIe gen5 x16\n",
             version);
    T_CONTAINS(text, line);
    T_CONTAINS(text, "\nmemory of slots: cuda:0\n");
    CU_ASSERT_PTR_NULL(strstr(text, "warning"));
    snprintf(line, sizeof(line), "\"gpu\":\"Fake GPU 0\",\"driver\":\"%s\",\"pcie\":\"gen5 x16\"",
             version);
    T_CONTAINS(json, line);
    sluice_string_free(text);
    sluice_string_free(json);
}

static void a_link_that_could_be_faster_is_warned_of(void)
{
    char *text = NULL;
    char *json = NULL;

    report_run("cuda:0", write_link("8.0 GT/s PCIe", "8"), &text, &json);
    T_CONTAINS(text, ", PCIe gen3 x8 of gen5 x16\n"
                     "warning: the link to cuda:0 is gen3 x8 of gen5 x16; look at its slot");
    T_CONTAINS(json, "\"pcie\":\"gen3 x8 of gen5 x16\"");
    sluice_string_free(text);
    sluice_string_free(json);
}

static void a_link_that_nobody_knows_is_null(void)
{
    char *text = NULL;
    char *json = NULL;

    report_run("cuda:0", "/nowhere", &text, &json);
    T_CONTAINS(text, ", PCIe unknown\n");
    T_CONTAINS(json, "\"pcie\":null");
    sluice_string_free(text);
    sluice_string_free(json);
}

/* What follows a key. */
static uint64_t count_of(const char *json, const char *key)
{
    const char *place = strstr(json, key);

    CU_ASSERT_PTR_NOT_NULL_FATAL(place);
    return strtoull(place + strlen(key), NULL, 10);
}

static void it_tells_how_batches_came_to_the_device(void)
{
    char line[100];
    char *text = NULL;
    char *json = NULL;
    uint64_t copies;

    report_run("cuda:0,transport=push", NULL, &text, &json);
    T_CONTAINS(json, "\"transport\":\"push\"");
    copies = count_of(json, "\"h2d_copies\":");
    T_TRUE(copies > 0 && copies <= 100);
    T_TRUE(count_of(json, "\"publishes\":") >= copies);
    snprintf(line, sizeof(line), "\npush: 100 batches in %d copies, ", (int)copies);
    T_CONTAINS(text, line);
    sluice_string_free(text);
    sluice_string_free(json);

    report_run("cuda:0,transport=pull", NULL, &text, &json);
    T_CONTAINS(json, "\"transport\":\"pull\",\"h2d_copies\":0,\"publishes\":0");
    T_CONTAINS(text, "\npull: 100 batches read from the host's memory\n");
    sluice_string_free(text);
    sluice_string_free(json);
}

const t_test cuda_report_tests[] = {T_TEST(it_names_the_device_its_driver_and_its_link),
                                    T_TEST(a_link_that_could_be_faster_is_warned_of),
                                    T_TEST(a_link_that_nobody_knows_is_null),
                                    T_TEST(it_tells_how_batches_came_to_the_device), T_END};
