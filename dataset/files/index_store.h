/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An index store: a folder that keeps the decode indexes of image files (image_index in image.h)
 * for later passes and runs. Each process writes to its own file in the folder and reads the files
 * of all processes, so several processes can share a folder. The file format is little-endian:
 *
 *     "SLUICEPL", u32 2 (the version), u32 0, then records:
 *     u32 0x44524353, u32 size of the index, u64 hash of the image's name, u64 its size in bytes,
 *     u64 CRC-32C of its bytes, u32 CRC-32C of these 32 bytes and the index, u32 0, the index
 *
 * A record is valid only for an image whose name, size and bytes match, so it is valid for copies.
 * A truncated or corrupt record is ignored, and the index is rebuilt. So are files of version 1,
 * which has the time of modification in place of the image's CRC.
 */
#ifndef SLUICE_INDEX_STORE_H
#define SLUICE_INDEX_STORE_H

#include "image_decoder.h"

typedef struct index_store index_store;

/* Identifies an image file and its content. */
typedef struct index_key {
    uint64_t name; /* hash of the file name */
    uint64_t size;
    uint32_t crc; /* CRC-32C of the file's bytes */
} index_key;

/*
 * Opens a folder of indexes for this number of images, and creates it if needed. If the folder is
 * read-only, no indexes are stored. E_IO: the folder cannot be opened or created. Also returns
 * E_NO_MEMORY.
 */
sluice_status index_store_open(const char *folder, uint64_t images, index_store **store_out);

/* Closes the store, and logs its counts at level info. Accepts NULL. */
void index_store_close(index_store *store);

/*
 * Sets *index to the stored index of the image. If there is no stored index, or it is refused,
 * index->wanted requests that the decoder builds an index, provided that it can be stored. Callable
 * from any thread.
 */
void index_store_find(index_store *store, const index_key *key, image_index *index);

/*
 * Stores the index that the decoder built for the image. An index that was wrong is replaced by an
 * empty one. Returns whether an index was stored. Callable from any thread.
 */
bool index_store_keep(index_store *store, const index_key *key, const image_index *index);

/* Returns the bytes of memory that the store uses. */
uint64_t index_store_memory(const index_store *store);

#endif
