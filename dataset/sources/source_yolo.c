/* SPDX-License-Identifier: Apache-2.0 */
/* Source `yolo`: images with the boxes of YOLO's label files, in the layout of Ultralytics. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "box_source.h"
#include "class_lines.h"
#include "descriptor_int.h"
#include "error_int.h"
#include "image_extensions.h"
#include "log_int.h"
#include "path_stage.h"
#include "source_stage_ops.h"
#include "stage.h"
#include "status_int.h"
#include "yolo_set.h"

typedef struct yolo_args {
    const char *dir;
    const char *split; /* "": the whole folder */
    uint64_t max_boxes;
} yolo_args;

/* ---- the folder of the images ---------------------------------------------------------------- */

static bool is_folder(int fd, const char *path)
{
    struct stat info;

    return fstatat(fd, path, &info, 0) == 0 && S_ISDIR(info.st_mode);
}

/* The names that a folder of one of several splits may have. */
static const char *const split_names[] = {"train", "val", "valid", "test", "train2017", "val2017"};

/* Fails if the folder `images` holds splits, which one dataset must not mix. */
static sluice_status check_unsplit(int root_fd)
{
    for (size_t i = 0; i < sizeof(split_names) / sizeof(split_names[0]); i++) {
        char path[64];

        snprintf(path, sizeof(path), "images/%s", split_names[i]);
        if (is_folder(root_fd, path)) {
            return sli_fail(SLUICE_E_INVALID,
                            "there is a folder %s: choose a part of the set by split=%s", path,
                            split_names[i]);
        }
    }
    return SLUICE_OK;
}

/* Finds the folder of the images of a split: images/SPLIT or SPLIT/images. */
static sluice_status find_folder(int root_fd, const char *split, char *path, size_t size)
{
    if (split[0] == '\0') {
        snprintf(path, size, "images");
        if (is_folder(root_fd, path)) {
            return check_unsplit(root_fd);
        }
        return sli_fail(SLUICE_E_INVALID,
                        "there is no folder images; images must be in DIR/images and label files "
                        "in DIR/labels, and with split=train in DIR/images/train and "
                        "DIR/labels/train");
    }
    snprintf(path, size, "images/%s", split);
    if (is_folder(root_fd, path)) {
        return SLUICE_OK;
    }
    snprintf(path, size, "%s/images", split);
    if (is_folder(root_fd, path)) {
        return SLUICE_OK;
    }
    return sli_fail(SLUICE_E_INVALID,
                    "there is neither a folder images/%s nor %s/images, which must hold the images "
                    "of split=%s",
                    split, split, split);
}

/* ---- opening --------------------------------------------------------------------------------- */

/* Logs what is left out of the folders, and keeps its text. */
static sluice_status tell_left_out(box_source *source, const image_files *images, const char *about)
{
    if (!left_out_print(&images->left_out, source->left_out, sizeof(source->left_out))) {
        return SLUICE_OK;
    }
    sli_log(SLUICE_LOG_WARN, "yolo: %s: left out: %s; it reads images with extensions %s", about,
            source->left_out, image_extensions);
    return SLUICE_OK;
}

/* Reads the names of the classes of a folder. */
static sluice_status read_names(box_source *source)
{
    static const char *const files[] = {"classes.txt", "labels/classes.txt", "obj.names", NULL};

    return class_lines_find(source->root_fd, files, &source->set);
}

static sluice_status find_images(box_source *source, const yolo_args *args, image_files *images)
{
    char folder[NAME_MAX + 16];
    sluice_status st = find_folder(source->root_fd, args->split, folder, sizeof(folder));

    if (st == SLUICE_OK) {
        st = image_files_find(images, source->root_fd, folder);
    }
    if (st == SLUICE_OK && images->count == 0) {
        st = sli_fail(SLUICE_E_INVALID,
                      "no valid data in the dataset: the folder %s has no files with extensions %s",
                      folder, image_extensions);
    }
    return st;
}

static sluice_status read_folder(box_source *source, const yolo_args *args)
{
    image_files images = {.names = NULL};
    yolo_labels labels = {.lines = NULL};
    sluice_status st = find_images(source, args, &images);

    if (st == SLUICE_OK) {
        st = tell_left_out(source, &images, args->dir);
    }
    if (st == SLUICE_OK) {
        st = read_names(source);
    }
    if (st == SLUICE_OK) {
        st = yolo_set_read(source, &images, &labels, args->dir);
    }
    yolo_labels_free(&labels);
    image_files_free(&images);
    return st;
}

static sluice_status yolo_open(const void *opaque, void **source_out)
{
    const yolo_args *args = opaque;
    box_source *source = NULL;
    sli_error error;
    char hint[400];
    sluice_status st = box_source_new(false, &source);

    if (st == SLUICE_OK) {
        source->set.max_boxes = args->max_boxes;
        source->set.in_parts = true;
        source->root_fd =
            sli_openat(AT_FDCWD, args->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0, NULL);
        st = source->root_fd >= 0 ? read_folder(source, args)
                                  : sli_fail_errno(SLUICE_E_IO, errno, "cannot open the folder");
    }
    if (st != SLUICE_OK) {
        sli_error_take(st, &error);
        box_source_close(source);
        return sli_fail(
            st, "yolo: %s: %.800s%s", args->dir, error.text,
            st == SLUICE_E_INVALID ? path_stage_hint(args->dir, "yolo", hint, sizeof(hint)) : "");
    }
    *source_out = source;
    return SLUICE_OK;
}

static const source_ops yolo_ops = {
    .open = yolo_open,
    BOX_SOURCE_OPS,
};

/* ---- the stage ------------------------------------------------------------------------------- */

static sluice_status yolo_check(void *opaque)
{
    const yolo_args *args = opaque;

    return strchr(args->split, '/') == NULL && strcmp(args->split, "..") != 0 &&
                   strlen(args->split) <= NAME_MAX
               ? SLUICE_OK
               : sli_fail(SLUICE_E_INVALID,
                          "yolo: split=%.100s must be the name of a split, such as train",
                          args->split);
}

static sluice_status yolo_infer(const void *opaque, stage_schema *schema)
{
    box_source_columns(schema, ((const yolo_args *)opaque)->max_boxes, true, NULL);
    return SLUICE_OK;
}

static const stage_param yolo_params[] = {
    PARAM_(yolo_args, dir, PARAM_TEXT, NULL, 0, 0, NULL,
           "the folder of the set, which has the folders images and labels"),
    PARAM_(yolo_args, split, PARAM_TEXT, "", 0, 0, NULL,
           "the part of the set that is read: images/SPLIT or SPLIT/images"),
    PARAM_(yolo_args, max_boxes, PARAM_COUNT, "100", 1, BOX_SOURCE_MOST, NULL,
           "maximum number of boxes of an image"),
};

const stage_def stage_yolo = {
    .name = "yolo",
    .summary = "Images with boxes and classes, from YOLO's label files in the layout of "
               "Ultralytics.",
    .elsewhere = "YOLODataset",
    .gives = "image (encoded), boxes f32 (max_boxes, 4), boxes_length i32, classes i32 "
             "(max_boxes), image_id i64",
    .details =
        "The label file of DIR/images/a/1.jpg is DIR/labels/a/1.txt, with a line for each object:\n"
        "  class x y width height     the centre and the size of the box, as\n"
        "                             fractions of the image's upright size\n"
        "  class x1 y1 x2 y2 x3 ...   an outline of at least 3 points, which\n"
        "                             gives the box around it\n"
        "The columns:\n"
        "  image         the encoded image, to be decoded\n"
        "  boxes         x0, y0, x1, y1 in pixels of the decoded image, which\n"
        "                follow crops, resizes and flips\n"
        "  boxes_length  the number of boxes\n"
        "  classes       the class of each box, dropped with its box\n"
        "  image_id      the number of the image, from 0\n"
        "Samples are in the order of their paths, byte by byte; folders within images are read, "
        "too. The names of the classes are the lines of classes.txt, labels/classes.txt or "
        "obj.names in DIR; without such a file they are the numbers.\n"
        "All label files are read at the first use of the dataset; memory holds the boxes. What "
        "follows is counted, and logged once with the first one: images without a label file, "
        "which have no boxes; outlines; lines that repeat one of their file, which are dropped; "
        "boxes without an area, which are dropped; boxes that reach beyond their image, which are "
        "clipped. An image is a bad sample, with file and line, if a line of its label file has "
        "another number of numbers, a class without a name, or a coordinate below -0.01 or above "
        "1.01, or if it has more than max_boxes boxes. max_boxes is at most 1 048 576. Missing or "
        "corrupt images are bad samples of a run.\n"
        "Errors: E_INVALID no folder of images, no images, no label files; E_CORRUPT only bad "
        "images, a file of names with an empty line; E_IO.",
    .kind = STAGE_SOURCE,
    STAGE_PARAMS(yolo_params),
    .args_size = sizeof(yolo_args),
    .check = yolo_check,
    .infer = yolo_infer,
    .source =
        &(const source_stage_ops){
            .ops = &yolo_ops,
        },
};
