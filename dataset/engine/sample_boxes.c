/* SPDX-License-Identifier: Apache-2.0 */
#include "sample_boxes.h"

#include <math.h>
#include <string.h>

#include "fused_boxes.h"
#include "layout_int.h"
#include "status_int.h"
#include "tensor_int.h"

typedef struct box {
    float x0;
    float y0;
    float x1;
    float y1;
} box;

static double clip(double value, double low, double high)
{
    return value < low ? low : value > high ? high : value;
}

/*
 * Replaces a box by the bounding box of its four warped corners, clipped to an image of this size.
 * Corners on both sides of the horizon of a perspective give the whole image. False: nothing is
 * left.
 */
static bool follow_warp(const image_warp *warp, uint32_t width, uint32_t height, double x[2],
                        double y[2])
{
    double low[2] = {HUGE_VAL, HUGE_VAL};
    double high[2] = {-HUGE_VAL, -HUGE_VAL};
    uint32_t positive = 0;
    warp_matrix forward;

    if (!warp_invert(&warp->matrix, &forward)) {
        return false;
    }
    for (int i = 0; i < 4; i++) {
        double point[2];

        positive += warp_point(&forward, x[i & 1], y[i >> 1], point) > 0;
        if (warp->shifts != NULL) {
            way_shift_back(warp->shifts, width, height, point);
        }
        for (int axis = 0; axis < 2; axis++) {
            low[axis] = point[axis] < low[axis] ? point[axis] : low[axis];
            high[axis] = point[axis] > high[axis] ? point[axis] : high[axis];
        }
    }
    if (positive != 0 && positive != 4) {
        low[0] = low[1] = 0;
        high[0] = width;
        high[1] = height;
    }
    x[0] = clip(low[0], 0, width);
    x[1] = clip(high[0], 0, width);
    y[0] = clip(low[1], 0, height);
    y[1] = clip(high[1], 0, height);
    return x[0] < x[1] && y[0] < y[1];
}

/* Transforms a box by all warps. False: nothing is left of it. */
static bool follow_warps(const color_chain *colors, double x[2], double y[2])
{
    for (uint32_t i = 0; i < colors->count; i++) {
        const color_operation *operation = &colors->operations[i];

        if (operation->kind == COLOR_WARP &&
            !follow_warp(&operation->warp, colors->width, colors->height, x, y)) {
            return false;
        }
    }
    return true;
}

static void flip_axis(double range[2], uint32_t length)
{
    const double low = range[0];

    range[0] = length - range[1];
    range[1] = length - low;
}

/* Transforms a box by all groups, the warps and the flips. False: nothing is left of it. */
static bool follow(const image_way *way, const box *from, box *to)
{
    double x[2] = {(double)from->x0, (double)from->x1};
    double y[2] = {(double)from->y0, (double)from->y1};
    uint32_t width = way->width;
    uint32_t height = way->height;

    for (uint32_t i = 0; i < way->group_count; i++) {
        if (!fused_follow(&way->groups[i], x, y)) {
            return false;
        }
        width = way->groups[i].window_width;
        height = way->groups[i].window_height;
    }
    if (way->colors != NULL && !follow_warps(way->colors, x, y)) {
        return false;
    }
    if ((way->flips & SLI_ROW_FLIP) != 0) {
        flip_axis(x, width);
    }
    if ((way->flips & SLI_ROW_FLIP_LINES) != 0) {
        flip_axis(y, height);
    }
    *to = (box){(float)x[0], (float)y[0], (float)x[1], (float)y[1]};
    return to->x0 < to->x1 && to->y0 < to->y1;
}

/* Bytes of one element of a column's first dimension. */
static size_t element_bytes(const sluice_column *column)
{
    size_t size = sluice_dtype_size(column->dtype);

    for (uint32_t i = 1; i < column->rank; i++) {
        size *= (size_t)column->shape[i];
    }
    return size;
}

/* Moves element `from` of a column to position `to`. */
static void keep_element(const sluice_column *column, void *row, uint32_t from, uint32_t to)
{
    const size_t size = element_bytes(column);

    memmove((uint8_t *)row + to * size, (const uint8_t *)row + from * size, size);
}

static void zero_tail(const sluice_column *column, void *row, uint32_t from)
{
    const size_t size = element_bytes(column);

    memset((uint8_t *)row + from * size, 0, ((size_t)column->shape[0] - from) * size);
}

/* True if column i is needed and its rows belong to these boxes, or to points that do. */
static bool is_of(const stage_schema *schema, uint32_t i, uint32_t boxes, void *const *buffers)
{
    const column_info *info = &schema->infos[i];

    if (!schema_is_tied(info) || buffers[i] == NULL) {
        return false;
    }
    return info->tied_to == boxes ||
           (info->role == ROLE_TIED && schema_is_tied(&schema->infos[info->tied_to]) &&
            schema->infos[info->tied_to].tied_to == boxes);
}

/*
 * Converts a box to pixels. The products are float: gcc 12 -O3 leaves a double product, converted
 * to float and back, without the rounding to float.
 */
static box in_pixels(const column_info *info, const image_way *way, const box *from)
{
    const bool in_parts = info->in_parts && !way->are_pixels;
    const float width = in_parts ? (float)way->width : 1;
    const float height = in_parts ? (float)way->height : 1;

    return (box){from->x0 * width, from->y0 * height, from->x1 * width, from->y1 * height};
}

/* True if a stage of geometry has dropped box i. */
static bool is_dropped(const image_way *way, uint32_t column, uint32_t i)
{
    return way->boxes != NULL && way->boxes->column == column && i < way->boxes->count &&
           way->boxes->dropped[i] != 0;
}

void boxes_begin(const stage_schema *schema, const image_way *way, void *const *buffers,
                 plan_boxes *boxes)
{
    const column_info *info = &schema->infos[boxes->column];
    const int32_t length = *(const int32_t *)buffers[info->length];
    const uint32_t most = (uint32_t)schema->columns[boxes->column].shape[0];
    const box *from = buffers[boxes->column];

    boxes->count = length < 0 ? 0 : (uint32_t)length < most ? (uint32_t)length : most;
    for (uint32_t i = 0; i < boxes->count; i++) {
        const box b = in_pixels(info, way, &from[i]);

        boxes->corners[i][0] = (double)b.x0;
        boxes->corners[i][1] = (double)b.y0;
        boxes->corners[i][2] = (double)b.x1;
        boxes->corners[i][3] = (double)b.y1;
        boxes->dropped[i] = 0;
    }
}

/* Transforms the boxes of one column. Columns that belong to them are compacted in the same way. */
static sluice_status follow_column(const stage_schema *schema, const image_way *way,
                                   uint32_t column, void *const *buffers)
{
    int32_t *length = buffers[schema->infos[column].length];
    box *boxes = buffers[column];
    uint32_t kept = 0;

    for (uint32_t i = 0; i < (uint32_t)*length; i++) {
        const box from = in_pixels(&schema->infos[column], way, &boxes[i]);

        if (from.x1 > (float)way->width || from.y1 > (float)way->height) {
            return sli_fail(SLUICE_E_CORRUPT,
                            "%s: box %u, %g,%g,%g,%g, reaches beyond the image of %ux%u",
                            schema->columns[column].name, i + 1, (double)from.x0, (double)from.y0,
                            (double)from.x1, (double)from.y1, way->width, way->height);
        }
        if (is_dropped(way, column, i) || !follow(way, &from, &boxes[kept])) {
            continue;
        }
        for (uint32_t c = 0; c < schema->column_count; c++) {
            if (is_of(schema, c, column, buffers)) {
                keep_element(&schema->columns[c], buffers[c], i, kept);
            }
        }
        kept++;
    }
    for (uint32_t c = 0; c < schema->column_count; c++) {
        if (c == column || is_of(schema, c, column, buffers)) {
            zero_tail(&schema->columns[c], buffers[c], kept);
        }
    }
    *length = (int32_t)kept;
    return SLUICE_OK;
}

sluice_status boxes_follow(const stage_schema *schema, const image_way *way, void *const *buffers)
{
    sluice_status st = SLUICE_OK;

    for (uint32_t c = 0; c < schema->column_count && st == SLUICE_OK; c++) {
        if (schema->infos[c].role == ROLE_BOXES && buffers[c] != NULL) {
            st = follow_column(schema, way, c, buffers);
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
    const size_t size = element_bytes(column);

    memmove((uint8_t *)row + at * size, (const uint8_t *)row + (at + 1) * size,
            (count - 1 - at) * size);
}

static void copy_element(const sluice_column *column, const void *from_row, uint32_t from,
                         void *to_row, uint32_t to)
{
    const size_t size = element_bytes(column);

    memcpy((uint8_t *)to_row + to * size, (const uint8_t *)from_row + from * size, size);
}

/* Adds box i of `from`, with all that belongs to it, at the end. If there is no room, the smallest
 * of all boxes is left out. */
static void join_box(const stage_schema *schema, uint32_t column, void *const *from, uint32_t i,
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
            return;
        }
        --*length;
    }
    for (uint32_t c = 0; c < schema->column_count; c++) {
        if (c == column || is_of(schema, c, column, to)) {
            if (smallest < most) {
                remove_element(&schema->columns[c], to[c], smallest, most);
            }
            copy_element(&schema->columns[c], from[c], i, to[c], (uint32_t)*length);
        }
    }
    ++*length;
}

void boxes_join(const stage_schema *schema, void *const *from, void *const *to)
{
    for (uint32_t c = 0; c < schema->column_count; c++) {
        if (schema->infos[c].role == ROLE_BOXES && to[c] != NULL) {
            const uint32_t count = (uint32_t) * (const int32_t *)from[schema->infos[c].length];

            for (uint32_t i = 0; i < count; i++) {
                join_box(schema, c, from, i, to);
            }
        }
    }
}

void boxes_drop_all(const stage_schema *schema, void *const *buffers)
{
    for (uint32_t c = 0; c < schema->column_count; c++) {
        if (schema->infos[c].role != ROLE_BOXES || buffers[c] == NULL) {
            continue;
        }
        for (uint32_t i = 0; i < schema->column_count; i++) {
            if (i == c || is_of(schema, i, c, buffers)) {
                zero_tail(&schema->columns[i], buffers[i], 0);
            }
        }
        *(int32_t *)buffers[schema->infos[c].length] = 0;
    }
}
