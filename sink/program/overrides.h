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
 * Replaces the settings by SLUICE_WORKERS, SLUICE_SLOTS and SLUICE_MEMORY where these are set.
 * used_out: the variables that are set, "SLUICE_WORKERS=4 SLUICE_SLOTS=8", or "". E_INVALID names
 * the variable, its value and the allowed values.
 */
sluice_status overrides_of_channel(uint32_t *workers, uint32_t *slots, uint64_t *memory_bytes,
                                   char used_out[OVERRIDES_USED_SIZE]);

/* The same for a run, with SLUICE_MODE. */
sluice_status overrides_of_run(sluice_train_config *config, char used_out[OVERRIDES_USED_SIZE]);

/* Appends the variables in use to the text of an E_INVALID of opening, since the bad value may come
 * from one of them. */
sluice_status overrides_explain(sluice_status st, const char *used);

/* The value of a variable; NULL if it is not set or empty. */
const char *overrides_value(const char *name);

/* Returns E_INVALID for a value that is not one of `wanted`. */
sluice_status overrides_refuse(const char *name, const char *value, const char *wanted);

#endif
