/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The profiler's counters: per stage and thread the samples, bytes, busy time, waiting time, and a
 * latency histogram of items. A cell is written by its own thread only, so counting takes a few
 * plain additions; a report sums all cells.
 */
#ifndef SLUICE_PROFILER_INT_H
#define SLUICE_PROFILER_INT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sluice/status.h>

#include "clock_int.h"

/* Eight buckets per octave: the error of a percentile is at most 7 %. */
enum { SLI_OCTAVES = 40, SLI_BUCKETS = SLI_OCTAVES * 8 };

/* When a thread measures the next item of a stage (stage_clock_int.h). Only that thread uses it. */
typedef struct sli_stage_gap {
    uint32_t passed;      /* items that have begun since the last measured one */
    uint32_t length;      /* when `passed` reaches it, an item is measured; 0: not chosen yet */
    uint64_t start_ticks; /* when the last measured item began; 0: there was none */
} sli_stage_gap;

typedef struct sli_counters {
    _Alignas(64) _Atomic uint64_t samples;
    _Atomic uint64_t bytes;
    _Atomic uint64_t busy_ticks;
    _Atomic uint64_t wait_input_ticks; /* time waiting for the previous stage */
    _Atomic uint64_t wait_room_ticks;  /* time waiting for the next stage */
    sli_stage_gap gap;
    _Atomic uint64_t max_ticks;  /* of the longest item */
    _Atomic uint64_t lock_ticks; /* part of busy_ticks spent waiting for a serial map */

    /* Of measured items (stage_clock_int.h); times are multiplied by the items that they stand
     * for. */
    _Atomic uint64_t measured;
    _Atomic uint64_t measured_ticks;
    _Atomic uint64_t cpu_ns;
    _Atomic uint64_t runqueue_ns;
    _Atomic uint64_t without_runqueue_ticks; /* part of measured_ticks: the time in the run queue is
                                                not known */
    uint64_t measured_item;                  /* the last measured item; only its thread reads it */
    _Atomic uint32_t histogram[SLI_BUCKETS];
} sli_counters;

typedef struct sli_profile {
    uint32_t stage_count;
    uint32_t thread_count;
    const char **names;  /* (stage_count) names of the stages; not owned */
    sli_counters *cells; /* (stage_count, thread_count) */
    uint64_t start_ticks;
    int64_t start_ns;
    uint64_t stop_ticks;
    int64_t stop_ns;
} sli_profile;

/* One stage over all threads. */
typedef struct sli_stage_summary {
    const char *name;
    uint64_t samples;
    uint64_t bytes;
    uint32_t threads; /* number of threads that ran or waited in the stage */
    double busy_ns;   /* sum over all threads, like the next two */
    double wait_input_ns;
    double wait_room_ns;
    double p50_ns; /* latency of one item, like p99_ns */
    double p99_ns;
    double max_ns;
    double lock_wait_ns; /* part of busy_ns: waiting until another thread has left a serial map */
    uint64_t measured;   /* items that were measured, over all threads; 0: the times are unknown */
    bool has_runqueue;   /* it is known of at least half of the measured time */
    double measured_ns;  /* estimates of all items, from those that were measured */
    double cpu_ns;
    double runqueue_ns;
    bool jumped; /* a counter of time was below zero, and counts as zero */
} sli_stage_summary;

/* Allocates zeroed counters and begins the measured time span. names (stage_count entries) must
 * outlive the profile. Returns E_NO_MEMORY if the allocation fails. */
sluice_status sli_profile_init(sli_profile *profile, const char **names, uint32_t stage_count,
                               uint32_t thread_count);
void sli_profile_fini(sli_profile *profile);

/* Begins the measured time span; call it again to exclude the time before. */
void sli_profile_start(sli_profile *profile);
void sli_profile_stop(sli_profile *profile);

/* The measured time span. It is negative if the clock went back. */
double sli_profile_seconds(const sli_profile *profile);

/* The length of a tick; 0 if a clock went back. */
double sli_profile_ns_per_tick(const sli_profile *profile);

/* The same up to now, of a profile that has not stopped. */
double sli_profile_ns_per_tick_now(const sli_profile *profile);

/* Converts seconds to ticks, by the rate from the start up to now. */
uint64_t sli_profile_ticks(const sli_profile *profile, double seconds);

void sli_profile_summarise(const sli_profile *profile, uint32_t stage,
                           sli_stage_summary *summary_out);

static inline sli_counters *sli_profile_cell(const sli_profile *profile, uint32_t stage,
                                             uint32_t thread)
{
    return &profile->cells[(size_t)stage * profile->thread_count + thread];
}

/* Removes all items of a cell. No other thread may add to it meanwhile. */
void sli_counters_clear_items(sli_counters *cell);

/* A load and a store suffice: only the cell's own thread adds. */
static inline void sli_counter_add(_Atomic uint64_t *counter, uint64_t more)
{
    atomic_store_explicit(counter, atomic_load_explicit(counter, memory_order_relaxed) + more,
                          memory_order_relaxed);
}

static inline uint32_t sli_bucket(uint64_t ticks)
{
    uint32_t octave = ticks < 8 ? 3 : 63 - (uint32_t)__builtin_clzll(ticks);
    uint32_t bucket =
        ticks < 8 ? (uint32_t)ticks : (octave - 2) * 8 + (uint32_t)(ticks >> (octave - 3) & 7);

    return bucket < SLI_BUCKETS ? bucket : SLI_BUCKETS - 1;
}

/* Counts one item of `bytes` that took `ticks`. */
static inline void sli_counters_item(sli_counters *cell, uint64_t ticks, uint64_t bytes)
{
    _Atomic uint32_t *bucket = &cell->histogram[sli_bucket(ticks)];

    sli_counter_add(&cell->samples, 1);
    sli_counter_add(&cell->bytes, bytes);
    sli_counter_add(&cell->busy_ticks, ticks);
    if (__builtin_expect(ticks > atomic_load_explicit(&cell->max_ticks, memory_order_relaxed), 0)) {
        atomic_store_explicit(&cell->max_ticks, ticks, memory_order_relaxed);
    }
    atomic_store_explicit(bucket, atomic_load_explicit(bucket, memory_order_relaxed) + 1,
                          memory_order_relaxed);
}

#endif
