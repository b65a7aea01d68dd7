/* SPDX-License-Identifier: Apache-2.0 */
/* .npy files for tests. */
#ifndef SLUICE_NPY_KIT_H
#define SLUICE_NPY_KIT_H

#include <stddef.h>
#include <stdint.h>

/* Writes a header with this dict, padded as numpy does, of at most 900 bytes; returns its size. */
size_t npy_head(unsigned version, const char *dict, uint8_t *bytes);

/* Writes folder/name: type "<f4", shape "(3, 2)", and the elements. */
void npy_write(const char *folder, const char *name, const char *descr, const char *shape,
               const void *data, size_t size);

#endif
