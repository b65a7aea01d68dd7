/* SPDX-License-Identifier: Apache-2.0 */
/* Starts a run's callback watchdog, and wraps the model's save and load so that the watchdog
 * monitors them. */
#ifndef SLUICE_WATCHED_MODEL_H
#define SLUICE_WATCHED_MODEL_H

#include "train_run.h"

/* Starts the callback watchdog if the run makes any call that it monitors. */
sluice_status train_start_watchdog(train_run *run);

sluice_model train_watched_model(train_run *run);

#endif
