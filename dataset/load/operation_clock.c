/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE /* RUSAGE_THREAD */

#include "operation_clock.h"

#include <string.h>
#include <sys/resource.h>

#include "profiler_int.h"

/* A shorter time off the CPU is not taken out: it is the cost of the clocks themselves. */
static const int64_t LEAST_LOST_NS = 20000;

static int64_t thread_switches(void)
{
    struct rusage usage;

    return getrusage(RUSAGE_THREAD, &usage) == 0 ? usage.ru_nivcsw : 0;
}

void operation_clock_start(operation_clock *clock, const sli_stage_clock *stages)
{
    clock->stages = stages;
    memset(clock->ticks, 0, sizeof(clock->ticks));
    clock->is_on = true;
    clock->current = OPERATION_NONE;
    memset(clock->longest, 0, sizeof(clock->longest));
    clock->seen = 0;
    clock->start.switches = thread_switches();
    clock->start.cpu_ns = stages->edge.cpu_ns;
    clock->start.wall_ns = sli_now_ns();
    clock->start.ticks = sli_stage_clock_ticks(stages);
    clock->since = clock->start.ticks;
}

/* Adds the interval that ends to the longest ones; it is longer than the last of them. */
static void keep_interval(operation_clock *clock, uint64_t ticks)
{
    uint32_t at = OPERATION_LONGEST - 1;

    while (at > 0 && clock->longest[at - 1].ticks < ticks) {
        clock->longest[at] = clock->longest[at - 1];
        at--;
    }
    clock->longest[at] = (operation_interval){ticks, clock->current};
}

void operation_clock_charge(operation_clock *clock, uint8_t next)
{
    const uint64_t now = sli_stage_clock_ticks(clock->stages);
    const uint64_t ticks = now > clock->since ? now - clock->since : 0; /* another CPU's counter */

    clock->ticks[clock->current] += ticks;
    clock->seen |= UINT64_C(1) << clock->current;
    if (ticks > clock->longest[OPERATION_LONGEST - 1].ticks) {
        keep_interval(clock, ticks);
    }
    clock->since = now;
    clock->current = next;
}

void operation_clock_take_out(operation_clock *clock, int64_t lost_ns, int64_t wall_ns)
{
    const uint64_t start = clock->start.ticks;
    const double all = clock->since > start ? (double)(clock->since - start) : 0;
    uint64_t lost =
        lost_ns < wall_ns ? (uint64_t)(all * (double)lost_ns / (double)wall_ns) : (uint64_t)all;

    for (uint32_t i = 0; i < OPERATION_LONGEST; i++) {
        const operation_interval *interval = &clock->longest[i];
        const uint64_t part = lost < interval->ticks ? lost : interval->ticks;

        clock->ticks[interval->operation] -= part;
        lost -= part;
    }
}

/* If the thread was preempted, takes out all time off the CPU, also that of waits of its own: which
 * part was the preemption is not known. */
static void clip_preemption(operation_clock *clock)
{
    const int64_t wall_ns = sli_now_ns() - clock->start.wall_ns;
    const int64_t cpu_ns = clock->stages->edge.cpu_ns;
    const int64_t lost_ns = wall_ns - (cpu_ns - clock->start.cpu_ns);

    if (clock->start.cpu_ns >= 0 && cpu_ns >= 0 && lost_ns >= LEAST_LOST_NS &&
        thread_switches() != clock->start.switches) {
        operation_clock_take_out(clock, lost_ns, wall_ns);
    }
}

void operation_clock_finish(operation_clock *clock, bool is_counted)
{
    operation_clock_charge(clock, OPERATION_NONE);
    clock->is_on = false;
    if (!is_counted) {
        return;
    }
    clip_preemption(clock);
    clock->seen &= ~(UINT64_C(1) << OPERATION_NONE);
    for (uint64_t seen = clock->seen; seen != 0; seen &= seen - 1) {
        const uint32_t i = (uint32_t)__builtin_ctzll(seen);

        sli_counter_add(&clock->counts.ticks[i], clock->ticks[i] * clock->stages->weight);
        sli_counter_add(&clock->counts.runs[i], 1);
    }
}
