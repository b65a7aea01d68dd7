/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mosaic: one image of four samples that meet at a random point. Bochkovskiy et al., "YOLOv4:
 * Optimal Speed and Accuracy of Object Detection" (2020), as Ultralytics' Mosaic and the scale and
 * translation of its RandomPerspective. There a canvas of twice the size is made first, and a part
 * of it is resampled; here each image is resized once, to where the result shows it.
 */
#include <math.h>
#include <string.h>

#include "crop.h"
#include "geometry_ops.h"
#include "status_int.h"

enum { TILES = 4, LARGEST = 65535 };
#define LEAST_SCALE 0.01
#define MOST_SCALE  10.0

typedef struct mosaic_args {
    param_size size;
    param_reals center;
    param_reals scale;
    double translate;
    double p;
    uint64_t fill;
    uint64_t mask_fill;
    resize_filter filter;
} mosaic_args;

static sluice_status mosaic_check(void *opaque)
{
    const mosaic_args *args = opaque;
    const double *scale = args->scale.values;
    const double largest =
        args->size.height > crop_width(&args->size) ? args->size.height : crop_width(&args->size);
    sluice_status st = stage_check_range("mosaic", "center", &args->center, 0, 2);

    if (st == SLUICE_OK) {
        st = stage_check_range("mosaic", "scale", &args->scale, LEAST_SCALE, MOST_SCALE);
    }
    if (st != SLUICE_OK) {
        return st;
    }
    if (largest * scale[1] > LARGEST) {
        return sli_fail(SLUICE_E_INVALID,
                        "mosaic: size %g times scale %g: images would have sides of more than %d "
                        "pixels",
                        largest, scale[1], LARGEST);
    }
    return resize_filter_check("mosaic", &args->filter);
}

static sluice_status mosaic_infer(const void *args, stage_schema *schema)
{
    for (uint32_t i = 0; i < schema->column_count; i++) {
        const column_info *info = &schema->infos[i];

        if (info->role == ROLE_GEOMETRY) {
            return sli_fail(SLUICE_E_INVALID,
                            "mosaic: an image of several files has no map to one of them; leave "
                            "stage geometry out");
        }
        if (info->role == ROLE_POINTS && !info->is_tied) {
            return sli_fail(SLUICE_E_INVALID,
                            "mosaic: the points of column %s do not belong to boxes, so those of "
                            "four samples cannot be told apart; make them belong to boxes, or drop "
                            "the column before mosaic",
                            schema->columns[i].name);
        }
        if (info->numbers_mask) {
            return sli_fail(SLUICE_E_INVALID,
                            "mosaic: column %s has numbers of objects in masks, and those of four "
                            "samples cannot be told apart; masks=semantic can be mixed, or drop "
                            "the column before mosaic",
                            schema->columns[i].name);
        }
    }
    return crop_infer(&((const mosaic_args *)args)->size, "mosaic", schema);
}

/* ---- one mosaic ------------------------------------------------------------------------------ */

/* What is drawn for one image. */
typedef struct mosaic_layout {
    bool is_single; /* the sample alone */
    double scale;
    double x; /* where the images meet in the result, or the centre of the single one; in pixels */
    double y;
} mosaic_layout;

static double uniform(double low, double high, uint32_t bits)
{
    return low + sli_unit(bits) * (high - low);
}

static mosaic_layout draw_layout(const mosaic_args *args, const sli_draws *draws)
{
    const double *center = args->center.values;
    mosaic_layout layout;
    uint32_t first[4];
    uint32_t second[4];
    double x;
    double y;

    sli_draw(draws, 0, first);
    sli_draw(draws, 1, second);
    layout.is_single = !(sli_unit(first[0]) < args->p);
    layout.scale = uniform(args->scale.values[0], args->scale.values[1], first[1]);
    x = layout.is_single ? 1 : uniform(center[0], center[1], first[2]);
    y = layout.is_single ? 1 : uniform(center[0], center[1], first[3]);
    x = 0.5 + (x - 1) * layout.scale + uniform(-args->translate, args->translate, second[0]);
    y = 0.5 + (y - 1) * layout.scale + uniform(-args->translate, args->translate, second[1]);
    layout.x = x * crop_width(&args->size);
    layout.y = y * args->size.height;
    if (!layout.is_single) {
        layout.x = floor(layout.x + 0.5);
        layout.y = floor(layout.y + 0.5);
    }
    return layout;
}

/* True if the tile is on this side of the line at `meet`: 0 is left or above, 1 right or below. */
static bool shows_side(double meet, uint32_t side, uint32_t length)
{
    return side == 0 ? meet > 0 : meet < length;
}

static bool mosaic_shows(const void *opaque, const sli_draws *draws, uint32_t tile)
{
    const mosaic_args *args = opaque;
    const mosaic_layout layout = draw_layout(args, draws);

    return layout.is_single ? tile == 0
                            : shows_side(layout.x, tile & 1, crop_width(&args->size)) &&
                                  shows_side(layout.y, tile >> 1, args->size.height);
}

/* The length of a side that would be length * to / from without the scale, at least 1. */
static uint32_t scaled(uint32_t length, uint32_t to, uint32_t from, double scale)
{
    const double side = floor((double)length * to / from * scale + 0.5);

    return side > 1 ? (uint32_t)side : 1;
}

/* Where a tile of this length begins on one axis. */
static int64_t begin_of(const mosaic_layout *layout, double at, uint32_t side, uint32_t length)
{
    if (layout->is_single) {
        return (int64_t)floor(at - length / 2.0);
    }
    return side == 0 ? (int64_t)at - length : (int64_t)at;
}

static void mosaic_place(const void *opaque, const sli_draws *draws, uint32_t tile, uint32_t width,
                         uint32_t height, stage_window *out)
{
    const mosaic_args *args = opaque;
    const mosaic_layout layout = draw_layout(args, draws);
    const uint32_t to_width = crop_width(&args->size);
    const uint32_t to_height = args->size.height;
    /* The side with the smaller scale factor fills the output, at scale 1. */
    const bool is_wide = (uint64_t)width * to_height > (uint64_t)height * to_width;
    const uint32_t to = is_wide ? to_width : to_height;
    const uint32_t from = is_wide ? width : height;

    out->resizes = true;
    out->filter = args->filter;
    out->new_width = scaled(width, to, from, layout.scale);
    out->new_height = scaled(height, to, from, layout.scale);
    out->frames = true;
    out->window_x = -begin_of(&layout, layout.x, tile & 1, out->new_width);
    out->window_y = -begin_of(&layout, layout.y, tile >> 1, out->new_height);
    out->window_width = to_width;
    out->window_height = to_height;
}

static bool mosaic_padding(const void *opaque, stage_padding *padding_out)
{
    const mosaic_args *args = opaque;

    memset(padding_out->fill, (int)args->fill, sizeof(padding_out->fill));
    padding_out->mask_fill = (uint8_t)args->mask_fill;
    return true;
}

/* ---- the stage ------------------------------------------------------------------------------- */

static const stage_param mosaic_params[] = {
    PARAM_(mosaic_args, size, PARAM_SIZE, NULL, 1, 65535, NULL,
           "HEIGHT,WIDTH; one number is a square"),
    PARAM_(mosaic_args, center, PARAM_REALS, "0.5,1.5", 0, 0, NULL,
           "LOW,HIGH: position of that point on a canvas of twice the size, in units of size, "
           "within 0 and 2"),
    PARAM_(mosaic_args, scale, PARAM_REALS, "0.5,1.5", 0, 0, NULL,
           "LOW,HIGH scale of all four images, within 0.01 and 10"),
    PARAM_(mosaic_args, translate, PARAM_REAL, "0.1", 0, 1, NULL,
           "maximum translation, as a fraction of width and height"),
    PARAM_(mosaic_args, p, PARAM_REAL, "1", 0, 1, NULL, "the probability; else the sample alone"),
    PARAM_(mosaic_args, fill, PARAM_COUNT, "114", 0, 255, NULL, "value outside the images"),
    PARAM_(mosaic_args, mask_fill, PARAM_COUNT, "0", 0, 255, NULL, "class of the padding in masks"),
    RESIZE_FILTER_PARAMS(mosaic_args, filter),
};

const stage_def stage_mosaic = {
    .name = "mosaic",
    .summary = "Makes one image of four samples, whose corners meet at a random point.",
    .example = "mosaic 96,128",
    .gives = "image u8 (height, width, C); the boxes of the four samples",
    .details = "References: Bochkovskiy et al., \"YOLOv4: Optimal Speed and Accuracy of Object "
               "Detection\" (2020); Mosaic and RandomPerspective in "
               "ultralytics/data/augment.py.\n"
               "With probability p, the sample itself is at the top left, and three others "
               "are at the top right, the bottom left and the bottom right. The corners of "
               "these four tiles meet at the point\n"
               "  x = width * (0.5 + (c - 1) * scale + t), y likewise\n"
               "rounded to whole pixels. c is drawn from center, scale from scale, and t from "
               "-translate to translate, uniformly; c and t separately for x and y. Each "
               "image is resized by scale * min(height / its height, width / its width), so "
               "at scale 1 it fits into the size of the result. With probability 1 - p the "
               "sample is alone: resized in the same way, with its centre at c = 1.\n"
               "This is Mosaic of Ultralytics' YOLO, with RandomPerspective of the same scale "
               "and translation, whose default values are 0.5 (scale 0.5 to 1.5) and 0.1. "
               "There c and center are the point in a canvas of twice the size, in units of "
               "the size, as center_ratio_range of MMDetection's Mosaic. Unlike there, an "
               "image is resampled once, with antialiasing, and is not cut off at the edge of "
               "that canvas.\n"
               "The other tiles are drawn uniformly, with replacement, from all samples of the "
               "pass, those of other ranks included: by the seed, the pass and the sample. So "
               "batches do not depend on workers or ranks. Random crops before this stage "
               "have draws of their own for each tile. Files of images that the result "
               "does not show are not read; of the others, the part that is shown is "
               "decoded.\n"
               "Masks and further images are composed in the same way. Boxes of the four "
               "samples, with the columns that belong to them, are moved, clipped and joined "
               "in the order of the images; boxes without remaining area are dropped. If more "
               "are left than the column holds, the largest are kept, with a warning and a "
               "count in the report, so give the source a larger maximum. Points that belong to "
               "boxes are moved and joined with them; "
               "other points are refused. Other columns, such as the label, are those of the "
               "sample itself.\n"
               "A bad tile makes the sample a bad one; the error has the name of the tile's "
               "sample. Under the policy replace another tile is drawn instead, up to 8 "
               "times. Streams, filters, pack and bucket are refused, since with them the "
               "sample at a position is not known in advance, and so is the stage geometry. "
               "Crops, resizes and a cache may come before this stage; all stages of images "
               "may follow, except a second mosaic.",
    .kind = STAGE_GEOMETRY,
    .draws = true,
    STAGE_PARAMS(mosaic_params),
    .args_size = sizeof(mosaic_args),
    .check = mosaic_check,
    .infer = mosaic_infer,
    .geometry =
        &(const geometry_ops){
            .tiles =
                &(const tile_ops){
                    .count = TILES,
                    .shows = mosaic_shows,
                    .place = mosaic_place,
                },
            .resizes = true,
            .padding = mosaic_padding,
            .squares = true,
        },
};
