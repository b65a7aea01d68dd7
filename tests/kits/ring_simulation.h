/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A simulation of workers that fill the batches of a ring: each claims the next row when it is
 * free, waits until the batch of that row has a slot, and takes the sample's time for it. Batches
 * are consumed in order, one step each. It is exact and takes no time of its own, so that any
 * number of workers can be tried on any machine.
 */
#ifndef SLUICE_RING_SIMULATION_H
#define SLUICE_RING_SIMULATION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { RING_SIMULATION_WORKERS = 1024 };

typedef struct ring_simulation {
    const double *costs; /* (samples) time of each sample; borrowed */
    size_t samples;      /* of a pass; every pass is shuffled anew */
    uint32_t workers;    /* 1 to RING_SIMULATION_WORKERS */
    uint32_t batch_size;
    uint32_t slots;
    double step_share; /* time of a step, as a share of what all workers take for a batch */
    bool lends;        /* a slot is free again after its step; else before it */
    uint64_t batches;
} ring_simulation;

/* Efficiency: the share of their time that the workers work; negative: out of memory. */
double ring_simulation_run(const ring_simulation *simulation);

#endif
