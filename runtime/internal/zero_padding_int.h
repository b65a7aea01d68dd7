/* SPDX-License-Identifier: Apache-2.0 */
/* Zeros behind the values of columns whose rows are longer than their values. */
#ifndef SLUICE_ZERO_PADDING_INT_H
#define SLUICE_ZERO_PADDING_INT_H

#include <stddef.h>

/*
 * Zeroes the bytes of a row of a batch behind its value, as memset() does. Long padding is written
 * past the caches: nobody reads it soon, and a store through a cache would read the memory before.
 * All bytes are written each time, since who gets a batch may write to it.
 */
void sli_zero_padding(void *padding, size_t bytes);

#endif
