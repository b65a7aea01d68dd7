/* SPDX-License-Identifier: Apache-2.0 */
/* Source `voc`: images with the boxes and classes of XML files in the layout of PASCAL VOC. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "box_source.h"
#include "descriptor_int.h"
#include "error_int.h"
#include "file_reader.h"
#include "source_stage_ops.h"
#include "stage.h"
#include "status_int.h"
#include "voc_set.h"

static const char *const difficult_choices[] = {"drop", "keep", NULL};

/* The folders of the masks, by mask_kind. */
static const char *const mask_folders[] = {NULL, "SegmentationClass", "SegmentationObject"};

typedef struct voc_args {
    const char *dir;
    const char *split;  /* "": all images with annotations */
    const char *names;  /* "": those that the annotations have */
    uint32_t difficult; /* index in difficult_choices */
    uint32_t masks;     /* a mask_kind */
    uint64_t max_boxes;
} voc_args;

static sluice_status read_set(box_source *source, const voc_args *args)
{
    const voc_options options = {.dir = args->dir,
                                 .split = args->split,
                                 .names = args->names,
                                 .has_masks = args->masks != MASKS_NONE,
                                 .keeps_difficult = args->difficult == 1};

    source->set.max_boxes = args->max_boxes;
    source->mask_folder = mask_folders[args->masks];
    source->root_fd = sli_openat(AT_FDCWD, args->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0, NULL);
    return source->root_fd >= 0 ? voc_set_read(source, &options)
                                : sli_fail_errno(SLUICE_E_IO, errno, "cannot open the folder");
}

static sluice_status voc_open(const void *opaque, void **source_out)
{
    const voc_args *args = opaque;
    box_source *source = NULL;
    sli_error error;
    sluice_status st = box_source_new(args->difficult == 1, &source);

    if (st == SLUICE_OK) {
        st = read_set(source, args);
    }
    if (st != SLUICE_OK) {
        sli_error_take(st, &error);
        box_source_close(source);
        return sli_fail_with(st, error.error_number, "voc: %s: %.800s", args->dir, error.text);
    }
    *source_out = source;
    return SLUICE_OK;
}

/* Reads the mask of an image JPEGImages/NAME.EXTENSION: FOLDER/NAME.png. */
static sluice_status voc_read_other(const void *opaque, uint64_t index, uint32_t column,
                                    sample_io *io, sample_data *data_out)
{
    const box_source *source = opaque;
    const char *image = source->set.names + source->set.images[index].name;
    const char *stem = strchr(image, '/') + 1;
    char path[PATH_MAX];
    sluice_status st;

    (void)column;
    snprintf(path, sizeof(path), "%s/%.*s.png", source->mask_folder,
             (int)(strrchr(stem, '.') - stem), stem);
    st = file_read(source->root_fd, path, io, data_out);
    if (st != SLUICE_OK) {
        return sli_fail_quoting(st, "%.300s: %.600s", path, sluice_last_error());
    }
    return st;
}

static const source_ops voc_ops = {
    .open = voc_open,
    .read_other = voc_read_other,
    BOX_SOURCE_OPS,
    .identity = box_source_class_hash,
};

/* ---- the stage ------------------------------------------------------------------------------- */

static sluice_status voc_check(void *opaque)
{
    const voc_args *args = opaque;

    return strchr(args->split, '/') == NULL && strlen(args->split) <= NAME_MAX
               ? SLUICE_OK
               : sli_fail(SLUICE_E_INVALID,
                          "voc: split=%.100s must be the name of a split, such as train",
                          args->split);
}

static sluice_status voc_infer(const void *opaque, stage_schema *schema)
{
    const voc_args *args = opaque;

    box_source_columns(schema, args->max_boxes, false, args->difficult == 1 ? "difficult" : NULL);
    if (args->masks != MASKS_NONE) {
        box_source_add_mask(schema);
    }
    return SLUICE_OK;
}

static const stage_param voc_params[] = {
    PARAM_(voc_args, dir, PARAM_TEXT, NULL, 0, 0, NULL,
           "the folder of the set, which has the folders Annotations and JPEGImages"),
    PARAM_(voc_args, split, PARAM_TEXT, "", 0, 0, NULL,
           "the list of images, ImageSets/Main/SPLIT.txt; without it all with annotations"),
    PARAM_(voc_args, names, PARAM_TEXT, "", 0, 0, NULL,
           "the names of the classes, with commas, in their order"),
    PARAM_(voc_args, difficult, PARAM_CHOICE, "drop", 0, 0, difficult_choices,
           "keep: keep difficult objects, with the column difficult"),
    PARAM_(voc_args, masks, PARAM_CHOICE, "none", 0, 0, mask_kind_choices,
           "semantic, instance: the column mask, from SegmentationClass or SegmentationObject"),
    PARAM_(voc_args, max_boxes, PARAM_COUNT, "100", 1, BOX_SOURCE_MOST, NULL,
           "maximum number of boxes of an image"),
};

const stage_def stage_voc = {
    .name = "voc",
    .summary = "Images with boxes and classes, from XML files in the layout of PASCAL VOC.",
    .elsewhere = "VOCDetection VOCDataset",
    .gives = "image (encoded), boxes f32 (max_boxes, 4), boxes_length i32, classes i32 "
             "(max_boxes), image_id i64; of difficult=keep also difficult u8 (max_boxes); of "
             "masks= also "
             "mask (encoded)",
    .details =
        "The lines of DIR/ImageSets/Main/SPLIT.txt are names of images, which may have blanks; a "
        "number -1, 0 or 1 after the name is not read. The image of NAME is "
        "DIR/JPEGImages/NAME.jpg, or with another extension of images, also in upper case, and its "
        "boxes are in "
        "DIR/Annotations/NAME.xml. The columns:\n"
        "  image         the encoded image, to be decoded\n"
        "  boxes         x0, y0, x1, y1 in pixels, which follow crops, resizes and\n"
        "                flips: xmin - 1, ymin - 1, xmax, ymax of an object's bndbox,\n"
        "                which counts pixels from 1\n"
        "  boxes_length  the number of boxes\n"
        "  classes       the class of each box, dropped with its box\n"
        "  image_id      the number of the image in the split, from 0\n"
        "  difficult     with difficult=keep: 1 for a difficult object, else 0\n"
        "  mask          with masks=semantic or instance: the numbers in the palette of\n"
        "                DIR/SegmentationClass/NAME.png, or SegmentationObject, where\n"
        "                0 is the background and 255 the border; it follows the\n"
        "                image by nearest neighbour. No column ties an object\n"
        "                to its number in SegmentationObject\n"
        "With masks= the split is a list of DIR/ImageSets/Segmentation, and an image without a "
        "mask is "
        "a bad sample. Samples are in the order of the split; without split= all files of "
        "Annotations are "
        "samples, in byte order of their names. The classes are those of names=, or the lines of "
        "DIR/classes.txt; else all names of objects in Annotations, of all splits, sorted byte by "
        "byte: for VOC 2007 and 2012 these are the usual 20 classes in their usual order.\n"
        "All annotations are read at the first use of the dataset; memory holds the boxes. Boxes "
        "are clipped and dropped as those of coco are. Objects that are difficult are dropped, "
        "which is logged with their number; truncated and pose are not read, nor are parts of "
        "objects. An image is a bad sample, with file and line, if its annotations are missing, "
        "are not XML, have an object without name or box, or a class that is not among the names, "
        "or more than max_boxes boxes. max_boxes is at most 1 048 576. Missing or corrupt images "
        "are bad samples of a run. A document type (DOCTYPE), which could declare entities, is "
        "refused.\n"
        "Errors: E_INVALID no images; E_CORRUPT a line of the split that leads out of DIR, only "
        "bad images; E_UNSUPPORTED a library without expat; E_IO no such split.",
    .kind = STAGE_SOURCE,
    STAGE_PARAMS(voc_params),
    .args_size = sizeof(voc_args),
    .check = voc_check,
    .infer = voc_infer,
    .source =
        &(const source_stage_ops){
            .ops = &voc_ops,
        },
};
