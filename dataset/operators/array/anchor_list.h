/* SPDX-License-Identifier: Apache-2.0 */
/* The anchors of a detector: boxes at fixed positions of any image, which its outputs belong to. */
#ifndef SLUICE_ANCHOR_LIST_H
#define SLUICE_ANCHOR_LIST_H

#include <stdatomic.h>
#include <stdint.h>

#include <sluice/status.h>

enum { ANCHORS_MOST = 1 << 20 };

typedef struct anchor_list {
    uint32_t count;
    float (*corners)[4]; /* (count, 4) x0 y0 x1 y1, fractions of width and height */
    uint64_t hash;       /* of the corners */
    atomic_uint users;
} anchor_list;

/*
 * Returns the anchors of a name, or those of a .npy file. `stage` is used in messages. E_INVALID:
 * `text` is neither, or the array is no list of anchors. Also returns E_CORRUPT, E_IO and
 * E_NO_MEMORY.
 */
sluice_status anchor_list_open(const char *stage, const char *text, anchor_list **list_out);

/* The part of it that reads a .npy file of `size` bytes; release *list_out also after an error.
 * Error texts do not name the file. */
sluice_status anchor_list_read(int fd, uint64_t size, anchor_list **list_out);

/* NULL does nothing. */
void anchor_list_retain(anchor_list *list);
void anchor_list_release(anchor_list *list);

#endif
