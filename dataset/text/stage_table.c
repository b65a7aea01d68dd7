/* SPDX-License-Identifier: Apache-2.0 */
#include "stage_table.h"

/* Stages that only function calls can add, not pipeline texts. */
#define CALLS(X) X(source) X(map) X(filter) X(map_batch)

#define STAGE(name) extern const stage_def stage_##name;
#include "stages.def"
#define DECLARE(name) extern const stage_def stage_##name;
CALLS(DECLARE)

#define ENTRY(name) &stage_##name,
#define STAGE(name) ENTRY(name)
const stage_def *const stage_table[] = {
#include "stages.def"
    NULL};
#define STAGE(name) ENTRY(name)
const stage_def *const stage_table_with_calls[] = {
#include "stages.def"
    CALLS(ENTRY) NULL};
