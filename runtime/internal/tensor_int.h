/* SPDX-License-Identifier: Apache-2.0 */
/* Parses type names and computes the size of one sample's column. */
#ifndef SLUICE_TENSOR_INT_H
#define SLUICE_TENSOR_INT_H

#include <stdbool.h>

#include <sluice/tensor.h>

/* Parses the name of an element type. Returns false for an unknown name and for "encoded", which is
 * not a type of batches. */
bool sli_dtype_parse(const char *name, sluice_dtype *dtype_out);

/* Size in bytes of one sample of the column. Returns false if the size is not fixed or overflows
 * size_t. */
bool sli_column_bytes(const sluice_column *column, size_t *bytes_out);

#endif
