/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Source `coco`: images with the boxes and classes of a JSON file in the format of COCO's detection
 * task. The boxes of all images are stored in memory; image files are read when needed.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "alloc_int.h"
#include "coco_file.h"
#include "compressed_file.h"
#include "error_int.h"
#include "file_reader.h"
#include "log_int.h"
#include "plain_file.h"
#include "root_folder.h"
#include "source_stage_ops.h"
#include "stage.h"
#include "status_int.h"

static const char *const crowd_choices[] = {"drop", "keep", NULL};

/* The columns, in the order of the schema; iscrowd only if it is kept. */
enum { IMAGE, BOXES, LENGTH, CLASSES, IMAGE_ID, CROWD };

enum { MOST_BOXES = 1 << 20 };

typedef struct coco_args {
    const char *file;
    const char *root;
    uint32_t iscrowd; /* index in crowd_choices */
    uint64_t max_boxes;
} coco_args;

typedef struct coco_source {
    coco_set set;
    int root_fd; /* folder that relative paths refer to */
    uint64_t max_boxes;
    bool keeps_crowds;
} coco_source;

static void coco_close(void *source)
{
    coco_source *coco = source;

    if (coco->root_fd >= 0) {
        close(coco->root_fd);
    }
    coco_set_free(&coco->set);
    sli_free(coco);
}

/* ---- opening --------------------------------------------------------------------------------- */

/* Logs what the rule for boxes has changed or refused. */
static void tell_changes(const coco_set *set, const char *path)
{
    static const char *const what[] = {"boxes without an area are dropped",
                                       "boxes that reach beyond their image are clipped to it"};
    const coco_changes *const changes[] = {&set->dropped, &set->clipped};

    for (int i = 0; i < 2; i++) {
        if (changes[i]->count > 0) {
            sli_log(SLUICE_LOG_WARN, "coco: %s: %zu %s, the first at byte %llu, line %llu", path,
                    changes[i]->count, what[i], (unsigned long long)changes[i]->first.byte,
                    (unsigned long long)changes[i]->first.line);
        }
    }
    if (set->bad_count > 0) {
        sli_log(SLUICE_LOG_WARN,
                "coco: %s: %zu of %zu images are bad samples, the first: %s; 'sluice inspect' "
                "lists them, and on_error decides what a run does with them",
                path, set->bad_count, set->image_count, set->bad[0].text);
    }
}

static sluice_status read_set(coco_source *coco, const char *path)
{
    const coco_options options = {coco->keeps_crowds, coco->max_boxes};
    uint64_t size;
    int fd;
    sluice_status st = plain_file_open(path, NULL, &fd, &size);

    if (st != SLUICE_OK) {
        return st;
    }
    st = compressed_file_refuse(fd, NULL);
    if (st == SLUICE_OK) {
        st = coco_file_read(fd, &options, &coco->set);
    }
    close(fd);
    if (st == SLUICE_OK) {
        tell_changes(&coco->set, path);
    }
    if (st == SLUICE_OK && coco->set.text_numbers > 0) {
        sli_log(
            SLUICE_LOG_WARN,
            "coco: %s: %llu ids or other whole numbers are texts such as \"7\", and are read as "
            "numbers; the column image_id is i64",
            path, (unsigned long long)coco->set.text_numbers);
    }
    return st;
}

static sluice_status coco_open(const void *opaque, void **source_out)
{
    const coco_args *args = opaque;
    coco_source *coco = sli_calloc(1, sizeof(*coco));
    sli_error error;
    sluice_status st;

    if (coco == NULL) {
        return sli_fail(SLUICE_E_NO_MEMORY, "coco %s", args->file);
    }
    coco->root_fd = -1;
    coco->max_boxes = args->max_boxes;
    coco->keeps_crowds = args->iscrowd == 1;
    st = root_folder_open(args->file, args->root, &coco->root_fd);
    if (st == SLUICE_OK) {
        st = read_set(coco, args->file);
    }
    if (st != SLUICE_OK) {
        coco_close(coco);
        sli_error_take(st, &error);
        return sli_fail(st, "coco: %s: %.800s", args->file, error.text);
    }
    *source_out = coco;
    return SLUICE_OK;
}

/* ---- samples --------------------------------------------------------------------------------- */

static uint64_t coco_count(const void *source)
{
    return ((const coco_source *)source)->set.image_count;
}

static uint64_t coco_memory(const void *source)
{
    const coco_source *coco = source;
    const coco_set *set = &coco->set;

    return sizeof(*coco) + set->names_size + set->image_count * sizeof(*set->images) +
           set->box_count * sizeof(*set->boxes) + set->class_count * sizeof(*set->classes) +
           set->bad_capacity * sizeof(*set->bad);
}

static const char *path_of(const coco_source *coco, uint64_t index)
{
    return coco->set.names + coco->set.images[index].name;
}

static void coco_name(const void *source, uint64_t index, char *text, size_t size)
{
    snprintf(text, size, "%s", path_of(source, index));
}

/* Writes the boxes of an image, and what belongs to each; unused rows are zero. */
static void write_boxes(const coco_source *coco, const coco_image *image, void *const *row)
{
    const coco_box *boxes = &coco->set.boxes[image->first];
    const size_t room = (size_t)coco->max_boxes;
    uint8_t *crowds = coco->keeps_crowds ? row[CROWD] : NULL;
    float(*corners)[4] = row[BOXES];
    int32_t *classes = row[CLASSES];

    if (corners != NULL) {
        memset(corners, 0, room * sizeof(*corners));
    }
    if (classes != NULL) {
        memset(classes, 0, room * sizeof(*classes));
    }
    if (crowds != NULL) {
        memset(crowds, 0, room);
    }
    for (uint32_t i = 0; i < image->count; i++) {
        if (corners != NULL) {
            memcpy(corners[i], boxes[i].corners, sizeof(*corners));
        }
        if (classes != NULL) {
            classes[i] = boxes[i].label;
        }
        if (crowds != NULL) {
            crowds[i] = (uint8_t)boxes[i].crowd;
        }
    }
}

static sluice_status coco_read_plain(const void *source, uint64_t index, sample_io *io,
                                     void *const *row)
{
    const coco_source *coco = source;
    const coco_image *image = &coco->set.images[index];

    (void)io;
    if (image->bad != 0) {
        return sli_fail(SLUICE_E_CORRUPT, "%s", coco->set.bad[image->bad - 1].text);
    }
    write_boxes(coco, image, row);
    if (row[LENGTH] != NULL) {
        *(int32_t *)row[LENGTH] = (int32_t)image->count;
    }
    if (row[IMAGE_ID] != NULL) {
        *(int64_t *)row[IMAGE_ID] = image->id;
    }
    return SLUICE_OK;
}

static sluice_status coco_read(const void *source, uint64_t index, sample_io *io, void *const *row,
                               sample_data *data_out)
{
    const coco_source *coco = source;
    sli_error error;
    sluice_status st = coco_read_plain(source, index, io, row);

    if (st != SLUICE_OK) {
        return st;
    }
    st = file_read(coco->root_fd, path_of(coco, index), io, data_out);
    if (st != SLUICE_OK) {
        sli_error_take(st, &error);
        return sli_fail(st, "%.300s: %.600s", path_of(coco, index), error.text);
    }
    data_out->listed_width = coco->set.images[index].width;
    data_out->listed_height = coco->set.images[index].height;
    return SLUICE_OK;
}

static bool coco_locate(const void *source, uint64_t index, sample_location *location_out)
{
    const coco_source *coco = source;

    location_out->fd = -1;
    location_out->held = NULL;
    location_out->folder_fd = coco->root_fd;
    location_out->path = path_of(coco, index);
    location_out->offset = 0;
    location_out->size = 0;
    location_out->in_parts = false;
    return true;
}

static uint32_t coco_classes(const void *source)
{
    return (uint32_t)((const coco_source *)source)->set.class_count;
}

static void coco_class_name(const void *source, uint32_t label, char *text, size_t size)
{
    const coco_set *set = &((const coco_source *)source)->set;

    snprintf(text, size, "%s", set->names + set->classes[label]);
}

static const source_ops coco_ops = {
    .open = coco_open,
    .close = coco_close,
    .count = coco_count,
    .name = coco_name,
    .read = coco_read,
    .read_plain = coco_read_plain,
    .locate = coco_locate,
    .memory = coco_memory,
    .classes = coco_classes,
    .class_name = coco_class_name,
};

/* ---- the stage ------------------------------------------------------------------------------- */

static sluice_status coco_infer(const void *opaque, stage_schema *schema)
{
    const coco_args *args = opaque;
    const uint64_t most = args->max_boxes;

    schema->column_count = args->iscrowd == 1 ? 6 : 5;
    schema->image = IMAGE;
    schema->columns[IMAGE] = (sluice_column){.name = "image", .dtype = SLUICE_ENCODED};
    schema->columns[BOXES] =
        (sluice_column){.name = "boxes", .dtype = SLUICE_F32, .rank = 2, .shape = {most, 4}};
    schema->columns[LENGTH] = (sluice_column){.name = "boxes_length", .dtype = SLUICE_I32};
    schema->columns[CLASSES] =
        (sluice_column){.name = "classes", .dtype = SLUICE_I32, .rank = 1, .shape = {most}};
    schema->columns[IMAGE_ID] = (sluice_column){.name = "image_id", .dtype = SLUICE_I64};
    schema->columns[CROWD] =
        (sluice_column){.name = "iscrowd", .dtype = SLUICE_U8, .rank = 1, .shape = {most}};
    schema->infos[BOXES] = (column_info){.role = ROLE_BOXES, .length = LENGTH};
    schema->infos[CLASSES] = (column_info){.role = ROLE_TIED, .tied_to = BOXES};
    schema->infos[CROWD] = (column_info){.role = ROLE_TIED, .tied_to = BOXES};
    return SLUICE_OK;
}

static const stage_param coco_params[] = {
    PARAM_(coco_args, file, PARAM_TEXT, NULL, 0, 0, NULL,
           "the JSON file with images, annotations and categories"),
    PARAM_(coco_args, root, PARAM_TEXT, "", 0, 0, NULL,
           "folder of the images; without it that of the file"),
    PARAM_(coco_args, iscrowd, PARAM_CHOICE, "drop", 0, 0, crowd_choices,
           "keep: keep boxes of crowds, with the column iscrowd"),
    PARAM_(coco_args, max_boxes, PARAM_COUNT, "100", 1, MOST_BOXES, NULL,
           "maximum number of boxes of an image"),
};

const stage_def stage_coco = {
    .name = "coco",
    .summary = "Images with boxes and classes, from COCO's JSON of object detection "
               "(instances_*.json).",
    .gives =
        "image (encoded), boxes f32 (max_boxes, 4), boxes_length i32, classes i32 (max_boxes), "
        "image_id i64; of iscrowd=keep also iscrowd u8 (max_boxes)",
    .details = "The file has the format of COCO's detection task "
               "(https://cocodataset.org/#format-data), such as instances_train2017.json: an "
               "object with the lists `images`, `annotations` and `categories`. The columns:\n"
               "  image         the encoded image, to be decoded\n"
               "  boxes         x0, y0, x1, y1 in pixels, which follow crops, resizes and\n"
               "                flips\n"
               "  boxes_length  the number of boxes\n"
               "  classes       the class of each box, dropped with its box\n"
               "  image_id      the id of the image in the file\n"
               "  iscrowd       with iscrowd=keep: 1 for the box of a crowd, else 0\n"
               "A class is the index of its category's id among the sorted ids of all "
               "categories, from 0; sluice_dataset_class_name() returns its name. Samples are "
               "in the order of the list of images; images without annotations have no boxes. "
               "iscrowd=drop leaves out annotations of crowds, those with iscrowd 1.\n"
               "Boxes that reach beyond their image are clipped to it, and boxes without an "
               "area are dropped, both with a warning. An image with a box that is wholly "
               "outside, not finite or of negative size, or with more than max_boxes boxes, is "
               "a bad sample. max_boxes is at most 1 048 576. Missing or corrupt images are "
               "bad samples of a run.\n"
               "The file is read sequentially, once, at the first use of the dataset; memory "
               "holds the boxes, not the file. Errors then have the file, the byte and the "
               "line: E_CORRUPT invalid JSON, a missing member or one of another type, an id "
               "of an image or category that occurs twice, an annotation of an unknown image "
               "or category, only bad images; E_INVALID no images; E_UNSUPPORTED a library "
               "that was built without jansson, a member of more than 1 MiB; E_IO.",
    .kind = STAGE_SOURCE,
    STAGE_PARAMS(coco_params),
    .args_size = sizeof(coco_args),
    .infer = coco_infer,
    .source =
        &(const source_stage_ops){
            .ops = &coco_ops,
        },
};
