/* SPDX-License-Identifier: Apache-2.0 */
/* The coordinates that a point may have. Points may be outside their image. */
#ifndef SLUICE_POINT_RANGE_H
#define SLUICE_POINT_RANGE_H

#include <stdbool.h>

/* In pixels. With this bound no geometry makes a coordinate infinite. */
#define POINT_FARTHEST 1e6F

/* False: a coordinate of the point, x and y, is NaN or beyond POINT_FARTHEST. */
static inline bool point_is_valid(const float *point)
{
    return point[0] >= -POINT_FARTHEST && point[0] <= POINT_FARTHEST &&
           point[1] >= -POINT_FARTHEST && point[1] <= POINT_FARTHEST;
}

#endif
