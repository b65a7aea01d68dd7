/* SPDX-License-Identifier: Apache-2.0 */
/*
 * letterbox: resizes the whole image to fit, keeping its aspect ratio, and pads it to the requested
 * size. Redmon et al., "You only look once" (2016), as in Ultralytics' LetterBox: the padding is
 * split evenly between both sides, and an odd pixel goes to the right or to the bottom. With
 * `aspect` and `position` it is the jitter of darknet's trainer.
 */
#include <math.h>

#include "crop.h"
#include "fill_args.h"
#include "status_int.h"

#define LEAST_ASPECT 0.01
#define MOST_ASPECT  100.0

typedef struct letterbox_args {
    param_size size;
    fill_args outside;
    resize_filter filter;
    param_reals aspect; /* LOW,HIGH */
    uint32_t position;  /* index in positions */
} letterbox_args;

enum { CENTER, RANDOM };
static const char *const positions[] = {"center", "random", NULL};

static sluice_status letterbox_check(void *opaque)
{
    const letterbox_args *args = opaque;
    const double *ends = args->aspect.values;
    sluice_status st = resize_filter_check("letterbox", &args->filter);

    if (st == SLUICE_OK) {
        st = fill_check_parts("letterbox", &args->outside);
    }
    if (st == SLUICE_OK) {
        st = stage_check_range("letterbox", "aspect", &args->aspect, LEAST_ASPECT, MOST_ASPECT);
    }
    if (st == SLUICE_OK && ends[0] == ends[1] && ends[0] != 1) {
        st = sli_fail(
            SLUICE_E_INVALID,
            "letterbox: aspect=%g,%g has no effect: width and height are multiplied by the "
            "same number; LOW must be below HIGH",
            ends[0], ends[1]);
    }
    return st;
}

static sluice_status letterbox_infer(const void *opaque, stage_schema *schema)
{
    const letterbox_args *args = opaque;
    sluice_status st = schema_check_pixels(schema, "letterbox");

    if (st == SLUICE_OK) {
        st = fill_infer("letterbox", &args->outside, schema);
    }
    return st == SLUICE_OK ? crop_infer(&args->size, "letterbox", schema) : st;
}

/* Returns length * to / from, rounded to nearest with halves up, and at least 1. */
static uint32_t scaled(double length, uint32_t to, double from)
{
    const double side = floor(length * to / from + 0.5);

    return side > 1 ? (uint32_t)side : 1;
}

static bool has_aspect(const letterbox_args *args)
{
    return args->aspect.values[0] != 1 || args->aspect.values[1] != 1;
}

static double draw_aspect(const letterbox_args *args, uint32_t bits)
{
    const double *ends = args->aspect.values;

    return ends[0] + sli_unit(bits) * (ends[1] - ends[0]);
}

/* The first pixel of the window of a side, which is longer by `padding` than the resized image. */
static int64_t window_start(const letterbox_args *args, uint32_t padding, uint32_t bits)
{
    return -(int64_t)(args->position == RANDOM ? sli_below(bits, padding + 1) : padding / 2);
}

static sluice_status letterbox_geometry(const void *opaque, const sli_draws *draws, uint32_t width,
                                        uint32_t height, stage_window *out)
{
    const letterbox_args *args = opaque;
    const uint32_t to_width = crop_width(&args->size);
    const uint32_t to_height = args->size.height;
    double w = width;
    double h = height;
    uint32_t bits[4];
    bool is_wide;

    sli_draw(draws, 0, bits);
    if (has_aspect(args)) {
        w *= draw_aspect(args, bits[0]);
        h *= draw_aspect(args, bits[1]);
    }
    is_wide = w * to_height > h * to_width; /* the side with the smaller scale factor fills */
    out->resizes = true;
    out->filter = args->filter;
    out->new_width = is_wide ? to_width : scaled(w, to_height, h);
    out->new_height = is_wide ? scaled(h, to_width, w) : to_height;
    out->frames = true;
    out->window_x = window_start(args, to_width - out->new_width, bits[2]);
    out->window_y = window_start(args, to_height - out->new_height, bits[3]);
    out->window_width = to_width;
    out->window_height = to_height;
    return SLUICE_OK;
}

static bool letterbox_padding(const void *args, stage_padding *padding_out)
{
    fill_set(&((const letterbox_args *)args)->outside, padding_out);
    return true;
}

static const stage_param letterbox_params[] = {
    PARAM_(letterbox_args, size, PARAM_SIZE, NULL, 1, 65535, NULL,
           "HEIGHT,WIDTH; one number is a square"),
    FILL_PARAM_OF(letterbox_args, outside, "114"),
    MASK_FILL_PARAM(letterbox_args, outside),
    RESIZE_FILTER_PARAMS(letterbox_args, filter),
    PARAM_(
        letterbox_args, aspect, PARAM_REALS, "1,1", 0, 0, NULL,
        "LOW,HIGH, 0.01 to 100: before the resize, width and height are multiplied by two random "
        "numbers of this range"),
    PARAM_(letterbox_args, position, PARAM_CHOICE, "center", 0, 0, positions,
           "where the resized image is; random: at a random place"),
};

static const stage_def *letterbox_variant(const void *args);

/* The operations do not depend on the arguments; what they draw does. */
static const geometry_ops letterbox_ops = {
    .draw = letterbox_geometry,
    .resizes = true,
    .padding = letterbox_padding,
    .squares = true,
};

#define LETTERBOX_FIELDS                                                                           \
    .name = "letterbox", .kind = STAGE_GEOMETRY,                                                   \
    .summary = "Resizes the whole image to fit, and pads it to HEIGHT,WIDTH.",                     \
    .gives = "image u8 (height, width, C)", STAGE_PARAMS(letterbox_params),                        \
    .args_size = sizeof(letterbox_args), .check = letterbox_check, .infer = letterbox_infer,       \
    .variant = letterbox_variant, .geometry = &letterbox_ops

static const stage_def random_letterbox = {
    LETTERBOX_FIELDS,
    .draws = true,
};

const stage_def stage_letterbox = {
    .example = "letterbox 128",
    .elsewhere = "LetterBox letterbox_image place_image",
    .details =
        "References: LetterBox in ultralytics/data/augment.py; load_data_detection() in "
        "darknet's src/data.c.\n"
        "The new height and width are the old ones times r = min(height / old height, "
        "width / old width), rounded to nearest, halves up. The image is centred; if "
        "the padding is odd, the larger half is on the right and at the bottom. The "
        "filters are those of resize.\n"
        "aspect=LOW,HIGH multiplies the old width by a and the old height by b before that, "
        "both uniform from LOW to HIGH, so the image is stretched by a / b. "
        "position=random puts it at a random place: each whole number of pixels on the left "
        "and above has the same probability. Masks, boxes, points and further images "
        "follow.\n"
        "A fill with a fraction, such as 127.5, needs normalize or to_dtype after it, since bytes "
        "cannot hold it. Only flips and to_chw may stand between, and all run on the "
        "workers.\n"
        "letterbox 416 fill=128 aspect=0.7,1.3 position=random is the jitter=.3 of darknet, "
        "which rounds sizes down.",
    LETTERBOX_FIELDS,
};

static const stage_def *letterbox_variant(const void *opaque)
{
    const letterbox_args *args = opaque;

    return has_aspect(args) || args->position == RANDOM ? &random_letterbox : &stage_letterbox;
}
