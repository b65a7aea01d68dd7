/* SPDX-License-Identifier: Apache-2.0 */
/* The samples of a shard, with the offsets and sizes of the members that fields= names. */
#ifndef SLUICE_WEB_FIELDS_SHARD_H
#define SLUICE_WEB_FIELDS_SHARD_H

#include "web_fields.h"
#include "web_shard_file.h"

/* The position of a member's bytes in the shard. */
typedef struct member_place {
    uint64_t offset; /* MEMBER_NOWHERE: no such member; MEMBER_TWICE: more than one */
    uint64_t size;
} member_place;

#define MEMBER_NOWHERE UINT64_MAX
#define MEMBER_TWICE   (UINT64_MAX - 1)

typedef struct fields_shard {
    web_shard_file file;
    uint64_t count;
    member_place *places; /* (count, fields) */
    size_t capacity;
    uint64_t *names; /* (count): offset in text of the member name of the sample's first field */
    size_t names_capacity;
    char *text;
    size_t text_size;
    size_t text_capacity;
} fields_shard;

/* Samples that were skipped since they lack a field. */
typedef struct fields_skipped {
    uint64_t count;
    char first[256]; /* SHARD/KEY of the first such sample */
} fields_skipped;

/*
 * Reads the headers of an open shard and appends its samples. Returns E_CORRUPT or E_UNSUPPORTED if
 * it is not a tar archive or is corrupt, E_IO, or E_NO_MEMORY. After an error, the samples appended
 * so far remain in `shard`; fields_shard_close() frees them.
 */
sluice_status fields_shard_walk(const web_fields *fields, const char *path, int fd, uint64_t size,
                                fields_shard *shard, fields_skipped *skipped);
void fields_shard_close(fields_shard *shard);

#endif
