/* SPDX-License-Identifier: Apache-2.0 */
/* The train kit's runs on the fake of CUDA: their steps are enqueued as kernels. */
#ifndef SLUICE_CUDA_KIT_H
#define SLUICE_CUDA_KIT_H

#include "fake_cuda.h"
#include "train_kit.h"

/* As kit_init(), on cuda:0. */
void cuda_kit_init(kit *k);

/* Enqueues what kit_init() has as a step, as one kernel; what the model of cuda_kit_init() does. */
sluice_status cuda_kit_step(const sluice_step *step, void *user);

/* The same for kit_eval(). */
sluice_status cuda_kit_eval(const sluice_step *step, void *user);

/*
 * Puts a run of the kit on the fake: its step and eval are enqueued, as kernels, whatever the test
 * has made of them. What they answer is lost. Runs at once have one and the
 * same step.
 */
void cuda_kit_place(sluice_model *model, const char **device);

/* Checks that nothing of CUDA is left. */
void cuda_kit_nothing_is_live(void);

/* A machine of one device, whose memory the bodies of kernels can reach. */
extern const fake_cuda_machine cuda_kit_machine;

#endif
