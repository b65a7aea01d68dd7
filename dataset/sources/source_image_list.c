/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The image_list source: samples from a TSV or CSV list with paths of images and masks, labels,
 * boxes, numbers and text, or of numbers and text alone. The whole list is stored in memory and
 * checked when the source is opened (list_records.h). Of a folder of images, and one of their
 * masks, the list is made (folder_pairs.h).
 */
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "alloc_int.h"
#include "compressed_file.h"
#include "file_reader.h"
#include "folder_pairs.h"
#include "format_int.h"
#include "left_out.h"
#include "list_records.h"
#include "log_int.h"
#include "path_parts.h"
#include "plain_file.h"
#include "printable_int.h"
#include "root_folder.h"
#include "source_stage_ops.h"
#include "stage.h"
#include "status_int.h"

/* Limit on the size of the list; it bounds memory. */
static const uint64_t MOST_LIST_BYTES = UINT64_C(1) << 32;

typedef struct image_list_args {
    const char *file;
    const char *root;
    const char *masks; /* folder of masks; "": none */
    const char *classes;
    const char *suffix; /* of the names of masks */
    const char *fields; /* of JSON lines; "": image and label */
} image_list_args;

typedef struct image_list {
    list_records records;
    int root_fd;                  /* folder that relative paths refer to */
    bool is_json;                 /* paths must stay in that folder: such files come with data */
    char left_out[LEFT_OUT_TEXT]; /* of a folder; "": nothing */
} image_list;

static void list_close(void *source)
{
    image_list *list = source;

    if (list->root_fd >= 0) {
        close(list->root_fd);
    }
    list_records_free(&list->records);
    sli_free(list);
}

/* ---- opening --------------------------------------------------------------------------------- */

static sluice_status read_text(list_records *list, int fd)
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

static sluice_status load_text(list_records *list, const char *path)
{
    uint64_t size = 0;
    int fd;
    sluice_status st = plain_file_open(path, NULL, &fd, &size);

    if (st != SLUICE_OK) {
        return st;
    }
    list->size = (size_t)size;
    st = compressed_file_refuse(fd, NULL);
    if (st == SLUICE_OK) {
        st = size <= MOST_LIST_BYTES
                 ? read_text(list, fd)
                 : sli_fail(SLUICE_E_UNSUPPORTED, "the list is larger than 4 GiB");
    }
    close(fd);
    return st;
}

/* Files of JSON lines are told by their names, or by a first line that begins an object. */
static bool is_json(const list_records *list, const char *path)
{
    const char *begin = list->text + (strncmp(list->text, "\xEF\xBB\xBF", 3) == 0 ? 3 : 0);

    if (sli_ends_alike(path, ".csv") || sli_ends_alike(path, ".tsv")) {
        return false;
    }
    return *begin == '{' || sli_ends_alike(path, ".jsonl") || sli_ends_alike(path, ".ndjson");
}

/* Makes the list of a file of JSON lines, and says which keys are in no column. */
static sluice_status convert_json(image_list *list, const image_list_args *args)
{
    char others[400];
    sluice_status st = SLUICE_OK;

    if (!is_json(&list->records, args->file)) {
        return args->fields[0] == '\0'
                   ? SLUICE_OK
                   : sli_fail(SLUICE_E_INVALID, "fields= needs JSON lines; the first line of other "
                                                "lists declares their columns");
    }
    list->is_json = true;
    st = list_records_convert(&list->records, args->fields, others, sizeof(others));
    if (st == SLUICE_OK && others[0] != '\0') {
        snprintf(list->left_out, sizeof(list->left_out), "keys %s", others);
        sli_log(SLUICE_LOG_WARN, "image_list %s: left out: %s; fields= declares columns of them",
                args->file, list->left_out);
    }
    return st;
}

static bool is_folder(const char *path)
{
    struct stat info;

    return stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

/* Makes the list of a folder of images. */
static sluice_status list_folder(image_list *list, const image_list_args *args)
{
    sluice_status st =
        args->suffix[0] != '\0' && args->masks[0] == '\0'
            ? sli_fail(SLUICE_E_INVALID, "suffix= needs masks=, the folder of the masks")
            : folder_pairs_text(args->file, args->masks, args->suffix, &list->records.text,
                                &list->records.size, list->left_out, sizeof(list->left_out));

    list->records.separator = '\t';
    return st == SLUICE_OK ? root_folder_open("", args->file, &list->root_fd) : st;
}

/* Copies the first path of a record that has the part "..", of an image or a mask. False: no path
 * has it. */
static bool find_path_up(const list_records *list, uint64_t index, char *path, size_t size)
{
    const list_columns *columns = &list->columns;
    list_cursor cursor = list_records_at(list, index);
    bool last = false;

    for (uint32_t i = 0; !last && i < columns->count; i++) {
        const uint32_t column = columns->fields[i].column;
        const column_role role = columns->schema.infos[column].role;
        list_field field;

        if (list_next_field(&cursor, &field, &last) != SLUICE_OK) {
            return false;
        }
        if (((int)column == columns->schema.image || role == ROLE_MASK || role == ROLE_IMAGE) &&
            list_copy_field(&field, path, size) == SLUICE_OK && path_leads_up(path)) {
            return true;
        }
    }
    return false;
}

/* Warns of the number of records with such a path. They are read: a list may lie beside the folder
 * of its images. */
static void warn_of_paths_up(const list_records *list, const char *file)
{
    char path[PATH_MAX];
    char first[300] = "";
    uint64_t count = 0;

    if (strstr(list->text, "..") == NULL) {
        return;
    }
    for (uint64_t i = 0; i < list->count; i++) {
        if (find_path_up(list, i, path, sizeof(path)) && count++ == 0) {
            sli_printable(path, SLI_ONE_LINE, first, sizeof(first));
        }
    }
    if (count > 0) {
        sli_log(SLUICE_LOG_WARN,
                "image_list %s: %" PRIu64 " of %" PRIu64 " records have a path with .., the first "
                "%s: they can read files outside of the folder that paths are relative to; with "
                "root= a folder above it, paths need no ..",
                file, count, list->count, first);
    }
}

static sluice_status open_list(image_list *list, const image_list_args *args)
{
    const bool of_folder = is_folder(args->file);
    sluice_status st;

    if (of_folder &&
        (args->root[0] != '\0' || args->classes[0] != '\0' || args->fields[0] != '\0')) {
        st = sli_fail(SLUICE_E_INVALID, "%s= needs a list, and this is a folder of images",
                      args->root[0] != '\0'      ? "root"
                      : args->classes[0] != '\0' ? "classes"
                                                 : "fields");
    } else if (!of_folder && (args->masks[0] != '\0' || args->suffix[0] != '\0') &&
               access(args->file, F_OK) == 0) {
        st = sli_fail(SLUICE_E_INVALID,
                      "masks= needs a folder of images, and this is a file; a list has a column "
                      "mask:mask");
    } else {
        st = of_folder ? list_folder(list, args) : load_text(&list->records, args->file);
        st = st == SLUICE_OK && !of_folder ? convert_json(list, args) : st;
    }
    if (st == SLUICE_OK && !of_folder) {
        st = root_folder_open(args->file, args->root, &list->root_fd);
    }
    if (st != SLUICE_OK) {
        return sli_fail_quoting(st, "image_list: %s: %.700s", args->file, sluice_last_error());
    }
    st = list_records_find(&list->records, args->file);
    if (st == SLUICE_OK && !of_folder && !list->is_json) {
        warn_of_paths_up(&list->records, args->file);
    }
    return st;
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
    list->records.columns.schema.image = -1;
    list->records.classes = args->classes;
    list->records.separator = sli_ends_alike(args->file, ".csv") ? ',' : '\t';
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
    return ((const image_list *)source)->records.count;
}

static uint64_t list_memory(const void *source)
{
    const image_list *list = source;

    return sizeof(*list) + list_records_memory(&list->records);
}

/* Writes the path of a sample's first image, or the sample's number if it has no image. */
static void list_name(const void *source, uint64_t index, char *text, size_t size)
{
    const image_list *list = source;
    const list_columns *columns = &list->records.columns;
    list_cursor cursor = list_records_at(&list->records, index);
    bool last = false;

    snprintf(text, size, "%llu", (unsigned long long)index);
    for (uint32_t i = 0; !last && i < columns->count; i++) {
        list_field field;
        char path[PATH_MAX];

        if (list_next_field(&cursor, &field, &last) != SLUICE_OK) {
            return;
        }
        if (columns->fields[i].column == columns->schema.image &&
            list_copy_field(&field, path, sizeof(path)) == SLUICE_OK) {
            snprintf(text, size, "%s", path);
        }
    }
}

static sluice_status read_path(const image_list *list, const list_field *field, sample_io *io,
                               sample_data *data_out)
{
    char path[PATH_MAX];
    sluice_status st = list_copy_field(field, path, sizeof(path));

    if (st == SLUICE_OK && list->is_json && path[0] != '/' && path_leads_up(path)) {
        st = sli_fail(SLUICE_E_CORRUPT,
                      "a path of JSON lines must be without .., in the folder of the list; root= "
                      "names another folder, and an absolute path an image elsewhere");
    }
    if (st == SLUICE_OK) {
        st = file_read(list->root_fd, path, io, data_out);
    }
    if (st != SLUICE_OK) {
        sli_fail_quoting(st, "%.300s: %.600s", path, sluice_last_error());
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
    list_field image = {.text = NULL};
    const sluice_status st = list_records_parse(&list->records, index, row, &image);

    if (st != SLUICE_OK) {
        return st;
    }
    return data_out != NULL && image.text != NULL ? read_path(list, &image, io, data_out)
                                                  : SLUICE_OK;
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
    const list_columns *columns = &list->records.columns;
    list_cursor cursor = list_records_at(&list->records, index);
    bool last = false;
    list_field field;

    for (uint32_t i = 0; !last && i < columns->count; i++) {
        const sluice_status st = list_next_field(&cursor, &field, &last);

        if (st != SLUICE_OK || columns->fields[i].column == (int)column) {
            return st == SLUICE_OK ? read_path(list, &field, io, data_out) : st;
        }
    }
    return sli_fail(SLUICE_E_CORRUPT, "the list has no column %u", column);
}

static const char *list_left_out(const void *source)
{
    return ((const image_list *)source)->left_out;
}

static uint32_t list_classes(const void *source)
{
    const vocabulary *names = list_records_names(&((const image_list *)source)->records);

    return names != NULL ? names->count : 0;
}

static void list_class_name(const void *source, uint32_t label, char *text, size_t size)
{
    const vocabulary *names = list_records_names(&((const image_list *)source)->records);

    snprintf(text, size, "%s", vocabulary_text(names, label));
}

/* The names of all columns of classes: other names are other numbers. */
static uint64_t list_identity(const void *source)
{
    return list_columns_identity(&((const image_list *)source)->records.columns, 0);
}

/* The columns that the list declares are those that fields= would. */
static void list_implied(const void *source, const char *argument, sli_text *text)
{
    if (strcmp(argument, "fields") == 0) {
        list_columns_print(&((const image_list *)source)->records.columns, text);
    }
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
    .classes = list_classes,
    .class_name = list_class_name,
    .left_out = list_left_out,
    .identity = list_identity,
    .implied = list_implied,
};

static sluice_status list_schema(const void *source, stage_schema *schema)
{
    const stage_schema *own = &((const image_list *)source)->records.columns.schema;

    schema->column_count = own->column_count;
    memcpy(schema->columns, own->columns, sizeof(schema->columns));
    memcpy(schema->infos, own->infos, sizeof(schema->infos));
    schema->image = own->image;
    return SLUICE_OK;
}

static const stage_param list_params[] = {
    PARAM_(
        image_list_args, file, PARAM_TEXT, NULL, 0, 0, NULL,
        "the list: TSV, CSV if its name ends in .csv, JSON lines if it ends in .jsonl or .ndjson "
        "or begins with {; or a folder of images"),
    PARAM_(image_list_args, root, PARAM_TEXT, "", 0, 0, NULL,
           "folder of relative paths; without it that of the list"),
    PARAM_(image_list_args, masks, PARAM_TEXT, "", 0, 0, NULL,
           "with a folder of images: the folder of their masks, found by file name"),
    PARAM_(image_list_args, suffix, PARAM_TEXT, "", 0, 0, NULL,
           "with masks=: what the names of masks have before the extension, such as _mask"),
    PARAM_(image_list_args, classes, PARAM_TEXT, "", 0, 0, NULL,
           "file of the names of a column NAME:class, one a line, numbered from 0; without it the "
           "names in the list, sorted"),
    PARAM_(image_list_args, fields, PARAM_TEXT, "", 0, 0, NULL,
           "of JSON lines: the columns, as in the header of a list, with commas; NAME:KIND=KEY or "
           "=KEY.KEY where the key is not NAME"),
};

const stage_def stage_image_list = {
    .name = "image_list",
    .summary = "Samples from a list: a header names the columns, image, label and NAME:KIND with "
               "KIND image, mask, boxes[N], coco[N], voc[N], darknet[N], points[N], text[N], "
               "class, a type, T[N] or T[N]@BOXES; without a header the fields are image and "
               "label. Or the "
               "images of a folder, with their masks.",
    .gives = "image (encoded), label i32, and a column per field; NAME_length i32 for boxes[N], "
             "points[N], text[N] and T[N]",
    .details =
        "A list has one record per line. Fields are separated by tabs, or by commas if "
        "the file's name ends in .csv, in any case; a field may be in double quotes. The first "
        "line "
        "declares the columns: image (a path), label (i32), and NAME:KIND:\n"
        "  image       the path of a further image, as large as the first one. Every\n"
        "              stage applies to it, too, with the same random draws\n"
        "  mask        the path of an image of class numbers: PNG with a palette or\n"
        "              in gray, or PGM, of the same size as the image. Every crop,\n"
        "              resize and flip of the image applies to it, too, by nearest\n"
        "              neighbour. u8 (height, width)\n"
        "  boxes[N]    at most N boxes, x0,y0,x1,y1;... in pixels of the image. They\n"
        "              are clipped to it, and dropped without an area, both with a\n"
        "              warning; then they follow the image: moved, clipped, dropped.\n"
        "              f32 (N, 4), and NAME_length i32\n"
        "  coco[N]     boxes as in COCO: x,y,width,height in pixels\n"
        "  voc[N]      boxes as in PASCAL VOC: x0,y0,x1,y1, pixel indices from 1, x1\n"
        "              and y1 inclusive\n"
        "  darknet[N]  boxes as in darknet and YOLO: x,y of the centre, width,\n"
        "              height, as fractions of the image's size\n"
        "  points[N]   at most N points, x,y;... in pixels of the image, from -1e6 to\n"
        "              1e6. They follow the image and keep their order and number:\n"
        "              points outside the image are neither clipped nor dropped. f32\n"
        "              (N, 2), and NAME_length i32\n"
        "  T           one number: u8, i8, u16, i16, u32, i32, i64, f32 or f64\n"
        "  T[N]        at most N comma-separated numbers, and NAME_length i32\n"
        "  T[N]@BOXES  one number for each box or point of the column BOXES, dropped\n"
        "              with its box or exchanged with its point\n"
        "  text[N]     at most N bytes, u8, and NAME_length i32\n"
        "  class       the name of a class, i32: its position among all names of the\n"
        "              column in byte order, or in the file classes=. Also class[N]\n"
        "              and class[N]@BOXES, with commas. sluice classes prints the names\n"
        "No image is needed for numbers and text. Unused elements are zero. The list, at most 4 "
        "GiB, is read when the source is "
        "added, with a warning of bad records: a field that is not of its kind, too "
        "many elements, a box that is wholly outside its image or not finite. They are "
        "bad samples of a run, as are missing or corrupt images, and masks and further "
        "images of another size. Errors: E_CORRUPT quotes without an end, or only bad "
        "records, with FILE:LINE:COLUMN; E_INVALID an invalid header, or no record; "
        "E_IO and E_UNSUPPORTED the list cannot be read.\n"
        "JSON lines are one object per line, without a header: fields=image,boxes:boxes[9],"
        "label:class=meta.kind. Without fields= the columns are image and label. A value is a "
        "string, a number, or a list: of numbers or strings for T[N] and class[N], of lists of "
        "numbers for boxes and points. A line that is not such an object, lacks a value, or is "
        "longer than 1 MiB is a bad sample, and so is one whose path has the part \"..\".\n"
        "A folder gives the images directly in it, without subfolders, and with masks= "
        "the column mask: the file of a mask has the name of its image, then suffix=, with any "
        "extension; with a suffix both may be in one folder. Samples are sorted by name. Files "
        "without the extension of an image, as in image_folder, are left out. Errors, which name "
        "the first file: "
        "E_INVALID no images, an image without a mask, a mask without an image, or two "
        "files of one name; E_IO.",
    .kind = STAGE_SOURCE,
    STAGE_PARAMS(list_params),
    .args_size = sizeof(image_list_args),
    .source =
        &(const source_stage_ops){
            .ops = &list_ops,
            .schema = list_schema,
        },
};
