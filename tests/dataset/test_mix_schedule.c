/* SPDX-License-Identifier: Apache-2.0 */
/* The turns of the parts of a mix. */
#include "alloc_int.h"
#include "mix_schedule.h"
#include "random_kit.h"
#include "testing.h"

/* Random weights; their sum is at most 64 * 40. */
static uint32_t random_weights(uint32_t *state, uint64_t weights[MIX_MOST_PARTS])
{
    const uint32_t count = 1 + test_below(state, test_below(state, 4) == 0 ? MIX_MOST_PARTS : 6);

    for (uint32_t k = 0; k < count; k++) {
        weights[k] = 1 + test_below(state, test_below(state, 2) == 0 ? 3 : 40);
    }
    return count;
}

/* After each position of two periods each part has its share, rounded down or up. */
static void check_shares(const mix_schedule *schedule)
{
    uint64_t turns[MIX_MOST_PARTS] = {0};

    for (uint64_t t = 0; t < 2 * (uint64_t)schedule->period; t++) {
        uint32_t part = UINT32_MAX;
        uint64_t before = UINT64_MAX;

        mix_schedule_at(schedule, t, &part, &before);
        T_TRUE(part < schedule->count);
        T_EQ(before, turns[part]++);
        T_EQ(mix_schedule_length(schedule, part, turns[part]), t + 1);
        for (uint32_t k = 0; k < schedule->count; k++) {
            const uint64_t share = (t + 1) * schedule->weights[k];

            T_TRUE(turns[k] >= share / schedule->period);
            T_TRUE(turns[k] <= (share + schedule->period - 1) / schedule->period);
        }
        if (t % 7 == 0) {
            T_EQ(mix_schedule_turns(schedule, part, t + 1), turns[part]);
        }
    }
}

static void each_part_has_its_share_at_any_time(void)
{
    uint64_t weights[MIX_MOST_PARTS];
    uint32_t state = 5;

    for (int i = 0; i < 60; i++) {
        const uint32_t count = random_weights(&state, weights);
        mix_schedule *schedule = NULL;

        T_OK(mix_schedule_make(weights, count, &schedule));
        check_shares(schedule);
        sli_free(schedule);
    }
}

static void seven_to_three_is_dealt_evenly(void)
{
    static const uint64_t weights[] = {7, 3};
    static const uint32_t want[] = {0, 0, 1, 0, 0, 1, 0, 0, 0, 1};
    mix_schedule *schedule = NULL;

    T_OK(mix_schedule_make(weights, 2, &schedule));
    for (uint64_t t = 0; t < 30; t++) {
        uint32_t part;
        uint64_t before;

        mix_schedule_at(schedule, t, &part, &before);
        T_EQ(part, want[t % 10]);
    }
    sli_free(schedule);
}

static void a_period_has_a_limit(void)
{
    const uint64_t most[] = {MIX_MOST_PERIOD - 1, 1};
    const uint64_t more[] = {MIX_MOST_PERIOD, 1};
    const uint64_t huge[] = {UINT64_MAX, 1};
    mix_schedule *schedule = NULL;
    uint32_t part;
    uint64_t before;

    T_OK(mix_schedule_make(most, 2, &schedule));
    mix_schedule_at(schedule, MIX_MOST_PERIOD, &part, &before);
    T_EQ(before, part == 0 ? MIX_MOST_PERIOD - 1 : 1);
    T_EQ(mix_schedule_length(schedule, 1, UINT64_MAX), UINT64_MAX);
    sli_free(schedule);
    T_STATUS(mix_schedule_make(more, 2, &schedule), SLUICE_E_INVALID);
    T_STATUS(mix_schedule_make(huge, 2, &schedule), SLUICE_E_INVALID);
}

const t_test mix_schedule_tests[] = {
    T_TEST(each_part_has_its_share_at_any_time),
    T_TEST(seven_to_three_is_dealt_evenly),
    T_TEST(a_period_has_a_limit),
    T_END,
};
