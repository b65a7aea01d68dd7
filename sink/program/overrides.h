/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Environment variables that override settings. Each variable that is used is logged as a warning.
 * An empty variable counts as not set.
 */
#ifndef SLUICE_OVERRIDES_H
#define SLUICE_OVERRIDES_H

#include <sluice/train.h>

enum { OVERRIDES_USED_SIZE = 200 };

/*
 * Overrides the settings with SLUICE_WORKERS, SLUICE_SLOTS, SLUICE_MEMORY and SLUICE_CORES where
 * these variables are set. used_out: text of the variables that are set, e.g. "SLUICE_WORKERS=4
 * SLUICE_SLOTS=8", or "". Returns E_INVALID on an invalid value; the error text has the variable,
 * its value and the allowed values.
 */
sluice_status overrides_of_channel(uint32_t *workers, uint32_t *slots, uint64_t *memory_bytes,
                                   const char **cores, char used_out[OVERRIDES_USED_SIZE]);

/* Overrides a run's settings, with the same variables and SLUICE_MODE. */
sluice_status overrides_of_run(sluice_train_config *config, char used_out[OVERRIDES_USED_SIZE]);

/* If opening failed with E_INVALID, appends the variables in use to the error text, since the bad
 * value may come from one of them. */
sluice_status overrides_explain(sluice_status st, const char *used);

/* The value of a variable; NULL if it is not set or empty. */
const char *overrides_value(const char *name);

/* Raises E_INVALID for the variable's value; `wanted` describes the allowed values. */
sluice_status overrides_refuse(const char *name, const char *value, const char *wanted);

#endif
