/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzz target: any bytes as a label file of YOLO. The first byte is how many classes have names,
 * and how many numbers key points have. */
#include "error_int.h"
#include "fuzz_target.h"
#include "yolo_labels.h"

enum { MOST = 3 };

static box_place place_of(const void *user, size_t image)
{
    (void)image;
    return (box_place){.file = user};
}

static void check_box(const set_box *box, const yolo_labels *labels)
{
    if (!(box->corners[0] >= 0 && box->corners[0] < box->corners[2] && box->corners[2] <= 1 &&
          box->corners[1] >= 0 && box->corners[1] < box->corners[3] && box->corners[3] <= 1)) {
        fuzz_fail("a box beyond its image, or without an area");
    }
    if (box->label < 0 ||
        (uint32_t)box->label >= (labels->class_count > 0 ? labels->class_count : labels->unnamed)) {
        fuzz_fail("a class that is none");
    }
}

/* Draws all boxes, whose lines are polygons. */
static void draw(const box_set *set, const char *text, size_t size)
{
    object_raster raster = {.width = 0};

    if (raster_begin(&raster, 23, 17) != SLUICE_OK) {
        return;
    }
    for (size_t i = 0; i < set->box_count; i++) {
        const set_box *box = &set->boxes[i];

        if (box->shape > size || box->shape_bytes > size - box->shape ||
            yolo_shape_add(&raster, text + box->shape, box->shape_bytes) != SLUICE_OK) {
            fuzz_fail("a polygon that was read and cannot be drawn");
        }
        raster_clear(&raster);
    }
    raster_free(&raster);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    box_set set = {.max_boxes = MOST, .in_parts = true};
    yolo_labels labels = {.lines = NULL};

    if (size == 0) {
        return 0;
    }
    labels.class_count = data[0] & 15;
    labels.point_numbers = data[0] >> 4;
    labels.has_shapes = size % 2 == 0;
    if (!labels.has_shapes && labels.point_numbers % 2 == 0) {
        labels.keypoints = set.points.count = labels.point_numbers / 2;
    } else if (!labels.has_shapes && labels.point_numbers % 3 == 0) {
        labels.keypoints = set.points.count = labels.point_numbers / 3;
    }
    if (box_set_add_image(&set, &(box_image){.id = 1}) != SLUICE_OK ||
        yolo_labels_add(&labels, (const char *)data + 1, size - 1, "labels/a.txt", &set) !=
            SLUICE_OK) {
        fuzz_fail("a wrong label file that is not a bad sample");
    }
    if (box_set_finish(&set, place_of, "labels/a.txt") == SLUICE_OK) {
        if (set.images[0].count > MOST || set.images[0].count != set.box_count) {
            fuzz_fail("too many boxes");
        }
        for (size_t i = 0; i < set.box_count; i++) {
            check_box(&set.boxes[i], &labels);
        }
        if (labels.has_shapes) {
            draw(&set, (const char *)data + 1, size - 1);
        }
    }
    yolo_labels_free(&labels);
    box_set_free(&set);
    return 0;
}
