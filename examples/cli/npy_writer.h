/* SPDX-License-Identifier: Apache-2.0 */
/* Writes an array as a file of numpy: .npy, format version 1.0, C order, in pieces. */
#ifndef SLUICE_NPY_WRITER_H
#define SLUICE_NPY_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <sluice/tensor.h>

/*
 * A file on its way: written under a temporary name in the same folder until npy_publish(). Zero
 * is a writer without a file. Calls that return false have set errno.
 */
typedef struct npy_writer {
    char *path;      /* FOLDER/NAME.npy */
    char *temporary; /* FOLDER/.NAME.npy.PID */
    FILE *file;      /* NULL: closed */
} npy_writer;

/*
 * The type of elements in a header, such as "<f4". bf16, for which numpy has no type, is "<u2", its
 * bits. NULL: no array has this type.
 */
const char *npy_type(sluice_dtype dtype);

/* Creates the temporary file with the header of an array of `shape` (rank). */
bool npy_create(npy_writer *writer, const char *folder, const char *name, sluice_dtype dtype,
                const uint64_t *shape, uint32_t rank);

/* Adds the next bytes of the array. */
bool npy_append(npy_writer *writer, const void *data, size_t bytes);

/* Closes the temporary file: false if any byte of it was not written. */
bool npy_close(npy_writer *writer);

/* Renames a closed file to its name, where it replaces an older file. */
bool npy_publish(npy_writer *writer);

/* Frees the writer, and deletes a file that is not published. */
void npy_discard(npy_writer *writer);

#endif
