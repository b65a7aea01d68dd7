/* SPDX-License-Identifier: Apache-2.0 */
#include "sample_transform.h"

#include <math.h>

#include "alloc_int.h"
#include "exif.h"
#include "layout_int.h"
#include "orientation.h"
#include "status_int.h"

/* Allocates the memory of the boxes that stages of geometry depend on. */
static sluice_status reserve_boxes(plan_boxes *boxes, const sli_plan *plan)
{
    uint64_t most;

    boxes->column = (uint32_t)plan->details->geometry.boxes;
    most = plan->dataset->source_schema.columns[boxes->column].shape[0];
    boxes->corners = sli_calloc(most, sizeof(*boxes->corners));
    boxes->moved = sli_calloc(most, sizeof(*boxes->moved));
    boxes->dropped = sli_calloc(most, 1);
    return boxes->corners != NULL && boxes->moved != NULL && boxes->dropped != NULL
               ? SLUICE_OK
               : sli_fail(SLUICE_E_NO_MEMORY, "the boxes of a sample");
}

sluice_status transforms_init(drawn_transforms *drawn, const sli_plan *plan,
                              const color_chain *device)
{
    const struct plan_details *details = plan->details;
    sluice_status st;

    drawn->steps = sli_calloc(details->geometry.most_steps, sizeof(*drawn->steps));
    if (drawn->steps == NULL) {
        return sli_fail(SLUICE_E_NO_MEMORY, "the steps of an image");
    }
    st = details->geometry.boxes >= 0 ? reserve_boxes(&drawn->boxes, plan) : SLUICE_OK;
    drawn->tile = (sample_transform){
        .applied = nothing_applied,
        .steps = drawn->steps,
        .boxes = drawn_boxes(drawn),
    };
    drawn->image = (sample_transform){
        .applied = nothing_applied,
        .steps = drawn->steps,
        .device = details->colors.device_warps ? device : NULL,
        .warps = details->colors.warps,
        .are_pixels = details->geometry.mosaic.tiles > 0,
        .limits = schema_limits_boxes(&plan->dataset->opened_schema)
                      ? &plan->dataset->opened_schema.box_limits
                      : NULL,
        .boxes = drawn_boxes(drawn),
    };
    return st;
}

void transforms_free(drawn_transforms *drawn)
{
    sli_free(drawn->steps);
    sli_free(drawn->boxes.corners);
    sli_free(drawn->boxes.moved);
    sli_free(drawn->boxes.dropped);
}

/* The operations after the window of step `i`; those of the device are behind the last step. NULL:
 * there are none. */
static const color_chain *lines_of(const sample_transform *transform, uint32_t i)
{
    return i < transform->step_count ? transform->steps[i].lines : transform->device;
}

/* The next warp among the operations of step place->step. False: there is none. */
static bool next_warp(const sample_transform *transform, transform_place *place,
                      transform_part *part_out)
{
    const color_chain *lines = transform->warps ? lines_of(transform, place->step) : NULL;

    while (lines != NULL && place->operation < lines->count) {
        const color_operation *operation = &lines->operations[place->operation++];

        if (operation->kind == COLOR_WARP) {
            *part_out = (transform_part){NULL, &operation->warp, lines->width, lines->height};
            return true;
        }
    }
    return false;
}

bool transform_next(const sample_transform *transform, transform_place *place,
                    transform_part *part_out)
{
    for (; place->step <= transform->step_count;
         *place = (transform_place){.step = place->step + 1}) {
        if (!place->in_lines) {
            place->in_lines = true;
            if (place->step < transform->step_count) {
                const fused_geometry *window = &transform->steps[place->step].window;

                *part_out =
                    (transform_part){window, NULL, window->window_width, window->window_height};
                return true;
            }
        }
        if (next_warp(transform, place, part_out)) {
            return true;
        }
    }
    return false;
}

/* The map of the flips, which is its own inverse. */
static warp_matrix flips_of(const sample_transform *transform)
{
    warp_matrix map = warp_identity;
    const fused_geometry *last;

    if (transform->flips == 0) {
        return map;
    }
    last = &transform->steps[transform->step_count - 1].window;
    if ((transform->flips & SLI_ROW_FLIP) != 0) {
        map.m[0] = -1;
        map.m[2] = last->window_width;
    }
    if ((transform->flips & SLI_ROW_FLIP_LINES) != 0) {
        map.m[4] = -1;
        map.m[5] = last->window_height;
    }
    return map;
}

/* The map of one axis back over a window, from its result: step * x + offset. */
typedef struct axis_back {
    double step;
    double offset;
} axis_back;

static axis_back back_axis(int64_t at, uint32_t margin, uint32_t full, uint32_t grown,
                           int64_t window)
{
    /* A window without a resize may show nothing of the image. */
    const double step = grown > 0 ? (double)full / grown : 1;

    return (axis_back){step, (double)at - margin + (double)window * step};
}

static void back_window(const fused_geometry *g, axis_back *x_out, axis_back *y_out)
{
    *x_out = back_axis(g->x, g->margins.left, fused_full_width(g), g->new_width, g->window_x);
    *y_out = back_axis(g->y, g->margins.top, fused_full_height(g), g->new_height, g->window_y);
}

/* Extends the map of one axis, offset + across * x + down * y, back over a window. */
static void extend_back(double map[3], const axis_back *axis)
{
    map[2] = map[2] * axis->step + axis->offset;
    map[0] *= axis->step;
    map[1] *= axis->step;
}

/* Extends a map back over the warps among some operations. */
static void back_lines(const color_chain *lines, warp_matrix *map)
{
    for (uint32_t i = lines != NULL ? lines->count : 0; i-- > 0;) {
        const color_operation *operation = &lines->operations[i];

        if (operation->kind == COLOR_WARP) {
            *map = warp_compose(&operation->warp.matrix, map);
        }
    }
}

void transform_label_size(const sample_transform *transform, uint32_t *width_out,
                          uint32_t *height_out)
{
    const bool exchanges = exif_exchanges_sides(transform->applied.labels);

    *width_out = exchanges ? transform->height : transform->width;
    *height_out = exchanges ? transform->width : transform->height;
}

void transform_label_point(const sample_transform *transform, const double from[2], double to[2])
{
    uint32_t width;
    uint32_t height;

    transform_label_size(transform, &width, &height);
    orientation_point(transform->applied.labels, width, height, from, to);
}

/* The map from the annotations to the image, by where it puts three points. */
static warp_matrix ahead_of_labels(const sample_transform *transform)
{
    static const double points[3][2] = {{1, 0}, {0, 1}, {0, 0}};
    warp_matrix map = warp_identity;
    double to[3][2];

    for (int i = 0; i < 3; i++) {
        transform_label_point(transform, points[i], to[i]);
    }
    for (int axis = 0; axis < 2; axis++) {
        map.m[3 * axis] = to[0][axis] - to[2][axis];
        map.m[3 * axis + 1] = to[1][axis] - to[2][axis];
        map.m[3 * axis + 2] = to[2][axis];
    }
    return map;
}

/* Extends a map back from the image to the annotations. */
static void back_labels(const sample_transform *transform, warp_matrix *map)
{
    const warp_matrix ahead = ahead_of_labels(transform);
    warp_matrix back = warp_identity;

    (void)warp_invert(&ahead, &back); /* an orientation has an inverse */
    *map = warp_compose(&back, map);
}

void transform_invert(const sample_transform *transform, float map[6])
{
    warp_matrix all = flips_of(transform);

    back_lines(transform->device, &all);
    for (uint32_t i = transform->step_count; i-- > 0;) {
        const fused_geometry *window = &transform->steps[i].window;
        axis_back x;
        axis_back y;

        back_lines(transform->steps[i].lines, &all);
        if (window->turns) {
            all = warp_compose(&window->turn.matrix, &all);
            continue;
        }
        back_window(window, &x, &y);
        extend_back(&all.m[0], &x);
        extend_back(&all.m[3], &y);
    }
    if (transform->applied.labels != EXIF_UPRIGHT) {
        back_labels(transform, &all);
    }
    for (int i = 0; i < 6; i++) {
        map[i] = (float)all.m[i];
    }
}

/* The map of a window, from the image before it. */
static warp_matrix ahead_of_window(const fused_geometry *window)
{
    warp_matrix map = warp_identity;
    axis_back x;
    axis_back y;

    if (window->turns) {
        (void)warp_invert(&window->turn.matrix, &map); /* a rotation has an inverse */
        return map;
    }
    back_window(window, &x, &y);
    map.m[0] = 1 / x.step;
    map.m[2] = -x.offset / x.step;
    map.m[4] = 1 / y.step;
    map.m[5] = -y.offset / y.step;
    return map;
}

bool transform_join(const sample_transform *transform, transform_place *place,
                    transform_leg *leg_out)
{
    const warp_matrix flips = flips_of(transform);
    transform_part part;

    *leg_out = (transform_leg){.map = warp_identity};
    if (place->step == 0 && !place->in_lines && transform->applied.labels != EXIF_UPRIGHT) {
        leg_out->map = ahead_of_labels(transform);
    }
    while (transform_next(transform, place, &part)) {
        warp_matrix map;

        if (part.window != NULL) {
            map = ahead_of_window(part.window);
        } else if (!warp_invert(&part.warp->matrix, &map)) {
            return false;
        }
        leg_out->map = warp_compose(&map, &leg_out->map);
        if (part.warp != NULL && part.warp->shifts != NULL) {
            leg_out->shifts = part.warp->shifts;
            leg_out->width = part.width;
            leg_out->height = part.height;
            return true;
        }
    }
    leg_out->map = warp_compose(&flips, &leg_out->map);
    leg_out->is_last = true;
    return true;
}

/* The pixel whose displacement a point gets. */
static uint32_t pixel_of_point(double value, uint32_t length)
{
    const double last = (double)length - 1;

    return (uint32_t)(value > 0 ? value < last ? ceil(value) : last : 0); /* also if it is NaN */
}

void transform_unshift(const warp_shifts *shifts, uint32_t width, uint32_t height, double point[2])
{
    const uint32_t x = pixel_of_point(point[0], width);
    const uint32_t y = pixel_of_point(point[1], height);
    const float *line = shifts->lines + 2 * (size_t)y * shifts->stride;

    point[0] -= (double)line[x];
    point[1] -= (double)line[shifts->stride + x];
}
