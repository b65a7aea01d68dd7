/* SPDX-License-Identifier: Apache-2.0 */
/* Writes the header of a .npy file, version 1.0, as numpy.save() does. */
#ifndef SLUICE_NPY_PRINT_H
#define SLUICE_NPY_PRINT_H

#include <stddef.h>
#include <stdint.h>

#include <sluice/tensor.h>

/* Upper bound on the size of a header. */
enum { NPY_PRINT_MOST = 384 };

/*
 * Writes the header of an array of elements in the byte order of the machine. Returns its size, a
 * multiple of 64; 0: numpy has no such type.
 */
size_t npy_print(sluice_dtype dtype, const uint64_t *shape, uint32_t rank,
                 char header[NPY_PRINT_MOST]);

#endif
