/* SPDX-License-Identifier: Apache-2.0 */
#include "mix_schedule.h"

#include <stddef.h>

#include "alloc_int.h"
#include "status_int.h"

/*
 * Fills the period. Turn j of a part of weight w may be at position floor(j * period / w) at the
 * earliest, and must be at ceil((j + 1) * period / w) - 1 at the latest: then the part is never
 * more than one turn ahead or late. Each position gets the part whose turn is possible and has the
 * earliest deadline. That meets all deadlines, for the windows are those of Pfair scheduling
 * (Baruah et al., "Proportionate progress", 1996), and earliest deadline first is optimal for jobs
 * of one position each.
 */
static void fill_period(mix_schedule *s)
{
    uint32_t given[MIX_MOST_PARTS] = {0};

    for (uint32_t t = 0; t < s->period; t++) {
        uint64_t nearest = UINT64_MAX;
        uint32_t chosen = 0;

        for (uint32_t k = 0; k < s->count; k++) {
            const uint64_t w = s->weights[k];
            const uint64_t earliest = given[k] * (uint64_t)s->period / w;
            const uint64_t latest = ((given[k] + UINT64_C(1)) * s->period + w - 1) / w - 1;

            if (given[k] < w && earliest <= t && latest < nearest) {
                nearest = latest;
                chosen = k;
            }
        }
        s->turns[t] = (mix_turn){chosen, given[chosen]++};
    }
}

sluice_status mix_schedule_make(const uint64_t *weights, uint32_t count, mix_schedule **out)
{
    uint64_t period = 0;
    mix_schedule *s;

    for (uint32_t k = 0; k < count; k++) {
        if (weights[k] > MIX_MOST_PERIOD || (period += weights[k]) > MIX_MOST_PERIOD) {
            return sli_fail(SLUICE_E_INVALID,
                            "mix: the weights as a ratio of whole numbers add up to more than %d; "
                            "round them to fewer digits",
                            MIX_MOST_PERIOD);
        }
    }
    s = sli_calloc(1, offsetof(mix_schedule, turns) + (size_t)period * sizeof(s->turns[0]));
    if (s == NULL) {
        return sli_fail(SLUICE_E_NO_MEMORY, "the schedule of a mix");
    }
    s->period = (uint32_t)period;
    s->count = count;
    for (uint32_t k = 0; k < count; k++) {
        s->weights[k] = (uint32_t)weights[k];
    }
    fill_period(s);
    *out = s;
    return SLUICE_OK;
}

void mix_schedule_at(const mix_schedule *s, uint64_t position, uint32_t *part_out,
                     uint64_t *before_out)
{
    const mix_turn *turn = &s->turns[position % s->period];

    *part_out = turn->part;
    *before_out = position / s->period * s->weights[turn->part] + turn->before;
}

uint64_t mix_schedule_turns(const mix_schedule *s, uint32_t part, uint64_t length)
{
    uint64_t turns = length / s->period * s->weights[part];

    for (uint64_t t = 0; t < length % s->period; t++) {
        turns += s->turns[t].part == part;
    }
    return turns;
}

uint64_t mix_schedule_length(const mix_schedule *s, uint32_t part, uint64_t turns)
{
    const uint64_t periods = (turns - 1) / s->weights[part];
    const uint64_t last =
        (turns - 1) % s->weights[part]; /* number of the last turn in its period */
    uint64_t length = 0;

    if (__builtin_mul_overflow(periods, s->period, &length)) {
        return UINT64_MAX;
    }
    for (uint32_t t = 0; t < s->period; t++) {
        if (s->turns[t].part == part && s->turns[t].before == last) {
            return __builtin_add_overflow(length, t + 1, &length) ? UINT64_MAX : length;
        }
    }
    return UINT64_MAX;
}
