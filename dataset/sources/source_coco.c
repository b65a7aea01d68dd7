/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Source `coco`: images with the boxes and classes of a JSON file in the format of COCO's detection
 * task. The boxes of all images are stored in memory; image files are read when needed.
 */
#include <unistd.h>

#include "box_source.h"
#include "coco_file.h"
#include "compressed_file.h"
#include "error_int.h"
#include "log_int.h"
#include "plain_file.h"
#include "root_folder.h"
#include "source_stage_ops.h"
#include "stage.h"
#include "status_int.h"

static const char *const crowd_choices[] = {"drop", "keep", NULL};

typedef struct coco_args {
    const char *file;
    const char *root;
    uint32_t iscrowd; /* index in crowd_choices */
    uint64_t max_boxes;
} coco_args;

static sluice_status read_set(box_source *source, const coco_args *args)
{
    const coco_options options = {args->iscrowd == 1, args->max_boxes};
    const char *path = args->file;
    uint64_t text_numbers = 0;
    uint64_t size;
    int fd;
    sluice_status st = plain_file_open(path, NULL, &fd, &size);

    if (st != SLUICE_OK) {
        return st;
    }
    st = compressed_file_refuse(fd, NULL);
    if (st == SLUICE_OK) {
        st = coco_file_read(fd, &options, &source->set, &text_numbers);
    }
    close(fd);
    if (st == SLUICE_OK) {
        box_set_tell(&source->set, "coco", path);
    }
    if (st == SLUICE_OK && text_numbers > 0) {
        sli_log(
            SLUICE_LOG_WARN,
            "coco: %s: %llu ids or other whole numbers are texts such as \"7\", and are read as "
            "numbers; the column image_id is i64",
            path, (unsigned long long)text_numbers);
    }
    return st;
}

static sluice_status coco_open(const void *opaque, void **source_out)
{
    const coco_args *args = opaque;
    box_source *source = NULL;
    sli_error error;
    sluice_status st = box_source_new(args->iscrowd == 1, &source);

    if (st == SLUICE_OK) {
        st = root_folder_open(args->file, args->root, &source->root_fd);
    }
    if (st == SLUICE_OK) {
        st = read_set(source, args);
    }
    if (st != SLUICE_OK) {
        sli_error_take(st, &error);
        box_source_close(source);
        return sli_fail(st, "coco: %s: %.800s", args->file, error.text);
    }
    *source_out = source;
    return SLUICE_OK;
}

static const source_ops coco_ops = {
    .open = coco_open,
    BOX_SOURCE_OPS,
};

/* ---- the stage ------------------------------------------------------------------------------- */

static sluice_status coco_infer(const void *opaque, stage_schema *schema)
{
    const coco_args *args = opaque;

    box_source_columns(schema, args->max_boxes, false, args->iscrowd == 1 ? "iscrowd" : NULL);
    return SLUICE_OK;
}

static const stage_param coco_params[] = {
    PARAM_(coco_args, file, PARAM_TEXT, NULL, 0, 0, NULL,
           "the JSON file with images, annotations and categories"),
    PARAM_(coco_args, root, PARAM_TEXT, "", 0, 0, NULL,
           "folder of the images; without it that of the file"),
    PARAM_(coco_args, iscrowd, PARAM_CHOICE, "drop", 0, 0, crowd_choices,
           "keep: keep boxes of crowds, with the column iscrowd"),
    PARAM_(coco_args, max_boxes, PARAM_COUNT, "100", 1, BOX_SOURCE_MOST, NULL,
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
