/* SPDX-License-Identifier: Apache-2.0 */
/* A shard whose index is kept beside it, and what is logged when the index is obtained. */
#ifndef SLUICE_KEPT_SHARD_H
#define SLUICE_KEPT_SHARD_H

#include "shard_kit.h"

/* A shard in a folder of its own, and where its index is kept. */
typedef struct kept_shard {
    char folder[300];
    char path[400];
    char index[420];
} kept_shard;

/* A shard of make_members(); the first in a new folder. */
void make_shard(const char *path);
kept_shard make_kept_shard(void);

/* The index of a shard, of the default fields or of these. */
shard_index obtained_index(const char *shard, const char *folder);
shard_index obtained_with_fields(const char *shard, const shard_fields *fields, const char *folder);

/* What was logged when an index was obtained last, and how many messages of it are warnings. */
const char *obtained_log(void);
unsigned obtained_warnings(void);

#endif
