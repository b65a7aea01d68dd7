/* SPDX-License-Identifier: Apache-2.0 */
/* Writes one shard: its archive, its list and its index. */
#ifndef SLUICE_PACK_SHARD_H
#define SLUICE_PACK_SHARD_H

#include "pack_folder.h"
#include "pack_lines.h"
#include "pack_marks.h"
#include "sample_writer.h"

enum { PACK_KEY_SIZE = 24 };

/* The shard being written; zero-initialise. Its fields are valid if is_open. */
typedef struct pack_shard {
    bool is_open;
    const pack_folder *folder;
    uint32_t number;
    sample_file file;
    char *path;   /* of the temporary file; file.path */
    char *name;   /* file.name */
    void *writer; /* of folder->writer */
    sli_text lines;
    uint64_t bytes; /* bytes of the samples so far */
} pack_shard;

/*
 * Begins a shard of these columns, which are borrowed; `limit` is sample_file.shard_bytes. Returns
 * E_IO or E_NO_MEMORY on failure.
 */
sluice_status pack_shard_begin(pack_shard *shard, const pack_folder *folder,
                               const kept_columns *kept, uint64_t limit, uint32_t number);

/* Adds a sample to the archive and to the list. E_UNSUPPORTED: the format cannot have a value; the
 * message names sample and column. Also returns E_IO and E_NO_MEMORY. */
sluice_status pack_shard_add(pack_shard *shard, const char *key, const packed_sample *sample);

/*
 * Writes the list and the index, and renames the archive last, so an existing archive means that
 * the shard is finished. `next` is the next shard's first position.
 */
sluice_status pack_shard_finish(pack_shard *shard, uint64_t next, uint64_t *tar_bytes_out);

/*
 * Removes the files of finished shards from `number` on, which an earlier pack of more samples
 * left. Returns E_IO on failure.
 */
sluice_status pack_shard_remove_from(const pack_folder *folder, uint32_t number);

/* Closes an open shard and removes its temporary archive. */
void pack_shard_drop(pack_shard *shard);

/*
 * Finds whether a finished shard has its index (shard_index_read_packed()), or the files that its
 * format has beside it, if any; a warning says what is wrong with one. Returns E_IO or E_NO_MEMORY
 * on failure.
 */
sluice_status pack_shard_has_index(const pack_folder *folder, uint32_t number, bool *has_out);

/*
 * Reads the list of a finished shard, and calls each() for every sample's line. *next_out is 0 if
 * the shard is not finished, or its files do not match. Returns E_IO or E_NO_MEMORY on failure.
 */
sluice_status pack_shard_read(const pack_folder *folder, uint32_t number,
                              void (*each)(void *arg, const pack_line *line), void *arg,
                              uint64_t *tar_bytes_out, uint64_t *next_out);

#endif
