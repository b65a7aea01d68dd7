/* SPDX-License-Identifier: Apache-2.0 */
/* Trainings of several ranks at once, each a process of its own, and what came of them. */
#ifndef SLUICE_RANK_RUNS_H
#define SLUICE_RANK_RUNS_H

#include "ranks_kit.h"
#include "train_kit.h"

enum { RANK_RUNS_PASSES = 6, RANK_RUNS_SAMPLES = 256 };

/* What came of one rank, in memory that the test sees. */
typedef struct rank_outcome {
    sluice_status status;
    char error[800];
    uint64_t steps;
    uint64_t last_step;
    uint64_t train_ends;
    uint64_t agreed; /* calls of agree */
    uint64_t seen[RANK_RUNS_PASSES][RANK_RUNS_SAMPLES];
    double results[2];
    uint64_t result_samples;
    uint64_t validations;
    uint64_t regrouped_world;
    uint64_t late_rank; /* as of the last records */
    double late_seconds;
    uint64_t messages;    /* that the test counts */
    report_waits waits;   /* of the report */
    char ranks_json[400]; /* the key "ranks" of its JSON */
    char report[4000];    /* its text, of which lines are joined */
} rank_outcome;

/* Runs `world` ranks: each a kit_init(), with agree and the rank from the launcher's variables,
 * changed by `prepare` (which runs in the child, and must not use T_*). */
void rank_runs(ranks_kit *ranks, uint32_t world, void (*prepare)(kit *k, ranks_member *me));

/* The same without waiting for the runs. Each rank calls ranks_tell() when its run has ended. */
void rank_runs_start(ranks_kit *ranks, uint32_t world, void (*prepare)(kit *k, ranks_member *me));

const rank_outcome *outcome_of(const ranks_kit *ranks, uint32_t rank);

/* This rank's outcome, for a child; and the rank that a kit belongs to. */
rank_outcome *rank_own_outcome(ranks_member *me);
ranks_member *rank_of_kit(const kit *k);

/* Every rank ended with this status, all after as many steps. */
void rank_runs_expect(const ranks_kit *ranks, sluice_status status);

#endif
