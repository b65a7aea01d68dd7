/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Samples as arrays of NumPy: NAME.npy has the column NAME of all samples. Of a column whose rows
 * vary in number it has the rows of all samples, one sample after another, and NAME_length.npy
 * their numbers, as source npy reads them with ragged=. The file itself lists the arrays; it is
 * finished last.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "alloc_int.h"
#include "descriptor_int.h"
#include "npy_print.h"
#include "sample_writer.h"
#include "status_int.h"
#include "write_failure.h"

enum {
    HEAD = 256,       /* size of a header, padded so that it has room for any number of rows */
    BUFFER = 1 << 18, /* size of the write buffer of an array */
    STREAMS = 2 * SLUICE_MAX_COLUMNS
};

/* An array that is being written. */
typedef struct npy_stream {
    char name[SLUICE_NAME_SIZE + 8]; /* of the column */
    sluice_column type;              /* of a row of the array */
    uint64_t rows;
    int fd; /* the open temporary file; -1: none is open */
    uint8_t *buffer;
    size_t used;
} npy_stream;

typedef struct npy_samples {
    const sample_file *file;
    uint32_t count;
    npy_stream streams[STREAMS];
} npy_samples;

/* ---- columns --------------------------------------------------------------------------------- */

/* Why arrays do not have a column; NULL: they have. */
static const char *find_obstacle(const kept_columns *kept, uint32_t i)
{
    const kept_column *column = &kept->columns[i];
    const sluice_column *type = &column->type;
    char header[NPY_PRINT_MOST];
    size_t size;

    if (column->is_file) {
        return "it has files of images";
    }
    if (column->is_pixels &&
        ((int)i != kept->image || type->dtype != SLUICE_U8 || strcmp(type->name, "image") != 0)) {
        return "it is pixels, and source npy takes those of 8 bits in a column image for an image";
    }
    if (!column->is_pixels && column->info.role != ROLE_PLAIN) {
        return "it has a role, which arrays do not say; `column NAME role=plain` makes it plain";
    }
    size = npy_print(type->dtype, type->shape, type->rank, header);
    return size == 0 || size >= HEAD ? "NumPy has no such type" : NULL;
}

/* Writes the argument ragged=. */
static void print_ragged(const kept_columns *kept, sli_text *text)
{
    const size_t before = text->length;

    for (uint32_t i = 0; i < kept->count; i++) {
        const kept_column *column = &kept->columns[i];

        if (kept_is_ragged(column)) {
            sli_text_add(text, "%s%s[%" PRIu64 "]", text->length > before ? "," : "",
                         column->type.name, column->type.shape[0]);
        }
    }
}

static sluice_status measure_sample(const kept_columns *kept, const kept_value *values,
                                    uint64_t *bytes_out)
{
    *bytes_out = 0;
    for (uint32_t i = 0; i < kept->count; i++) {
        *bytes_out += values[i].size + sizeof(int32_t);
    }
    return SLUICE_OK;
}

/* ---- files ----------------------------------------------------------------------------------- */

/* Writes the path of an array, beside the file. */
static sluice_status make_path(const sample_file *file, const npy_stream *stream, const char *end,
                               char **path_out)
{
    const char *slash = strrchr(file->name, '/');
    sli_text path = {0};

    sli_text_add(&path, "%.*s%s.npy%s", slash != NULL ? (int)(slash - file->name) + 1 : 0,
                 file->name, stream->name, end);
    return sli_text_take(&path, path_out);
}

static sluice_status write_failed(const npy_stream *stream)
{
    char name[sizeof(stream->name) + 8];
    const int error = errno;

    snprintf(name, sizeof(name), "%s.npy", stream->name);
    return file_write_failed(name, error);
}

static sluice_status flush(npy_stream *stream)
{
    const size_t used = stream->used;

    stream->used = 0;
    return sli_write(stream->fd, stream->buffer, used) == 0 ? SLUICE_OK : write_failed(stream);
}

static sluice_status append(npy_stream *stream, const void *bytes, size_t size)
{
    sluice_status st = size > BUFFER - stream->used ? flush(stream) : SLUICE_OK;

    if (st != SLUICE_OK || size >= BUFFER) {
        return st == SLUICE_OK && sli_write(stream->fd, bytes, size) != 0 ? write_failed(stream)
                                                                          : st;
    }
    if (size > 0) {
        memcpy(stream->buffer + stream->used, bytes, size);
    }
    stream->used += size;
    return SLUICE_OK;
}

/* Begins an array: its header is written when its number of rows is known. */
static sluice_status open_stream(const sample_file *file, npy_stream *stream)
{
    static const uint8_t nothing[HEAD];
    char *path = NULL;
    sluice_status st = make_path(file, stream, ".part", &path);

    stream->buffer = st == SLUICE_OK ? sli_realloc_array(NULL, BUFFER, 1) : NULL;
    if (st == SLUICE_OK && stream->buffer == NULL) {
        st = sli_fail(SLUICE_E_NO_MEMORY, "the array %s.npy", stream->name);
    }
    if (st == SLUICE_OK) {
        stream->fd =
            sli_openat(AT_FDCWD, path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666, NULL);
        st = stream->fd >= 0 ? append(stream, nothing, HEAD) : write_failed(stream);
    }
    sluice_string_free(path);
    return st;
}

/* Writes the header, padded to its room. */
static sluice_status write_header(npy_stream *stream)
{
    char header[NPY_PRINT_MOST];
    uint64_t shape[SLUICE_MAX_RANK + 1] = {stream->rows};
    size_t size;

    memcpy(shape + 1, stream->type.shape, stream->type.rank * sizeof(shape[0]));
    size = npy_print(stream->type.dtype, shape, stream->type.rank + 1, header);
    memset(header + size - 1, ' ', HEAD - size);
    header[HEAD - 1] = '\n';
    header[8] = (char)((HEAD - 10) & 0xFF);
    header[9] = (char)((HEAD - 10) >> 8);
    return sli_pwrite(stream->fd, header, HEAD, 0) == 0 ? SLUICE_OK : write_failed(stream);
}

/* Completes an array, and gives it its name. */
static sluice_status finish_stream(const sample_file *file, npy_stream *stream)
{
    char *part = NULL;
    char *path = NULL;
    sluice_status st = flush(stream);

    st = st == SLUICE_OK ? write_header(stream) : st;
    st = st == SLUICE_OK && fsync(stream->fd) != 0 ? write_failed(stream) : st;
    st = st == SLUICE_OK ? make_path(file, stream, ".part", &part) : st;
    st = st == SLUICE_OK ? make_path(file, stream, "", &path) : st;
    st = st == SLUICE_OK && rename(part, path) != 0 ? write_failed(stream) : st;
    sluice_string_free(part);
    sluice_string_free(path);
    return st;
}

/* ---- samples --------------------------------------------------------------------------------- */

static void close_samples(void *opaque)
{
    npy_samples *samples = opaque;

    for (uint32_t i = 0; samples != NULL && i < samples->count; i++) {
        npy_stream *stream = &samples->streams[i];
        char *part = NULL;

        if (stream->fd >= 0) {
            close(stream->fd);
            if (make_path(samples->file, stream, ".part", &part) == SLUICE_OK) {
                (void)unlink(part); /* it has another name once it is complete */
            }
            sluice_string_free(part);
        }
        sli_free(stream->buffer);
    }
    sli_free(samples);
}

/* Adds the array of a column, or of the numbers of its rows. */
static sluice_status add_stream(npy_samples *samples, const kept_column *column, bool of_lengths)
{
    npy_stream *stream = &samples->streams[samples->count++];
    const sluice_column *type = &column->type;
    const bool skips = !of_lengths && kept_is_ragged(column); /* rows are those of the array */

    *stream = (npy_stream){.fd = -1, .type = {.dtype = SLUICE_I32}};
    snprintf(stream->name, sizeof(stream->name), "%s%s", type->name, of_lengths ? "_length" : "");
    if (!of_lengths) {
        stream->type.dtype = type->dtype;
        stream->type.rank = type->rank - skips;
        memcpy(stream->type.shape, type->shape + skips, stream->type.rank * sizeof(type->shape[0]));
    }
    return open_stream(samples->file, stream);
}

static sluice_status open_samples(const sample_file *file, void **writer_out)
{
    npy_samples *samples = sli_calloc(1, sizeof(*samples));
    sluice_status st = SLUICE_OK;

    if (samples == NULL) {
        return sli_fail(SLUICE_E_NO_MEMORY, "a writer of arrays");
    }
    *writer_out = samples;
    samples->file = file;
    for (uint32_t i = 0; st == SLUICE_OK && i < file->kept->count; i++) {
        const kept_column *column = &file->kept->columns[i];

        st = add_stream(samples, column, false);
        if (st == SLUICE_OK && kept_is_ragged(column)) {
            st = add_stream(samples, column, true);
        }
    }
    return st;
}

static sluice_status add_sample(void *opaque, const char *key, const kept_value *values)
{
    npy_samples *samples = opaque;
    const kept_columns *kept = samples->file->kept;
    npy_stream *stream = samples->streams;
    sluice_status st = SLUICE_OK;

    (void)key; /* a sample is a row of every array */
    for (uint32_t i = 0; st == SLUICE_OK && i < kept->count; i++, stream++) {
        const int32_t rows = (int32_t)values[i].rows;

        st = append(stream, values[i].data, values[i].size);
        stream->rows += kept_is_ragged(&kept->columns[i]) ? values[i].rows : 1;
        if (st == SLUICE_OK && kept_is_ragged(&kept->columns[i])) {
            stream++;
            st = append(stream, &rows, sizeof(rows));
            stream->rows++;
        }
    }
    return st;
}

/* Completes the arrays, and then the list of them. */
static sluice_status finish_samples(void *opaque, uint64_t *bytes_out)
{
    npy_samples *samples = opaque;
    const sample_file *file = samples->file;
    sli_text text = {0};
    char *list = NULL;
    sluice_status st = SLUICE_OK;

    for (uint32_t i = 0; st == SLUICE_OK && i < samples->count; i++) {
        st = finish_stream(file, &samples->streams[i]);
        sli_text_add(&text, "%s.npy\t%" PRIu64 "\n", samples->streams[i].name,
                     samples->streams[i].rows);
    }
    if (st != SLUICE_OK) {
        sli_text_free(&text);
        return st;
    }
    st = sli_text_take(&text, &list);
    if (st == SLUICE_OK && sli_write(file->fd, list, strlen(list)) != 0) {
        st = file_write_failed(file->path, errno);
    }
    *bytes_out = list != NULL ? strlen(list) : 0;
    sluice_string_free(list);
    return st;
}

const sample_writer npy_samples_writer = {
    .format = "npy",
    .end = ".columns",
    .is_single = true,
    .lists_files = true,
    .find_obstacle = find_obstacle,
    .print_fields = print_ragged,
    .open = open_samples,
    .measure = measure_sample,
    .add = add_sample,
    .finish = finish_samples,
    .close = close_samples,
};
