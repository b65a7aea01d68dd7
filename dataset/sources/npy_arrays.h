/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The arrays of source `npy`: .npy files, and the members of .npz files, which are zip archives of
 * .npy files. Elements stay in the file where a row of them is in one piece there.
 */
#ifndef SLUICE_NPY_ARRAYS_H
#define SLUICE_NPY_ARRAYS_H

#include <stddef.h>
#include <stdint.h>

#include <sluice/status.h>
#include <sluice/tensor.h>

#include "file_list.h"
#include "npy_header.h"

typedef struct npy_array {
    const char *path; /* of its file; borrowed from the list */
    int fd;           /* of its file, which several arrays may share */
    npy_header header;
    uint64_t at;     /* offset of the first element in the file */
    uint8_t *memory; /* of an array that is compressed or in Fortran order; else NULL */
    uint64_t memory_size;
    const uint8_t *held; /* its elements in `memory`, in C order */
    char title[256];     /* name of the file without folder and extension, or that of the member */
    sluice_column column;
} npy_array;

typedef struct npy_arrays {
    file_list list;
    uint32_t fd_count;
    int fds[SLUICE_MAX_COLUMNS];
    uint32_t count;
    npy_array arrays[SLUICE_MAX_COLUMNS];
} npy_arrays;

/*
 * Opens all arrays of a list of files. `members`: those of .npz files, with commas; "" is all.
 * `names`: of the columns, with commas; "" are the titles. All arrays have at least one sample, and
 * as many as the first. *arrays is zeroed before; close it also after an error. E_INVALID: names,
 * members or numbers of samples that do not fit; E_CORRUPT, E_UNSUPPORTED: a bad file. Also returns
 * E_IO and E_NO_MEMORY. Messages begin with "npy: " and name the file.
 */
sluice_status npy_arrays_open(const char *files, const char *members, const char *names,
                              npy_arrays *arrays);
void npy_arrays_close(npy_arrays *arrays);

/* Reads row `index` of an array, of header.row_bytes bytes. E_CORRUPT: the file has become
 * shorter. Also returns E_IO. Callable from any thread. */
sluice_status npy_array_read(const npy_array *array, uint64_t index, uint8_t *row);

#endif
