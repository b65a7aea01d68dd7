/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stray files: files in a pack's folder that a killed process left and that no later run
 * overwrites. They are indexes under temporary names, such as shard-000003.tar.sluice.PID-N.tmp.
 */
#ifndef SLUICE_PACK_STRAYS_H
#define SLUICE_PACK_STRAYS_H

#include <stdint.h>

#include "pack_folder.h"

/*
 * Removes the stray files of unfinished shards, which only the holder of the folder's lock writes.
 * Stray files of finished shards are kept, since a reader of an earlier version, which rebuilt
 * indexes of packs, may be writing one now. Returns E_IO on failure.
 */
sluice_status pack_strays_remove(const pack_folder *folder);

/*
 * Counts the stray files of all shards, and copies the first one's name to `name`. The count is 0
 * while a process packs into the folder. Returns E_IO on failure.
 */
sluice_status pack_strays_count(const pack_folder *folder, uint64_t *count_out, char *name,
                                size_t size);

#endif
