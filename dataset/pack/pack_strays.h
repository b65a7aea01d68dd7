/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files that a killed process leaves in the folder of a pack and that no later run overwrites:
 * indexes under their temporary names, shard-000003.tar.sluice.PID-N.tmp.
 */
#ifndef SLUICE_PACK_STRAYS_H
#define SLUICE_PACK_STRAYS_H

#include <stdint.h>

#include "pack_folder.h"

/*
 * Removes the stray files of unfinished shards, which only the owner of the folder's lock writes.
 * An index of a finished shard may be in the process of being written by a reader of the pack, so
 * it stays. E_IO.
 */
sluice_status pack_strays_remove(const pack_folder *folder);

/*
 * Counts the stray files of all shards, with the name of one in `name`; 0 while a process packs.
 * E_IO.
 */
sluice_status pack_strays_count(const pack_folder *folder, uint64_t *count_out, char *name,
                                size_t size);

#endif
