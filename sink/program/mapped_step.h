/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The step of a run with device maps: the maps, then the step of the model, in one call. So every
 * program and every mode calls, or captures, the maps with the step.
 */
#ifndef SLUICE_MAPPED_STEP_H
#define SLUICE_MAPPED_STEP_H

#include "device_maps.h"

typedef struct mapped_step {
    device_maps *maps; /* opened with one set */
    sluice_step_fn step;
    void *user;                           /* of step */
    sluice_status (*mark)(void *program); /* called between maps and step, to measure their times;
                                          NULL: not called. Set by the program */
    void *program;                        /* handed to mark */
} mapped_step;

/* A sluice_step_fn; user: a mapped_step. */
sluice_status mapped_step_call(const sluice_step *step, void *user);

#endif
