/* SPDX-License-Identifier: Apache-2.0 */
/* Errors and log lines about the passes of a run with filters, pack or bucket. */
#ifndef SLUICE_COLLECTED_NOTES_H
#define SLUICE_COLLECTED_NOTES_H

#include "plan.h"

/* A pass that has ended. */
typedef struct collected_pass_result {
    uint64_t candidates; /* samples before filtering */
    uint64_t turns;      /* rows over all ranks */
    uint64_t done;       /* those of them before the run; more if the run begins in a later pass */
} collected_pass_result;

/* E_INVALID: the pass has fewer rows than were done in the run that is resumed, or no batch. */
sluice_status collected_check_pass(const sli_plan *plan, const collected_pass_result *pass);

/* Logs at level info that work on samples before the run is repeated. */
void collected_note_repeat(const sli_plan *plan, uint64_t done);

#endif
