/* SPDX-License-Identifier: Apache-2.0 */
/* What the two ways to read tar shards share: by an index (source_webdataset.c), in sequence
 * (source_webstream.c). */
#ifndef SLUICE_WEB_SOURCE_H
#define SLUICE_WEB_SOURCE_H

#include "shard_index.h"
#include "shard_list.h"
#include "stage.h"

typedef struct web_args {
    const char *shards;
    const char *image;
    const char *label;
    const char *index;
    uint32_t cache;
    uint32_t access; /* 0 auto, 1 stream */
} web_args;

/* An image beyond this is a mistake, or meant to exhaust memory. */
extern const uint64_t WEB_MOST_BYTES;

/* Samples, members or shards that were left out, and the first of them. */
typedef struct left_out {
    uint64_t count;
    char first[400];
} left_out;

/* What was left out of all shards. */
typedef struct web_left_out {
    left_out imageless;
    left_out unlabelled;
    left_out passed_over; /* members; the first is its shard */
    left_out has_more;    /* shards */
    left_out lacks_end;   /* shards */
    left_out unkept;      /* shards */
} web_left_out;

const char *web_base_of(const char *path);

bool web_is_labelled(const web_args *args);

/* Counts `count` more in a shard, of which the first has this name ("" none), of that length. */
void web_note(left_out *left, uint64_t count, const char *shard, const char *name, size_t length);

/* Counts what an index says was left out of its shard. */
void web_note_shard(web_left_out *left, const shard_index *index, const char *shard);

/* Warns of what was left out. */
void web_warn(const web_left_out *left, const web_args *args);

/* E_INVALID: no sample in so many shards, with what was left out, and the fields that were seen. */
sluice_status web_nothing(const web_left_out *left, const web_args *args, size_t shards,
                          const char *seen);

/* What is known to be wrong with a sample by its flags and its size. E_CORRUPT, E_IO. */
sluice_status web_check_sample(uint32_t flags, uint64_t size, bool labelled, const char *shard);

/* Shards that can only be read in sequence. */
extern const source_ops web_stream_ops;

/* Are these arguments such that their shards are read in sequence? */
bool web_is_stream(const web_args *args);

#endif
