/* SPDX-License-Identifier: Apache-2.0 */
#include "pack_kit.h"

#include <stdlib.h>
#include <string.h>

#include "dataset_kit.h"
#include "mindrecord_writer.h"
#include "tar_writer.h"
#include "testing.h"

bool can_pack(void)
{
    return tar_writer_check() == SLUICE_OK;
}

sluice_dataset *pictures(const char *folder)
{
    char name[64];

    for (uint32_t i = 0; i < PACK_SAMPLES; i++) {
        snprintf(name, sizeof(name), "c%u/%02u.jpg", i % 3, i);
        if (i % 10 == 7) {
            t_write_file(t_path(folder, name), "no image", 8);
        } else {
            make_jpeg(folder, name, 40 + i, 70 - i, i);
        }
    }
    return folder_dataset(folder, "shuffle 5");
}

sluice_pack_config config_of(sluice_dataset *dataset, const char *folder)
{
    sluice_pack_config config;

    sluice_pack_config_init(&config);
    config.dataset = dataset;
    config.folder = folder;
    config.shard_bytes = 20000;
    config.workers = 1;
    return config;
}

bool same_folders(const char *a, const char *b)
{
    char command[1024];

    snprintf(command, sizeof(command), "diff -r '%s' '%s' >/dev/null", a, b);
    return system(command) == 0;
}

const char *folder_named(const char *top, const char *name)
{
    static char paths[4][512];
    static unsigned next;
    char *path = paths[next++ % 4];

    snprintf(path, sizeof(paths[0]), "%s", t_path(top, name));
    return path;
}

void make_empty(const char *path)
{
    char command[1024];

    snprintf(command, sizeof(command), "rm -rf '%s'", path);
    T_EQ(system(command), 0);
}

void stop_after(const sluice_pack_stats *stats, void *user)
{
    stopper *s = user;

    (void)stats;
    if (++s->seen == s->after) {
        sluice_stop_request(s->stop);
    }
}

uint64_t problems_of(const char *folder)
{
    sluice_verify_config check;
    sluice_verify_stats stats = {.struct_size = sizeof(stats)};

    sluice_verify_config_init(&check);
    check.path = folder;
    T_TRUE(sluice_pack_verify(&check, &stats) == (stats.problems > 0 ? SLUICE_E_CORRUPT : 0));
    return stats.problems;
}

bool can_convert(const char *format)
{
    return can_pack() && (format == NULL || strcmp(format, "mindrecord") != 0 ||
                          mindrecord_writer_check() == SLUICE_OK);
}
