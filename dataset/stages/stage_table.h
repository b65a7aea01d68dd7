/* SPDX-License-Identifier: Apache-2.0 */
/* The table of all stages. */
#ifndef SLUICE_STAGE_TABLE_H
#define SLUICE_STAGE_TABLE_H

#include "stage.h"

/* All stages that a text can have, in the order of help; ends with NULL. */
extern const stage_def *const stage_table[];

/* The same, plus stages with user code, which only functions can add: for comparing texts. */
extern const stage_def *const stage_table_with_calls[];

#endif
