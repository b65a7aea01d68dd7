/* SPDX-License-Identifier: Apache-2.0 */
/* The resize stage: resizes to a given size, or so that the shorter side has a given length. */
#include "stage.h"
#include "status_int.h"

typedef struct resize_args {
    param_size size; /* if the width is 0, the height is the new length of the shorter side */
    resize_filter filter;
    uint64_t max_size; /* of the longer side; 0: no limit */
} resize_args;

static sluice_status resize_check(void *opaque)
{
    const resize_args *args = opaque;

    if (args->max_size != 0 && args->size.width != 0) {
        return sli_fail(SLUICE_E_INVALID,
                        "resize: max_size=%llu is for a size of one number, the shorter side, and "
                        "size=%u,%u sets both; leave max_size out",
                        (unsigned long long)args->max_size, args->size.height, args->size.width);
    }
    if (args->max_size != 0 && args->max_size <= args->size.height) {
        return sli_fail(SLUICE_E_INVALID,
                        "resize: max_size=%llu must be greater than size=%u, the shorter side",
                        (unsigned long long)args->max_size, args->size.height);
    }
    return resize_filter_check("resize", &args->filter);
}

const char *const resize_filter_names[] = {"bilinear", "bicubic", "nearest", "area", NULL};

sluice_status resize_filter_check(const char *stage, const resize_filter *filter)
{
    if (filter->filter == FILTER_AREA && !filter->antialias) {
        return sli_fail(SLUICE_E_INVALID,
                        "%s: filter=area is the mean of what an output covers; for a single pixel "
                        "of it, want filter=nearest instead of antialias=false",
                        stage);
    }
    return SLUICE_OK;
}

/*
 * Sets the sides to those after the shorter one is resized to the size, or the longer one to
 * max_size if it would be longer: rounded down at each step, as in torchvision.
 */
static sluice_status resize_sides(const resize_args *args, uint32_t *shorter, uint32_t *longer)
{
    const uint64_t side = (uint64_t)*longer * args->size.height / *shorter;

    if (args->max_size == 0 || side <= args->max_size) {
        *shorter = args->size.height;
        *longer = side < UINT32_MAX ? (uint32_t)side : UINT32_MAX;
        return SLUICE_OK;
    }
    if (args->max_size * args->size.height < side) {
        return sli_fail(SLUICE_E_INVALID,
                        "resize: an image whose sides are %u and %u long has no pixels with "
                        "max_size=%llu; use a larger max_size, or a crop before it",
                        *shorter, *longer, (unsigned long long)args->max_size);
    }
    *shorter = (uint32_t)(args->max_size * args->size.height / side);
    *longer = (uint32_t)args->max_size;
    return SLUICE_OK;
}

static sluice_status resize_geometry(const void *opaque, const sli_draws *draws, uint32_t width,
                                     uint32_t height, stage_window *out)
{
    const resize_args *args = opaque;

    (void)draws;
    out->resizes = true;
    out->filter = args->filter;
    if (args->size.width != 0) {
        out->new_height = args->size.height;
        out->new_width = args->size.width;
        return SLUICE_OK;
    }
    out->new_width = width;
    out->new_height = height;
    return width < height ? resize_sides(args, &out->new_width, &out->new_height)
                          : resize_sides(args, &out->new_height, &out->new_width);
}

static sluice_status resize_infer(const void *opaque, stage_schema *schema)
{
    const resize_args *args = opaque;
    sluice_status st = schema_want_pixels(schema, "resize");
    uint64_t *shape;
    stage_window g = {0};

    if (st != SLUICE_OK) {
        return st;
    }
    shape = schema->columns[schema->image].shape;
    if (args->size.width != 0) {
        shape[SCHEMA_H] = args->size.height;
        shape[SCHEMA_W] = args->size.width;
    } else if (shape[SCHEMA_H] != 0 && shape[SCHEMA_W] != 0) {
        st = resize_geometry(args, NULL, (uint32_t)shape[SCHEMA_W], (uint32_t)shape[SCHEMA_H], &g);
        shape[SCHEMA_H] = g.new_height;
        shape[SCHEMA_W] = g.new_width;
    } else {
        shape[SCHEMA_H] = 0;
        shape[SCHEMA_W] = 0;
    }
    return st;
}

static const stage_param resize_params[] = {
    PARAM_(resize_args, size, PARAM_SIZE, NULL, 1, 65535, NULL,
           "HEIGHT,WIDTH; one number is the length of the shorter side"),
    RESIZE_FILTER_PARAMS(resize_args, filter),
    PARAM_(resize_args, max_size, PARAM_COUNT, "0", 0, 65535, NULL,
           "most pixels of the longer side, if the size is one number; 0: no limit"),
};

const stage_def stage_resize = {
    .name = "resize",
    .summary = "Resizes to HEIGHT,WIDTH, or so that the shorter side has a length.",
    .gives = "image u8 (height, width, C)",
    .details = "Reference for the size: torchvision.transforms.v2.Resize.\n"
               "One number n is the new length of the shorter side, and the longer one is "
               "floor(n * longer / shorter). If that is l > max_size, the longer side is max_size "
               "and the shorter one floor(max_size * n / l). max_size must be greater than n. An "
               "image without pixels on its shorter side is an error.\n"
               "The centre of output i of a side is at c = (i + 0.5) * scale of the input, "
               "with scale = old / new length. The output is the mean of the inputs k, with "
               "weights f((k + 0.5 - c) / s); s is scale when shrinking with antialias, else "
               "1. Inputs outside of the image have no weight. These are Pillow's filters "
               "(its Resample.c and Geometry.c). Results differ from Pillow's by at most 1; "
               "those of nearest are equal:\n"
               "  bilinear  f(x) = 1 - |x| within 1\n"
               "  bicubic   Keys, \"Cubic convolution interpolation for digital image\n"
               "            processing\" (1981), with a = -0.5; horizontal pass first,\n"
               "            then vertical, clamped to bytes after each\n"
               "  nearest   the one input floor(c); antialias has no effect\n"
               "  area      f(x) = 1 within -0.5 < x <= 0.5, Pillow's BOX: whole pixels\n"
               "            only. Requires antialias; without it, it would be nearest\n"
               "antialias should be true, unless a model was trained without it. Pillow has "
               "no filters without antialias: bilinear is then that of torchvision with "
               "antialias=False, and OpenCV's INTER_LINEAR, except for rounding. Their "
               "bicubic differs: a = -0.75.",
    .kind = STAGE_GEOMETRY,
    STAGE_PARAMS(resize_params),
    .args_size = sizeof(resize_args),
    .check = resize_check,
    .infer = resize_infer,
    .geometry = resize_geometry,
    .resizes = true,
};
