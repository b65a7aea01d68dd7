/* SPDX-License-Identifier: Apache-2.0 */
/* Errors and log lines about the passes of a run with filters, pack or bucket. */
#ifndef SLUICE_KEPT_NOTES_H
#define SLUICE_KEPT_NOTES_H

#include "plan.h"

/*
 * Checks a pass that has ended with `turns` rows over all ranks, of which `done` were done before
 * the run, and which makes `batches` batches. E_INVALID: fewer rows than were done, or no batch
 * although none was done.
 */
sluice_status kept_check_pass(const sli_plan *plan, uint64_t turns, uint64_t done,
                              uint64_t batches);

/* Log at level info that the work on samples of an earlier run is repeated, and its duration. */
void kept_note_repeat(const sli_plan *plan, uint64_t done);
void kept_note_repeated(const sli_plan *plan, uint64_t candidates, int64_t time_ns);

#endif
