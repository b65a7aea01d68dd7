/* SPDX-License-Identifier: Apache-2.0 */
/* What is said of the passes of a run with filters, pack or bucket: errors and log lines. */
#ifndef SLUICE_KEPT_NOTES_H
#define SLUICE_KEPT_NOTES_H

#include "plan.h"

/*
 * Checks a pass that has ended with `turns` rows over all ranks, of which `done` were done before
 * the run, and which makes `batches` batches. E_INVALID: fewer rows than were done, or no batch.
 */
sluice_status kept_check_pass(const sli_plan *plan, uint64_t turns, uint64_t done,
                              uint64_t batches);

/* Logs that the work on samples of an earlier run is repeated, and how long that took. */
void kept_note_repeat(const sli_plan *plan, uint64_t done);
void kept_note_repeated(const sli_plan *plan, uint64_t candidates, int64_t time_ns);

#endif
