/* SPDX-License-Identifier: Apache-2.0 */
#include "clock_int.h"

#include <stdatomic.h>
#include <stddef.h>
#include <sys/resource.h>
#include <time.h>

/* Replacement for the clock in tests; NULL: CLOCK_MONOTONIC. */
static int64_t (*_Atomic replacement)(void);

void sli_clock_replace(int64_t (*now_ns)(void))
{
    atomic_store_explicit(&replacement, now_ns, memory_order_release);
}

int64_t sli_now_ns(void)
{
    /* Pairs with the release store in sli_clock_replace(). */
    int64_t (*const other)(void) = atomic_load_explicit(&replacement, memory_order_acquire);
    struct timespec now;

    if (other != NULL) {
        return other();
    }
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

uint64_t sli_ticks_in(int64_t ns, uint64_t start_ticks, int64_t start_ns)
{
    const int64_t passed_ns = sli_now_ns() - start_ns;

    return passed_ns < 1000000
               ? 0
               : (uint64_t)((double)ns * (double)(sli_ticks() - start_ticks) / (double)passed_ns);
}

int64_t sli_thread_cpu_ns(void)
{
    struct timespec now;

    return clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now) == 0
               ? (int64_t)now.tv_sec * 1000000000 + now.tv_nsec
               : -1;
}

int64_t sli_process_cpu_ns(void)
{
    struct rusage usage;

    getrusage(RUSAGE_SELF, &usage);
    return (int64_t)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1000000000 +
           (int64_t)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1000;
}

int64_t sli_process_peak_rss(void)
{
    struct rusage usage;

    getrusage(RUSAGE_SELF, &usage);
    return (int64_t)usage.ru_maxrss * 1024;
}
