/* SPDX-License-Identifier: Apache-2.0 */
/* Zeros behind the values of columns whose rows are longer than their values. */
#ifndef SLUICE_ZERO_PADDING_INT_H
#define SLUICE_ZERO_PADDING_INT_H

#include <stddef.h>

/*
 * Zeroes the bytes of a row of a batch behind its value, as memset() does. Long padding is written
 * by non-temporal stores, which bypass the caches: nobody reads it soon, and an ordinary store
 * would first load the cache line. All bytes are written each time, since a step may have changed
 * them.
 */
void sli_zero_padding(void *padding, size_t bytes);

#endif
