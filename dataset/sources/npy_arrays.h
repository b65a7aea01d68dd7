/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The arrays of source `npy`: .npy files, and the members of .npz files, which are zip archives of
 * .npy files. Elements stay in the file where a row of them is in one piece there.
 */
#ifndef SLUICE_NPY_ARRAYS_H
#define SLUICE_NPY_ARRAYS_H

#include <stdbool.h>
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
    uint64_t *starts;    /* ragged: the first row of each sample, and the end; else NULL */
    uint64_t samples;    /* ragged: number of samples */
    uint32_t rows;       /* ragged: 1 + the number of the array with its row counts; else 0 */
    bool counts;         /* it has the lengths of a ragged array */
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

/* Number of samples of an array. */
static inline uint64_t npy_array_samples(const npy_array *array)
{
    return array->starts != NULL ? array->samples : array->header.shape[0];
}

/*
 * Opens all arrays of a list of files. `members`: those of .npz files, with commas; "" is all.
 * `names`: of the columns, with commas; "" are the titles. *arrays is zeroed before; close it also
 * after an error. E_INVALID: names or members that do not fit; E_CORRUPT, E_UNSUPPORTED: a bad
 * file. Also returns E_IO and E_NO_MEMORY. Messages begin with "npy: " and name the file.
 */
sluice_status npy_arrays_open(const char *files, const char *members, const char *names,
                              npy_arrays *arrays);
void npy_arrays_close(npy_arrays *arrays);

/* Fails with E_INVALID unless all arrays have as many samples as the first one, and at least one.
 */
sluice_status npy_arrays_check(const npy_arrays *arrays);

/* Reads sample `index` of an array; zeros follow the rows of a ragged one. E_CORRUPT: the file has
 * become shorter, or the sample has too many rows. Also returns E_IO. Callable from any thread. */
sluice_status npy_array_read(const npy_array *array, uint64_t index, uint8_t *row);

#endif
