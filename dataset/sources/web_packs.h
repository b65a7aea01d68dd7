/* SPDX-License-Identifier: Apache-2.0 */
/* Packs of `sluice pack` among the shards of webdataset, and a warning of those that are read
 * without their checksums. */
#ifndef SLUICE_WEB_PACKS_H
#define SLUICE_WEB_PACKS_H

#include "pack_marks.h"
#include "webdataset_skipped.h"

/* Zero-initialise. */
typedef struct web_packs {
    pack_marks marks;        /* of the folder of the shard that was added last */
    skipped_items unchecked; /* shards of packs that are read without the checksums */
} web_packs;

/* Adds a shard; `path` must outlive `packs`. Returns E_IO or E_NO_MEMORY on failure. */
sluice_status web_packs_add(web_packs *packs, const char *path);

/* True if the shard that was added last is one of a pack. */
bool web_packs_has_last(const web_packs *packs);

/* Logs the warning. */
void web_packs_warn(const web_packs *packs, const web_args *args);

#endif
