/* SPDX-License-Identifier: Apache-2.0 */
/* Verifies an archive against its stored index. */
#ifndef SLUICE_VERIFY_SHARD_H
#define SLUICE_VERIFY_SHARD_H

#include <stdbool.h>

#include "shard_index.h"
#include "source.h"
#include "stage.h"

/* Receives each problem, with the name of the file or sample, and the reason. */
typedef struct verify_reporter {
    void (*report)(void *arg, const char *name, const char *why);
    void *arg;
} verify_reporter;

/* An archive that is being verified; zero-initialise. */
typedef struct verify_shard {
    char *path;
    uint64_t first; /* number of the archive's first sample, counted over all shards */
    shard_index index;
} verify_shard;

/*
 * Walks over the archive's headers and compares the result with the stored index, which has the
 * CRCs. has_index: the shard is of a pack, so a missing index is a problem, and so is one
 * without CRCs. Problems are reported, not returned. E_IO: no file
 * descriptor is free. Also returns E_NO_MEMORY.
 */
sluice_status verify_shard_open(verify_shard *shard, const char *path, bool has_index,
                                const verify_reporter *reporter);
void verify_shard_close(verify_shard *shard);

/*
 * Reads a sample's image file into io->bytes, and compares its CRC if the index has one.
 * *checked_out: the index has a CRC of the sample. Returns E_IO, E_CORRUPT or E_NO_MEMORY on
 * failure.
 */
sluice_status verify_shard_read(const verify_shard *shard, uint64_t sample, sample_io *io,
                                bool *checked_out);

/* Returns the archive's file name without folders. */
const char *verify_shard_name(const verify_shard *shard);

#endif
