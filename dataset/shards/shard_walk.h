/* SPDX-License-Identifier: Apache-2.0 */
/* A walk over an archive's members that groups them into samples, one member at a time. */
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
    bool has_label; /* a label member was found, whatever its contents */
    uint32_t rank;  /* position of the image's field in the list */
    shard_sample sample;
} open_sample;

/*
 * The caller sets the fields, where samples are added and, by tar_begin() or tar_begin_feed(), the
 * archive.
 */
typedef struct shard_walk {
    tar_reader tar;
    const shard_fields *fields;
    bool with_crc;   /* compute checksums; not for a feed */
    bool has_member; /* the current member belongs to the next sample: it is taken after the
                        previous one was completed */
    tar_member member;
    uint8_t *chunk; /* buffer of CRC_CHUNK bytes, with_crc only */
    open_sample current;
    shard_index *index; /* receives the samples */

    /*
     * Optional: called for the image of the current sample; a later call replaces the image of an
     * earlier one.
     */
    sluice_status (*keep_image)(void *arg, const tar_member *member);
    void *arg;
} shard_walk;

/*
 * Takes the next member, or completes a sample, which is then the last one of the index.
 * END_OF_DATA: no more members, and the last sample is complete.
 */
sluice_status shard_walk_step(shard_walk *walk);

/* Empties the index; only valid right after a sample was completed. */
void shard_walk_forget(shard_walk *walk);

void shard_walk_end(shard_walk *walk);

#endif
