/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Samples, members and shards that webdataset skips: counts, warnings, and the error if no sample
 * is left.
 */
#ifndef SLUICE_WEBDATASET_SKIPPED_H
#define SLUICE_WEBDATASET_SKIPPED_H

#include "shard_index.h"
#include "webdataset_args.h"

typedef struct skipped_items {
    uint64_t count;
    char first[400]; /* the name of the first */
} skipped_items;

/* Over all shards. */
typedef struct webdataset_skipped {
    skipped_items imageless;   /* samples */
    skipped_items unlabelled;  /* samples */
    skipped_items passed_over; /* members; the first is its shard */
    skipped_items has_more;    /* shards with data after the end of the archive */
    skipped_items lacks_end;   /* shards */
    skipped_items unkept;      /* shards whose index cannot be stored */
} webdataset_skipped;

/*
 * Counts `count` more in a shard. `name`, of `length` bytes, is the first of them; "" if unnamed.
 */
void skipped_count(skipped_items *items, uint64_t count, const char *shard, const char *name,
                   size_t length);

/* Counts what the index of a shard reports as skipped. */
void skipped_count_shard(webdataset_skipped *skipped, const shard_index *index, const char *shard);

/* Logs one warning per kind. */
void skipped_warn(const webdataset_skipped *skipped, const web_args *args);

/*
 * E_INVALID: none of the samples in this many shards can be used; the text has the counts and the
 * fields found.
 */
sluice_status skipped_all(const webdataset_skipped *skipped, const web_args *args, size_t shards,
                          const char *seen);

#endif
