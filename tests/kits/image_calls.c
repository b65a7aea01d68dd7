/* SPDX-License-Identifier: Apache-2.0 */
#include "stage_calls.h"

#include <sluice/transforms.h>

static sluice_status call_decode(sluice_dataset *d)
{
    sluice_decode_config config;

    sluice_decode_config_init(&config);
    config.mode = "gray";
    config.max_pixels = 1000000;
    config.fast_scale = true;
    config.depth = 8;
    return sluice_dataset_decode(d, &config);
}

static sluice_status call_decode_columns(sluice_dataset *d)
{
    const sluice_status st = sluice_dataset_for_columns(d, "image");

    return st == SLUICE_OK ? sluice_dataset_decode(d, NULL) : st;
}

static sluice_status call_resize(sluice_dataset *d)
{
    return sluice_dataset_resize(d, 9, 7, "bicubic", false);
}

static sluice_status call_center_crop(sluice_dataset *d)
{
    return sluice_dataset_center_crop(d, 9, 7);
}

static sluice_status call_random_crop(sluice_dataset *d)
{
    return sluice_dataset_random_crop(d, 9, 7, 2);
}

static sluice_status call_random_resized_crop(sluice_dataset *d)
{
    sluice_random_resized_crop_config config;

    sluice_random_resized_crop_config_init(&config);
    config.scale[0] = 0.1;
    config.scale[1] = 0.5;
    config.ratio[0] = 0.5;
    config.ratio[1] = 2;
    config.filter = "nearest";
    config.no_antialias = true;
    return sluice_dataset_random_resized_crop(d, 9, 7, &config);
}

static sluice_status call_letterbox(sluice_dataset *d)
{
    static const uint8_t black = 0;
    sluice_letterbox_config config;

    sluice_letterbox_config_init(&config);
    config.fill = &black;
    config.mask_fill = 255;
    config.filter = "nearest";
    config.no_antialias = true;
    return sluice_dataset_letterbox(d, 9, 7, &config);
}

static sluice_status call_letterbox_defaults(sluice_dataset *d)
{
    return sluice_dataset_letterbox(d, 9, 0, NULL);
}

static sluice_status call_random_erasing(sluice_dataset *d)
{
    static const double value[] = {1, 2, 3};
    const double scale[] = {0.125, 0.5};
    const double ratio[] = {0.5, 2};
    const sluice_status st = sluice_dataset_for_columns(d, "image");

    return st == SLUICE_OK ? sluice_dataset_random_erasing(d, 0.75, scale, ratio, value, 3) : st;
}

static sluice_status call_random_erasing_normal(sluice_dataset *d)
{
    static const double mean[] = {0.5};
    const double scale[] = {0.125, 0.5};
    const double ratio[] = {0.5, 2};
    const sluice_status st = sluice_dataset_normalize(d, mean, mean, 1, 1, SLUICE_F32);

    return st == SLUICE_OK ? sluice_dataset_random_erasing_normal(d, 0.75, scale, ratio) : st;
}

static sluice_status call_random_erasing_defaults(sluice_dataset *d)
{
    return sluice_dataset_random_erasing(d, 0.5, NULL, NULL, NULL, 0);
}

static sluice_status call_random_adjust_sharpness(sluice_dataset *d)
{
    const sluice_status st = sluice_dataset_for_columns(d, "image");

    return st == SLUICE_OK ? sluice_dataset_random_adjust_sharpness(d, 2, 0.25) : st;
}

static sluice_status call_gaussian_blur(sluice_dataset *d)
{
    const sluice_status st = sluice_dataset_for_columns(d, "image");

    return st == SLUICE_OK ? sluice_dataset_gaussian_blur(d, 5, 0.5, 1) : st;
}

static sluice_status call_color_twist(sluice_dataset *d)
{
    static const double brightness[2] = {0.5, 1.5};
    static const double contrast[2] = {0.75, 1.25};
    static const double saturation[2] = {0, 2};
    static const double hue[2] = {-30, 30};
    const sluice_status st = sluice_dataset_for_columns(d, "image");

    return st == SLUICE_OK ? sluice_dataset_color_twist(d, brightness, contrast, saturation, hue)
                           : st;
}

static sluice_status call_color_twist_defaults(sluice_dataset *d)
{
    return sluice_dataset_color_twist(d, NULL, NULL, NULL, NULL);
}

static sluice_status call_color_jitter(sluice_dataset *d)
{
    const sluice_status st = sluice_dataset_for_columns(d, "image");

    return st == SLUICE_OK ? sluice_dataset_color_jitter(d, 0.4, 0.25, 0.5, 0.125) : st;
}

static sluice_status call_random_grayscale(sluice_dataset *d)
{
    const sluice_status st = sluice_dataset_for_columns(d, "image");

    return st == SLUICE_OK ? sluice_dataset_random_grayscale(d, 0.25) : st;
}

static sluice_status call_random_invert(sluice_dataset *d)
{
    const sluice_status st = sluice_dataset_for_columns(d, "image");

    return st == SLUICE_OK ? sluice_dataset_random_invert(d, 0.25) : st;
}

static sluice_status call_random_posterize(sluice_dataset *d)
{
    const sluice_status st = sluice_dataset_for_columns(d, "image");

    return st == SLUICE_OK ? sluice_dataset_random_posterize(d, 3, 0.25) : st;
}

static sluice_status call_random_solarize(sluice_dataset *d)
{
    const sluice_status st = sluice_dataset_for_columns(d, "image");

    return st == SLUICE_OK ? sluice_dataset_random_solarize(d, 100, 0.25) : st;
}

static sluice_status call_random_autocontrast(sluice_dataset *d)
{
    const sluice_status st = sluice_dataset_for_columns(d, "image");

    return st == SLUICE_OK ? sluice_dataset_random_autocontrast(d, 0.25) : st;
}

static sluice_status call_random_equalize(sluice_dataset *d)
{
    const sluice_status st = sluice_dataset_for_columns(d, "image");

    return st == SLUICE_OK ? sluice_dataset_random_equalize(d, 0.25) : st;
}

static sluice_status call_device(sluice_dataset *d)
{
    return sluice_dataset_device(d);
}

static sluice_status call_random_vertical_flip(sluice_dataset *d)
{
    return sluice_dataset_random_vertical_flip(d, 0.25);
}

static sluice_status call_horizontal_flip_points(sluice_dataset *d)
{
    return sluice_dataset_random_horizontal_flip_points(d, 0.25, "0:1,3:2", "points");
}

static sluice_status call_vertical_flip_points(sluice_dataset *d)
{
    return sluice_dataset_random_vertical_flip_points(d, 0.25, "0:1,3:2", "points");
}

static sluice_status call_random_horizontal_flip(sluice_dataset *d)
{
    const sluice_status st = sluice_dataset_random_horizontal_flip(d, 0.75);

    return st == SLUICE_OK ? sluice_dataset_offload(d, "host") : st;
}

static sluice_status call_normalize(sluice_dataset *d)
{
    static const double mean[] = {1, 2, 3};
    static const double std[] = {40, 50, 60};
    sluice_status st = sluice_dataset_for_columns(d, "image");

    if (st == SLUICE_OK) {
        st = sluice_dataset_normalize(d, mean, std, 3, 255, SLUICE_F16);
    }
    return st == SLUICE_OK ? sluice_dataset_offload(d, "device") : st;
}

static sluice_status call_to_dtype(sluice_dataset *d)
{
    sluice_status st = sluice_dataset_for_columns(d, "image");

    if (st == SLUICE_OK) {
        st = sluice_dataset_to_dtype(d, SLUICE_BF16, true);
    }
    return st == SLUICE_OK ? sluice_dataset_offload(d, "device") : st;
}

static sluice_status call_to_chw(sluice_dataset *d)
{
    sluice_status st = sluice_dataset_for_columns(d, "image");

    if (st == SLUICE_OK) {
        st = sluice_dataset_to_chw(d);
    }
    return st == SLUICE_OK ? sluice_dataset_offload(d, "device") : st;
}

static sluice_status call_decode_defaults(sluice_dataset *d)
{
    return sluice_dataset_decode(d, NULL);
}

static sluice_status call_resize_shorter_side(sluice_dataset *d)
{
    return sluice_dataset_resize(d, 9, 0, NULL, true);
}

static sluice_status call_resize_area(sluice_dataset *d)
{
    return sluice_dataset_resize(d, 9, 7, "area", true);
}

static sluice_status call_random_resized_crop_defaults(sluice_dataset *d)
{
    return sluice_dataset_random_resized_crop(d, 9, 7, NULL);
}

/* ---- the cases ------------------------------------------------------------------------------- */

#define SOURCE "synthetic 100 24,20,3 7"
#define POINTS "image_list ${FOLDER}/points.tsv | decode"
#define JPEGS  "image_folder ${FOLDER} extensions=jpg"

const stage_call image_calls[] = {
    {JPEGS, "decode gray max_pixels=1000000 fast_scale=true depth=8", call_decode, NULL,
     "resize 8,8 | batch 4"},
    {JPEGS, "decode", call_decode_defaults, NULL, "resize 8,8 | batch 4"},
    {"image_list ${FOLDER}/points.tsv", "decode columns=image", call_decode_columns, NULL,
     "batch 1"},
    {SOURCE, "resize 9,7 filter=bicubic antialias=false", call_resize, NULL, "batch 4"},
    {SOURCE, "resize 9", call_resize_shorter_side, NULL, "batch 4"},
    {SOURCE, "resize 9,7 filter=area", call_resize_area, NULL, "batch 4"},
    {SOURCE, "center_crop 9,7", call_center_crop, NULL, "batch 4"},
    {SOURCE, "random_crop 9,7 padding=2", call_random_crop, NULL, "batch 4"},
    {SOURCE, "random_resized_crop 9,7 scale=0.1,0.5 ratio=0.5,2 filter=nearest antialias=false",
     call_random_resized_crop, NULL, "batch 4"},
    {SOURCE, "random_resized_crop 9,7", call_random_resized_crop_defaults, NULL, "batch 4"},
    {SOURCE, "letterbox 9,7 fill=0 mask_fill=255 filter=nearest antialias=false", call_letterbox,
     NULL, "batch 4"},
    {SOURCE, "letterbox 9", call_letterbox_defaults, NULL, "batch 4"},
    {SOURCE, "random_adjust_sharpness 2 0.25 columns=image", call_random_adjust_sharpness, NULL,
     "batch 4"},
    {SOURCE, "gaussian_blur 5 0.5,1 columns=image", call_gaussian_blur, NULL, "batch 4"},
    {SOURCE, "random_erasing 0.75 0.125,0.5 0.5,2 1,2,3 columns=image", call_random_erasing, NULL,
     "batch 4"},
    {SOURCE, "random_erasing", call_random_erasing_defaults, NULL, "batch 4"},
    {SOURCE, "normalize 0.5 0.5 | random_erasing 0.75 0.125,0.5 0.5,2 random",
     call_random_erasing_normal, NULL, "batch 4"},
    {SOURCE, "color_twist 0.5,1.5 0.75,1.25 0,2 -30,30 columns=image", call_color_twist, NULL,
     "batch 4"},
    {SOURCE, "color_twist", call_color_twist_defaults, NULL, "batch 4"},
    {SOURCE, "color_jitter 0.4 0.25 0.5 0.125 columns=image", call_color_jitter, NULL, "batch 4"},
    {SOURCE, "random_grayscale 0.25 columns=image", call_random_grayscale, NULL, "batch 4"},
    {SOURCE, "random_invert 0.25 columns=image", call_random_invert, NULL, "batch 4"},
    {SOURCE, "random_posterize 3 0.25 columns=image", call_random_posterize, NULL, "batch 4"},
    {SOURCE, "random_solarize 100 0.25 columns=image", call_random_solarize, NULL, "batch 4"},
    {SOURCE, "random_autocontrast 0.25 columns=image", call_random_autocontrast, NULL, "batch 4"},
    {SOURCE, "random_equalize 0.25 columns=image", call_random_equalize, NULL, "batch 4"},
    {SOURCE, "device", call_device, NULL, "random_invert | batch 4"},
    {SOURCE, "random_horizontal_flip 0.75 offload=host", call_random_horizontal_flip, NULL,
     "batch 4"},
    {SOURCE, "random_vertical_flip 0.25", call_random_vertical_flip, NULL, "batch 4"},
    {POINTS, "random_horizontal_flip 0.25 swap=0:1,3:2 points=points", call_horizontal_flip_points,
     NULL, "batch 1"},
    {POINTS, "random_vertical_flip 0.25 swap=0:1,3:2 points=points", call_vertical_flip_points,
     NULL, "batch 1"},
    {SOURCE, "normalize 1,2,3 40,50,60 range=255 dtype=f16 offload=device columns=image",
     call_normalize, NULL, "batch 4"},
    {SOURCE, "to_dtype bf16 scale=true offload=device columns=image", call_to_dtype, NULL,
     "batch 4"},
    {SOURCE, "to_chw offload=device columns=image", call_to_chw, NULL, "batch 4"},
    {NULL, NULL, NULL, NULL, NULL},
};
