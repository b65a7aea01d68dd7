/* SPDX-License-Identifier: Apache-2.0 */
/* Ready-made callbacks: the struct that the caller gets, and what its hooks are handed. */
#ifndef SLUICE_REPORT_CALLBACK_H
#define SLUICE_REPORT_CALLBACK_H

#include <sluice/train.h>

/*
 * Makes a callback with these hooks, whose `user` it takes: an allocation, freed also where this
 * fails. `function` is the prefix of errors. Returns: E_NO_MEMORY.
 */
sluice_status callback_create(const sluice_callback *hooks, void *user, const char *function,
                              sluice_callback **callback_out);

#endif
