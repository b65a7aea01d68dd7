/* SPDX-License-Identifier: Apache-2.0 */
/* Parsing of type names; the size of a column of one sample. */
#ifndef SLUICE_TENSOR_INT_H
#define SLUICE_TENSOR_INT_H

#include <stdbool.h>

#include <sluice/tensor.h>

/* False: an unknown name, or "encoded", which is not a type of batches. */
bool sli_dtype_parse(const char *name, sluice_dtype *dtype_out);

/* False: the size is not fixed, or overflows size_t. */
bool sli_column_bytes(const sluice_column *column, size_t *bytes_out);

#endif
