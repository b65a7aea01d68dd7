/* SPDX-License-Identifier: Apache-2.0 */
/* One shard on its way to disk: its archive, its list, its index. */
#ifndef SLUICE_PACK_SHARD_H
#define SLUICE_PACK_SHARD_H

#include "pack_folder.h"
#include "pack_lines.h"
#include "tar_writer.h"

enum { PACK_KEY_SIZE = 24, PACK_SHARD_MOST = 1000000 };

/* Starts zeroed; is_open says whether there is one. */
typedef struct pack_shard {
    bool is_open;
    const pack_folder *folder;
    uint32_t number;
    int fd;
    char *path; /* of the archive while it is written, for messages */
    tar_writer *tar;
    sli_text lines;
    uint64_t bytes; /* of members so far */
} pack_shard;

/* Writes "shard-000007" and what follows it, ".tar", into name. */
enum { PACK_SHARD_NAME_SIZE = 40 };
void pack_shard_name(uint32_t number, const char *end, char *name);

/* Bytes that a sample takes in an archive; 0 when it is left out. */
uint64_t pack_shard_takes(const packed_sample *sample);

sluice_status pack_shard_begin(pack_shard *shard, const pack_folder *folder, uint32_t number);

/* E_IO, E_NO_MEMORY. */
sluice_status pack_shard_add(pack_shard *shard, const char *key, const packed_sample *sample);

/*
 * Gives the shard's files their names, that of the archive last: a shard whose archive is there is
 * finished. `next` is the position that the next one begins with.
 */
sluice_status pack_shard_finish(pack_shard *shard, uint64_t next, uint64_t *tar_bytes_out);

/* Removes what there is of an open shard. */
void pack_shard_drop(pack_shard *shard);

/*
 * Reads the list of a finished shard; lines go to each(). *next_out is 0 when the shard is not
 * finished, or its files do not belong together. E_IO, E_NO_MEMORY.
 */
sluice_status pack_shard_read(const pack_folder *folder, uint32_t number,
                              void (*each)(void *arg, const pack_line *line), void *arg,
                              uint64_t *tar_bytes_out, uint64_t *next_out);

#endif
