/* SPDX-License-Identifier: Apache-2.0 */
/* The samples of a shard, with the places of the members that fields= names. */
#ifndef SLUICE_WEB_FIELDS_SHARD_H
#define SLUICE_WEB_FIELDS_SHARD_H

#include "web_fields.h"
#include "web_shard_file.h"

/* Where a member's bytes are. */
typedef struct member_place {
    uint64_t offset; /* MEMBER_NOWHERE: there is none; MEMBER_TWICE: there are two */
    uint64_t size;
} member_place;

#define MEMBER_NOWHERE UINT64_MAX
#define MEMBER_TWICE   (UINT64_MAX - 1)

typedef struct fields_shard {
    web_shard_file file;
    uint64_t first; /* number of its first sample */
    uint64_t count;
    member_place *places; /* (count, fields) */
    size_t capacity;
    uint64_t *names; /* (count): offsets in text, of the name of the first field's member */
    size_t names_capacity;
    char *text;
    size_t text_size;
    size_t text_capacity;
} fields_shard;

/* Samples that lack a field. */
typedef struct fields_skipped {
    uint64_t count;
    char first[256]; /* SHARD/KEY of the first */
} fields_skipped;

/*
 * Walks over the headers of an open shard, and adds its samples. E_CORRUPT, E_UNSUPPORTED: it is no
 * archive, or damaged; E_IO, E_NO_MEMORY. What was added stays, for fields_shard_close().
 */
sluice_status fields_shard_walk(const web_fields *fields, const char *path, int fd, uint64_t size,
                                fields_shard *shard, fields_skipped *skipped);
void fields_shard_close(fields_shard *shard);

#endif
