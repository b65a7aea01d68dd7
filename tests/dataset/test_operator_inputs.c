/* SPDX-License-Identifier: Apache-2.0 */
/* Image operators with arguments out of bounds, images of one pixel, and four channels. */
#include <stdio.h>

#include "dataset_kit.h"
#include "stage_runs.h"
#include "stage_table.h"
#include "testing.h"

static void arguments_out_of_bounds_name_the_bounds(void)
{
    static const char *const cases[][2] = {
        {"resize 70000", "resize: size=70000 must be from 1 to 65535"},
        {"resize -3", "resize: size=-3 must be HEIGHT or HEIGHT,WIDTH, from 1 to 65535"},
        {"resize 8 max_size=8", "resize: max_size=8 must be greater than size=8, the shorter side"},
        {"resize 8,9 max_size=20", "resize: max_size=20 is for a size of one number, the shorter "
                                   "side, and size=8,9 sets both; leave max_size out"},
        {"resize 8 max_size=65536", "resize: max_size=65536 must be from 0 to 65535"},
        {"center_crop 1,40 | resize 3 max_size=4 | batch 2",
         "resize: an image whose sides are 1 and 40 long has no pixels with max_size=4"},
        {"center_crop 99999", "center_crop: size=99999 must be from 1 to 65535"},
        {"random_crop 8 padding=-1", "padding=-1 must be a whole number from 0 to 65535"},
        {"random_crop 8 padding=0,65536", "padding=65536 must be a whole number from 0 to 65535"},
        {"random_crop 8 fill=256", "random_crop: fill=256 must be a whole number from 0 to 255"},
        {"random_crop 8 mask_fill=256", "random_crop: mask_fill=256 must be from 0 to 255"},
        {"random_resized_crop 8 scale=0,1", "scale=0,1 must be LOW,HIGH with 0 < LOW <= HIGH <= 1"},
        {"random_resized_crop 8 ratio=2,1", "ratio=2,1 must be LOW,HIGH with 0.0001 < LOW"},
        {"random_resize 0,5", "size=0,5 must be MIN,MAX with 1 <= MIN <= MAX <= 65535"},
        {"scale_jitter 8 scale=0,1",
         "scale=0,1 must be LOW,HIGH with 0.001 <= LOW <= HIGH <= 1000"},
        {"random_shortest_size 5,70000",
         "random_shortest_size: min_size=70000 must be from 1 to 65535"},
        {"letterbox 8 fill=256", "letterbox: fill=256 must be 0, or from 1 to 255"},
        {"pad_image 70000", "padding=70000 must be a whole number from 0 to 65535"},
        {"views 17", "views: n=17 must be from 2 to 16"},
        {"five_crop 0", "five_crop: size=0 must be from 1 to 65535"},
        {"ten_crop 0", "ten_crop: size=0 must be from 1 to 65535"},
        {"random_zoom_out side_range=1,17", "side_range=1,17 must be LOW,HIGH with 1 <= LOW"},
        {"random_iou_crop 0", "random_iou_crop: min_scale=0 must be from 0.001 to 1"},
        {"mosaic 8 center=0,3", "center=0,3 must be LOW,HIGH with 0 <= LOW <= HIGH <= 2"},
        {"mosaic 8 scale=1,11", "scale=1,11 must be LOW,HIGH with 0.01 <= LOW <= HIGH <= 10"},
        {"color_jitter -1", "brightness=-1 must be at least 0: one number is the largest change"},
        {"color_jitter hue=0.6", "hue from -0.6 to 0.6 must have -0.5 <= LOW <= HIGH <= 0.5"},
        {"color_twist saturation=3,2", "saturation from 3 to 2 must have 0 <= LOW <= HIGH <= 1000"},
        {"random_grayscale 1.5", "random_grayscale: p=1.5 must be from 0 to 1"},
        {"random_invert -0.1", "random_invert: p=-0.1 must be from 0 to 1"},
        {"random_posterize 9", "random_posterize: bits=9 must be from 0 to 8"},
        {"random_posterize -1", "random_posterize: bits=-1 must be a whole number, from 0 to 8"},
        {"random_solarize 257", "random_solarize: threshold=257 must be from 0 to 256"},
        {"random_autocontrast 2", "random_autocontrast: p=2 must be from 0 to 1"},
        {"random_equalize 2", "random_equalize: p=2 must be from 0 to 1"},
        {"random_erasing scale=0.5,2", "scale=0.5,2 must be LOW,HIGH with 0 <= LOW <= HIGH <= 1"},
        {"random_erasing ratio=0,1",
         "ratio=0,1 must be LOW,HIGH with 0.001 <= LOW <= HIGH <= 1000"},
        {"random_erasing value=300", "value=300 must be a whole number from 0 to 255"},
        {"random_adjust_sharpness -1", "factor=-1 must be from 0 to 1000000"},
        {"gaussian_blur 129", "kernel_size=129 must be from 1 to 127"},
        {"gaussian_blur 3 0", "sigma from 0 to 0 must have 0.001 <= LOW <= HIGH <= 1e+06"},
        {"trivial_augment 1", "num_magnitude_bins=1 must be from 2 to 65536"},
        {"rand_augment 17", "rand_augment: num_ops=17 must be from 0 to 16"},
        {"aug_mix 11", "aug_mix: severity=11 must be from 1 to 10"},
        {"random_apply 2 (random_invert)", "random_apply: p=2 must be from 0 to 1"},
        {"rotate nan", "degrees=nan must be a number, from -1000000 to 1000000"},
        {"rotate 3 center=1e9,0", "center=1e+09 must be from -1e+06 to 1e+06"},
        {"random_rotation 50,20", "degrees from 50 to 20 must have -1e+06 <= LOW <= HIGH <= 1e+06"},
        {"affine scale=0", "affine: scale=0 must be from 0.001 to 1000"},
        {"affine shear=0,95", "affine: shear=95 must be from -89.999 to 89.999"},
        {"random_affine 9 translate=2,0", "random_affine: translate=2 must be from 0 to 1"},
        {"warp_affine 1,2,3,2,4,6", "is singular: it maps the image to a line or a point; M11"},
        {"perspective 0,0 1,1 2,2 3,3", "three of the points must not be on one line"},
        {"random_perspective 2", "distortion_scale=2 must be from 0 to 1"},
        {"elastic 50 65", "sigma=65,65 must be from 0 to 64"},
        {"random_horizontal_flip 2", "random_horizontal_flip: p=2 must be from 0 to 1"},
        {"random_vertical_flip 2", "random_vertical_flip: p=2 must be from 0 to 1"},
        {"normalize 0.5 0", "normalize: std=0 must be a number other than 0"},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char text[200];

        snprintf(text, sizeof(text), "synthetic 4 32,40,3 | %s", cases[i][0]);
        check_refused(text, cases[i][1]);
    }
}

/* A line, a column and a point are images, of any number of channels that the operator takes. */
static void images_of_one_pixel_pass_each_operator(void)
{
    static const char *const sources[] = {"synthetic 2 1,1,3", "synthetic 2 1,9,1",
                                          "synthetic 2 9,1,3"};
    static const char *const stages[] = {
        "resize 8,8 | random_crop 9 padding=3 | pad_image 3 mode=edge | center_crop 4",
        "center_crop 5 | five_crop 3",
        "random_resized_crop 8 | ten_crop 8",
        "letterbox 8 | pad_image 2 mode=symmetric",
        "random_zoom_out p=1 | resize 5,5",
        "random_resize 1,9 | scale_jitter 18 1.5,2 | random_shortest_size 1,2 | center_crop 5",
        "mosaic 8",
        "color_jitter 0.5 0.5 0.5 0.5 | random_grayscale 1 | random_invert 1",
        "random_posterize 3 1 | random_solarize 3 1 | random_autocontrast 1 | random_equalize 1",
        "random_erasing 1 | random_adjust_sharpness 2 1 | gaussian_blur 127 5",
        "trivial_augment | rand_augment 4",
        "aug_mix",
        "rotate 30 bilinear | affine 10 3,3 2 5,5 | warp_affine 1,0,2,0,1,3 filter=nearest",
        "rotate 30 expand=true | resize 8,8",
        "random_rotation 30 | random_affine 30 0.2,0.2",
        "perspective 1,1 | random_perspective 0.9 1 | elastic",
        "random_horizontal_flip 1 | random_vertical_flip 1 | to_dtype f16 scale=true | to_chw",
        "device | random_invert 1 | random_affine 30 0.2,0.2 | random_erasing 1 | to_chw",
        "device | random_vertical_flip 1 | rotate 30 bilinear | normalize 0.5 0.5",
    };

    for (size_t i = 0; i < sizeof(sources) / sizeof(sources[0]); i++) {
        for (size_t k = 0; k < sizeof(stages) / sizeof(stages[0]); k++) {
            check_pass(sources[i], stages[k], 1);
        }
    }
}

static void four_channels_are_refused_where_three_are_needed(void)
{
    static const char *const gray_or_rgb[] = {
        "color_jitter 0.5",  "random_grayscale",
        "random_invert",     "random_posterize 3",
        "random_solarize 9", "random_autocontrast",
        "random_equalize",   "random_adjust_sharpness 2",
        "trivial_augment",   "rand_augment",
        "aug_mix",           "random_apply (random_invert)",
    };
    char text[200];

    for (size_t i = 0; i < sizeof(gray_or_rgb) / sizeof(gray_or_rgb[0]); i++) {
        snprintf(text, sizeof(text), "synthetic 4 8,8,4 | %s", gray_or_rgb[i]);
        check_refused(
            text, "channels, and must have 1 (gray) or 3 (RGB); change the channels in the source");
    }
    check_refused("synthetic 4 8,8,4 | color_twist",
                  "column image has 4 channels, and must have 3 (RGB)");
    check_refused(
        "synthetic 4 8,8,4 | normalize imagenet",
        "3 numbers for an image of 4 channels, image; there must be one for each channel");
}

/* True if the stage can be added; if not, that must be because GetNext cannot run it. */
static bool runs_on_device(const char *stage)
{
    sluice_dataset *dataset = NULL;
    char text[300];
    bool runs;

    snprintf(text, sizeof(text), "synthetic 4 96,128,3 | device | %s", stage);
    runs = sluice_dataset_parse(text, &dataset) == SLUICE_OK;
    if (!runs) {
        T_CONTAINS(sluice_last_error(), "device");
    }
    sluice_dataset_destroy(dataset);
    return runs;
}

/* Any number of workers and, after the stage device, GetNext give the same batches of an operator's
 * example, which also works inside random_apply if it is no conversion. */
static void each_operator_has_an_example_that_runs(void)
{
    static const char source[] = "synthetic 12 96,128,3";
    int found = 0;

    for (size_t i = 0; stage_table[i] != NULL; i++) {
        const stage_def *def = stage_table[i];
        const char *example = def->example != NULL ? def->example : def->name;

        if ((def->geometry != NULL && def->geometry->draw_of_boxes != NULL) ||
            (def->kind != STAGE_GEOMETRY && def->kind != STAGE_COLOR &&
             def->kind != STAGE_CONVERSION)) {
            continue;
        }
        found++;
        check_workers_and_devices(source, example);
        if (def->kind != STAGE_GEOMETRY && runs_on_device(example)) {
            char stages[300];

            snprintf(stages, sizeof(stages), "device | %s", example);
            check_stages(source, stages, example, true);
        }
        if (def->kind == STAGE_COLOR) {
            char stages[300];

            snprintf(stages, sizeof(stages), "random_apply 1 (%s)", example);
            check_pass(source, stages, 3);
        }
    }
    T_TRUE(found > 40);
}

const t_test operator_inputs_tests[] = {
    T_TEST(arguments_out_of_bounds_name_the_bounds),
    T_TEST(images_of_one_pixel_pass_each_operator),
    T_TEST(four_channels_are_refused_where_three_are_needed),
    T_TEST(each_operator_has_an_example_that_runs),
    T_END,
};
