/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "profiler_int.h"
#include "testing.h"

static void buckets_grow_with_the_time(void)
{
    uint32_t before = 0;

    for (uint64_t ticks = 0; ticks < UINT64_C(1) << 50; ticks += ticks / 9 + 1) {
        uint32_t bucket = sli_bucket(ticks);

        T_TRUE(bucket >= before && bucket < SLI_BUCKETS);
        before = bucket;
    }
    T_EQ(sli_bucket(7), 7);
    T_EQ(sli_bucket(8), 8);
    T_EQ(sli_bucket(16), 16);
    T_EQ(sli_bucket(UINT64_MAX), SLI_BUCKETS - 1);
}

static void a_summary_adds_up_all_threads(void)
{
    const char *names[] = {"read", "decode"};
    sli_profile profile;
    sli_stage_summary summary;

    T_OK(sli_profile_init(&profile, names, 2, 3));
    for (uint32_t thread = 0; thread < 2; thread++) {
        for (uint64_t i = 0; i < 100; i++) {
            sli_counters_item(sli_profile_cell(&profile, 1, thread), i < 98 ? 1000 : 9000, 10);
        }
    }
    profile.stop_ticks = profile.start_ticks + 1000000; /* one tick is one ns */
    profile.stop_ns = profile.start_ns + 1000000;
    sli_profile_summarise(&profile, 1, &summary);
    T_STR(summary.name, "decode");
    T_EQ(summary.samples, 200);
    T_EQ(summary.bytes, 2000);
    T_EQ(summary.threads, 2);
    T_NEAR(summary.busy_ns, 2 * (98 * 1000 + 2 * 9000), 1);
    T_NEAR(summary.p50_ns, 1000, 70);
    T_NEAR(summary.p99_ns, 9000, 630);
    sli_profile_summarise(&profile, 0, &summary);
    T_EQ(summary.samples, 0);
    T_EQ(summary.threads, 0);
    T_NEAR(summary.p99_ns, 0, 0);
    sli_profile_fini(&profile);
}

static void seconds_are_converted_by_the_rate_since_the_start(void)
{
    const char *names[] = {"step"};
    sli_stage_summary summary;
    sli_profile profile;

    T_OK(sli_profile_init(&profile, names, 1, 1));
    T_EQ(sli_profile_ticks(&profile, 0), 0);
    sli_counters_item(profile.cells, sli_profile_ticks(&profile, 2e-3), 1);
    sli_counters_clear_items(profile.cells);
    profile.start_ns -= INT64_C(1000000000000); /* the rate of 1000 s hardly changes in the test */
    profile.start_ticks -= UINT64_C(1000000000000);
    sli_counters_item(profile.cells, sli_profile_ticks(&profile, 3600), 1);
    sli_profile_stop(&profile);
    sli_profile_summarise(&profile, 0, &summary);
    T_EQ(summary.samples, 1);
    T_EQ(summary.bytes, 1);
    T_EQ(summary.threads, 1);
    T_TRUE(fabs(summary.busy_ns - 3600e9) < 180e9);
    T_TRUE(summary.max_ns == summary.busy_ns);
    T_TRUE(fabs(summary.p50_ns - 3600e9) < 0.12 * 3600e9);
    sli_profile_fini(&profile);
}

const t_test profiler_tests[] = {
    T_TEST(buckets_grow_with_the_time),
    T_TEST(a_summary_adds_up_all_threads),
    T_TEST(seconds_are_converted_by_the_rate_since_the_start),
    T_END,
};
