/* SPDX-License-Identifier: Apache-2.0 */
/* An archive that is being verified, with its index. */
#ifndef SLUICE_VERIFY_SHARD_H
#define SLUICE_VERIFY_SHARD_H

#include <stdbool.h>

#include "shard_index.h"
#include "stage.h"

/* Called for each problem, with the name of a file or sample, and the reason. */
typedef struct verify_reporter {
    void (*report)(void *arg, const char *name, const char *why);
    void *arg;
} verify_reporter;

/* Zero-initialise. */
typedef struct verify_shard {
    char *path;
    uint64_t first; /* number of its first sample, counted through all shards */
    shard_index index;
} verify_shard;

/*
 * Walks over the archive's headers and compares the result with the stored index, which has the
 * CRCs. has_index: an index must exist. Problems are reported; E_NO_MEMORY; E_IO: no free file
 * descriptors.
 */
sluice_status verify_shard_open(verify_shard *shard, const char *path, bool has_index,
                                const verify_reporter *reporter);
void verify_shard_close(verify_shard *shard);

/*
 * Reads a sample's image file into io->bytes, and compares its CRC. *checked_out: there was a CRC.
 * E_IO, E_CORRUPT, E_NO_MEMORY.
 */
sluice_status verify_shard_read(const verify_shard *shard, uint64_t sample, sample_io *io,
                                bool *checked_out);

/* The archive's file name without folders. */
const char *verify_shard_name(const verify_shard *shard);

#endif
