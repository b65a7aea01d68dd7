/* SPDX-License-Identifier: Apache-2.0 */
/* sluice topo: the machine as the library sees it, and what it would place where. */
#include <inttypes.h>
#include <stdio.h>

#include "cli.h"

int cmd_topo(int argc, char **argv)
{
    const char *device_name = NULL;
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
    cli_option options[] = {
        {"device", OPTION_TEXT, &device_name, "NAME", NULL, false},
        {"synthetic", OPTION_TEXT, &config.synthetic, "TEXT", NULL, false},
        {"xml", OPTION_TEXT, &config.xml, "FILE", NULL, false},
        {"workers", OPTION_COUNT, &workers, "N", NULL, false},
        {"ranks", OPTION_COUNT, &ranks, "N", NULL, false},
        {"json", OPTION_FLAG, &config.json, NULL, NULL, false},
        {NULL, OPTION_FLAG, NULL, NULL, NULL, false},
    };
    code = cli_parse("topo", argc, argv, options, none, 0, &words);
    if (code != EXIT_DONE) {
        return code;
    }
    if (workers > 1024 || ranks > 1024 || (options[4].given && ranks == 0)) {
        cli_error("topo: --workers and --ranks: want 1 to 1024");
        return EXIT_WORDS;
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
            cli_json_failure(st, sluice_last_error());
        }
        code = st == SLUICE_E_INVALID ? EXIT_WORDS : EXIT_WORLD;
    } else {
        printf("%s%s", text, config.json ? "\n" : "");
    }
    sluice_string_free(text);
    sluice_device_close(device);
    return code;
}
