/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The image_list source: samples from a TSV or CSV list with paths of images and masks, labels,
 * boxes, numbers and text. The whole list is stored in memory and checked when the source is
 * opened. Bad records are bad samples. A record is parsed again whenever its sample is read. Of a
 * folder of images, and one of their masks, the list is made (folder_pairs.h).
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <sluice/dataset.h>

#include "alloc_int.h"
#include "error_int.h"
#include "file_reader.h"
#include "folder_pairs.h"
#include "left_out.h"
#include "list_columns.h"
#include "list_lines.h"
#include "log_int.h"
#include "plain_file.h"
#include "root_folder.h"
#include "stage.h"
#include "status_int.h"

/* Limit on the size of the list; it bounds memory. */
static const uint64_t MOST_LIST_BYTES = UINT64_C(1) << 32;

typedef struct image_list_args {
    const char *file;
    const char *root;
    const char *masks; /* folder of masks; "": none */
} image_list_args;

typedef struct image_list {
    char *text; /* text of the whole list */
    size_t size;
    list_lines lines;
    char separator;
    int root_fd;       /* folder that relative paths refer to */
    uint64_t *records; /* offset of each record in the text */
    size_t capacity;
    uint64_t count;
    list_columns columns;
    char left_out[LEFT_OUT_TEXT]; /* of a folder; "": nothing */
} image_list;

static void list_close(void *source)
{
    image_list *list = source;

    if (list->root_fd >= 0) {
        close(list->root_fd);
    }
    list_lines_free(&list->lines);
    sli_free(list->records);
    sli_free(list->text);
    sli_free(list);
}

/* ---- opening --------------------------------------------------------------------------------- */

static sluice_status read_text(image_list *list, int fd)
{
    size_t got = 0;
    sluice_status st;

    list->text = sli_calloc(list->size + 1, 1);
    if (list->text == NULL) {
        return sli_fail(SLUICE_E_NO_MEMORY, "a list of %zu bytes", list->size);
    }
    st = plain_file_read(fd, 0, list->text, list->size, &got);
    if (st == SLUICE_OK && got < list->size) {
        return sli_fail(SLUICE_E_IO, "the file has changed while it was read");
    }
    return st == SLUICE_OK && (strncmp(list->text, "\xFF\xFE", 2) == 0 ||
                               strncmp(list->text, "\xFE\xFF", 2) == 0)
               ? sli_fail(SLUICE_E_UNSUPPORTED, "the list is UTF-16 and must be UTF-8")
               : st;
}

static sluice_status load_text(image_list *list, const char *path)
{
    uint64_t size = 0;
    int fd;
    sluice_status st = plain_file_open(path, NULL, &fd, &size);

    if (st != SLUICE_OK) {
        return st;
    }
    list->size = (size_t)size;
    st = size <= MOST_LIST_BYTES ? read_text(list, fd)
                                 : sli_fail(SLUICE_E_UNSUPPORTED, "the list is larger than 4 GiB");
    close(fd);
    return st;
}

static list_cursor cursor_at(const image_list *list, uint64_t offset)
{
    return (list_cursor){list->text + offset, list->text + list->size, list->separator};
}

/*
 * Parses the first record if it is a header, that is, if its first field declares a column and is
 * not a path. Without a header, the default columns are added. On failure, *at_out is the position
 * of the error.
 */
static sluice_status read_header(image_list *list, list_cursor *cursor, const char **at_out)
{
    const char *const begin = cursor->at;
    uint32_t fields = 0;
    bool last = false;
    bool is_header = false;
    sluice_status st = SLUICE_OK;

    while (st == SLUICE_OK && !last) {
        list_field field;
        char text[128];

        *at_out = cursor->at;
        st = list_next_field(cursor, &field, &last);
        if (st == SLUICE_OK && fields++ == 0) {
            is_header = (field.length == 5 && memcmp(field.text, "image", 5) == 0) ||
                        memchr(field.text, ':', field.length) != NULL;
            st = is_header ? st : list_check_first(&field, list->separator);
        }
        if (st == SLUICE_OK && is_header) {
            st = list_copy_field(&field, text, sizeof(text));
            st = st == SLUICE_OK ? list_add_column(&list->columns, text) : st;
            st = st == SLUICE_OK ? schema_check_names(&list->columns.schema, "the header") : st;
        }
    }
    *at_out = st == SLUICE_OK ? begin : *at_out;
    if (st == SLUICE_OK && is_header && list->columns.schema.image < 0) {
        st = sli_fail(SLUICE_E_INVALID, "the header has no column image, nor NAME:image");
    }
    if (st == SLUICE_OK && !is_header) {
        cursor->at = begin;
        list_plain_columns(&list->columns, fields);
        st = fields <= 2
                 ? st
                 : sli_fail(SLUICE_E_INVALID,
                            "the first line has %u fields, and a list without a header must have 1 "
                            "or 2, path and label; write a header such as image, label, "
                            "boxes:boxes[100] with the list's separator",
                            fields);
    }
    return st;
}

/* How far a record was parsed. */
typedef struct record_place {
    const char *at;                      /* the field */
    uint32_t counts[SLUICE_MAX_COLUMNS]; /* number of elements of each field so far */
} record_place;

/*
 * Parses one field that is not a path, and writes it into its columns of the row. A path must not
 * be empty.
 */
static sluice_status write_field(const image_list *list, uint32_t i, const list_field *field,
                                 void *const *row, record_place *place)
{
    const list_column *column = &list->columns.fields[i];
    sluice_status st;

    if (column->kind == LIST_IMAGE || column->kind == LIST_MASK) {
        return field->length == 0 ? sli_fail(SLUICE_E_CORRUPT, "the path must not be empty")
                                  : SLUICE_OK;
    }
    st = list_write_field(&list->columns, i, field, row, &place->counts[i]);
    if (st == SLUICE_OK && column->boxes >= 0 && place->counts[i] != place->counts[column->boxes]) {
        st = sli_fail(SLUICE_E_CORRUPT,
                      "the field has %u numbers, and must have one for each of the %u %s",
                      place->counts[i], place->counts[column->boxes],
                      list->columns.fields[column->boxes].kind == LIST_BOXES ? "boxes" : "points");
    }
    return st;
}

/*
 * Parses the next field of a record. E_CORRUPT: the field is bad, or there are too few or too many
 * fields.
 */
static sluice_status next_field(const image_list *list, uint32_t i, list_cursor *cursor,
                                void *const *row, record_place *place, list_field *field_out,
                                bool *last_out)
{
    sluice_status st;

    place->at = cursor->at;
    if (i == list->columns.count) {
        return sli_fail(SLUICE_E_CORRUPT,
                        "the line has more than %u fields, the number of columns in the header", i);
    }
    st = list_next_field(cursor, field_out, last_out);
    if (st == SLUICE_OK) {
        st = write_field(list, i, field_out, row, place);
    }
    if (st == SLUICE_OK && *last_out && i + 1 < list->columns.count) {
        st = sli_fail(SLUICE_E_CORRUPT,
                      "the line has %u fields, and must have %u, one for each column", i + 1,
                      list->columns.count);
    }
    return st;
}

/* Checks a record. On failure, *at_out is the position of the error. */
static sluice_status check_record(const image_list *list, list_cursor cursor, const char **at_out)
{
    static void *const nowhere[SLUICE_MAX_COLUMNS] = {NULL};
    record_place place = {.at = cursor.at};
    char path[PATH_MAX];
    bool last = false;
    sluice_status st = SLUICE_OK;

    for (uint32_t i = 0; st == SLUICE_OK && !last; i++) {
        list_field field;

        st = next_field(list, i, &cursor, nowhere, &place, &field, &last);
        if (st == SLUICE_OK && (list->columns.fields[i].kind == LIST_IMAGE ||
                                list->columns.fields[i].kind == LIST_MASK)) {
            st = list_copy_field(&field, path, sizeof(path));
        }
    }
    *at_out = place.at;
    return st;
}

/* Moves past a record, whose fields may be bad. On failure, *at_out is the position of the error.
 */
static sluice_status pass_record(list_cursor *cursor, const char **at_out)
{
    sluice_status st = SLUICE_OK;
    bool last = false;

    while (st == SLUICE_OK && !last) {
        list_field field;

        *at_out = cursor->at;
        st = list_next_field(cursor, &field, &last);
    }
    return st;
}

/* The bad records of a list. */
typedef struct bad_records {
    uint64_t count;
    sli_error first; /* with its line */
} bad_records;

/* Prepends the position to the last error. */
static sluice_status add_place(const image_list *list, const char *at, sluice_status status)
{
    uint64_t line;
    uint64_t column;
    sli_error error;

    list_lines_find(&list->lines, at, &line, &column);
    sli_error_take(status, &error);
    return sli_fail(status, "%llu:%llu: %s", (unsigned long long)line, (unsigned long long)column,
                    error.text);
}

/* Stores the offset of a record, and checks it. */
static sluice_status add_record(image_list *list, list_cursor *cursor, bad_records *bad,
                                const char **at_out)
{
    uint64_t *grown =
        sli_grow(list->records, &list->capacity, (size_t)list->count + 1, sizeof(*grown));
    sluice_status st;

    if (grown == NULL) {
        return sli_fail(SLUICE_E_NO_MEMORY, "a list of %llu samples",
                        (unsigned long long)list->count);
    }
    list->records = grown;
    grown[list->count++] = (uint64_t)(cursor->at - list->text);
    st = check_record(list, *cursor, at_out);
    if (st != SLUICE_OK && bad->count++ == 0) {
        st = add_place(list, *at_out, st);
        sli_error_take(st, &bad->first);
    }
    return pass_record(cursor, at_out);
}

/*
 * Ends the opening of a list: says how many records are bad samples. Fails if there are no records,
 * or all are bad. Without a header, the first record must be good: it may be a header of another
 * form.
 */
static sluice_status judge_records(const image_list *list, const char *path, bool has_header,
                                   const bad_records *bad)
{
    const char *at;

    if (list->count == 0) {
        return sli_fail(SLUICE_E_INVALID,
                        "no valid data in the dataset: image_list: %s has a header only", path);
    }
    if (bad->count == 0) {
        return SLUICE_OK;
    }
    if (bad->count == list->count ||
        (!has_header && check_record(list, cursor_at(list, list->records[0]), &at) != SLUICE_OK)) {
        return bad->count > 1
                   ? sli_fail(bad->first.status, "%s:%.700s; and %llu more records of %llu are bad",
                              path, bad->first.text, (unsigned long long)(bad->count - 1),
                              (unsigned long long)list->count)
                   : sli_fail(bad->first.status, "%s:%.700s", path, bad->first.text);
    }
    sli_log(SLUICE_LOG_WARN,
            "image_list: %llu of %llu records are bad samples, the first %s:%.700s; 'sluice "
            "inspect' lists them, and on_error decides what a run does with them",
            (unsigned long long)bad->count, (unsigned long long)list->count, path, bad->first.text);
    return SLUICE_OK;
}

/* Checks all records and stores their offsets. */
static sluice_status find_records(image_list *list, const char *path)
{
    const bool has_mark = strncmp(list->text, "\xEF\xBB\xBF", 3) == 0; /* UTF-8 byte order mark */
    list_cursor cursor = cursor_at(list, has_mark ? 3 : 0);
    const char *at = list->text;
    bad_records bad = {.count = 0};
    const char *first;
    bool has_header;
    sli_error error;
    sluice_status st =
        list_begin_record(&cursor)
            ? SLUICE_OK
            : sli_fail(SLUICE_E_INVALID, "no valid data in the dataset: the list is empty");

    first = cursor.at;
    if (st == SLUICE_OK) {
        st = read_header(list, &cursor, &at);
    }
    has_header = cursor.at != first;
    while (st == SLUICE_OK && list_begin_record(&cursor)) {
        st = add_record(list, &cursor, &bad, &at);
    }
    if (st == SLUICE_OK) {
        return judge_records(list, path, has_header, &bad);
    }
    st = add_place(list, at, st);
    sli_error_take(st, &error);
    return sli_fail(st, "%s:%s", path, error.text);
}

static bool ends_in_csv(const char *path)
{
    const size_t length = strlen(path);

    return length > 4 && strcmp(path + length - 4, ".csv") == 0;
}

static bool is_folder(const char *path)
{
    struct stat info;

    return stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

/* Makes the list of a folder of images. */
static sluice_status list_folder(image_list *list, const image_list_args *args)
{
    sluice_status st = folder_pairs_text(args->file, args->masks, &list->text, &list->size,
                                         list->left_out, sizeof(list->left_out));

    list->separator = '\t';
    return st == SLUICE_OK ? root_folder_open("", args->file, &list->root_fd) : st;
}

static sluice_status open_list(image_list *list, const image_list_args *args)
{
    const bool of_folder = is_folder(args->file);
    sluice_status st;
    sli_error error;

    if (of_folder && args->root[0] != '\0') {
        st = sli_fail(SLUICE_E_INVALID, "root= needs a list, and this is a folder of images");
    } else if (!of_folder && args->masks[0] != '\0' && access(args->file, F_OK) == 0) {
        st = sli_fail(SLUICE_E_INVALID,
                      "masks= needs a folder of images, and this is a file; a list has a column "
                      "mask:mask");
    } else {
        st = of_folder ? list_folder(list, args) : load_text(list, args->file);
    }
    if (st == SLUICE_OK && !of_folder) {
        st = root_folder_open(args->file, args->root, &list->root_fd);
    }
    if (st != SLUICE_OK) {
        sli_error_take(st, &error);
        return sli_fail(st, "image_list: %s: %.700s", args->file, error.text);
    }
    st = list_lines_init(&list->lines, list->text, list->size);
    return st == SLUICE_OK ? find_records(list, args->file) : st;
}

static sluice_status list_open(const void *opaque, void **source_out)
{
    const image_list_args *args = opaque;
    image_list *list = sli_calloc(1, sizeof(*list));
    sluice_status st;

    if (list == NULL) {
        return sli_fail(SLUICE_E_NO_MEMORY, "image_list");
    }
    list->root_fd = -1;
    list->columns.schema.image = -1;
    list->separator = ends_in_csv(args->file) ? ',' : '\t';
    st = open_list(list, args);
    if (st != SLUICE_OK) {
        list_close(list);
        return st;
    }
    *source_out = list;
    return SLUICE_OK;
}

/* ---- samples --------------------------------------------------------------------------------- */

static uint64_t list_count(const void *source)
{
    return ((const image_list *)source)->count;
}

static uint64_t list_memory(const void *source)
{
    const image_list *list = source;

    return sizeof(*list) + list->size + list->capacity * sizeof(*list->records) +
           list->lines.blocks * sizeof(*list->lines.before);
}

/* Writes the path of a sample's first image, or the sample's number if it has no image. */
static void list_name(const void *source, uint64_t index, char *text, size_t size)
{
    const image_list *list = source;
    list_cursor cursor = cursor_at(list, list->records[index]);
    bool last = false;

    snprintf(text, size, "%llu", (unsigned long long)index);
    for (uint32_t i = 0; !last && i < list->columns.count; i++) {
        list_field field;
        char path[PATH_MAX];

        if (list_next_field(&cursor, &field, &last) != SLUICE_OK) {
            return;
        }
        if (list->columns.fields[i].column == list->columns.schema.image &&
            list_copy_field(&field, path, sizeof(path)) == SLUICE_OK) {
            snprintf(text, size, "%s", path);
        }
    }
}

static sluice_status read_path(const image_list *list, const list_field *field, sample_io *io,
                               sample_data *data_out)
{
    char path[PATH_MAX];
    sli_error error;
    sluice_status st = list_copy_field(field, path, sizeof(path));

    if (st == SLUICE_OK) {
        st = file_read(list->root_fd, path, io, data_out);
    }
    if (st != SLUICE_OK) {
        sli_error_take(st, &error);
        sli_fail(st, "%.300s: %.600s", path, error.text);
        return st;
    }
    return st;
}

/*
 * Writes all columns of a record that are not paths, and reads the first image unless data_out is
 * NULL. Masks and further images are read by list_read_other(). The error of a bad record has its
 * line.
 */
static sluice_status read_record(const image_list *list, uint64_t index, sample_io *io,
                                 void *const *row, sample_data *data_out)
{
    list_cursor cursor = cursor_at(list, list->records[index]);
    record_place place = {.at = cursor.at};
    list_field image = {.text = NULL};
    bool last = false;
    sluice_status st = SLUICE_OK;

    for (uint32_t i = 0; st == SLUICE_OK && !last; i++) {
        list_field field;

        st = next_field(list, i, &cursor, row, &place, &field, &last);
        if (st == SLUICE_OK && list->columns.fields[i].column == list->columns.schema.image) {
            image = field;
        }
    }
    if (st != SLUICE_OK) {
        return add_place(list, place.at, st);
    }
    return data_out != NULL ? read_path(list, &image, io, data_out) : SLUICE_OK;
}

static sluice_status list_read(const void *source, uint64_t index, sample_io *io, void *const *row,
                               sample_data *data_out)
{
    return read_record(source, index, io, row, data_out);
}

static sluice_status list_read_plain(const void *source, uint64_t index, sample_io *io,
                                     void *const *row)
{
    return read_record(source, index, io, row, NULL);
}

static sluice_status list_read_other(const void *source, uint64_t index, uint32_t column,
                                     sample_io *io, sample_data *data_out)
{
    const image_list *list = source;
    list_cursor cursor = cursor_at(list, list->records[index]);
    bool last = false;
    list_field field;

    for (uint32_t i = 0; !last && i < list->columns.count; i++) {
        const sluice_status st = list_next_field(&cursor, &field, &last);

        if (st != SLUICE_OK || list->columns.fields[i].column == (int)column) {
            return st == SLUICE_OK ? read_path(list, &field, io, data_out) : st;
        }
    }
    return sli_fail(SLUICE_E_CORRUPT, "the list has no such column");
}

static const char *list_left_out(const void *source)
{
    return ((const image_list *)source)->left_out;
}

static const source_ops list_ops = {
    .open = list_open,
    .close = list_close,
    .count = list_count,
    .name = list_name,
    .read = list_read,
    .read_plain = list_read_plain,
    .read_other = list_read_other,
    .memory = list_memory,
    .left_out = list_left_out,
};

static sluice_status list_schema(const void *source, stage_schema *schema)
{
    const stage_schema *own = &((const image_list *)source)->columns.schema;

    schema->column_count = own->column_count;
    memcpy(schema->columns, own->columns, sizeof(schema->columns));
    memcpy(schema->infos, own->infos, sizeof(schema->infos));
    schema->image = own->image;
    return SLUICE_OK;
}

static const stage_param list_params[] = {
    PARAM_(image_list_args, file, PARAM_TEXT, NULL, 0, 0, NULL,
           "the list: TSV, or CSV if its name ends in .csv; or a folder of images"),
    PARAM_(image_list_args, root, PARAM_TEXT, "", 0, 0, NULL,
           "folder of relative paths; without it that of the list"),
    PARAM_(image_list_args, masks, PARAM_TEXT, "", 0, 0, NULL,
           "with a folder of images: the folder of their masks, found by file name"),
};

const stage_def stage_image_list = {
    .name = "image_list",
    .summary = "Samples from a list: a header names the columns, image, label and NAME:KIND with "
               "KIND image, mask, boxes[N], coco[N], voc[N], darknet[N], points[N], text[N], a "
               "type, T[N] or T[N]@BOXES; without a header the fields are image and label. Or the "
               "images of a folder, with their masks.",
    .gives = "image (encoded), label i32, and a column per field; NAME_length i32 for boxes[N], "
             "points[N], text[N] and T[N]",
    .kind = STAGE_SOURCE,
    STAGE_PARAMS(list_params),
    .args_size = sizeof(image_list_args),
    .source = &list_ops,
    .source_schema = list_schema,
};

sluice_status sluice_dataset_image_list(const char *file, const char *root,
                                        sluice_dataset **dataset_out)
{
    const image_list_args args = {file, root != NULL ? root : "", ""};

    return dataset_begin(&stage_image_list, &args, dataset_out);
}

sluice_status sluice_dataset_image_masks(const char *images, const char *masks,
                                         sluice_dataset **dataset_out)
{
    const image_list_args args = {images, "", masks != NULL ? masks : ""};

    return dataset_begin(&stage_image_list, &args, dataset_out);
}
