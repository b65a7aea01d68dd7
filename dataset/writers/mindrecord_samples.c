/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Samples as rows of MindRecord files. Each file is a dataset of its own, with its index FILE.db
 * beside it, so that a file is complete when it is finished; MindDataset takes a list of them.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "alloc_int.h"
#include "descriptor_int.h"
#include "error_int.h"
#include "kept_records.h"
#include "mindrecord_writer.h"
#include "status_int.h"
#include "tensor_int.h"
#include "write_failure.h"

enum {
    VALUE_OVERHEAD = 32,   /* upper bound on the bytes around a value, without its name */
    USUAL_PAGE = 1 << 25,  /* page size if rows have files, whose sizes have no limit */
    SCHEMA_ROOM = 1 << 16, /* header bytes for the schema */
    ROOM_OF_PAGE = 256     /* header bytes for each page */
};

typedef struct mindrecord_samples {
    const sample_file *file;
    mindrecord_writer *writer;
    char *part;  /* path of the index while it is written */
    char *index; /* path that it gets */
} mindrecord_samples;

static const char *find_obstacle(const kept_columns *kept, uint32_t i)
{
    const sluice_dtype type = kept->columns[i].type.dtype;

    return type == SLUICE_F16 || type == SLUICE_BF16 || type == SLUICE_U64
               ? "it has no types f16, bf16 and u64"
               : kept_records_obstacle(kept, i);
}

static void close_file(void *opaque)
{
    mindrecord_samples *samples = opaque;

    if (samples != NULL) {
        mindrecord_writer_close(samples->writer);
        if (samples->part != NULL) {
            (void)unlink(samples->part); /* it has another name once it is complete */
        }
        sli_free(samples->part);
        sli_free(samples->index);
        sli_free(samples);
    }
}

/* Describes the columns to the writer. */
static void describe(const kept_columns *kept, const record_value *values, mindrecord_field *fields)
{
    for (uint32_t i = 0; i < kept->count; i++) {
        const kept_column *column = &kept->columns[i];
        mindrecord_field *field = &fields[i];

        *field = (mindrecord_field){.name = column->type.name,
                                    .kind = values[i].kind,
                                    .dtype = values[i].dtype,
                                    .rank = values[i].rank};
        memcpy(field->shape, values[i].shape, sizeof(field->shape));
        if (kept_is_ragged(column) && values[i].kind == RECORD_NUMBERS) {
            field->shape[0] = 0;
        }
    }
}

/* Finds the paths of the index. */
static sluice_status name_index(const sample_file *file, mindrecord_samples *samples)
{
    sli_text index = {0};
    sli_text part = {0};
    sluice_status st;

    sli_text_add(&index, "%s.db", file->name);
    sli_text_add(&part, "%s.db.part", file->name);
    st = sli_text_take(&index, &samples->index);
    if (st == SLUICE_OK) {
        st = sli_text_take(&part, &samples->part);
    } else {
        sli_text_free(&part);
    }
    if (st == SLUICE_OK && unlink(samples->part) != 0 && errno != ENOENT) {
        st = sli_fail_errno(SLUICE_E_IO, errno, "cannot remove %s", samples->part);
    }
    return st;
}

static const char *base_of(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash != NULL ? slash + 1 : path;
}

/* ---- sizes of files -------------------------------------------------------------------------- */

/* Upper bound on the bytes of a row besides its values. */
static uint64_t row_overhead(const kept_columns *kept)
{
    uint64_t bytes = VALUE_OVERHEAD;

    for (uint32_t i = 0; i < kept->count; i++) {
        bytes += VALUE_OVERHEAD + strlen(kept->columns[i].type.name);
    }
    return bytes;
}

/* Upper bound on the bytes of a row; UINT64_MAX: it has files, whose sizes have no limit. */
static uint64_t row_most(const kept_columns *kept)
{
    uint64_t bytes = row_overhead(kept);

    for (uint32_t i = 0; i < kept->count; i++) {
        size_t most = 0;

        if (kept->columns[i].is_file || !sli_column_bytes(&kept->columns[i].type, &most)) {
            return UINT64_MAX;
        }
        bytes += 2 * (uint64_t)most + most / 4; /* of u16 and u32, mindrecord_ints_pack() */
    }
    return bytes;
}

/*
 * Chooses the size of a page. MindSpore reads files together only if their pages have one size, so
 * it does not depend on the samples. The first page of a file is a raw page, which may be almost
 * empty, so a page is a small part of a file; but it has room for the largest row.
 */
static uint64_t choose_page(const kept_columns *kept, uint64_t shard_bytes)
{
    const uint64_t most = row_most(kept);
    uint64_t page = MINDRECORD_LEAST_PAGE;

    while ((page < USUAL_PAGE && page < shard_bytes / 64) ||
           (page < (most == UINT64_MAX ? USUAL_PAGE : MINDRECORD_MOST_PAGE) && page < most)) {
        page *= 2;
    }
    return page;
}

/* Chooses the size of the header. The rows of two pages in succession do not fit into one page, so
 * there are at most twice as many pages of each kind as the bytes need. */
static uint64_t choose_header(uint64_t page, uint64_t shard_bytes)
{
    const uint64_t most = SCHEMA_ROOM + 4 * (shard_bytes / page + 1) * ROOM_OF_PAGE;
    uint64_t header = SCHEMA_ROOM;

    while (header < most && header < MINDRECORD_MOST_HEADER) {
        header *= 2;
    }
    return header;
}

/* ---- files ----------------------------------------------------------------------------------- */

static sluice_status begin_file(mindrecord_samples *samples)
{
    static const kept_value nothing[SLUICE_MAX_COLUMNS];
    const sample_file *file = samples->file;
    mindrecord_field fields[SLUICE_MAX_COLUMNS];
    record_value values[SLUICE_MAX_COLUMNS];
    sli_text text = {0};
    char *description = NULL;
    sluice_status st;

    sli_text_add(&text, MINDRECORD_FIELDS);
    kept_records_print(file->kept, &text);
    st = sli_text_take(&text, &description);
    kept_records_values(file->kept, nothing, values);
    describe(file->kept, values, fields);
    if (st == SLUICE_OK) {
        const uint64_t page = choose_page(file->kept, file->shard_bytes);
        const mindrecord_schema schema = {fields, file->kept->count, description,
                                          choose_header(page, file->shard_bytes), page};

        st = mindrecord_writer_begin(&schema, file->fd, base_of(file->name), samples->part,
                                     &samples->writer);
    }
    sluice_string_free(description);
    return st;
}

static sluice_status open_file(const sample_file *file, void **writer_out)
{
    mindrecord_samples *samples = sli_calloc(1, sizeof(*samples));
    sluice_status st;

    if (samples == NULL) {
        return sli_fail(SLUICE_E_NO_MEMORY, "a writer of MindRecord files");
    }
    *writer_out = samples;
    samples->file = file;
    st = name_index(file, samples);
    return st == SLUICE_OK ? begin_file(samples) : st;
}

/* The bytes of the values, and a bound of those around them. */
static sluice_status measure_sample(const kept_columns *kept, const kept_value *values,
                                    uint64_t *bytes_out)
{
    *bytes_out = row_overhead(kept);
    for (uint32_t i = 0; i < kept->count; i++) {
        *bytes_out += values[i].size;
    }
    return SLUICE_OK;
}

/* Adds the name of the file to an error of writing it. */
static sluice_status name_file(const mindrecord_samples *samples, sluice_status status)
{
    sli_error error;

    if (status != SLUICE_E_IO) {
        return status;
    }
    sli_error_take(status, &error);
    return error.error_number != 0 ? file_write_failed(samples->file->path, error.error_number)
                                   : sli_fail_with(status, error.error_number, "%.300s: %.600s",
                                                   samples->file->path, error.text);
}

static sluice_status add_sample(void *opaque, const char *key, const kept_value *values)
{
    mindrecord_samples *samples = opaque;
    record_value of_row[SLUICE_MAX_COLUMNS];
    sluice_status st;

    (void)key; /* rows have their position only */
    kept_records_values(samples->file->kept, values, of_row);
    st = mindrecord_writer_add(samples->writer, of_row);
    if (st == SLUICE_E_UNSUPPORTED) {
        st = sli_fail_quoting(st, "%.600s; --format webdataset keeps it", sluice_last_error());
    }
    return name_file(samples, st);
}

/* Syncs the index, and gives it its name. */
static sluice_status publish_index(mindrecord_samples *samples)
{
    const int fd = sli_openat(AT_FDCWD, samples->part, O_RDONLY | O_CLOEXEC, 0, NULL);
    bool done = fd >= 0 && fsync(fd) == 0;
    const int error = errno;

    if (fd >= 0) {
        close(fd);
    }
    if (done) {
        done = rename(samples->part, samples->index) == 0;
    }
    return done ? SLUICE_OK
                : sli_fail_errno(SLUICE_E_IO, fd >= 0 ? errno : error, "cannot write %s",
                                 samples->index);
}

static sluice_status finish_file(void *opaque, uint64_t *bytes_out)
{
    mindrecord_samples *samples = opaque;
    const sample_file *file = samples->file;
    const char *const name = base_of(file->name);
    off_t size;
    sluice_status st = mindrecord_writer_finish(samples->writer, &name, 1, 0);

    st = name_file(samples, st);
    if (st == SLUICE_OK) {
        st = publish_index(samples);
    }
    size = lseek(file->fd, 0, SEEK_END);
    *bytes_out = size > 0 ? (uint64_t)size : 0;
    return st;
}

const sample_writer mindrecord_samples_writer = {
    .format = "mindrecord",
    .end = ".mindrecord",
    .is_nameless = true,
    .check_build = mindrecord_writer_check,
    .find_obstacle = find_obstacle,
    .print_fields = kept_records_print,
    .open = open_file,
    .measure = measure_sample,
    .add = add_sample,
    .finish = finish_file,
    .index_end = ".db",
    .close = close_file,
};
