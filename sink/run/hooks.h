/* SPDX-License-Identifier: Apache-2.0 */
/* Calls hooks and fills in their argument struct. */
#ifndef SLUICE_HOOKS_H
#define SLUICE_HOOKS_H

#include "train_run.h"

typedef enum hook_kind {
    HOOK_TRAIN_BEGIN,
    HOOK_EPOCH_BEGIN,
    HOOK_STEP_BEGIN,
    HOOK_RECORDS,
    HOOK_STEP_END,
    HOOK_VALIDATION,
    HOOK_EPOCH_END,
    HOOK_TRAIN_END
} hook_kind;

/* Calls this hook of every callback that sets it. Returns the first error that a hook returns. */
sluice_status train_call_hooks(train_run *run, hook_kind kind, sluice_hook *hook);

/* True if any callback sets this hook. */
bool train_has_hook(const train_run *run, hook_kind kind);

/* Fills in the fields that all hooks have. */
void train_fill_hook(const train_run *run, sluice_hook *hook);

/* Processes the records of a launch: updates the counts, calls the hook `records`, and appends the
 * records to the sink's history. */
sluice_status train_take_records(train_run *run, const program_result *result);

#endif
