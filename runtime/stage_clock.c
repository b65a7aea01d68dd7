/* SPDX-License-Identifier: Apache-2.0 */
#include "stage_clock_int.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "thread_times_int.h"

enum { NOT_OPENED = 0, CLOSED = -1 };

/* A file that could not be opened is tried again so long after: the process may have had no file
 * descriptor left at that moment. */
static const int64_t RETRY_NS = 1000000000;

/* A thread measures an item about once in so many ticks (10 to 30 ms): reading the clocks takes
 * about 4 us at each of the three or four edges of an item, which is then 0.1 % of the time. Its
 * first items of a stage are measured as densely as allowed, for short runs. */
enum { TICKS_BETWEEN = 1 << 25, LEAST_MEAN_GAP = 8, LARGEST_MEAN_GAP = 4096, FIRST_MEASURED = 16 };

static _Atomic uint32_t replaced_gap;

void sli_stage_clock_replace_gap(uint32_t gap)
{
    atomic_store_explicit(&replaced_gap, gap, memory_order_relaxed);
}

void sli_stage_clock_init(sli_stage_clock *clock)
{
    static _Atomic uint32_t clocks;

    memset(clock, 0, sizeof(*clock));
    clock->random = (atomic_fetch_add_explicit(&clocks, 1, memory_order_relaxed) + 1) * 2654435769U;
}

void sli_stage_clock_fini(sli_stage_clock *clock)
{
    if (clock->schedstat > 0) {
        (void)close(clock->schedstat - 1);
    }
    clock->schedstat = CLOSED;
    clock->is_running = false;
}

static void open_schedstat(sli_stage_clock *clock)
{
    const int64_t now = sli_now_ns();

    if (now >= clock->retry_ns) {
        const int fd = open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);

        clock->schedstat = fd >= 0 ? fd + 1 : NOT_OPENED;
        clock->retry_ns = now + RETRY_NS;
    }
}

static void read_times(sli_stage_clock *clock, sli_stage_edge *times)
{
    char text[96];
    ssize_t length = -1;

    times->cpu_ns = sli_thread_cpu_ns();
    if (clock->schedstat == NOT_OPENED) {
        open_schedstat(clock);
    }
    if (clock->schedstat > 0) {
        length = pread(clock->schedstat - 1, text, sizeof(text) - 1, 0);
    }
    text[length > 0 ? length : 0] = '\0';
    times->has_runqueue = sli_schedstat_parse(text, &times->runqueue_ns);
}

/* A pseudo-random length from `least` on, which has `count` values (xorshift). */
static uint32_t draw_gap(sli_stage_clock *clock, uint32_t least, uint32_t count)
{
    const uint32_t replaced = atomic_load_explicit(&replaced_gap, memory_order_relaxed);

    if (replaced > 0) {
        return replaced;
    }
    clock->random ^= clock->random << 13;
    clock->random ^= clock->random >> 17;
    clock->random ^= clock->random << 5;
    return least + clock->random % count;
}

/* The mean gap after a gap that began at gap->start_ticks and ends now. */
static uint32_t mean_gap(const sli_counters *counters, uint64_t now)
{
    const sli_stage_gap *gap = &counters->gap;
    const uint64_t all = now - gap->start_ticks;
    uint64_t mean;

    if (gap->start_ticks == 0 ||
        atomic_load_explicit(&counters->measured, memory_order_relaxed) < FIRST_MEASURED) {
        return LEAST_MEAN_GAP;
    }
    mean = all > 0 ? (uint64_t)TICKS_BETWEEN * gap->passed / all : LARGEST_MEAN_GAP;
    mean = mean > LEAST_MEAN_GAP ? mean : LEAST_MEAN_GAP;
    return mean < LARGEST_MEAN_GAP ? (uint32_t)mean : LARGEST_MEAN_GAP;
}

void sli_stage_clock_start(sli_stage_clock *clock, uint32_t items, sli_counters *counters)
{
    sli_stage_gap *gap = &counters->gap;
    const uint64_t start = sli_ticks();
    const uint32_t mean = mean_gap(counters, start);

    if (gap->length == 0) {
        gap->length = draw_gap(clock, 1, LEAST_MEAN_GAP);
        if (gap->passed < gap->length) {
            return;
        }
    }
    clock->weight = gap->passed;
    clock->items = items;
    clock->item++;
    gap->passed = 0;
    gap->length = draw_gap(clock, mean / 2, mean);
    gap->start_ticks = start;
    clock->counters = NULL;
    sli_stage_clock_edge(clock, counters);
}

/* The time of all items that the current one stands for. A clock that went back gives 0. */
static uint64_t time_of_all(const sli_stage_clock *clock, int64_t time)
{
    return time > 0 ? (uint64_t)time * clock->weight / clock->items : 0;
}

/* Adds the time from the last edge until now to the stage. */
static void add_stage(sli_stage_clock *clock, uint64_t ticks, const sli_stage_edge *now)
{
    const uint64_t all = time_of_all(clock, (int64_t)(ticks - clock->edge_ticks));
    sli_counters *cell = clock->counters;

    if (cell->measured_item != clock->item) {
        cell->measured_item = clock->item;
        sli_counter_add(&cell->measured, 1);
    }
    sli_counter_add(&cell->measured_ticks, all);
    sli_counter_add(&cell->cpu_ns, time_of_all(clock, now->cpu_ns - clock->edge.cpu_ns));
    if (now->has_runqueue && clock->edge.has_runqueue) {
        const int64_t waited = now->runqueue_ns - clock->edge.runqueue_ns;

        sli_counter_add(&cell->runqueue_ns, time_of_all(clock, waited));
    } else {
        sli_counter_add(&cell->without_runqueue_ticks, all);
    }
}

void sli_stage_clock_edge(sli_stage_clock *clock, sli_counters *counters)
{
    const uint64_t ticks = sli_ticks();
    sli_stage_edge now;

    read_times(clock, &now);
    if (clock->counters != NULL) {
        add_stage(clock, ticks, &now);
    }
    clock->is_running = counters != NULL;
    clock->counters = counters;
    clock->edge_ticks = ticks;
    clock->edge = now;
    clock->spent_ticks += sli_ticks() - ticks;
}
