/* SPDX-License-Identifier: Apache-2.0 */
/* Verifies the folder of a pack as a whole: its lists, its summary and what is left in it. */
#ifndef SLUICE_VERIFY_PACK_H
#define SLUICE_VERIFY_PACK_H

#include "pack_marks.h"
#include "verify_shard.h"

typedef struct verify_pack {
    const char *path;
    const verify_shard *shards; /* of a pack, in the order of their names */
    size_t shard_count;
    uint64_t samples; /* that were found */
    const struct sample_writer *writer;
    const verify_reporter *reporter;
} verify_pack;

/* Reports what is wrong. Returns E_IO or E_NO_MEMORY if the folder cannot be read. */
sluice_status verify_pack_check(const verify_pack *pack, const pack_marks *marks);

#endif
