/* SPDX-License-Identifier: Apache-2.0 */
/* Facts of runs, written down: those from which tests of verdicts start. */
#ifndef SLUICE_VERDICT_KIT_H
#define SLUICE_VERDICT_KIT_H

#include "verdict.h"

/* A run of 10 s: two workers on two cores, always busy; the steps wait for data. No stages yet. */
void facts_base(verdict_facts *facts);

/* Adds a stage: its busy time over all workers, and the shares of that on a CPU and in the run
 * queue; the rest is blocked. */
verdict_stage *facts_add(verdict_facts *facts, const char *name, uint32_t kind, double busy_s,
                         double cpu, double runqueue);
verdict_stage *facts_add_read(verdict_facts *facts, double busy_s, double cpu);
verdict_stage *facts_add_decode(verdict_facts *facts, double busy_s, double runqueue);
verdict_stage *facts_add_pixels(verdict_facts *facts, double busy_s);
verdict_stage *facts_add_map(verdict_facts *facts, uint32_t kind, double busy_s, double cpu);

void facts_of_decode(verdict_facts *f);
void facts_of_a_limited_disk(verdict_facts *f);
void facts_of_a_sleeping_map(verdict_facts *f);
void facts_of_too_many_workers(verdict_facts *f);
void facts_of_hooks(verdict_facts *f);
void facts_of_tiny_samples(verdict_facts *f);

/* The number of advice with this change. */
uint32_t count_advice(const report_advice *advice, uint32_t count, const char *change);

#endif
