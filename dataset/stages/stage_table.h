/* SPDX-License-Identifier: Apache-2.0 */
/* The table of all stages. */
#ifndef SLUICE_STAGE_TABLE_H
#define SLUICE_STAGE_TABLE_H

#include "stage.h"

/* In the order of help; ends with NULL. */
extern const stage_def *const stage_table[];

/* The same, and the stages with code of the user's, which no text makes: for texts to compare. */
extern const stage_def *const stage_table_with_calls[];

#endif
