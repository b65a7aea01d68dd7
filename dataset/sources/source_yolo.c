/* SPDX-License-Identifier: Apache-2.0 */
/* Source `yolo`: images with the boxes of YOLO's label files, in the layout of Ultralytics. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "box_source.h"
#include "class_lines.h"
#include "descriptor_int.h"
#include "error_int.h"
#include "file_reader.h"
#include "format_int.h"
#include "image_extensions.h"
#include "log_int.h"
#include "path_stage.h"
#include "root_folder.h"
#include "source_stage_ops.h"
#include "stage.h"
#include "status_int.h"
#include "yolo_data.h"
#include "yolo_images.h"
#include "yolo_set.h"

typedef struct yolo_args {
    const char *dir;
    const char *split; /* "": the whole folder */
    const char *root;  /* folder of the set, for a data.yaml; "": it says */
    uint64_t max_boxes;
    uint32_t masks;     /* a mask_kind */
    uint64_t keypoints; /* of a box; 0: they are not read */
} yolo_args;

/* ---- opening --------------------------------------------------------------------------------- */

/* Logs what is left out of the folders, and keeps its text. */
static void tell_left_out(box_source *source, const image_files *images, const char *about)
{
    if (left_out_print(&images->left_out, source->left_out, sizeof(source->left_out))) {
        sli_log(SLUICE_LOG_WARN, "yolo: %s: left out: %s; it reads images with extensions %s",
                about, source->left_out, image_extensions);
    }
}

/* What a set is read by. */
typedef struct yolo_opening {
    box_source *source;
    const yolo_args *args;
    yolo_data data;
    image_files images;
    yolo_labels labels;
} yolo_opening;

/* Reads data.yaml, for its images too if `split` is not NULL. */
static sluice_status read_data(yolo_opening *opening, int folder_fd, const char *path,
                               const char *split)
{
    sample_io io = {.lent = NULL};
    sample_data data = {.bytes = NULL};
    sluice_status st = file_read_most(folder_fd, path, YOLO_DATA_MOST, &io, &data);

    if (st == SLUICE_OK) {
        st = yolo_data_read((const char *)data.bytes, data.size, split, &opening->data,
                            &opening->source->set);
    }
    opening->labels.point_numbers = opening->data.point_numbers;
    opening->labels.class_count = opening->data.nc;
    sample_io_free(&io);
    return st;
}

/* Checks that the set has the key points of the argument. */
static sluice_status check_points(yolo_opening *opening)
{
    const yolo_data *data = &opening->data;
    const uint32_t keypoints = (uint32_t)opening->args->keypoints;

    if (keypoints == 0) {
        return SLUICE_OK;
    }
    if (data->points != keypoints) {
        return data->points == 0
                   ? sli_fail(SLUICE_E_INVALID,
                              "keypoints=%u needs a data.yaml with kpt_shape: [%u, 3] or [%u, 2]",
                              keypoints, keypoints, keypoints)
                   : sli_fail(SLUICE_E_INVALID,
                              "keypoints=%u must be %u, the points of kpt_shape in data.yaml",
                              keypoints, data->points);
    }
    if (data->flip_points != 0 && data->flip_points != keypoints) {
        return sli_fail(SLUICE_E_CORRUPT, "flip_idx has %u points, and kpt_shape %u",
                        data->flip_points, keypoints);
    }
    opening->labels.keypoints = keypoints;
    opening->source->set.points.count = keypoints;
    opening->source->pairs = data->pairs;
    return SLUICE_OK;
}

/* Reads the names of the classes of a folder: of data.yaml, or of a list of names. A build without
 * libyaml needs a list. */
static sluice_status read_names(yolo_opening *opening)
{
    static const char *const files[] = {"classes.txt", "labels/classes.txt", "obj.names", NULL};
    const int fd = opening->source->root_fd;
    box_set *set = &opening->source->set;
    sli_error error = {.status = SLUICE_OK};
    sluice_status st;

    if (faccessat(fd, "data.yaml", F_OK, 0) == 0) {
        st = read_data(opening, fd, "data.yaml", NULL);
        sli_error_take(st, &error);
        if (st != SLUICE_OK && st != SLUICE_E_UNSUPPORTED) {
            return sli_fail_with(st, error.error_number, "data.yaml: %.800s", error.text);
        }
    }
    st = set->class_count == 0 ? class_lines_find(fd, files, set) : SLUICE_OK;
    if (st == SLUICE_OK && set->class_count > 0 && error.status != SLUICE_OK) {
        sli_log(SLUICE_LOG_WARN,
                "yolo: %s/data.yaml is not read: %.700s; the names of the classes are those of a "
                "list in the folder, and nothing else of data.yaml is used",
                opening->args->dir, error.text);
    }
    return st == SLUICE_OK && set->class_count == 0 ? sli_error_raise(&error) : st;
}

static sluice_status read_folder(yolo_opening *opening)
{
    const yolo_args *args = opening->args;
    const int fd = sli_openat(AT_FDCWD, args->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0, NULL);
    sluice_status st;

    opening->source->root_fd = fd;
    if (fd < 0) {
        return sli_fail_errno(SLUICE_E_IO, errno, "cannot open the folder");
    }
    if (args->root[0] != '\0') {
        return sli_fail(SLUICE_E_INVALID,
                        "root= needs a data.yaml, and this is the folder of the set");
    }
    st = yolo_images_of_split(fd, args->dir, args->split, &opening->images);
    return st == SLUICE_OK ? read_names(opening) : st;
}

/* Opens the folder of the set that data.yaml describes: root=, else `path:`, relative to the folder
 * of data.yaml. */
static sluice_status open_root(yolo_opening *opening)
{
    const yolo_args *args = opening->args;
    const image_files *folder = &opening->data.folder;
    const char *path = folder->count > 0 && args->root[0] == '\0' ? folder->names : "";
    const char *slash = strrchr(args->dir, '/');
    char joined[PATH_MAX];
    sluice_status st;

    if (path[0] == '\0') {
        return root_folder_open(args->dir, args->root, &opening->source->root_fd);
    }
    snprintf(joined, sizeof(joined), "%.*s%s",
             path[0] != '/' && slash != NULL ? (int)(slash - args->dir) + 1 : 0, args->dir, path);
    st = root_folder_open("", joined, &opening->source->root_fd);
    return st == SLUICE_OK ? st
                           : sli_fail_with(st, sli_last_errno(),
                                           "path: is %.300s, and there is no folder %.300s; "
                                           "root=DIR names the folder of the set",
                                           path, joined);
}

static sluice_status read_described(yolo_opening *opening)
{
    static const char *const files[] = {"classes.txt", NULL};
    const yolo_args *args = opening->args;
    const image_files *entries = &opening->data.images;
    sluice_status st;

    st = read_data(opening, AT_FDCWD, args->dir, args->split[0] != '\0' ? args->split : NULL);
    if (st == SLUICE_OK && args->split[0] == '\0') {
        return yolo_fail_splits(args->dir, opening->data.lists);
    }
    if (st == SLUICE_OK) {
        st = open_root(opening);
    }
    for (size_t i = 0; i < entries->count && st == SLUICE_OK; i++) {
        st = yolo_images_of_entry(opening->source->root_fd, entries->names + entries->files[i],
                                  &opening->images);
    }
    return st == SLUICE_OK && opening->source->set.class_count == 0
               ? class_lines_find(opening->source->root_fd, files, &opening->source->set)
               : st;
}

static bool is_yaml(const char *path)
{
    const char *dot = strrchr(path, '.');

    return dot != NULL && (sli_same_word(dot, ".yaml") || sli_same_word(dot, ".yml"));
}

static sluice_status read_all(box_source *source, const yolo_args *args)
{
    yolo_opening opening = {
        .source = source, .args = args, .labels.has_shapes = args->masks != MASKS_NONE};
    sluice_status st = is_yaml(args->dir) ? read_described(&opening) : read_folder(&opening);

    st = st == SLUICE_OK ? check_points(&opening) : st;
    if (st == SLUICE_OK) {
        tell_left_out(source, &opening.images, args->dir);
        st = yolo_set_read(source, &opening.images, &opening.labels, args->dir);
        st = st == SLUICE_OK ? box_source_check_classes(source) : st;
    }
    yolo_data_free(&opening.data);
    yolo_labels_free(&opening.labels);
    image_files_free(&opening.images);
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
        source->masks = (mask_kind)args->masks;
        st = read_all(source, args);
    }
    if (st != SLUICE_OK) {
        sli_error_take(st, &error);
        box_source_close(source);
        return sli_fail_with(
            st, error.error_number, "yolo: %s: %.800s%s", args->dir, error.text,
            st == SLUICE_E_INVALID ? path_stage_hint(args->dir, "yolo", hint, sizeof(hint)) : "");
    }
    *source_out = source;
    return SLUICE_OK;
}

/* The label file of an image, for draw_line(). */
typedef struct label_file {
    const box_source *source;
    const char *image;
    sample_io *io;
    sample_data data; /* of the file, once it is read */
} label_file;

/* Draws the polygon of a box, whose line was found when the set was opened. */
static sluice_status draw_line(void *user, const set_box *box, object_raster *raster)
{
    label_file *file = user;
    char path[PATH_MAX] = "";
    sluice_status st = yolo_label_path(file->image, path, sizeof(path))
                           ? SLUICE_OK
                           : sli_fail(SLUICE_E_IO, "its path is too long");

    if (st == SLUICE_OK && file->data.bytes == NULL) {
        st = file_read_most(file->source->root_fd, path, YOLO_LABELS_MOST, file->io, &file->data);
    }
    if (st == SLUICE_OK) {
        st = box->shape <= file->data.size && box->shape_bytes <= file->data.size - box->shape
                 ? yolo_shape_add(raster, (const char *)file->data.bytes + box->shape,
                                  box->shape_bytes)
                 : sli_fail(SLUICE_E_CORRUPT, "the file is shorter than when it was opened");
    }
    if (st != SLUICE_OK) {
        st = sli_fail_quoting(st, "%.300s: byte %llu: %.500s", path, (unsigned long long)box->shape,
                              sluice_last_error());
    }
    return st;
}

/* Draws the mask of an image from its label file. */
static sluice_status yolo_read_other(const void *opaque, uint64_t index, uint32_t column,
                                     sample_io *io, sample_data *data_out)
{
    const box_set *set = &((const box_source *)opaque)->set;
    label_file file = {opaque, set->names + set->images[index].name, io, {.bytes = NULL}};

    (void)column;
    return box_source_draw(opaque, index, io, draw_line, &file, data_out);
}

static const source_ops yolo_ops = {
    .open = yolo_open,
    .read_other = yolo_read_other,
    BOX_SOURCE_OPS,
};

/* ---- the stage ------------------------------------------------------------------------------- */

static sluice_status yolo_check(void *opaque)
{
    const yolo_args *args = opaque;
    const sluice_status st = box_source_check_rows("yolo", (mask_kind)args->masks, args->max_boxes);

    if (st != SLUICE_OK) {
        return st;
    }
    if (args->masks != MASKS_NONE && args->keypoints > 0) {
        return sli_fail(SLUICE_E_INVALID,
                        "yolo: masks= and keypoints= cannot both be set: a line has a polygon, or "
                        "a box and key points");
    }
    return strchr(args->split, '/') == NULL && strcmp(args->split, "..") != 0 &&
                   strlen(args->split) <= NAME_MAX
               ? SLUICE_OK
               : sli_fail(SLUICE_E_INVALID,
                          "yolo: split=%.100s must be the name of a split, such as train",
                          args->split);
}

static sluice_status yolo_infer(const void *opaque, stage_schema *schema)
{
    const yolo_args *args = opaque;

    box_source_columns(schema, args->max_boxes, true, NULL);
    if (args->keypoints > 0) {
        box_source_add_points(schema, args->max_boxes, (uint32_t)args->keypoints, true);
    }
    if (args->masks != MASKS_NONE) {
        box_source_add_mask(schema);
    }
    if (args->masks == MASKS_INSTANCE) {
        box_source_add_instances(schema, args->max_boxes);
    }
    return SLUICE_OK;
}

static const stage_param yolo_params[] = {
    PARAM_(yolo_args, dir, PARAM_TEXT, NULL, 0, 0, NULL,
           "the folder of the set, which has the folders images and labels; or its data.yaml"),
    PARAM_(yolo_args, split, PARAM_TEXT, "", 0, 0, NULL,
           "the part of the set that is read: images/SPLIT or SPLIT/images; or the key of "
           "data.yaml"),
    PARAM_(yolo_args, root, PARAM_TEXT, "", 0, 0, NULL,
           "with a data.yaml: the folder of the set, in place of path:"),
    PARAM_(yolo_args, max_boxes, PARAM_COUNT, "100", 1, BOX_SOURCE_MOST, NULL,
           "maximum number of boxes of an image"),
    PARAM_(yolo_args, masks, PARAM_CHOICE, "none", 0, 0, mask_kind_choices,
           "semantic, instance: the column mask, drawn from the polygons"),
    PARAM_(yolo_args, keypoints, PARAM_COUNT, "0", 0, BOX_MOST_POINTS, NULL,
           "number of key points of a box, that of kpt_shape, for the columns keypoints and "
           "visibility"),
};

const stage_def stage_yolo = {
    .name = "yolo",
    .summary = "Images with boxes and classes, from YOLO's label files in the layout of "
               "Ultralytics.",
    .elsewhere = "YOLODataset",
    .gives = "image (encoded), boxes f32 (max_boxes, 4), boxes_length i32, classes i32 "
             "(max_boxes), image_id i64; of keypoints=K also keypoints f32 (max_boxes, K, 2) and "
             "visibility u8 (max_boxes, K); of masks= also mask (encoded), of masks=instance "
             "also instances i32 (max_boxes)",
    .details =
        "The label file of DIR/images/a/1.jpg is DIR/labels/a/1.txt, with a line for each object:\n"
        "  class x y width height     the centre and the size of the box, as\n"
        "                             fractions of the image's upright size\n"
        "  class x1 y1 x2 y2 x3 ...   a polygon of at least 3 points, which\n"
        "                             gives the box around it\n"
        "The columns:\n"
        "  image         the encoded image, to be decoded\n"
        "  boxes         x0, y0, x1, y1 in pixels of the decoded image, which\n"
        "                follow crops, resizes and flips\n"
        "  boxes_length  the number of boxes\n"
        "  classes       the class of each box, dropped with its box\n"
        "  image_id      the number of the image, from 0\n"
        "  keypoints     with keypoints=K: x, y of the K key points of each box in\n"
        "                pixels; they follow the image, and are dropped with their box\n"
        "  visibility    with keypoints=K: 0 not labelled, 1 hidden, 2 visible; 1 if\n"
        "                kpt_shape is [K, 2]\n"
        "  mask          with masks=semantic or instance: a number for each pixel,\n"
        "                0 for the background; it follows the image by nearest\n"
        "                neighbour\n"
        "  instances     with masks=instance: the number of each box in the mask, dropped\n"
        "                with its box; unused rows are 0\n"
        "Samples are in the order of their paths, byte by byte; folders within images are read, "
        "too. The names of the classes are those of DIR/data.yaml, or the lines of classes.txt, "
        "labels/classes.txt or obj.names in DIR; without such a file they are the numbers.\n"
        "Of a data.yaml of Ultralytics the keys path, SPLIT, names, nc, kpt_shape and flip_idx are "
        "read. The key SPLIT has a folder, a list of images (.txt), or several of them, relative "
        "to path:, "
        "which is relative to the folder of data.yaml. A line of a list is relative to the folder "
        "of the list, or absolute. With kpt_shape lines may have key points after the box, which "
        "are read with keypoints=; a flip exchanges those of flip_idx.\n"
        "A mask is drawn when its sample is read: a polygon has the pixels that pycocotools gives "
        "it, and they have the numbers that masks= of the source coco gives. All lines must then "
        "be polygons, so masks= and keypoints= exclude each other.\n"
        "All label files are read at the first use of the dataset; memory holds the boxes. What "
        "follows is counted, and logged once with the first one: images without a label file, "
        "which have no boxes; polygons; lines that repeat one of their file, which are dropped; "
        "boxes without an area, which are dropped; boxes that reach beyond their image, which are "
        "clipped. An image is a bad sample, with file and line, if a line of its label file has "
        "another number of numbers, a class without a name, or a coordinate below -0.01 or above "
        "1.01, or if it has more than max_boxes boxes. max_boxes is at most 1 048 576. Missing or "
        "corrupt images are bad samples of a run.\n"
        "Errors: E_INVALID no folder of images, no images, no label files; E_CORRUPT only bad "
        "images, a file of names with an empty line, a wrong data.yaml; E_UNSUPPORTED a data.yaml "
        "without libyaml; E_IO.",
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
