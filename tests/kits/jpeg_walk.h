/* SPDX-License-Identifier: Apache-2.0 */
/* What a JPEG file's markers say, read without libjpeg. */
#ifndef SLUICE_JPEG_WALK_H
#define SLUICE_JPEG_WALK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct jpeg_walk {
    uint8_t sof; /* the marker of the frame: 0xC0 is baseline */
    uint32_t width;
    uint32_t height;
    uint32_t components;
    uint32_t across; /* largest factors */
    uint32_t down;
    uint32_t interval; /* MCUs between restart markers; 0 none */
    uint32_t scans;
    uint32_t restarts; /* markers that there are */
    bool restarts_in_order;
    size_t markers_size; /* of all markers of applications and comments, their first bytes too */
    uint64_t markers_hash;
} jpeg_walk;

/* False: it is no whole file. */
bool jpeg_walk_file(const uint8_t *bytes, size_t size, jpeg_walk *walk);

#endif
