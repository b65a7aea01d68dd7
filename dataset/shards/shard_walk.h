/* SPDX-License-Identifier: Apache-2.0 */
/* A walk over an archive's members that makes samples of them, one member at a time. */
#ifndef SLUICE_SHARD_WALK_H
#define SLUICE_SHARD_WALK_H

#include "shard_index.h"
#include "tar_reader.h"

/* The sample that members are being added to. */
typedef struct open_sample {
    char *key;
    size_t key_length;
    size_t key_capacity;
    bool is_open;
    bool has_image;
    bool has_label; /* a member for it, whatever is in it */
    uint32_t rank;  /* of the image's field in the list */
    shard_sample sample;
} open_sample;

/* Starts as the fields, where samples go and, by tar_begin() or tar_begin_feed(), the archive. */
typedef struct shard_walk {
    tar_reader tar;
    const shard_fields *fields;
    bool with_crc;  /* not of a feed */
    uint8_t *chunk; /* bytes on their way to the checksum; CRC_CHUNK of them, with_crc only */
    open_sample current;
    shard_index *index; /* samples are added to it */

    /* Optional: this member is the image of the sample in the making, in place of one before. */
    sluice_status (*keep_image)(void *arg, const tar_member *member);
    void *arg;
} shard_walk;

/*
 * Takes the next member; it may complete the sample before it. END_OF_DATA: there is none, and the
 * last sample is complete.
 */
sluice_status shard_walk_step(shard_walk *walk);

/* Empties the index of the samples that are complete: for those who have taken them. */
void shard_walk_forget(shard_walk *walk);

void shard_walk_end(shard_walk *walk);

#endif
