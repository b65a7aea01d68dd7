/* SPDX-License-Identifier: Apache-2.0 */
/* Passes of small pipelines, `SOURCE | STAGES | batch 4`, and their comparison. */
#ifndef SLUICE_STAGE_RUNS_H
#define SLUICE_STAGE_RUNS_H

#include "engine_kit.h"

/* Records a pass. Free its bytes. */
tape run_stages_of(const char *source, const char *stages, const run_options *options);

/* Checks that all numbers of workers and all devices give the same batches. */
void check_workers_and_devices(const char *source, const char *stages);

/* Checks that two lists of stages give the same batches, or, with `same` false, that they differ.
 */
void check_stages(const char *source, const char *one, const char *two, bool same);

/* Checks that two passes end without an error and have the same batches; frees their bytes. */
void check_same_pass(tape got, tape want, const char *what);

/*
 * Checks that two lists of stages, which end with batch or a later stage, give the same batches of
 * 40 samples of which each third is bad, under the policies replace and zero.
 */
void check_bad_samples(const char *got, const char *want);

/* Checks that a pass without an error has this number of batches. */
void check_pass(const char *source, const char *stages, uint64_t batches);

#endif
