/* SPDX-License-Identifier: Apache-2.0 */
/* What sysfs says of a device's link to its bus. */
#include "pci_link_int.h"

#include "testing.h"

static const char *const names[] = {"current_link_speed", "current_link_width", "max_link_speed",
                                    "max_link_width"};

/* Values of the four files; NULL: it is not there. */
static const char *write_device(const char *const values[4])
{
    const char *root = t_folder();
    char path[600];

    for (size_t i = 0; i < 4; i++) {
        if (values[i] != NULL) {
            snprintf(path, sizeof(path), "%s/bus/pci/devices/0000:1b:00.0/%s", root, names[i]);
            t_write_file(path, values[i], strlen(values[i]));
        }
    }
    return root;
}

static void links_are_told_by_generation_and_width(void)
{
    static const struct {
        const char *values[4];
        const char *want; /* NULL: nobody can tell */
        bool slow;
    } cases[] = {
        {{"32.0 GT/s PCIe\n", "16\n", "32.0 GT/s PCIe\n", "16\n"}, "gen5 x16", false},
        {{"8.0 GT/s PCIe\n", "8\n", "32.0 GT/s PCIe\n", "16\n"}, "gen3 x8 of gen5 x16", true},
        {{"2.5 GT/s\n", "16\n", "16 GT/s\n", "16\n"}, "gen1 x16 of gen4 x16", true},
        {{"5.0 GT/s PCIe\n", "4\n", "5.0 GT/s PCIe\n", "8\n"}, "gen2 x4 of gen2 x8", true},
        {{"64.0 GT/s PCIe\n", "16\n", NULL, NULL}, "gen6 x16", false},
        {{"16.0 GT/s PCIe\n", "16\n", "Unknown\n", "255\n"}, "gen4 x16", false},
        {{"Unknown\n", "63\n", "32.0 GT/s PCIe\n", "16\n"}, NULL, false},
        {{"32.0 GT/s PCIe\n", "0\n", "32.0 GT/s PCIe\n", "16\n"}, NULL, false},
        {{"32.0 GT/s PCIe\n", "63\n", "32.0 GT/s PCIe\n", "16\n"}, NULL, false},
        {{"3.0 GT/s PCIe\n", "16\n", NULL, NULL}, NULL, false},
        {{"", "", "", ""}, NULL, false},
        {{NULL, NULL, NULL, NULL}, NULL, false},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        sli_pci_link link = {0};
        char text[64] = "";
        bool known;

        sli_pci_set_root(write_device(cases[i].values));
        known = sli_pci_link_read("0000:1B:00.0", &link);
        sli_pci_set_root(NULL);
        T_EQ(known, cases[i].want != NULL);
        if (known) {
            sli_pci_link_format(&link, text, sizeof(text));
            T_STR(text, cases[i].want);
            T_EQ(sli_pci_link_is_slow(&link), cases[i].slow);
        }
    }
}

static void a_device_on_no_bus_has_no_link(void)
{
    sli_pci_link link;

    T_TRUE(!sli_pci_link_read("", &link));
    T_TRUE(!sli_pci_link_read("0000:ff:1f.7", &link));
}

const t_test pci_link_tests[] = {T_TEST(links_are_told_by_generation_and_width),
                                 T_TEST(a_device_on_no_bus_has_no_link), T_END};
