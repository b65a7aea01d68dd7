/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The turns of the parts of a mix. The length of a period is the sum of the weights; a part has as
 * many turns in it as its weight. Turns are dealt evenly: among the first t positions of a period
 * each part has t * weight / period of them, rounded down or up.
 */
#ifndef SLUICE_MIX_SCHEDULE_H
#define SLUICE_MIX_SCHEDULE_H

#include <stdint.h>

#include <sluice/status.h>

/* Limits on the length of a period, and on the number of parts. */
enum { MIX_MOST_PERIOD = 1000000, MIX_MOST_PARTS = 64 };

/* A position of the period. */
typedef struct mix_turn {
    uint32_t part;
    uint32_t before; /* number of earlier turns of this part in the period */
} mix_turn;

typedef struct mix_schedule {
    uint32_t period;
    uint32_t count; /* number of parts */
    uint32_t weights[MIX_MOST_PARTS];
    mix_turn turns[]; /* (period) */
} mix_schedule;

/*
 * Makes the schedule of `count` weights, each at least 1; free it with sli_free(). E_INVALID: the
 * sum of the weights is above MIX_MOST_PERIOD. Also returns E_NO_MEMORY.
 */
sluice_status mix_schedule_make(const uint64_t *weights, uint32_t count, mix_schedule **out);

/* Finds the part at a position, and the number of its turns at earlier positions. */
void mix_schedule_at(const mix_schedule *schedule, uint64_t position, uint32_t *part_out,
                     uint64_t *before_out);

/* Returns the number of turns of a part among the first `length` positions. */
uint64_t mix_schedule_turns(const mix_schedule *schedule, uint32_t part, uint64_t length);

/*
 * Returns the smallest number of positions that have `turns` turns of a part; UINT64_MAX: more than
 * can be counted. `turns` is at least 1.
 */
uint64_t mix_schedule_length(const mix_schedule *schedule, uint32_t part, uint64_t turns);

#endif
