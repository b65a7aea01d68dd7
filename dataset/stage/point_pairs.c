/* SPDX-License-Identifier: Apache-2.0 */
#include "point_pairs.h"

#include <stdbool.h>

#include "status_int.h"

/* Parses an index of a point, and moves past it. */
static bool take_index(const char **text, uint16_t *index_out)
{
    const char *at = *text;
    uint32_t index = 0;

    for (; *at >= '0' && *at <= '9' && index <= UINT16_MAX; at++) {
        index = index * 10 + (uint32_t)(*at - '0');
    }
    if (at == *text || index > UINT16_MAX) {
        return false;
    }
    *index_out = (uint16_t)index;
    *text = at;
    return true;
}

/* True if a pair before the last one, or its other point, has this index. */
static bool is_taken(const point_pairs *pairs, uint16_t index)
{
    for (uint32_t i = 0; i < pairs->count; i++) {
        if (pairs->pairs[i][0] == index || pairs->pairs[i][1] == index) {
            return true;
        }
    }
    return false;
}

sluice_status point_pairs_parse(const char *text, const char *stage, point_pairs *pairs_out)
{
    const char *at = text;
    point_pairs pairs = {0};

    while (*at != '\0') {
        uint16_t *pair = pairs.pairs[pairs.count % MOST_POINT_PAIRS];
        const bool is_pair = take_index(&at, &pair[0]) && *at++ == ':' &&
                             take_index(&at, &pair[1]) &&
                             (*at == '\0' || (*at == ',' && at[1] != '\0'));

        if (!is_pair || pairs.count == MOST_POINT_PAIRS) {
            return sli_fail(
                SLUICE_E_INVALID,
                "%s: swap=%.100s must be at most %d pairs of points, with their indexes "
                "from 0, such as 1:2,3:4",
                stage, text, MOST_POINT_PAIRS);
        }
        if (pair[0] == pair[1] || is_taken(&pairs, pair[0]) || is_taken(&pairs, pair[1])) {
            return sli_fail(SLUICE_E_INVALID, "%s: swap=%.100s: a point is in two pairs: %u:%u",
                            stage, text, pair[0], pair[1]);
        }
        pairs.count++;
        at += *at == ',';
    }
    *pairs_out = pairs;
    return SLUICE_OK;
}
