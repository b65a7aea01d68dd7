/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Source `coco`: images with the boxes and classes of a JSON file in the format of COCO's detection
 * task. The boxes of all images are stored in memory; image files are read when needed.
 */
#include <unistd.h>

#include "box_source.h"
#include "coco_file.h"
#include "coco_shape.h"
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
    uint64_t keypoints; /* of a box; 0: they are not read */
    uint32_t masks;     /* a mask_kind */
} coco_args;

/* Logs what the key points of a file lack. */
static void tell_points(const coco_found *found, const char *path)
{
    if (found->without_points > 0) {
        sli_log(SLUICE_LOG_WARN,
                "coco: %s: %llu annotations have no key points; theirs are zero, with the "
                "visibility 0",
                path, (unsigned long long)found->without_points);
    }
    if (found->pairs_are_many) {
        sli_log(SLUICE_LOG_WARN,
                "coco: %s: the names of key points have more than %d pairs of left and right, so "
                "they do not say which points a flip exchanges",
                path, MOST_POINT_PAIRS);
    } else if (found->pairs_differ) {
        sli_log(SLUICE_LOG_WARN,
                "coco: %s: the names of key points differ between categories, so they do not say "
                "which points a flip exchanges",
                path);
    }
}

static sluice_status read_set(box_source *source, const coco_args *args)
{
    const coco_options options = {args->iscrowd == 1, args->masks != MASKS_NONE, args->max_boxes,
                                  (uint32_t)args->keypoints};
    const char *path = args->file;
    coco_found found = {.text_numbers = 0};
    uint64_t size;
    int fd;
    sluice_status st = plain_file_open(path, NULL, &fd, &size);

    if (st != SLUICE_OK) {
        return st;
    }
    st = compressed_file_refuse(fd, NULL);
    if (st == SLUICE_OK) {
        st = coco_file_read(fd, &options, &source->set, &found);
    }
    if (st == SLUICE_OK) {
        st = box_source_check_classes(source);
    }
    if (st == SLUICE_OK && args->masks != MASKS_NONE) {
        source->shapes_fd = fd;
    } else {
        close(fd);
    }
    if (st == SLUICE_OK) {
        box_set_tell(&source->set, "coco", path);
    }
    if (st == SLUICE_OK) {
        source->pairs = found.pairs;
        tell_points(&found, path);
    }
    if (st == SLUICE_OK && found.text_numbers > 0) {
        sli_log(
            SLUICE_LOG_WARN,
            "coco: %s: %llu ids or other whole numbers are texts such as \"7\", and are read as "
            "numbers; the column image_id is i64",
            path, (unsigned long long)found.text_numbers);
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
        source->masks = (mask_kind)args->masks;
        st = root_folder_open(args->file, args->root, &source->root_fd);
    }
    if (st == SLUICE_OK) {
        st = read_set(source, args);
    }
    if (st != SLUICE_OK) {
        sli_error_take(st, &error);
        box_source_close(source);
        return sli_fail_with(st, error.error_number, "coco: %s: %.800s", args->file, error.text);
    }
    *source_out = source;
    return SLUICE_OK;
}

/* What draw_shape() is called with. */
typedef struct shape_file {
    const box_source *source;
    sample_io *io;
} shape_file;

/* Reads the segmentation of a box, and draws it. */
static sluice_status draw_shape(void *user, const set_box *box, object_raster *raster)
{
    const shape_file *file = user;
    image_buffer *text = &file->io->bytes;
    size_t got = 0;
    sluice_status st = image_buffer_reserve(text, box->shape_bytes);

    if (st == SLUICE_OK) {
        st = plain_file_read(file->source->shapes_fd, box->shape, text->data, box->shape_bytes,
                             &got);
        file->io->bytes_read += got;
    }
    if (st == SLUICE_OK) {
        st = coco_shape_add(raster, (const char *)text->data, got);
    }
    if (st != SLUICE_OK) {
        st = sli_fail_quoting(st, "byte %llu: segmentation: %.600s", (unsigned long long)box->shape,
                              sluice_last_error());
    }
    return st;
}

static sluice_status coco_read_other(const void *source, uint64_t index, uint32_t column,
                                     sample_io *io, sample_data *data_out)
{
    shape_file file = {source, io};

    (void)column;
    return box_source_draw(source, index, io, draw_shape, &file, data_out);
}

static const source_ops coco_ops = {
    .open = coco_open,
    .read_other = coco_read_other,
    BOX_SOURCE_OPS,
};

/* ---- the stage ------------------------------------------------------------------------------- */

static sluice_status coco_check(void *opaque)
{
    const coco_args *args = opaque;

    return box_source_check_rows("coco", (mask_kind)args->masks, args->max_boxes);
}

static sluice_status coco_infer(const void *opaque, stage_schema *schema)
{
    const coco_args *args = opaque;

    box_source_columns(schema, args->max_boxes, false, args->iscrowd == 1 ? "iscrowd" : NULL);
    if (args->keypoints > 0) {
        box_source_add_points(schema, args->max_boxes, (uint32_t)args->keypoints, false);
    }
    if (args->masks != MASKS_NONE) {
        box_source_add_mask(schema);
    }
    if (args->masks == MASKS_INSTANCE) {
        box_source_add_instances(schema, args->max_boxes);
    }
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
    PARAM_(coco_args, masks, PARAM_CHOICE, "none", 0, 0, mask_kind_choices,
           "semantic, instance: the column mask, drawn from the segmentations"),
    PARAM_(coco_args, keypoints, PARAM_COUNT, "0", 0, BOX_MOST_POINTS, NULL,
           "number of key points of a box, for the columns keypoints and visibility; 17: COCO's"),
};

const stage_def stage_coco = {
    .name = "coco",
    .summary = "Images with boxes and classes, from COCO's JSON of object detection "
               "(instances_*.json).",
    .gives =
        "image (encoded), boxes f32 (max_boxes, 4), boxes_length i32, classes i32 (max_boxes), "
        "image_id i64; of iscrowd=keep also iscrowd u8 (max_boxes); of keypoints=K "
        "also keypoints f32 (max_boxes, K, 2) and visibility u8 (max_boxes, K); of masks= also "
        "mask (encoded), of masks=instance also instances i32 (max_boxes)",
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
               "  keypoints     with keypoints=K: x, y of the K key points of each box, as the\n"
               "                file has them; they follow the image, and are dropped with\n"
               "                their box\n"
               "  visibility    with keypoints=K: 0 not labelled, 1 hidden, 2 visible\n"
               "  mask          with masks=semantic or instance: a number for each pixel,\n"
               "                0 for the background; it follows the image by nearest\n"
               "                neighbour\n"
               "  instances     with masks=instance: the number of each box in the mask, dropped\n"
               "                with its box; unused rows are 0\n"
               "A class is the index of its category's id among the sorted ids of all "
               "categories, from 0; sluice_dataset_class_name() returns its name. Samples are "
               "in the order of the list of images; images without annotations have no boxes. "
               "iscrowd=drop leaves out annotations of crowds, those with iscrowd 1.\n"
               "Boxes that reach beyond their image are clipped to it, and boxes without an "
               "area are dropped, both with a warning. An image with a box that is wholly "
               "outside, not finite or of negative size, or with more than max_boxes boxes, is "
               "a bad sample. max_boxes is at most 1 048 576. Missing or corrupt images are "
               "bad samples of a run. A file_name is absolute, or has no part \"..\".\n"
               "A mask is drawn when its sample is read, from the segmentations of the sample's "
               "boxes: polygons and runs, whose pixels are those of pycocotools, bit for bit. With "
               "masks=semantic a pixel of an object is 1 + its class, and a pixel of several "
               "objects 255, as in torchvision's reference of segmentation; there may be 254 "
               "classes. With masks=instance a pixel of the object whose box is in row i of the "
               "source, from 0, is i + 1, which `instances` keeps when a crop drops boxes; an "
               "object with fewer pixels is above one with more, and max_boxes is at most 254. "
               "Crowds are in the mask only with iscrowd=keep. An image "
               "is a bad sample if a segmentation is missing, wrong or above 16 MiB.\n"
               "A flip exchanges the key points whose names in the category differ by left and "
               "right (left_eye, right_eye); swap= of the flip gives other pairs, or none.\n"
               "The file is read sequentially, once, at the first use of the dataset; memory "
               "holds the boxes, not the file. Errors then have the file, the byte and the "
               "line: E_CORRUPT invalid JSON, a missing member or one of another type, an id "
               "of an image or category that occurs twice, an annotation of an unknown image "
               "or category, only bad images; E_INVALID no images; E_UNSUPPORTED a library "
               "that was built without jansson, a member of more than 1 MiB; E_IO.",
    .kind = STAGE_SOURCE,
    STAGE_PARAMS(coco_params),
    .args_size = sizeof(coco_args),
    .check = coco_check,
    .infer = coco_infer,
    .source =
        &(const source_stage_ops){
            .ops = &coco_ops,
        },
};
