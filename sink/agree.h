/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ranks of one training, kept together by config.agree: the largest of one integer over all of
 * them. Every rank calls it as often as the others, at the same borders; a rank that fails calls it
 * a last time with AGREE_FAILED, which the others find at whatever border they come to next.
 * Without agree, and for a rank that is alone, the answer is the value.
 */
#ifndef SLUICE_AGREE_H
#define SLUICE_AGREE_H

#include "train_run.h"

/* What a rank wants at a border; the largest happens. */
typedef enum agree_wish { AGREE_GO_ON, AGREE_TIME_IS_OVER, AGREE_STOP, AGREE_NAN } agree_wish;

/* Is there more than one rank, and somebody to ask? */
bool agree_asks(const train_run *run);

/* E_RANK: another rank has failed; or the error of agree. Values are below 2^62 in magnitude. */
sluice_status agree_most(train_run *run, int64_t value, int64_t *most_out);

/* All have come here. */
sluice_status agree_barrier(train_run *run);

/* Before anything is loaded. E_INVALID: ranks are missing, or not all of them have checkpoints. */
sluice_status agree_on_ranks(train_run *run);

/* E_INVALID: ranks differ in their data, or in a setting that says when they meet; it says in what.
 */
sluice_status agree_on_run(train_run *run);

/* The step that all go on from is the same: E_INVALID. UINT64_MAX: none. */
sluice_status agree_on_step(train_run *run, uint64_t step);

/* Each rank's numbers, summed over all ranks in the order of ranks. */
sluice_status agree_on_sums(train_run *run, double *sums, uint32_t count);

/* Does at a border what a rank wants. E_NAN. */
sluice_status agree_at_border(train_run *run);

/* Last words: of a run that has failed, or has come to its end. */
void agree_part(train_run *run, sluice_status status);

#endif
