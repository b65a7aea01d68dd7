/* SPDX-License-Identifier: Apache-2.0 */
/* Reading type names, and the bytes a sample's entry takes. */
#ifndef SLUICE_TENSOR_INT_H
#define SLUICE_TENSOR_INT_H

#include <stdbool.h>

#include <sluice/tensor.h>

/* False for a name that is no type of a batch ("encoded" is none). */
bool sli_dtype_parse(const char *name, sluice_dtype *dtype_out);

/* False when the entry has no fixed size, or one that does not fit a size_t. */
bool sli_column_bytes(const sluice_column *column, size_t *bytes_out);

#endif
