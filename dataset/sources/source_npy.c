/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Source `npy`: arrays in .npy and .npz files. Each array is a column, with samples along its first
 * dimension. A row is read by pread() directly to its destination in the batch.
 */
#include <stdio.h>
#include <string.h>

#include "alloc_int.h"
#include "npy_arrays.h"
#include "npy_ragged.h"
#include "source_stage_ops.h"
#include "stage.h"
#include "status_int.h"

typedef struct npy_args {
    const char *files;
    const char *members;
    const char *names;
    const char *ragged;
} npy_args;

typedef struct npy_source {
    npy_arrays of;
    sluice_column columns[SLUICE_MAX_COLUMNS];
    int image; /* index of the image column; -1: no image */
} npy_source;

static void npy_close(void *source)
{
    npy_source *npy = source;

    npy_arrays_close(&npy->of);
    sli_free(npy);
}

static sluice_status npy_open(const void *opaque, void **source_out)
{
    const npy_args *args = opaque;
    npy_source *npy = sli_calloc(1, sizeof(*npy));
    stage_schema schema = {.image = -1};
    sluice_status st;

    if (npy == NULL) {
        return sli_fail(SLUICE_E_NO_MEMORY, "npy");
    }
    st = npy_arrays_open(args->files, args->members, args->names, &npy->of);
    if (st == SLUICE_OK) {
        st = npy_ragged_make(args->ragged, &npy->of);
    }
    if (st == SLUICE_OK) {
        st = npy_arrays_check(&npy->of);
    }
    for (uint32_t i = 0; i < npy->of.count; i++) {
        npy->columns[i] = npy->of.arrays[i].column;
    }
    if (st == SLUICE_OK) {
        st = schema_of_arrays(npy->columns, npy->of.count, "npy", &schema);
        npy->image = schema.image;
    }
    if (st != SLUICE_OK) {
        npy_close(npy);
        return st;
    }
    *source_out = npy;
    return SLUICE_OK;
}

/* ---- samples --------------------------------------------------------------------------------- */

static uint64_t npy_count(const void *source)
{
    return npy_array_samples(&((const npy_source *)source)->of.arrays[0]);
}

static uint64_t npy_memory(const void *source)
{
    const npy_source *npy = source;
    uint64_t bytes = sizeof(*npy) + npy->of.list.capacity * sizeof(*npy->of.list.paths);

    for (uint32_t i = 0; i < npy->of.count; i++) {
        const npy_array *array = &npy->of.arrays[i];

        bytes += array->memory_size;
        bytes += array->starts != NULL ? (array->samples + 1) * sizeof(*array->starts) : 0;
    }
    return bytes;
}

static void npy_name(const void *source, uint64_t index, char *text, size_t size)
{
    const npy_source *npy = source;

    snprintf(text, size, "%s:%llu", npy->columns[0].name, (unsigned long long)index);
}

/* Reads one column of a sample. The image is read into io, from which geometry reads it. */
static sluice_status read_column(const npy_source *npy, uint32_t i, uint64_t index, sample_io *io,
                                 void *row, sample_data *data_out)
{
    const npy_array *array = &npy->of.arrays[i];
    const size_t bytes = (size_t)array->header.row_bytes;
    const uint64_t rows =
        array->starts != NULL ? array->starts[index + 1] - array->starts[index] : 1;
    sluice_status st = SLUICE_OK;

    if ((int)i == npy->image) {
        const uint64_t *shape = npy->columns[i].shape;

        st = image_buffer_reserve(&io->bytes, bytes * (array->starts != NULL ? shape[0] : 1));
        row = io->bytes.data;
        data_out->image = (image_view){row,
                                       (size_t)(shape[SCHEMA_W] * shape[SCHEMA_C]),
                                       (uint32_t)shape[SCHEMA_W],
                                       (uint32_t)shape[SCHEMA_H],
                                       (uint32_t)shape[SCHEMA_C],
                                       IMAGE_U8};
    } else if (row == NULL) {
        return SLUICE_OK;
    }
    if (st == SLUICE_OK) {
        st = npy_array_read(array, index, row);
    }
    io->bytes_read += st == SLUICE_OK && array->held == NULL ? bytes * rows : 0;
    return st;
}

static sluice_status npy_read(const void *source, uint64_t index, sample_io *io, void *const *row,
                              sample_data *data_out)
{
    const npy_source *npy = source;
    sluice_status st = SLUICE_OK;

    for (uint32_t i = 0; i < npy->of.count && st == SLUICE_OK; i++) {
        st = read_column(npy, i, index, io, row[i], data_out);
    }
    return st;
}

static sluice_status npy_read_plain(const void *source, uint64_t index, sample_io *io,
                                    void *const *row)
{
    const npy_source *npy = source;
    sample_data none;
    sluice_status st = SLUICE_OK;

    for (uint32_t i = 0; i < npy->of.count && st == SLUICE_OK; i++) {
        st = (int)i != npy->image ? read_column(npy, i, index, io, row[i], &none) : st;
    }
    return st;
}

/* The columns have the names of the arrays, in the order of the files. */
static void npy_implied(const void *source, const char *argument, sli_text *text)
{
    const npy_source *npy = source;

    for (uint32_t i = 0; strcmp(argument, "names") == 0 && i < npy->of.count; i++) {
        sli_text_add(text, "%s%s", i > 0 ? "," : "", npy->columns[i].name);
    }
}

static const source_ops npy_ops = {
    .open = npy_open,
    .close = npy_close,
    .count = npy_count,
    .name = npy_name,
    .read = npy_read,
    .read_plain = npy_read_plain,
    .memory = npy_memory,
    .implied = npy_implied,
};

static sluice_status npy_schema(const void *source, stage_schema *schema)
{
    const npy_source *npy = source;

    for (uint32_t i = 0; i < npy->of.count; i++) {
        schema->infos[i].rows = (int)i != npy->image ? npy->of.arrays[i].rows : 0;
    }
    return schema_of_arrays(npy->columns, npy->of.count, "npy", schema);
}

static const stage_param npy_params[] = {
    PARAM_(npy_args, files, PARAM_TEXT, NULL, 0, 0, NULL,
           "files, folders and patterns with {0..9} and wildcards, with commas"),
    PARAM_(npy_args, names, PARAM_TEXT, "", 0, 0, NULL,
           "names of the columns, with commas; without it those of the files or members"),
    PARAM_(npy_args, members, PARAM_TEXT, "", 0, 0, NULL,
           "members of .npz files, with commas; without it all"),
    PARAM_(npy_args, ragged, PARAM_TEXT, "", 0, 0, NULL,
           "arrays with rows of all samples, NAME[N] or NAME[N]@ROWS, with commas"),
};

const stage_def stage_npy = {
    .name = "npy",
    .summary = "Arrays of numpy's .npy and .npz files: each array is a column, its first dimension "
               "the samples.",
    .gives = "a column per array, of its type and shape; image u8 (H, W, C) takes transforms",
    .details = "Row i of all arrays is one sample, so the first dimension must be equal for "
               "all. These rows stay together through every stage of order. A column named "
               "image of type u8 and shape (height, width, 1 to 4 channels) is an image: "
               "crops, resize, flips and conversions work on it. `column NAME role=image` makes "
               "another column of u8, u16 or f32 the image. Other columns are copied as they "
               "are.\n"
               "A column is named like its file, without folder and .npy, or like its member of a "
               ".npz file; the *.npy of a folder are sorted by bytes. Types are b1 (as u8), u1, "
               "u2, u4, u8, i1, i2, i4, i8, f2, f4, f8, and c8 and c16 as f4 and f8 with a last "
               "dimension of 2, in any byte order.\n"
               "ragged=NAME[N] reads an array that has the rows of all samples, one sample after "
               "another, and NAME_length with the number of rows of each: NAME becomes (N, ...), "
               "zeros after the rows, and NAME_length i32. NAME[N]@ROWS has as many rows as "
               "the column ROWS; both must have the same N. A sample with more than N rows is a "
               "bad sample.\n"
               "The files are opened and their headers read when the source is added; they stay "
               "open until the dataset is freed. Rows are read when they are needed. An array that "
               "is compressed (np.savez_compressed) or in Fortran order is held in memory instead, "
               "up to 4 GiB each; then the CRC of a compressed one is compared, that of the others "
               "is not.\n"
               "Errors: E_IO a file cannot be opened or read; E_CORRUPT a corrupt header, a "
               "corrupt archive, or a truncated file; E_UNSUPPORTED other types, among them "
               "Python objects, an array without dimensions, a member that is encrypted or "
               "compressed by other methods; E_INVALID different numbers of samples, invalid or "
               "repeated names, more than 16 arrays. The message has the file and what to do.",
    .kind = STAGE_SOURCE,
    STAGE_PARAMS(npy_params),
    .args_size = sizeof(npy_args),
    .source =
        &(const source_stage_ops){
            .ops = &npy_ops,
            .schema = npy_schema,
        },
};
