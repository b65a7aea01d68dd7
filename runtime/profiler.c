/* SPDX-License-Identifier: Apache-2.0 */
#include "profiler_int.h"

#include <math.h>
#include <string.h>

#include "alloc_int.h"
#include "status_int.h"

sluice_status sli_profile_init(sli_profile *profile, const char **names, uint32_t stage_count,
                               uint32_t thread_count)
{
    size_t bytes = (size_t)stage_count * thread_count * sizeof(sli_counters);

    memset(profile, 0, sizeof(*profile));
    profile->cells = sli_aligned_alloc(64, bytes);
    if (profile->cells == NULL) {
        return sli_fail(SLUICE_E_NO_MEMORY, "counters of %u stages and %u threads", stage_count,
                        thread_count);
    }
    memset((void *)profile->cells, 0, bytes);
    profile->names = names;
    profile->stage_count = stage_count;
    profile->thread_count = thread_count;
    sli_profile_start(profile);
    return SLUICE_OK;
}

void sli_profile_fini(sli_profile *profile)
{
    sli_free(profile->cells);
    memset(profile, 0, sizeof(*profile));
}

/* Reads both clocks at the same moment: uses the fastest of five attempts, which was not
 * interrupted. */
static void read_clocks(int64_t *ns, uint64_t *ticks)
{
    uint64_t quickest = UINT64_MAX;

    for (int i = 0; i < 5; i++) {
        const uint64_t before = sli_ticks();
        const int64_t now = sli_now_ns();
        const uint64_t after = sli_ticks();

        if (after - before < quickest) {
            quickest = after - before;
            *ns = now;
            *ticks = before + quickest / 2;
        }
    }
}

void sli_profile_start(sli_profile *profile)
{
    read_clocks(&profile->start_ns, &profile->start_ticks);
}

void sli_profile_stop(sli_profile *profile)
{
    read_clocks(&profile->stop_ns, &profile->stop_ticks);
}

double sli_profile_seconds(const sli_profile *profile)
{
    return (double)(profile->stop_ns - profile->start_ns) / 1e9;
}

double sli_profile_ns_per_tick(const sli_profile *profile)
{
    const double ns = (double)(profile->stop_ns - profile->start_ns);
    const double ticks = (double)(int64_t)(profile->stop_ticks - profile->start_ticks);

    return ns >= 0 && ticks > 0 ? ns / ticks : ns >= 0 && ticks >= 0 ? 1 : 0;
}

double sli_profile_ns_per_tick_now(const sli_profile *profile)
{
    sli_profile now = *profile; /* shallow copy */

    sli_profile_stop(&now);
    return sli_profile_ns_per_tick(&now);
}

uint64_t sli_profile_ticks(const sli_profile *profile, double seconds)
{
    const double ns_per_tick = sli_profile_ns_per_tick_now(profile);

    return ns_per_tick > 0 ? (uint64_t)(seconds * 1e9 / ns_per_tick) : 0;
}

void sli_counters_clear_items(sli_counters *cell)
{
    atomic_store_explicit(&cell->samples, 0, memory_order_relaxed);
    atomic_store_explicit(&cell->bytes, 0, memory_order_relaxed);
    atomic_store_explicit(&cell->busy_ticks, 0, memory_order_relaxed);
    atomic_store_explicit(&cell->max_ticks, 0, memory_order_relaxed);
    for (uint32_t i = 0; i < SLI_BUCKETS; i++) {
        atomic_store_explicit(&cell->histogram[i], 0, memory_order_relaxed);
    }
}

/* A sum of ticks in ns. A counter that went back by more than it rose is below zero. */
static double time_of(uint64_t ticks, double ns_per_tick, sli_stage_summary *summary)
{
    const int64_t sum = (int64_t)ticks;

    summary->jumped = summary->jumped || sum < 0;
    return sum > 0 ? (double)sum * ns_per_tick : 0;
}

/* The middle of a bucket, in ticks: the inverse of sli_bucket(). */
static double bucket_ticks(uint32_t bucket)
{
    if (bucket < 8) {
        return bucket;
    }
    return (double)(UINT64_C(1) << (bucket / 8 - 1)) * ((double)(8 + bucket % 8) + 0.5);
}

static double percentile(const uint64_t counts[SLI_BUCKETS], uint64_t total, double share)
{
    uint64_t wanted = (uint64_t)((double)total * share);
    uint64_t seen = 0;

    for (uint32_t i = 0; i < SLI_BUCKETS; i++) {
        seen += counts[i];
        if (seen > wanted) {
            return bucket_ticks(i);
        }
    }
    return 0;
}

/* Adds the longest item, the waits for locks and the measured times of one thread. Returns the part
 * of these times of which the time in the run queue is not known. */
static double add_measured(const sli_counters *cell, double ns_per_tick, sli_stage_summary *summary)
{
    const uint64_t max = atomic_load_explicit(&cell->max_ticks, memory_order_relaxed);
    const uint64_t lock = atomic_load_explicit(&cell->lock_ticks, memory_order_relaxed);
    const uint64_t ticks = atomic_load_explicit(&cell->measured_ticks, memory_order_relaxed);

    summary->max_ns = fmax(summary->max_ns, time_of(max, ns_per_tick, summary));
    summary->lock_wait_ns += time_of(lock, ns_per_tick, summary);
    summary->measured += atomic_load_explicit(&cell->measured, memory_order_relaxed);
    summary->measured_ns += time_of(ticks, ns_per_tick, summary);
    summary->cpu_ns += (double)atomic_load_explicit(&cell->cpu_ns, memory_order_relaxed);
    summary->runqueue_ns += (double)atomic_load_explicit(&cell->runqueue_ns, memory_order_relaxed);
    return (double)atomic_load_explicit(&cell->without_runqueue_ticks, memory_order_relaxed) *
           ns_per_tick;
}

/* Estimates the time in the run queue from the times of which it is known, if these are at least
 * half of all. */
static void estimate_runqueue(double unknown_ns, sli_stage_summary *summary)
{
    const double known_ns = summary->measured_ns - unknown_ns;

    summary->has_runqueue = known_ns >= unknown_ns;
    if (summary->has_runqueue && unknown_ns > 0) {
        summary->runqueue_ns *= summary->measured_ns / known_ns;
    }
}

void sli_profile_summarise(const sli_profile *profile, uint32_t stage,
                           sli_stage_summary *summary_out)
{
    const double ns_per_tick = sli_profile_ns_per_tick(profile);
    uint64_t counts[SLI_BUCKETS] = {0};
    uint64_t items = 0;
    double unknown_ns = 0;

    memset(summary_out, 0, sizeof(*summary_out));
    summary_out->name = profile->names[stage];
    for (uint32_t thread = 0; thread < profile->thread_count; thread++) {
        sli_counters *cell = sli_profile_cell(profile, stage, thread);
        uint64_t samples = atomic_load_explicit(&cell->samples, memory_order_relaxed);
        uint64_t busy = atomic_load_explicit(&cell->busy_ticks, memory_order_relaxed);
        uint64_t input = atomic_load_explicit(&cell->wait_input_ticks, memory_order_relaxed);
        uint64_t room = atomic_load_explicit(&cell->wait_room_ticks, memory_order_relaxed);

        summary_out->samples += samples;
        summary_out->bytes += atomic_load_explicit(&cell->bytes, memory_order_relaxed);
        summary_out->busy_ns += time_of(busy, ns_per_tick, summary_out);
        summary_out->wait_input_ns += time_of(input, ns_per_tick, summary_out);
        summary_out->wait_room_ns += time_of(room, ns_per_tick, summary_out);
        unknown_ns += add_measured(cell, ns_per_tick, summary_out);
        summary_out->threads += samples > 0 || busy + input + room > 0;
        for (uint32_t i = 0; i < SLI_BUCKETS; i++) {
            uint32_t count = atomic_load_explicit(&cell->histogram[i], memory_order_relaxed);

            counts[i] += count;
            items += count;
        }
    }
    estimate_runqueue(unknown_ns, summary_out);
    summary_out->p50_ns = percentile(counts, items, 0.50) * ns_per_tick;
    summary_out->p99_ns = percentile(counts, items, 0.99) * ns_per_tick;
}
