/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the rules of the table in verdict_advice.c share, and those that have files of their own.
 * Each returns true if its change applies to these facts and this verdict, and then fills in the
 * advice: the text, the number of workers where it has one, and the rate to expect where that can
 * be told.
 */
#ifndef SLUICE_ADVICE_RULES_H
#define SLUICE_ADVICE_RULES_H

#include "verdict.h"

/* Remedies with a smaller gain are not worth their price. */
#define ADVICE_LEAST_GAIN 1.1

/* Share of the run queue above which other work makes predictions less exact. */
#define ADVICE_LOUD_SHARE 0.05

/* Factors of a predicted rate: what a run may reach. */
typedef struct advice_range {
    double low;
    double high;
} advice_range;

/* The same of a prediction that is less exact while other work is on the cores. */
typedef struct advice_ranges {
    advice_range calm;
    advice_range loud;
} advice_ranges;

void advice_say(report_advice *advice, const char *format, ...) SLUICE_PRINTF(2, 3);
void advice_set_rate(report_advice *advice, double rate, advice_range range);

/* Returns the range of the prediction from these facts, whose cost is `cost`. */
advice_range advice_range_of(const verdict_facts *facts, const verdict_cost *cost,
                             const advice_ranges *ranges);

/* True if other work on the cores makes predictions less exact. */
bool advice_is_loud(const verdict_facts *facts, const verdict_cost *cost);

/* advice_workers.c */
bool advice_workers(const verdict_facts *facts, const verdict *v, report_advice *advice);
bool advice_workers_that_read(const verdict_facts *facts, const verdict *v, report_advice *advice);
bool advice_fewer_workers(const verdict_facts *facts, const verdict *v, report_advice *advice);

/* advice_data.c */
bool advice_index(const verdict_facts *facts, const verdict *v, report_advice *advice);
bool advice_pack(const verdict_facts *facts, const verdict *v, report_advice *advice);
bool advice_cache(const verdict_facts *facts, const verdict *v, report_advice *advice);
bool advice_storage(const verdict_facts *facts, const verdict *v, report_advice *advice);

#endif
