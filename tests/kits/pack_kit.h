/* SPDX-License-Identifier: Apache-2.0 */
/* Pictures to pack, folders to pack into, and a request to stop in the midst of it. */
#ifndef SLUICE_PACK_KIT_H
#define SLUICE_PACK_KIT_H

#include <stdbool.h>
#include <stdint.h>

#include <sluice/pack.h>

enum { PACK_SAMPLES = 24 };

/* Was the library built with what packing needs? */
bool can_pack(void);

/* The same of a conversion; NULL: a pack. */
bool can_convert(const char *format);

/* A folder of pictures, some of which are none, shuffled. */
sluice_dataset *pictures(const char *folder);

/* One worker, shards of 20000 bytes. */
sluice_pack_config config_of(sluice_dataset *dataset, const char *folder);

/* Are all files of a the same in b? */
bool same_folders(const char *a, const char *b);

/* A folder beside others of the test; in a static buffer for each of four. */
const char *folder_named(const char *top, const char *name);

void make_empty(const char *path);

typedef struct stopper {
    sluice_stop *stop;
    uint64_t after; /* so many samples of this run */
    uint64_t seen;
} stopper;

/* A progress function, whose user is a stopper. */
void stop_after(const sluice_pack_stats *stats, void *user);

/* Verifies a folder. Returns the number of problems. */
uint64_t problems_of(const char *folder);

#endif
