/* SPDX-License-Identifier: Apache-2.0 */
/* The resize stage: resizes to a given size, or so that the shorter side has a given length. */
#include "resize_sides.h"
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
                        "of it, use filter=nearest instead of antialias=false",
                        stage);
    }
    return SLUICE_OK;
}

/*
 * Limits the longer side to max_size, and resizes the shorter one with it: rounded down at each
 * step, as in torchvision.
 */
static sluice_status limit_longer_side(const resize_args *args, uint32_t width, uint32_t height,
                                       stage_window *out)
{
    uint32_t *longer = width < height ? &out->new_height : &out->new_width;
    uint32_t *shorter = width < height ? &out->new_width : &out->new_height;

    if (args->max_size == 0 || *longer <= args->max_size) {
        return SLUICE_OK;
    }
    if (args->max_size * *shorter < *longer) {
        return sli_fail(SLUICE_E_INVALID,
                        "resize: an image whose sides are %u and %u long has no pixels with "
                        "max_size=%llu; use a larger max_size, or a crop before it",
                        width < height ? width : height, width < height ? height : width,
                        (unsigned long long)args->max_size);
    }
    *shorter = (uint32_t)(args->max_size * *shorter / *longer);
    *longer = (uint32_t)args->max_size;
    return SLUICE_OK;
}

static sluice_status resize_geometry(const void *opaque, const sli_draws *draws, uint32_t width,
                                     uint32_t height, stage_window *out)
{
    const resize_args *args = opaque;

    (void)draws;
    out->filter = args->filter;
    if (args->size.width == 0) {
        resize_shorter_side(width, height, args->size.height, out);
        return limit_longer_side(args, width, height, out);
    }
    out->resizes = true;
    out->new_height = args->size.height;
    out->new_width = args->size.width;
    return SLUICE_OK;
}

static sluice_status resize_infer(const void *opaque, stage_schema *schema)
{
    const resize_args *args = opaque;
    sluice_status st;

    if (args->size.width == 0) {
        return resize_infer_sides("resize", resize_geometry, args, false, schema);
    }
    st = schema_check_pixels(schema, "resize");
    if (st == SLUICE_OK) {
        schema->columns[schema->image].shape[SCHEMA_H] = args->size.height;
        schema->columns[schema->image].shape[SCHEMA_W] = args->size.width;
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
    .elsewhere = "Resize",
    .example = "resize 48,128",
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
               "(its Resample.c and Geometry.c). Results differ by at most 1 from Pillow's and, if "
               "bilinear, from torchvision's of uint8 tensors; those of nearest are equal to "
               "Pillow's:\n"
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
    .geometry =
        &(const geometry_ops){
            .draw = resize_geometry,
            .resizes = true,
        },
};
