/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Indexes of image files (image_decoder.h), kept in a folder for later passes and runs. Each
 * process adds to a file of its own there and reads those of all, so that several may share a
 * folder. A file is
 *
 *     "SLUICEPL", u32 1 (the version), u32 0, then records of
 *     u32 0x44524353, u32 size of the index, u64 hash of the image's name, u64 its size in bytes,
 *     i64 when it was changed (ns), u32 CRC-32C of those 32 bytes and the index, u32 0, the index
 *
 * in little-endian numbers. A record is valid for an image of that name, size and time only. A
 * truncated or damaged record is skipped, and the index built again.
 */
#ifndef SLUICE_INDEX_STORE_H
#define SLUICE_INDEX_STORE_H

#include "image_decoder.h"

typedef struct index_store index_store;

/* An image file in its current version. */
typedef struct index_key {
    uint64_t name; /* hash of its name */
    uint64_t size;
    int64_t modified_ns;
} index_key;

/*
 * Opens a folder of indexes for this many images, and creates it if needed. A read-only folder is
 * read. E_IO: it cannot be opened or created; E_NO_MEMORY.
 */
sluice_status index_store_open(const char *folder, uint64_t images, index_store **store_out);

/* Closes the store; logs its counts at level info. NULL is fine. */
void index_store_close(index_store *store);

/*
 * Sets *index to the stored index of the image. If there is none, or it is refused, and new ones
 * can be stored, requests that one be built. Any thread.
 */
void index_store_find(index_store *store, const index_key *key, image_index *index);

/*
 * Stores the index that the decoder built for the image. An index that was wrong is replaced by an
 * empty one. Returns whether an index was stored. Any thread.
 */
bool index_store_keep(index_store *store, const index_key *key, const image_index *index);

/* Bytes of memory. */
uint64_t index_store_memory(const index_store *store);

#endif
