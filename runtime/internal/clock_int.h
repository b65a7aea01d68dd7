/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two clocks. sli_now_ns() is the monotonic clock. sli_ticks() is the cheapest counter of the
 * machine, for the profiler, which reads it several times per sample: the time stamp counter on
 * x86-64 (a third of the cost), the monotonic clock elsewhere. Reports convert ticks to nanoseconds
 * by the rate measured over the run.
 */
#ifndef SLUICE_CLOCK_INT_H
#define SLUICE_CLOCK_INT_H

#include <stdint.h>

#if defined(__x86_64__)
#include <x86intrin.h>
#endif

/* Nanoseconds of CLOCK_MONOTONIC. */
int64_t sli_now_ns(void);

/* Tests: replaces the clock of sli_now_ns() in all threads; NULL: restores it. */
void sli_clock_replace(int64_t (*now_ns)(void));

static inline uint64_t sli_ticks(void)
{
#if defined(__x86_64__)
    return __rdtsc();
#else
    return (uint64_t)sli_now_ns();
#endif
}

/*
 * Converts nanoseconds to ticks by the rate measured since start_ticks and start_ns, which were
 * read at the same time. Returns 0 if that was less than a millisecond ago.
 */
uint64_t sli_ticks_in(int64_t ns, uint64_t start_ticks, int64_t start_ns);

/* CPU time of the calling thread so far, in nanoseconds; -1: it has no such clock. */
int64_t sli_thread_cpu_ns(void);

/* CPU time of the whole process so far, user and system, in nanoseconds (getrusage). */
int64_t sli_process_cpu_ns(void);

/* Largest resident size of the process so far, in bytes (getrusage). */
int64_t sli_process_peak_rss(void);

#endif
