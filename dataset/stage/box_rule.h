/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rule for the boxes that a source gives, the same for all sources: a box is clipped to its
 * image, and dropped if it has no area. One that is wholly outside the image, has a negative size
 * or a coordinate that is not finite makes its sample bad, and so do too many boxes.
 */
#ifndef SLUICE_BOX_RULE_H
#define SLUICE_BOX_RULE_H

#include <stdint.h>

#include <sluice/status.h>

typedef enum box_verdict {
    BOX_INSIDE,
    BOX_CLIPPED, /* part of it was beyond the image */
    BOX_EMPTY,   /* no area: it must be dropped */
    BOX_OUTSIDE, /* bad: nothing of it is within the image */
    BOX_INVALID  /* bad: a coordinate is not finite, or x1 < x0, or y1 < y0 */
} box_verdict;

/*
 * Applies the rule to a box x0, y0, x1, y1, and clips it. `width` and `height` are the size of its
 * image in the unit of the box; 0: unknown, so the box is not clipped yet, and is outside only if
 * it ends before 0. What is beyond the image by at most 1e-4 of its size is rounding: it is
 * clipped, and the box counts as inside.
 */
box_verdict box_judge(float *box, float width, float height);

/* Fails with E_CORRUPT for a bad box. `number`, from 1, is for the error text, and so is `name`,
 * the name of the column. Number 0: the column has one box only. */
sluice_status box_fail(box_verdict verdict, const char *name, uint64_t number, const float *box,
                       float width, float height);

#endif
