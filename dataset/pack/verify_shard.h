/* SPDX-License-Identifier: Apache-2.0 */
/* One archive that is checked: what lies in it, by its headers and by its index. */
#ifndef SLUICE_VERIFY_SHARD_H
#define SLUICE_VERIFY_SHARD_H

#include <stdbool.h>

#include "shard_index.h"
#include "stage.h"

/* Who is told of what is wrong: a file or sample, and why. */
typedef struct verify_teller {
    void (*tell)(void *arg, const char *name, const char *why);
    void *arg;
} verify_teller;

/* Starts zeroed. */
typedef struct verify_shard {
    char *path;
    uint64_t first; /* number of its first sample */
    shard_index index;
} verify_shard;

/*
 * Walks the archive, and compares what it finds with the index beside it; from that come the
 * checksums. has_index: there has to be one. What is wrong is told; E_NO_MEMORY.
 */
sluice_status verify_shard_open(verify_shard *shard, const char *path, bool has_index,
                                const verify_teller *teller);
void verify_shard_close(verify_shard *shard);

/*
 * Reads a sample's file and compares its checksum; *checked_out: there is one. E_IO, E_CORRUPT,
 * E_NO_MEMORY.
 */
sluice_status verify_shard_read(const verify_shard *shard, uint64_t sample, image_buffer *bytes,
                                bool *checked_out);

/* The archive's name without its folders. */
const char *verify_shard_name(const verify_shard *shard);

#endif
