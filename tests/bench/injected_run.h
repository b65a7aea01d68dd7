/* SPDX-License-Identifier: Apache-2.0 */
/* Runs a small training into which a cost was put, and reads what its report says. */
#ifndef SLUICE_INJECTED_RUN_H
#define SLUICE_INJECTED_RUN_H

#include "injection.h"

/* The first advice of a report. */
typedef struct run_advice {
    char change[32]; /* "": there is none */
    uint32_t workers;
    double rate_low; /* 0: no rate is promised */
    double rate_high;
    char text[600];
} run_advice;

typedef struct run_result {
    double rate;     /* samples per second */
    double runqueue; /* the largest share of its time that a thread waited for a CPU; -1: unknown */
    char stage[64];  /* of the verdict */
    char cause[32];
    char why[600];
    run_advice advice;
} run_result;

/* Trains for so many seconds on host:0. Exits with 2 after an error. */
void injected_run(const injection *in, double seconds, run_result *result_out);

#endif
