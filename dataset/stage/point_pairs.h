/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The points that a flip exchanges. A flip makes the left eye of a face the right one, so the two
 * points change places.
 */
#ifndef SLUICE_POINT_PAIRS_H
#define SLUICE_POINT_PAIRS_H

#include <stdint.h>

#include <sluice/status.h>

enum { MOST_POINT_PAIRS = 64 };

typedef struct point_pairs {
    uint32_t count;
    uint16_t pairs[MOST_POINT_PAIRS][2]; /* indexes of points, from 0; all are different */
} point_pairs;

/*
 * Parses pairs of indexes, such as "1:2,3:4"; "" has none. E_INVALID: the text has another form, a
 * point is in it twice, or there are too many pairs. `stage` is used in the message.
 */
sluice_status point_pairs_parse(const char *text, const char *stage, point_pairs *pairs_out);

#endif
