/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Measures the time of each operation of a sample: of those that the worker's stage clock measures,
 * so that the others pay a branch for each operation, and that operations and stages are known of
 * the same samples. A measured sample reads the tick counter whenever the operation changes, and
 * charges the time since then to the operation that ends: each tick belongs to one operation, so
 * that they add up to the stages that they are in. The time in the stage clock belongs to none.
 */
#ifndef SLUICE_OPERATION_CLOCK_H
#define SLUICE_OPERATION_CLOCK_H

#include <stdatomic.h>
#include <stdbool.h>

#include "clock_int.h"
#include "plan_operations.h"
#include "stage_clock_int.h"

/* What a worker has measured so far; written by the worker, read by any thread. */
typedef struct operation_counts {
    _Atomic uint64_t ticks[PLAN_OPERATIONS]; /* weighted: an estimate for all samples */
    _Atomic uint64_t runs[PLAN_OPERATIONS];  /* samples in which the operation was measured */
} operation_counts;

/* The clocks at the start of a measured sample: they show later whether the thread was preempted.
 */
typedef struct operation_start {
    uint64_t ticks;
    int64_t wall_ns;
    int64_t cpu_ns;   /* of the thread; below 0: it has no such clock */
    int64_t switches; /* involuntary ones of the thread */
} operation_start;

/* The number of longest intervals of a sample that are kept. The clock assumes that the thread was
 * preempted in these. */
enum { OPERATION_LONGEST = 4 };

typedef struct operation_interval {
    uint64_t ticks;
    uint8_t operation;
} operation_interval;

typedef struct operation_clock {
    bool is_on;                    /* the current sample is measured */
    uint8_t current;               /* operation */
    const sli_stage_clock *stages; /* has chosen the sample, and how many samples it stands for */
    uint64_t since;
    uint64_t seen; /* bit i: operation i ran in the sample */
    operation_start start;
    operation_interval longest[OPERATION_LONGEST]; /* of the sample, the longest first */
    uint64_t ticks[PLAN_OPERATIONS];               /* of the sample */
    operation_counts counts;
} operation_clock;

/* The slow parts of the following functions. */
void operation_clock_start(operation_clock *clock, const sli_stage_clock *stages);
void operation_clock_charge(operation_clock *clock, uint8_t next);
void operation_clock_finish(operation_clock *clock, bool is_counted);

/*
 * Takes the time that the thread was preempted, `lost_ns` of the `wall_ns` of the sample, out of
 * its longest intervals. Samples are not dropped: long ones are preempted more often, so that the
 * others would not represent all.
 */
void operation_clock_take_out(operation_clock *clock, int64_t lost_ns, int64_t wall_ns);

/* Begins a sample, which is in its first stage already. */
static inline void operation_clock_begin(operation_clock *clock, const sli_stage_clock *stages)
{
    if (__builtin_expect(stages->is_running, 0)) {
        operation_clock_start(clock, stages);
    }
}

/* Ends a sample; the stage clock has not begun another item. is_counted: false if it failed. */
static inline void operation_clock_end(operation_clock *clock, bool is_counted)
{
    if (__builtin_expect(clock->is_on, 0)) {
        operation_clock_finish(clock, is_counted);
    }
}

/* Enters an operation. */
static inline void operation_enter(operation_clock *clock, uint8_t next)
{
    if (__builtin_expect(clock->is_on, 0)) {
        operation_clock_charge(clock, next);
    }
}

#endif
