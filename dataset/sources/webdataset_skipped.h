/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Samples, members and shards that webdataset skips or that are suspicious: counts, warnings, and
 * an error if no sample is left.
 */
#ifndef SLUICE_WEBDATASET_SKIPPED_H
#define SLUICE_WEBDATASET_SKIPPED_H

#include "shard_index.h"
#include "webdataset_args.h"

typedef struct skipped_items {
    uint64_t count;
    char first[400]; /* name of the first one */
} skipped_items;

/* Counts over all shards. */
typedef struct webdataset_skipped {
    skipped_items imageless;   /* samples without an image */
    skipped_items unlabelled;  /* samples without a label */
    skipped_items passed_over; /* members that are not regular files; `first` is the shard */
    skipped_items has_more;    /* shards with data after the end of the archive */
    skipped_items lacks_end;   /* shards without an end-of-archive block */
    skipped_items remade;      /* shards whose stored index was corrupt or stale */
    skipped_items unkept;      /* shards whose index could not be stored */
} webdataset_skipped;

/*
 * Adds `count` items of a shard. `name`, of `length` bytes, is the first of them; length 0: it has
 * no name.
 */
void skipped_count(skipped_items *items, uint64_t count, const char *shard, const char *name,
                   size_t length);

/* Adds the counts that a shard's index contains. */
void skipped_count_shard(webdataset_skipped *skipped, const shard_index *index, const char *shard);

/* Logs one warning with the number of items, `what` they are, and the first; none: no warning. */
void skipped_warn_of(const skipped_items *items, const web_args *args, const char *what);

/* Logs one warning for each kind of skipped items. `seen`: the fields of the shards. */
void skipped_warn(const webdataset_skipped *skipped, const web_args *args, const char *seen);

/* Writes which of the fields `seen` are read into no column, such as "members json,txt (fields=
 * reads any members)"; "": none. */
void skipped_members(const char *seen, const web_args *args, char *text, size_t size);

/*
 * Fails with E_INVALID: no sample of these shards can be used. The message has the counts and the
 * fields found.
 */
sluice_status skipped_all(const webdataset_skipped *skipped, const web_args *args, size_t shards,
                          const char *seen);

#endif
