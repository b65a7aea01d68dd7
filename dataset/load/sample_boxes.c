/* SPDX-License-Identifier: Apache-2.0 */
#include "sample_boxes.h"

#include <math.h>
#include <string.h>

#include "box_rule.h"
#include "color_fields.h"
#include "declared_source.h"
#include "exif.h"
#include "fused_boxes.h"
#include "layout_int.h"

typedef struct box {
    float x0;
    float y0;
    float x1;
    float y1;
} box;

/*
 * Replaces a box by the bounding box of its four warped corners, in an image of this size. Corners
 * on both sides of the horizon of a perspective give the whole image. False: the warp maps the
 * image to a line.
 */
static bool move_warp(const image_warp *warp, uint32_t width, uint32_t height, double x[2],
                      double y[2])
{
    double points[8];
    uint32_t positive = 0;
    warp_matrix forward;

    if (!warp_invert(&warp->matrix, &forward)) {
        return false;
    }
    for (size_t i = 0; i < 4; i++) {
        double *point = points + 2 * i;

        positive += warp_point(&forward, x[i & 1], y[i >> 1], point) > 0;
        if (warp->shifts != NULL) {
            transform_unshift(warp->shifts, width, height, point);
        }
    }
    warp_bounds(points, x, y);
    if (positive != 0 && positive != 4) {
        x[0] = y[0] = 0;
        x[1] = width;
        y[1] = height;
    }
    return true;
}

/* The same, clipped to the image. False: nothing is left. */
static bool follow_warp(const image_warp *warp, uint32_t width, uint32_t height, double x[2],
                        double y[2])
{
    return move_warp(warp, width, height, x, y) && fused_clip(width, height, x, y);
}

static void flip_axis(double range[2], uint32_t length)
{
    const double low = range[0];

    range[0] = length - range[1];
    range[1] = length - low;
}

/*
 * Moves a box through all windows and warps; each clips it, if `clips`. *part_out: the last of
 * them. False: nothing is left.
 */
static bool pass(const sample_transform *transform, const box *from, bool clips, double x[2],
                 double y[2], transform_part *part_out)
{
    transform_place place = {0};

    *part_out = (transform_part){.width = transform->width, .height = transform->height};
    x[0] = (double)from->x0;
    x[1] = (double)from->x1;
    y[0] = (double)from->y0;
    y[1] = (double)from->y1;
    while (transform_next(transform, &place, part_out)) {
        const fused_geometry *window = part_out->window;
        const image_warp *warp = part_out->warp;
        const uint32_t width = part_out->width;
        const uint32_t height = part_out->height;

        if (window != NULL && !(clips ? fused_follow(window, x, y) : fused_move(window, x, y))) {
            return false;
        }
        if (window == NULL && !(clips ? follow_warp(warp, width, height, x, y)
                                      : move_warp(warp, width, height, x, y))) {
            return false;
        }
    }
    return true;
}

/* Transforms a box by all windows and warps, and the flips. False: nothing is left of it. */
static bool follow(const sample_transform *transform, const box *from, box *to)
{
    double x[2];
    double y[2];
    transform_part part;

    if (!pass(transform, from, true, x, y, &part)) {
        return false;
    }
    if ((transform->flips & SLI_ROW_FLIP) != 0) {
        flip_axis(x, part.width);
    }
    if ((transform->flips & SLI_ROW_FLIP_LINES) != 0) {
        flip_axis(y, part.height);
    }
    *to = (box){(float)x[0], (float)y[0], (float)x[1], (float)y[1]};
    return to->x0 < to->x1 && to->y0 < to->y1;
}

/* The area of a box after the transform, in double precision. */
static double moved_area(const sample_transform *transform, const box *from, bool clips)
{
    double x[2];
    double y[2];
    transform_part part;

    return pass(transform, from, clips, x, y, &part) ? (x[1] - x[0]) * (y[1] - y[0]) : 0;
}

/* True if a box, `from` before the transform and `to` after it, keeps the limits. */
static bool keeps_limits(const sample_transform *transform, const box *from, const box *to)
{
    static const double ROUNDING = 1e-9;
    const box_limits *limits = transform->limits;
    const double width = (double)to->x1 - (double)to->x0;
    const double height = (double)to->y1 - (double)to->y0;

    if (width < limits->min_size || height < limits->min_size ||
        width * height < limits->min_area) {
        return false;
    }
    return limits->min_visibility <= 0 ||
           moved_area(transform, from, true) >=
               (limits->min_visibility - ROUNDING) * moved_area(transform, from, false);
}

/*
 * Converts a box to pixels of the image that the annotations are for. The products are float: gcc
 * 12 -O3 leaves a double product, converted to float and back, without the rounding to float.
 */
static box in_pixels(const column_info *info, const sample_transform *transform, const box *from)
{
    const bool in_parts = info->in_parts && !transform->are_pixels;
    uint32_t label_width;
    uint32_t label_height;
    float width;
    float height;

    transform_label_size(transform, &label_width, &label_height);
    width = in_parts ? (float)label_width : 1;
    height = in_parts ? (float)label_height : 1;
    return (box){from->x0 * width, from->y0 * height, from->x1 * width, from->y1 * height};
}

/* True if a stage of geometry has dropped box i. */
static bool is_dropped(const sample_transform *transform, uint32_t column, uint32_t i)
{
    return transform->boxes != NULL && transform->boxes->column == column &&
           i < transform->boxes->count && transform->boxes->dropped[i] != 0;
}

/* Checks a box in pixels of the image that the annotations are for, and clips it to that image. */
static box_verdict judge(const sample_transform *transform, float corners[4])
{
    uint32_t width;
    uint32_t height;

    transform_label_size(transform, &width, &height);
    return box_judge(corners, (float)width, (float)height);
}

/* Moves a box that is for the image as stored to the upright image. */
static void make_upright(const sample_transform *transform, box *b)
{
    const double corners[2][2] = {{(double)b->x0, (double)b->y0}, {(double)b->x1, (double)b->y1}};
    double to[2][2];

    for (int i = 0; i < 2; i++) {
        transform_label_point(transform, corners[i], to[i]);
    }
    b->x0 = (float)fmin(to[0][0], to[1][0]);
    b->y0 = (float)fmin(to[0][1], to[1][1]);
    b->x1 = (float)fmax(to[0][0], to[1][0]);
    b->y1 = (float)fmax(to[0][1], to[1][1]);
}

/*
 * Finds a box in pixels of its image, clipped to it. The source has checked what can be checked
 * without the size of the image.
 */
static box_verdict in_image(const column_info *info, const sample_transform *transform,
                            const box *from, box *to)
{
    const box pixels = in_pixels(info, transform, from);
    float corners[4] = {pixels.x0, pixels.y0, pixels.x1, pixels.y1};
    const box_verdict verdict = judge(transform, corners);

    *to = (box){corners[0], corners[1], corners[2], corners[3]};
    if (transform->applied.labels != EXIF_UPRIGHT) {
        make_upright(transform, to);
    }
    return verdict;
}

void boxes_begin(const stage_schema *schema, const sample_transform *transform,
                 void *const *buffers, plan_boxes *boxes)
{
    const column_info *info = &schema->infos[boxes->column];
    const int32_t length = *(const int32_t *)buffers[info->length];
    const uint32_t most = (uint32_t)schema->columns[boxes->column].shape[0];
    const box *from = buffers[boxes->column];

    boxes->count = length < 0 ? 0 : (uint32_t)length < most ? (uint32_t)length : most;
    for (uint32_t i = 0; i < boxes->count; i++) {
        box b;

        boxes->dropped[i] = in_image(info, transform, &from[i], &b) > BOX_CLIPPED;
        boxes->corners[i][0] = (double)b.x0;
        boxes->corners[i][1] = (double)b.y0;
        boxes->corners[i][2] = (double)b.x1;
        boxes->corners[i][3] = (double)b.y1;
    }
}

sluice_status boxes_warp(const color_chain *lines, plan_boxes *boxes)
{
    const sluice_status st = color_make_fields(lines);

    for (uint32_t k = 0; k < lines->count && st == SLUICE_OK; k++) {
        const color_operation *operation = &lines->operations[k];

        for (uint32_t i = 0; i < boxes->count && operation->kind == COLOR_WARP; i++) {
            double *corners = boxes->corners[i];
            double x[2] = {corners[0], corners[2]};
            double y[2] = {corners[1], corners[3]};

            if (!follow_warp(&operation->warp, lines->width, lines->height, x, y)) {
                boxes->dropped[i] = 1;
            }
            corners[0] = x[0];
            corners[1] = y[0];
            corners[2] = x[1];
            corners[3] = y[1];
        }
    }
    return st;
}

sluice_status boxes_follow(const stage_schema *schema, const sample_transform *transform,
                           uint32_t column, void *const *buffers, changed_boxes *clipped_out)
{
    const column_info *info = &schema->infos[column];
    const uint32_t count = (uint32_t) * (const int32_t *)buffers[info->length];
    box *boxes = buffers[column];
    uint32_t kept = 0;

    clipped_out->count = 0;
    clipped_out->below = 0;
    for (uint32_t i = 0; i < count; i++) {
        const box pixels = in_pixels(info, transform, &boxes[i]);
        const float listed[4] = {pixels.x0, pixels.y0, pixels.x1, pixels.y1};
        box from;
        const box_verdict verdict = in_image(info, transform, &boxes[i], &from);

        if (verdict == BOX_OUTSIDE || verdict == BOX_INVALID) {
            uint32_t width;
            uint32_t height;

            transform_label_size(transform, &width, &height);
            return box_fail(verdict, schema->columns[column].name, i + 1, listed, (float)width,
                            (float)height);
        }
        if (verdict == BOX_CLIPPED) {
            box_rows_note(clipped_out, column, i, listed);
        }
        if (verdict == BOX_EMPTY || is_dropped(transform, column, i) ||
            !follow(transform, &from, &boxes[kept])) {
            continue;
        }
        if (transform->limits != NULL && !keeps_limits(transform, &from, &boxes[kept])) {
            clipped_out->below++;
            continue;
        }
        box_rows_move(schema, column, buffers, i, kept++, false);
    }
    box_rows_end(schema, column, buffers, kept);
    return SLUICE_OK;
}

sluice_status boxes_follow_all(const sluice_dataset *dataset, const sample_transform *transform,
                               uint64_t sample, sample_io *io, void *const *buffers,
                               uint32_t *below_out)
{
    const stage_schema *schema = &dataset->source_schema;
    sluice_status st = SLUICE_OK;

    *below_out = 0;
    for (uint32_t c = 0; c < schema->column_count && st == SLUICE_OK; c++) {
        changed_boxes clipped;

        if (schema->infos[c].role == ROLE_BOXES && buffers[c] != NULL) {
            st = boxes_follow(schema, transform, c, buffers, &clipped);
            if (st == SLUICE_OK) {
                declared_source_clipped(dataset, sample, io, &clipped);
                *below_out += clipped.below;
            }
        }
    }
    return st;
}

/* ---- joining --------------------------------------------------------------------------------- */

static double area_of(const box *b)
{
    return ((double)b->x1 - (double)b->x0) * ((double)b->y1 - (double)b->y0);
}

/* The index of the smallest of these boxes, the last one of several. */
static uint32_t smallest_of(const box *boxes, uint32_t count)
{
    uint32_t smallest = 0;

    for (uint32_t i = 1; i < count; i++) {
        if (area_of(&boxes[i]) <= area_of(&boxes[smallest])) {
            smallest = i;
        }
    }
    return smallest;
}

/* Removes element `at` of `count` elements. */
static void remove_element(const sluice_column *column, void *row, uint32_t at, uint32_t count)
{
    const size_t size = box_rows_bytes(column);

    memmove((uint8_t *)row + at * size, (const uint8_t *)row + (at + 1) * size,
            (count - 1 - at) * size);
}

static void copy_element(const sluice_column *column, const void *from_row, uint32_t from,
                         void *to_row, uint32_t to)
{
    const size_t size = box_rows_bytes(column);

    memcpy((uint8_t *)to_row + to * size, (const uint8_t *)from_row + from * size, size);
}

/* Adds box i of `from`, with all that belongs to it, at the end. If there is no room, the smallest
 * of all boxes is left out. Returns whether one is. */
static bool join_box(const stage_schema *schema, uint32_t column, void *const *from, uint32_t i,
                     void *const *to)
{
    const uint32_t most = (uint32_t)schema->columns[column].shape[0];
    int32_t *length = to[schema->infos[column].length];
    const box *added = (const box *)from[column] + i;
    const box *boxes = to[column];
    uint32_t smallest = most;

    if ((uint32_t)*length == most) {
        smallest = smallest_of(boxes, most);
        if (most == 0 || area_of(added) <= area_of(&boxes[smallest])) {
            return true;
        }
        --*length;
    }
    for (uint32_t c = 0; c < schema->column_count; c++) {
        if (c == column || (to[c] != NULL && box_rows_belong(schema, c, column))) {
            if (smallest < most) {
                remove_element(&schema->columns[c], to[c], smallest, most);
            }
            copy_element(&schema->columns[c], from[c], i, to[c], (uint32_t)*length);
        }
    }
    ++*length;
    return smallest < most;
}

uint32_t boxes_join(const stage_schema *schema, void *const *from, void *const *to)
{
    uint32_t left_out = 0;

    for (uint32_t c = 0; c < schema->column_count; c++) {
        if (schema->infos[c].role == ROLE_BOXES && to[c] != NULL) {
            const uint32_t count = (uint32_t) * (const int32_t *)from[schema->infos[c].length];

            for (uint32_t i = 0; i < count; i++) {
                left_out += join_box(schema, c, from, i, to);
            }
        }
    }
    return left_out;
}

void boxes_drop_all(const stage_schema *schema, void *const *buffers)
{
    for (uint32_t c = 0; c < schema->column_count; c++) {
        if (schema->infos[c].role == ROLE_BOXES && buffers[c] != NULL) {
            box_rows_end(schema, c, buffers, 0);
        }
    }
}
