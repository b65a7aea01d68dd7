/* SPDX-License-Identifier: Apache-2.0 */
#include "box_rule.h"

#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>

#include "status_int.h"

/* A coordinate may be this far beyond the image, as a part of its size, without being counted. */
static const float ROUNDED = 1e-4F;

/*
 * Clips an axis to [0, size], if the size is known. Returns whether more was beyond the image than
 * rounding explains.
 */
static bool clip_axis(float *low, float *high, float size)
{
    const float rounded = ROUNDED * (size > 1 ? size : 1);
    const bool beyond = *low < -rounded || *high > size + rounded;

    if (size <= 0) {
        return false;
    }
    *low = *low < 0 ? 0 : *low;
    *high = *high > size ? size : *high;
    return beyond;
}

box_verdict box_judge(float *box, float width, float height)
{
    bool clipped;

    if (!isfinite(box[0]) || !isfinite(box[1]) || !isfinite(box[2]) || !isfinite(box[3]) ||
        box[2] < box[0] || box[3] < box[1]) {
        return BOX_INVALID;
    }
    if (box[0] == box[2] || box[1] == box[3]) {
        return BOX_EMPTY;
    }
    if (box[2] <= 0 || box[3] <= 0 || (width > 0 && box[0] >= width) ||
        (height > 0 && box[1] >= height)) {
        return BOX_OUTSIDE;
    }
    clipped = clip_axis(&box[0], &box[2], width);
    clipped = clip_axis(&box[1], &box[3], height) || clipped;
    return clipped ? BOX_CLIPPED : BOX_INSIDE;
}

sluice_status box_fail(box_verdict verdict, const char *name, uint64_t number, const float *box,
                       float width, float height)
{
    char which[32] = "the box";

    if (number > 0) {
        snprintf(which, sizeof(which), "box %" PRIu64, number);
    }
    if (verdict == BOX_INVALID) {
        return sli_fail(SLUICE_E_CORRUPT,
                        "%s: %s, %g,%g,%g,%g, must be x0,y0,x1,y1 with finite numbers, "
                        "x0 <= x1 and y0 <= y1",
                        name, which, (double)box[0], (double)box[1], (double)box[2],
                        (double)box[3]);
    }
    return width > 0 && height > 0
               ? sli_fail(SLUICE_E_CORRUPT,
                          "%s: %s, %g,%g,%g,%g, is wholly outside its image of %gx%g", name, which,
                          (double)box[0], (double)box[1], (double)box[2], (double)box[3],
                          (double)width, (double)height)
               : sli_fail(SLUICE_E_CORRUPT,
                          "%s: %s, %g,%g,%g,%g, is wholly outside its image, which "
                          "begins at 0,0",
                          name, which, (double)box[0], (double)box[1], (double)box[2],
                          (double)box[3]);
}
