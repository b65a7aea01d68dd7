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
 * in little-endian numbers. A record holds for an image of that name, size and time only; one that
 * was cut off or changed is passed over, and made again.
 */
#ifndef SLUICE_INDEX_STORE_H
#define SLUICE_INDEX_STORE_H

#include "image_decoder.h"

typedef struct index_store index_store;

/* An image file, as it is now. */
typedef struct index_key {
    uint64_t name; /* its hash */
    uint64_t size;
    int64_t modified_ns;
} index_key;

/*
 * Opens a folder, and makes it if need be, for the indexes of so many images. One that cannot be
 * written to is read. E_IO it cannot be had; E_NO_MEMORY.
 */
sluice_status index_store_open(const char *folder, uint64_t images, index_store **store_out);

/* Says at level info what came of it. NULL: does nothing. */
void index_store_close(index_store *store);

/* Sets *index to what is kept for the image; without that, or where that is refused, asks for one to
 * be made where it can be kept. Any thread. */
void index_store_find(index_store *store, const index_key *key, image_index *index);

/* Keeps what the decoder made for the image; one that it found wrong has none from now on. Was an
 * index kept? Any thread. */
bool index_store_keep(index_store *store, const index_key *key, const image_index *index);

/* Bytes in memory. */
uint64_t index_store_memory(const index_store *store);

#endif
