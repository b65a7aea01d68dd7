/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Source `npy`: arrays in .npy files. Each file is a column, with samples along its first
 * dimension. A row is read by pread() directly to its destination in the batch.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "alloc_int.h"
#include "compressed_file.h"
#include "error_int.h"
#include "file_list.h"
#include "log_int.h"
#include "npy_header.h"
#include "plain_file.h"
#include "source_stage_ops.h"
#include "stage.h"
#include "status_int.h"

static const file_list_kind npy_list_kind = {"npy", ".npy", false};

typedef struct npy_args {
    const char *files;
    const char *names;
} npy_args;

typedef struct npy_file {
    int fd;
    npy_header header;
} npy_file;

typedef struct npy_source {
    file_list list;
    uint32_t count; /* number of open files */
    npy_file files[SLUICE_MAX_COLUMNS];
    sluice_column columns[SLUICE_MAX_COLUMNS];
    int image; /* index of the image column; -1: no image */
} npy_source;

static void npy_close(void *source)
{
    npy_source *npy = source;

    for (uint32_t i = 0; i < npy->count; i++) {
        close(npy->files[i].fd);
    }
    file_list_free(&npy->list);
    sli_free(npy);
}

/* ---- opening --------------------------------------------------------------------------------- */

static sluice_status read_header(int fd, uint64_t file_bytes, npy_header *header)
{
    uint8_t *head = sli_calloc(1, NPY_HEAD);
    size_t got = 0;
    uint64_t end;
    sluice_status st;

    if (head == NULL) {
        return sli_fail(SLUICE_E_NO_MEMORY, "the header of a .npy file");
    }
    st = plain_file_read(fd, 0, head, NPY_HEAD, &got);
    if (st == SLUICE_OK) {
        st = npy_header_parse(head, got, header);
    }
    sli_free(head);
    if (st != SLUICE_OK) {
        return st;
    }
    end = header->data_at + header->data_bytes;
    return end <= file_bytes
               ? st
               : sli_fail(SLUICE_E_CORRUPT,
                          "it has %llu bytes, and %llu by its header: it is truncated",
                          (unsigned long long)file_bytes, (unsigned long long)end);
}

/* Fails unless the first dimension counts samples, each of which is in one piece. */
static sluice_status check_samples(const npy_header *header)
{
    if (header->rank == 0) {
        return sli_fail(SLUICE_E_UNSUPPORTED,
                        "it is a single number; the first dimension must count the samples");
    }
    if (header->row_bytes == 0) {
        return sli_fail(SLUICE_E_UNSUPPORTED, "its samples have no elements");
    }
    return header->is_fortran
               ? sli_fail(SLUICE_E_UNSUPPORTED,
                          "it is in Fortran order, where a sample is not in one piece; save "
                          "np.ascontiguousarray(array)")
               : SLUICE_OK;
}

/* Opens a file and reads its header. Error texts do not name the file. */
static sluice_status open_file(const char *path, npy_file *file)
{
    uint64_t size;
    sluice_status st = plain_file_open(path, NULL, &file->fd, &size);

    if (st != SLUICE_OK) {
        return st;
    }
    st = compressed_file_refuse(file->fd, NULL);
    if (st == SLUICE_OK) {
        st = read_header(file->fd, size, &file->header);
    }
    if (st == SLUICE_OK) {
        st = check_samples(&file->header);
    }
    if (st != SLUICE_OK) {
        close(file->fd);
    } else if (file->header.data_at + file->header.data_bytes < size) {
        sli_log(SLUICE_LOG_WARN, "npy: %s has more bytes than its array: they are not read", path);
    }
    return st;
}

/* Copies the file's name without folder and extension. */
static void stem_of(const char *path, char *stem, size_t size)
{
    const char *slash = strrchr(path, '/');
    const char *name = slash != NULL ? slash + 1 : path;
    const char *dot = strrchr(name, '.');
    const int length = (int)(dot != NULL && dot > name ? (size_t)(dot - name) : strlen(name));

    snprintf(stem, size, "%.*s", length, name);
}

/*
 * Sets the name of the next column: the first of *names, a comma-separated list from which it is
 * removed; or if *names is NULL, the file's name.
 */
static sluice_status name_column(const char **names, const char *path, sluice_column *column)
{
    char name[256];
    size_t length;

    if (*names == NULL) {
        stem_of(path, name, sizeof(name));
    } else {
        length = strcspn(*names, ",");
        snprintf(name, sizeof(name), "%.*s", (int)length, *names);
        *names += length + ((*names)[length] == ',' ? 1 : 0);
    }
    if (strlen(name) >= sizeof(column->name)) {
        return sli_fail(SLUICE_E_INVALID,
                        "npy: '%s' is longer than the %zu bytes of a column's name; names=A,B,... "
                        "gives others",
                        name, sizeof(column->name) - 1);
    }
    snprintf(column->name, sizeof(column->name), "%s", name);
    return SLUICE_OK;
}

static sluice_status add_file(npy_source *npy, const char *path, const char **names)
{
    npy_file *file = &npy->files[npy->count];
    sluice_column *column = &npy->columns[npy->count];
    sluice_status st = name_column(names, path, column);

    if (st != SLUICE_OK) {
        return st;
    }
    st = open_file(path, file);
    if (st != SLUICE_OK) {
        sli_error error;

        sli_error_take(st, &error);
        return sli_fail(st, "npy: %s: %.700s", path, error.text);
    }
    npy->count++;
    if (file->header.shape[0] != npy->files[0].header.shape[0]) {
        return sli_fail(SLUICE_E_INVALID,
                        "npy: %s has %llu samples and %s has %llu; the first dimension of all must "
                        "be the same",
                        path, (unsigned long long)file->header.shape[0], npy->list.paths[0],
                        (unsigned long long)npy->files[0].header.shape[0]);
    }
    column->dtype = file->header.dtype;
    column->rank = file->header.rank - 1;
    memcpy(column->shape, &file->header.shape[1], column->rank * sizeof(column->shape[0]));
    return SLUICE_OK;
}

/* Checks that there are as many comma-separated names as files, or none. */
static sluice_status check_names(const char *names, size_t files)
{
    size_t count = 1;

    for (const char *c = names; *c != '\0'; c++) {
        count += *c == ',';
    }
    return names[0] == '\0' || count == files
               ? SLUICE_OK
               : sli_fail(SLUICE_E_INVALID,
                          "npy: names has %zu names, and must have %zu, one for each file", count,
                          files);
}

static sluice_status open_files(npy_source *npy, const npy_args *args)
{
    const char *names = args->names[0] != '\0' ? args->names : NULL;
    stage_schema schema = {.image = -1};
    sluice_status st = file_list_make(args->files, &npy_list_kind, &npy->list);

    if (st == SLUICE_OK && npy->list.count > SLUICE_MAX_COLUMNS) {
        st = sli_fail(SLUICE_E_INVALID,
                      "npy: %zu files, each of them a column; they must be at most %d",
                      npy->list.count, SLUICE_MAX_COLUMNS);
    }
    if (st == SLUICE_OK) {
        st = check_names(args->names, npy->list.count);
    }
    for (size_t i = 0; st == SLUICE_OK && i < npy->list.count; i++) {
        st = add_file(npy, npy->list.paths[i], &names);
    }
    if (st == SLUICE_OK && npy->files[0].header.shape[0] == 0) {
        st = sli_fail(SLUICE_E_INVALID, "no valid data in the dataset: npy: %s has no samples",
                      npy->list.paths[0]);
    }
    if (st == SLUICE_OK) {
        st = schema_of_arrays(npy->columns, npy->count, "npy", &schema);
        npy->image = schema.image;
    }
    return st;
}

static sluice_status npy_open(const void *args, void **source_out)
{
    npy_source *npy = sli_calloc(1, sizeof(*npy));
    sluice_status st;

    if (npy == NULL) {
        return sli_fail(SLUICE_E_NO_MEMORY, "npy");
    }
    st = open_files(npy, args);
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
    return ((const npy_source *)source)->files[0].header.shape[0];
}

static uint64_t npy_memory(const void *source)
{
    const npy_source *npy = source;

    return sizeof(*npy) + npy->list.capacity * sizeof(*npy->list.paths);
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
    const npy_file *file = &npy->files[i];
    const size_t bytes = (size_t)file->header.row_bytes;
    size_t got = 0;
    sluice_status st = SLUICE_OK;

    if ((int)i == npy->image) {
        const uint64_t *shape = npy->columns[i].shape;

        st = image_buffer_reserve(&io->bytes, bytes);
        row = io->bytes.data;
        data_out->image = (image_view){row, (size_t)(shape[SCHEMA_W] * shape[SCHEMA_C]),
                                       (uint32_t)shape[SCHEMA_W], (uint32_t)shape[SCHEMA_H],
                                       (uint32_t)shape[SCHEMA_C]};
    } else if (row == NULL) {
        return SLUICE_OK;
    }
    if (st == SLUICE_OK) {
        st = plain_file_read(file->fd, file->header.data_at + index * bytes, row, bytes, &got);
    }
    if (st == SLUICE_OK && got < bytes) {
        st = sli_fail(SLUICE_E_CORRUPT, "%s ends within the sample: it was truncated while in use",
                      npy->list.paths[i]);
    }
    io->bytes_read += got;
    return st;
}

static sluice_status npy_read(const void *source, uint64_t index, sample_io *io, void *const *row,
                              sample_data *data_out)
{
    const npy_source *npy = source;
    sluice_status st = SLUICE_OK;

    for (uint32_t i = 0; i < npy->count && st == SLUICE_OK; i++) {
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

    for (uint32_t i = 0; i < npy->count && st == SLUICE_OK; i++) {
        st = (int)i != npy->image ? read_column(npy, i, index, io, row[i], &none) : st;
    }
    return st;
}

static const source_ops npy_ops = {
    .open = npy_open,
    .close = npy_close,
    .count = npy_count,
    .name = npy_name,
    .read = npy_read,
    .read_plain = npy_read_plain,
    .memory = npy_memory,
};

static sluice_status npy_schema(const void *source, stage_schema *schema)
{
    const npy_source *npy = source;

    return schema_of_arrays(npy->columns, npy->count, "npy", schema);
}

static const stage_param npy_params[] = {
    PARAM_(npy_args, files, PARAM_TEXT, NULL, 0, 0, NULL,
           "files, folders and patterns with {0..9} and wildcards, with commas"),
    PARAM_(npy_args, names, PARAM_TEXT, "", 0, 0, NULL,
           "names of the columns, with commas; without it those of the files"),
};

const stage_def stage_npy = {
    .name = "npy",
    .summary = "Arrays of numpy's .npy files: each file is a column, its first dimension the "
               "samples.",
    .gives = "a column per file, of its type and shape; image u8 (H, W, C) takes transforms",
    .details = "Row i of all files is one sample, so the first dimension must be equal for "
               "all. These rows stay together through every stage of order. A column named "
               "image of type u8 and shape (height, width, 1 to 4 channels) is an image: "
               "crops, resize, flips and conversions work on it. Other columns are copied as "
               "they are.\n"
               "A column is named like its file, without folder and .npy; the *.npy of a "
               "folder are sorted by bytes. Types are u1 and b1 (as u8), i1, u2, i4, u4, i8, "
               "f2 and f4, little-endian, in C order. The files are opened and their headers "
               "read when the source is added; they stay open until the dataset is freed. Rows "
               "are read when they are needed.\n"
               "Errors: E_IO a file cannot be opened or read; E_CORRUPT a corrupt header, or a "
               "truncated file; E_UNSUPPORTED Fortran order, other types, an array without "
               "dimensions; E_INVALID different numbers of samples, invalid or repeated names, "
               "more than 16 files. The message has the file and what to do.",
    .kind = STAGE_SOURCE,
    STAGE_PARAMS(npy_params),
    .args_size = sizeof(npy_args),
    .source =
        &(const source_stage_ops){
            .ops = &npy_ops,
            .schema = npy_schema,
        },
};
