/* SPDX-License-Identifier: Apache-2.0 */
/* Takes the place of fallocate() of the C library in this program, and makes calls of it fail. */
#ifndef SLUICE_FALLOCATE_KIT_H
#define SLUICE_FALLOCATE_KIT_H

#include <stdint.h>

/* The call after `good` more, and all after it, fail with this errno; negative: none fails. */
void fallocate_fail_after(int64_t good, int error);

/* Calls since then, with those that have failed. */
int64_t fallocate_calls(void);

#endif
