/* SPDX-License-Identifier: Apache-2.0 */
/* The threads of a step on a host device, and the CPUs that they may run on. */
#ifndef SLUICE_STEP_THREADS_H
#define SLUICE_STEP_THREADS_H

#include "program.h"
#include "topology_int.h"

typedef struct step_threads {
    char name[16]; /* name of the thread that runs steps: the device's thread; "caller" in mode data
                    */
    uint32_t count; /* number of threads: that thread and the threads it started; 0: unknown, as in
                       mode data */
    sli_cpus cpus;  /* union of the CPUs that these threads may run on */
} step_threads;

/* Finds the current threads of a run in this mode. Call on the thread that called sluice_train().
 * name is "" if a GPU runs the step. */
void step_threads_find(const sink_program *program, sluice_mode mode, step_threads *threads_out);

/* True if there are more threads than CPUs for them. An OpenMP team then waits for a time slice at
 * every barrier. */
bool step_threads_take_turns(const step_threads *threads);

/*
 * Warns if the thread that called sluice_train() may use only one core and the environment makes
 * OpenMP bind threads: workers and step would share that core.
 */
void step_threads_warn_of_binding(const sli_topology *topology);

#endif
