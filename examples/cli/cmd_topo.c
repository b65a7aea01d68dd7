/* SPDX-License-Identifier: Apache-2.0 */
/* sluice topo: prints the machine's topology and the placement of threads and memory on it. */
#include <inttypes.h>
#include <stdio.h>

#include "cli.h"

static bool is_number_of(const cli_option *options, const char *name, uint64_t value)
{
    if (cli_given(options, name) && (value < 1 || value > 1024)) {
        cli_error("topo: --%s %" PRIu64 " must be from 1 to 1024", name, value);
        return false;
    }
    return true;
}

static bool read_launcher(const char *text, sluice_launcher *launcher)
{
    static const char *const launchers[] = {"numactl", "mpirun", "srun", "torchrun", NULL};
    int chosen = -1;

    if (text != NULL && !cli_choose("topo", "emit", text, launchers, &chosen)) {
        return false;
    }
    *launcher = (sluice_launcher)(chosen + 1); /* they have the order of the names */
    return true;
}

int cmd_topo(int argc, char **argv)
{
    const char *device_name = NULL;
    const char *launcher = NULL;
    sluice_topology_config config;
    sluice_device *device = NULL;
    uint64_t workers = 0;
    uint64_t ranks = 0;
    char *text = NULL;
    sluice_status st = SLUICE_OK;
    const char *none[1];
    int words;
    int code;

    sluice_topology_config_init(&config);
    config.json = cli_wants_json(argc, argv);
    cli_option options[] = {
        {"device", OPTION_TEXT, &device_name, "NAME", NULL, false},
        {"devices", OPTION_TEXT, &config.devices, "LIST", NULL, false},
        {"pci", OPTION_TEXT, &config.pci, "LIST", NULL, false},
        {"synthetic", OPTION_TEXT, &config.synthetic, "TEXT", NULL, false},
        {"xml", OPTION_TEXT, &config.xml, "FILE", NULL, false},
        {"workers", OPTION_COUNT, &workers, "N", NULL, false},
        {"ranks", OPTION_COUNT, &ranks, "N", NULL, false},
        {"emit", OPTION_TEXT, &launcher, "LAUNCHER", NULL, false},
        {"json", OPTION_FLAG, &config.json, NULL, NULL, false},
        {NULL, OPTION_FLAG, NULL, NULL, NULL, false},
    };
    code = cli_parse("topo", argc, argv, options, none, 0, &words);
    if (code == EXIT_DONE &&
        (!is_number_of(options, "workers", workers) || !is_number_of(options, "ranks", ranks) ||
         !read_launcher(launcher, &config.emit))) {
        code = EXIT_USAGE;
    }
    if (code != EXIT_DONE) {
        if (config.json) {
            cli_json_failure(SLUICE_E_INVALID, cli_said());
        }
        return code;
    }
    config.workers = (uint32_t)workers;
    config.ranks = (uint32_t)ranks;
    if (device_name != NULL) {
        st = sluice_device_open(device_name, &device);
        config.device = device;
    }
    if (st == SLUICE_OK) {
        st = sluice_topology_report(&config, &text);
    }
    if (st != SLUICE_OK) {
        cli_error("%s", sluice_last_error());
        if (config.json) {
            cli_json_failure(st, cli_said());
        }
        code = st == SLUICE_E_INVALID ? EXIT_USAGE : EXIT_RUNTIME;
    } else {
        printf("%s%s", text, config.json ? "\n" : "");
    }
    sluice_string_free(text);
    sluice_device_close(device);
    return code;
}
