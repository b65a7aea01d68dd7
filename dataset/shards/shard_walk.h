/* SPDX-License-Identifier: Apache-2.0 */
/* Walks over an archive's members, one at a time, and groups them into samples. */
#ifndef SLUICE_SHARD_WALK_H
#define SLUICE_SHARD_WALK_H

#include "shard_index.h"
#include "tar_reader.h"

/* The sample whose members are being read. */
typedef struct open_sample {
    char *key;
    size_t key_length;
    size_t key_capacity;
    bool is_open;
    bool has_image;
    bool has_label; /* a label member was found, even if it is not a number */
    uint32_t rank;  /* position of the image's field in the list of image fields */
    shard_sample sample;
} open_sample;

/* The caller sets fields and index, and opens the archive by tar_begin() or tar_begin_feed(). */
typedef struct shard_walk {
    tar_reader tar;
    const shard_fields *fields;
    bool with_crc;   /* compute the images' CRCs; not possible for a feed */
    bool has_member; /* `member` was read but not processed: it belongs to the next sample and is
                        added once the current sample is completed */
    tar_member member;
    uint8_t *chunk; /* buffer of CRC_CHUNK bytes; allocated only if with_crc */
    open_sample current;
    shard_index *index; /* receives the samples */

    /*
     * Optional: stores an image of the current sample. It is called for each image; the last call
     * determines the sample's image.
     */
    sluice_status (*keep_image)(void *arg, const tar_member *member);
    void *arg;
} shard_walk;

/*
 * Adds the next member to the current sample, or completes the current sample and appends it to the
 * index. END_OF_DATA: there are no more members, and the last sample was completed.
 */
sluice_status shard_walk_step(shard_walk *walk);

/* Empties the index; valid only immediately after a sample was completed. */
void shard_walk_forget(shard_walk *walk);

void shard_walk_end(shard_walk *walk);

#endif
