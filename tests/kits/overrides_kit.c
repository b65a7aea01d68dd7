/* SPDX-License-Identifier: Apache-2.0 */
#include "overrides_kit.h"

#include <stdlib.h>
#include <string.h>

const char *const overrides_names[OVERRIDES_COUNT] = {"SLUICE_WORKERS", "SLUICE_SLOTS",
                                                      "SLUICE_MEMORY",  "SLUICE_MODE",
                                                      "SLUICE_REPORT",  "SLUICE_REPORT_SERIES"};

static char *kept[OVERRIDES_COUNT];

void overrides_begin(void)
{
    for (size_t i = 0; i < OVERRIDES_COUNT; i++) {
        const char *value = getenv(overrides_names[i]);

        kept[i] = value != NULL ? strdup(value) : NULL;
        unsetenv(overrides_names[i]);
    }
}

void overrides_end(void)
{
    for (size_t i = 0; i < OVERRIDES_COUNT; i++) {
        unsetenv(overrides_names[i]);
        if (kept[i] != NULL) {
            setenv(overrides_names[i], kept[i], 1);
            free(kept[i]);
        }
    }
}

void overrides_init_run(kit *k)
{
    kit_init(k);
    k->pipeline = "synthetic samples=8 shape=4,4,3 | batch 2";
}

const char *overrides_log_of(kit *k)
{
    kit_log_start(NULL, NULL);
    (void)kit_run(k);
    return kit_log_stop();
}

uint32_t overrides_count_of(const char *text, const char *part)
{
    uint32_t count = 0;

    for (const char *at = text; (at = strstr(at, part)) != NULL; at++) {
        count++;
    }
    return count;
}

const char *overrides_contents(const char *path)
{
    static char bytes[65536];
    FILE *file = fopen(path, "rb");
    size_t size = 0;

    if (file != NULL) {
        size = fread(bytes, 1, sizeof(bytes) - 1, file);
        fclose(file);
    }
    bytes[size] = '\0';
    return bytes;
}
