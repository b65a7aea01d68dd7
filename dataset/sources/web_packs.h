/* SPDX-License-Identifier: Apache-2.0 */
/* Packs of `sluice pack` among the shards of webdataset: an error for those that are known to be
 * wrong, and warnings of those that are not complete or are read without their checksums. */
#ifndef SLUICE_WEB_PACKS_H
#define SLUICE_WEB_PACKS_H

#include "pack_marks.h"
#include "webdataset_skipped.h"

/* Zero-initialise. */
typedef struct web_packs {
    pack_marks marks;         /* of the folder of the shard that was added last */
    skipped_items unfinished; /* shards of packs that are not complete */
    skipped_items unchecked;  /* shards of packs that are read without the checksums */
} web_packs;

/*
 * Adds a shard; `path` must outlive `packs`. E_CORRUPT: it is in a folder with pack.corrupt. Also
 * returns E_IO and E_NO_MEMORY.
 */
sluice_status web_packs_add(web_packs *packs, const char *path);

/* web_packs_add() for all files of a list but pipes, which are read without the index of a pack. */
sluice_status web_packs_add_all(web_packs *packs, const file_list *list);

/* True if the shard that was added last is one of a pack. */
bool web_packs_has_last(const web_packs *packs);

/* Logs one warning for each kind. */
void web_packs_warn(const web_packs *packs, const web_args *args);

#endif
