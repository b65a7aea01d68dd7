/* SPDX-License-Identifier: Apache-2.0 */
#include "sample_points.h"

#include <string.h>

#include "point_range.h"
#include "status_int.h"

/* The points of a column of a sample: `rows` rows of `count` points that have meanings. */
typedef struct point_rows {
    uint64_t rows;
    uint64_t count;
} point_rows;

/* True if the first dimension counts points, each with a meaning; false: it counts rows of points.
 */
static bool is_one_row(const sluice_column *column)
{
    return column->rank == 2;
}

static point_rows find_rows(const stage_schema *schema, uint32_t column, void *const *buffers)
{
    const sluice_column *type = &schema->columns[column];
    const uint32_t length = schema->infos[column].length;
    const uint64_t first =
        length == SCHEMA_NO_LENGTH ? type->shape[0] : (uint64_t) * (const int32_t *)buffers[length];

    return is_one_row(type) ? (point_rows){1, first} : (point_rows){first, type->shape[1]};
}

/* True for a point that has no position in the image: move_points() has set it so. */
static bool is_nowhere(const float *point)
{
    return point[0] == -POINT_FARTHEST && point[1] == -POINT_FARTHEST;
}

/*
 * Moves points over a leg. One that a perspective moves to infinity, or farther than
 * POINT_FARTHEST, is set to (-POINT_FARTHEST, -POINT_FARTHEST).
 */
static void move_points(const transform_leg *leg, float *points, uint64_t count)
{
    const bool is_affine = warp_is_affine(&leg->map);

    for (uint64_t i = 0; i < count; i++) {
        float *point = &points[2 * i];
        double to[2];

        if (is_nowhere(point)) {
            continue;
        }
        (void)warp_point(&leg->map, (double)point[0], (double)point[1], to);
        if (leg->shifts != NULL) {
            transform_unshift(leg->shifts, leg->width, leg->height, to);
        }
        point[0] = (float)to[0];
        point[1] = (float)to[1];
        if (!is_affine && !point_is_valid(point)) {
            point[0] = -POINT_FARTHEST;
            point[1] = -POINT_FARTHEST;
        }
    }
}

/* Exchanges pairs of elements of `size` bytes in a row that has `count` of them. */
static void exchange_row(const point_pairs *pairs, uint8_t *row, uint64_t count, size_t size)
{
    for (uint32_t i = 0; i < pairs->count; i++) {
        uint8_t *a = row + pairs->pairs[i][0] * size;
        uint8_t *b = row + pairs->pairs[i][1] * size;

        if (pairs->pairs[i][0] >= count || pairs->pairs[i][1] >= count) {
            continue;
        }
        for (size_t at = 0; at < size; at++) {
            const uint8_t byte = a[at];

            a[at] = b[at];
            b[at] = byte;
        }
    }
}

/* Checks that a sample has both points of each pair, or none of them. */
static sluice_status check_pairs(const point_pairs *pairs, const char *column, uint64_t count)
{
    for (uint32_t i = 0; i < pairs->count; i++) {
        const uint32_t a = pairs->pairs[i][0];
        const uint32_t b = pairs->pairs[i][1];

        if ((a < count) != (b < count)) {
            return sli_fail(SLUICE_E_CORRUPT,
                            "%s has %llu points, and the flip exchanges points %u and %u (swap=)",
                            column, (unsigned long long)count, a, b);
        }
    }
    return SLUICE_OK;
}

/* Exchanges the points of a column, and the rows of columns that belong to them. */
static sluice_status exchange_column(const stage_schema *schema, uint32_t column,
                                     const point_pairs *pairs, void *const *buffers)
{
    const point_rows points = find_rows(schema, column, buffers);
    const bool one_row = is_one_row(&schema->columns[column]);
    const sluice_status st = check_pairs(pairs, schema->columns[column].name, points.count);

    if (st != SLUICE_OK) {
        return st;
    }
    for (uint32_t i = 0; i < schema->column_count; i++) {
        const sluice_column *type = &schema->columns[i];
        const bool is_of = schema->infos[i].role == ROLE_TIED && schema->infos[i].tied_to == column;
        /* Rows of k points: a column of them has an element for each point if it is (n, k, ...). */
        const bool has_points = one_row || (type->rank >= 2 && type->shape[1] == points.count);
        size_t size = sluice_dtype_size(type->dtype);

        if (buffers[i] == NULL || (i != column && (!is_of || !has_points))) {
            continue;
        }
        for (uint32_t d = one_row ? 1 : 2; d < type->rank; d++) {
            size *= (size_t)type->shape[d];
        }
        for (uint64_t row = 0; row < points.rows; row++) {
            exchange_row(pairs, (uint8_t *)buffers[i] + row * points.count * size, points.count,
                         size);
        }
    }
    return SLUICE_OK;
}

/* Exchanges the points of a column for each flip among the steps. */
static sluice_status exchange_by_steps(const sli_plan *plan, const sample_transform *transform,
                                       uint32_t column, void *const *buffers)
{
    sluice_status st = SLUICE_OK;

    for (uint32_t i = 0; i < transform->step_count && st == SLUICE_OK; i++) {
        const transform_step *step = &transform->steps[i];
        const plan_stage *flip = step->window.turns && step->group->count > 0
                                     ? &plan->details->geometry.stages[step->group->first]
                                     : NULL;

        if (flip != NULL && flip->pairs != NULL && (flip->points >> column & 1) != 0) {
            st = exchange_column(&plan->dataset->source_schema, column, flip->pairs, buffers);
        }
    }
    return st;
}

/* Exchanges the points of a column for each flip after all steps. */
static sluice_status exchange_points(const sli_plan *plan, uint32_t column, uint64_t sample,
                                     uint64_t pass, void *const *buffers)
{
    const struct plan_details *details = plan->details;
    sluice_status st = SLUICE_OK;

    for (uint32_t i = 0; i < details->flips.count && st == SLUICE_OK; i++) {
        const plan_flip *flip = &details->flips.stages[i];
        const sli_draws draws = {flip->key, sample, pass};

        if (flip->pairs != NULL && (flip->points >> column & 1) != 0 &&
            flip->stage->def->flip->draw(flip->stage->args.bytes, &draws)) {
            st = exchange_column(&plan->dataset->source_schema, column, flip->pairs, buffers);
        }
    }
    return st;
}

/* Converts points that are fractions of the image that the annotations are for to pixels. */
static void make_pixels(const stage_schema *schema, const sample_transform *transform,
                        void *const *buffers)
{
    uint32_t width;
    uint32_t height;

    transform_label_size(transform, &width, &height);
    for (uint32_t i = 0; i < schema->column_count && !transform->are_pixels; i++) {
        float *points = buffers[i];

        if (schema->infos[i].role == ROLE_POINTS && schema->infos[i].in_parts && points != NULL) {
            const point_rows rows = find_rows(schema, i, buffers);

            for (uint64_t k = 0; k < rows.rows * rows.count; k++) {
                points[2 * k] *= (float)width;
                points[2 * k + 1] *= (float)height;
            }
        }
    }
}

/* Moves the points of all columns over a leg. */
static void move_columns(const stage_schema *schema, const transform_leg *leg, void *const *buffers)
{
    for (uint32_t i = 0; i < schema->column_count; i++) {
        if (schema->infos[i].role == ROLE_POINTS && buffers[i] != NULL) {
            const point_rows points = find_rows(schema, i, buffers);

            move_points(leg, buffers[i], points.rows * points.count);
        }
    }
}

sluice_status points_move(const sli_plan *plan, const sample_transform *transform,
                          void *const *buffers)
{
    const stage_schema *schema = &plan->dataset->source_schema;
    transform_place place = {0};
    transform_leg leg;
    sluice_status st = SLUICE_OK;

    make_pixels(schema, transform, buffers);
    do {
        if (!transform_join(transform, &place, &leg)) {
            return sli_fail(SLUICE_E_INVALID,
                            "a warp maps the image to a line, where points have no position");
        }
        move_columns(schema, &leg, buffers);
    } while (!leg.is_last);
    for (uint32_t i = 0; i < schema->column_count && st == SLUICE_OK; i++) {
        if (schema->infos[i].role == ROLE_POINTS && buffers[i] != NULL) {
            st = exchange_by_steps(plan, transform, i, buffers);
        }
    }
    return st;
}

sluice_status points_follow(const sli_plan *plan, const sample_transform *transform,
                            uint64_t sample, uint64_t pass, void *const *buffers)
{
    const stage_schema *schema = &plan->dataset->source_schema;
    sluice_status st = points_move(plan, transform, buffers);

    for (uint32_t i = 0; i < schema->column_count && st == SLUICE_OK; i++) {
        if (schema->infos[i].role == ROLE_POINTS && buffers[i] != NULL) {
            st = exchange_points(plan, i, sample, pass, buffers);
        }
    }
    return st;
}
