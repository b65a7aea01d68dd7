/* SPDX-License-Identifier: Apache-2.0 */
/* Shards of packs of `sluice pack` among those of webdataset, which have an index with checksums:
 * a warning of those that are read without it. pack_files.h checks the packs themselves. */
#ifndef SLUICE_WEB_PACKS_H
#define SLUICE_WEB_PACKS_H

#include "pack_marks.h"
#include "webdataset_skipped.h"

/* Zero-initialise. */
typedef struct web_packs {
    pack_marks marks;        /* of the folder of the shard that was added last */
    skipped_items unchecked; /* shards of packs, read without their checksums */
} web_packs;

/* Adds a shard, and finds whether it is one of a pack; `path` must outlive `packs`. Returns E_IO or
 * E_NO_MEMORY. */
sluice_status web_packs_add(web_packs *packs, const char *path, bool *is_packed_out);

/* Adds all files of a list but pipes; they are read without the index of a pack. */
sluice_status web_packs_add_all(web_packs *packs, const file_list *list);

void web_packs_warn(const web_packs *packs, const web_args *args);

#endif
