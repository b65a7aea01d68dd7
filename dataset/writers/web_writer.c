/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Samples in WebDataset layout. The first image is KEY.jpg, KEY.png or KEY.ppm, and the label
 * KEY.cls; every other column is KEY.NAME.EXTENSION: images and masks as the files that they are,
 * texts as .txt, one i32 as .cls, in decimal digits, and all other numbers as .npy. An array of
 * NumPy has the bits of every type, also of non-finite numbers and of integers beyond 2^53, which
 * JSON does not have.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "alloc_int.h"
#include "format_int.h"
#include "npy_print.h"
#include "sample_writer.h"
#include "shard_index.h"
#include "status_int.h"
#include "tar_writer.h"
#include "web_fields.h"

/* The extensions that an image and a mask may have. */
#define IMAGE_FILES "jpg/png/ppm/pgm/pbm/bmp/gif/webp/tif/jp2"
#define MASK_FILES  "png/pgm/pbm/ppm/jpg/bmp/gif/webp/tif/jp2"

enum { LABEL_SIZE = 16, MEMBER_SIZE = 80 };

typedef struct web_tar {
    const sample_file *file;
    tar_writer *tar;
} web_tar;

/* ---- columns --------------------------------------------------------------------------------- */

typedef enum web_form { FORM_FILE, FORM_NUMBER, FORM_TEXT, FORM_ARRAY } web_form;

static web_form form_of(const kept_column *column)
{
    const sluice_column *type = &column->type;

    return column->is_file                                ? FORM_FILE
           : type->dtype == SLUICE_I32 && type->rank == 0 ? FORM_NUMBER
           : column->info.is_text                         ? FORM_TEXT
                                                          : FORM_ARRAY; /* also bytes */
}

static const char *find_obstacle(const kept_columns *kept, uint32_t i)
{
    const kept_column *column = &kept->columns[i];
    const char *name = column->type.name;
    char header[NPY_PRINT_MOST];

    for (uint32_t k = 0; k < i; k++) {
        if (sli_same_word(kept->columns[k].type.name, name)) {
            return "its name differs from that of another column only in upper and lower case, "
                   "which members of shards do not tell apart";
        }
    }
    if (sli_same_word(name, "json") && (int)i != kept->image && form_of(column) != FORM_FILE) {
        return "NAME.json is the name of JSON members";
    }
    return form_of(column) == FORM_ARRAY &&
                   npy_print(column->type.dtype, column->type.shape, column->type.rank, header) == 0
               ? "NumPy has no bfloat16"
               : NULL;
}

static web_role role_of(const kept_column *column)
{
    const column_info *info = &column->info;

    if (column->is_pixels) {
        return info->role == ROLE_MASK ? WEB_PIXEL_MASK : WEB_PIXELS;
    }
    switch (info->role) {
    case ROLE_BOXES:
        return info->in_parts ? WEB_FRACTION_BOXES : WEB_BOXES;
    case ROLE_POINTS:
        return info->in_parts ? WEB_FRACTION_POINTS : WEB_POINTS;
    default:
        return info->numbers_mask ? WEB_MASK_NUMBERS : WEB_PLAIN;
    }
}

/* Writes "NAME:FIELD[N]@ROWS" or "NAME:ROLE[N]@ROWS=FIELD" of an array. */
static void print_array(const kept_columns *kept, const kept_column *column, sli_text *text)
{
    const char *name = column->type.name;
    const char *role = web_role_word(role_of(column));

    sli_text_add(text, "%s:%s%s", name, role[0] != '\0' ? role : name,
                 role[0] != '\0' ? "" : ".npy");
    if (kept_is_ragged(column)) {
        sli_text_add(text, "[%" PRIu64 "]", column->type.shape[0]);
    }
    if (column->owner >= 0) {
        sli_text_add(text, "@%s", kept->columns[column->owner].type.name);
    }
    for (uint32_t i = 0;
         kept->pairs != NULL && kept->pairs_of == column->column && i < kept->pairs->count; i++) {
        sli_text_add(text, "/%u:%u", kept->pairs->pairs[i][0], kept->pairs->pairs[i][1]);
    }
    if (role[0] != '\0') {
        sli_text_add(text, "=%s.npy", name);
    }
}

static void print_column(const kept_columns *kept, uint32_t i, sli_text *text)
{
    const kept_column *column = &kept->columns[i];
    const char *name = column->type.name;

    if ((int)i == kept->image && column->is_file) {
        sli_text_add(text, "%s:" IMAGE_FILES, name);
    } else if ((int)i == kept->label) {
        sli_text_add(text, "%s:cls", name);
    } else if (form_of(column) == FORM_FILE) {
        sli_text_add(text,
                     column->info.role == ROLE_MASK ? "%s:%s." MASK_FILES "@mask"
                                                    : "%s:%s." IMAGE_FILES,
                     name, name);
    } else if (form_of(column) == FORM_NUMBER) {
        sli_text_add(text, "%s:%s.cls", name, name);
    } else if (form_of(column) == FORM_TEXT) {
        sli_text_add(text, "%s:%s.txt[%" PRIu64 "]", name, name, column->type.shape[0]);
    } else {
        print_array(kept, column, text);
    }
}

static void print_fields(const kept_columns *kept, sli_text *text)
{
    for (uint32_t i = 0; i < kept->count; i++) {
        sli_text_add(text, "%s", i > 0 ? "," : "");
        print_column(kept, i, text);
    }
}

/* ---- members --------------------------------------------------------------------------------- */

/* The beginning of a member, which is before its value: of an array its header, of a number all. */
static size_t print_head(const kept_column *column, const kept_value *value,
                         char head[NPY_PRINT_MOST])
{
    uint64_t shape[SLUICE_MAX_RANK];
    int32_t number;

    switch (form_of(column)) {
    case FORM_NUMBER:
        memcpy(&number, value->data, sizeof(number));
        return (size_t)snprintf(head, LABEL_SIZE, "%" PRId32, number);
    case FORM_ARRAY:
        memcpy(shape, column->type.shape, sizeof(shape));
        if (kept_is_ragged(column)) {
            shape[0] = value->rows;
        }
        return npy_print(column->type.dtype, shape, column->type.rank, head);
    default:
        return 0;
    }
}

/* Returns the size of a member. `head` is the size of what print_head() wrote for it. */
static size_t member_size(const kept_column *column, const kept_value *value, size_t head)
{
    return form_of(column) == FORM_NUMBER ? head : head + value->size;
}

static sluice_status measure_sample(const kept_columns *kept, const kept_value *values,
                                    uint64_t *bytes_out)
{
    char head[NPY_PRINT_MOST];
    uint64_t bytes = 0;

    for (uint32_t i = 0; i < kept->count; i++) {
        const kept_column *column = &kept->columns[i];

        bytes +=
            tar_member_bytes(member_size(column, &values[i], print_head(column, &values[i], head)));
    }
    *bytes_out = bytes;
    return SLUICE_OK;
}

static sluice_status add_member(web_tar *writer, const char *key, uint32_t i,
                                const kept_value *value)
{
    const kept_columns *kept = writer->file->kept;
    const kept_column *column = &kept->columns[i];
    const web_form form = form_of(column);
    const bool is_plain = ((int)i == kept->image && column->is_file) || (int)i == kept->label;
    char name[MEMBER_SIZE];
    char head[NPY_PRINT_MOST];
    const size_t head_size = print_head(column, value, head);

    snprintf(name, sizeof(name), "%s.%s%s%s", key, is_plain ? "" : column->type.name,
             is_plain ? "" : ".",
             form == FORM_FILE     ? value->extension
             : form == FORM_NUMBER ? "cls"
             : form == FORM_TEXT   ? "txt"
                                   : "npy");
    return tar_writer_add(writer->tar, name, head, head_size, value->data,
                          form == FORM_NUMBER ? 0 : value->size);
}

/* Image and label come first, where the index of a pack expects them. */
static sluice_status add_sample(void *opaque, const char *key, const kept_value *values)
{
    web_tar *writer = opaque;
    const kept_columns *kept = writer->file->kept;
    sluice_status st = SLUICE_OK;

    if (kept->image >= 0) {
        st = add_member(writer, key, (uint32_t)kept->image, &values[kept->image]);
    }
    if (kept->label >= 0 && st == SLUICE_OK) {
        st = add_member(writer, key, (uint32_t)kept->label, &values[kept->label]);
    }
    for (uint32_t i = 0; i < kept->count && st == SLUICE_OK; i++) {
        if ((int)i != kept->image && (int)i != kept->label) {
            st = add_member(writer, key, i, &values[i]);
        }
    }
    return st;
}

/* ---- a file ---------------------------------------------------------------------------------- */

static void close_file(void *opaque)
{
    web_tar *writer = opaque;

    if (writer != NULL) {
        tar_writer_close(writer->tar);
        sli_free(writer);
    }
}

static sluice_status open_file(const sample_file *file, void **writer_out)
{
    web_tar *writer = sli_calloc(1, sizeof(*writer));

    if (writer == NULL) {
        return sli_fail(SLUICE_E_NO_MEMORY, "a writer of shards");
    }
    *writer_out = writer;
    writer->file = file;
    return tar_writer_open(file->fd, file->path, &writer->tar);
}

static sluice_status finish_file(void *opaque, uint64_t *bytes_out)
{
    return tar_writer_finish(((web_tar *)opaque)->tar, bytes_out);
}

/* Builds the shard's index by reading the archive back, and writes it. */
static sluice_status write_index(const sample_file *file)
{
    char *path = NULL;
    shard_index index;
    sluice_status st = shard_index_path(file->name, &shard_default_fields, &path);

    if (st == SLUICE_OK) {
        st = shard_index_build(file->fd, file->path, &shard_default_fields, true, &index);
        if (st == SLUICE_OK) {
            st = shard_index_write(&index, &shard_default_fields, true, path);
            shard_index_free(&index);
        }
    }
    sli_free(path);
    return st;
}

const sample_writer web_writer = {
    .format = "webdataset",
    .end = ".tar",
    .overhead = 1024, /* the end marker of an archive */
    .check_build = tar_writer_check,
    .find_obstacle = find_obstacle,
    .print_fields = print_fields,
    .open = open_file,
    .measure = measure_sample,
    .add = add_sample,
    .finish = finish_file,
    .write_index = write_index,
    .index_end = ".sluice",
    .close = close_file,
};
