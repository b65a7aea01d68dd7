/* SPDX-License-Identifier: Apache-2.0 */
/* Adds the passes over the data to run_watch.passes, from what has been done when it is called. */
#ifndef SLUICE_PASS_ROWS_H
#define SLUICE_PASS_ROWS_H

#include "train_run.h"

/* Adds a row if a pass has ended since the last call. Cheap if none has. */
void pass_rows_poll(train_run *run);

/* The same; else adds the totals of the pass that has not ended. */
void pass_rows_add(train_run *run);

#endif
