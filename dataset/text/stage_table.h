/* SPDX-License-Identifier: Apache-2.0 */
/* The table of all stages. */
#ifndef SLUICE_STAGE_TABLE_H
#define SLUICE_STAGE_TABLE_H

#include "stage.h"

/* All stages that pipeline texts can contain, in the order of the help; NULL-terminated. */
extern const stage_def *const stage_table[];

/*
 * The same table plus the stages with user code, which only function calls can add; used to compare
 * texts.
 */
extern const stage_def *const stage_table_with_calls[];

#endif
