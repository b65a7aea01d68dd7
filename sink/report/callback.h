/* SPDX-License-Identifier: Apache-2.0 */
/* Creates ready-made callbacks: the public struct and the data of its hooks. */
#ifndef SLUICE_REPORT_CALLBACK_H
#define SLUICE_REPORT_CALLBACK_H

#include <sluice/train.h>

/*
 * Makes a callback with these hooks. Takes ownership of `user`, an allocation, which is freed also
 * on failure. `function` is the prefix of errors. Returns E_NO_MEMORY if an allocation fails.
 */
sluice_status callback_create(const sluice_callback *hooks, void *user, const char *function,
                              sluice_callback **callback_out);

#endif
