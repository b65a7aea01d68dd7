/* SPDX-License-Identifier: Apache-2.0 */
/* Warps and augmentation policies, as text and by their calls. */
#include "stage_calls.h"

#include <sluice/warps.h>

/* Arguments that are not the defaults. */
static sluice_warp_config filled_warp(const char *filter)
{
    static const uint8_t fill[] = {1, 2, 3};
    sluice_warp_config config;

    sluice_warp_config_init(&config);
    config.filter = filter;
    config.fill = fill;
    config.fill_count = 3;
    config.mask_fill = 9;
    return config;
}

/* About the point 3,4. */
static sluice_warp_config centered_warp(void)
{
    static const double center[] = {3, 4};
    sluice_warp_config config = filled_warp("bilinear");

    config.center = center;
    return config;
}

static sluice_status call_rotate(sluice_dataset *d)
{
    const sluice_warp_config config = centered_warp();

    return sluice_dataset_rotate(d, 30, &config);
}

static sluice_status call_rotate_expand(sluice_dataset *d)
{
    const sluice_warp_config config = filled_warp("bilinear");

    return sluice_dataset_rotate_expand(d, 30, &config);
}

static sluice_status call_random_rotation_expand(sluice_dataset *d)
{
    return sluice_dataset_random_rotation_expand(d, 10, 20, NULL);
}

static sluice_status call_random_rotation(sluice_dataset *d)
{
    return sluice_dataset_random_rotation(d, -30, 30, NULL);
}

static sluice_status call_random_rotation_filled(sluice_dataset *d)
{
    const sluice_warp_config config = centered_warp();

    return sluice_dataset_random_rotation(d, 10, 20, &config);
}

static sluice_status call_affine(sluice_dataset *d)
{
    const sluice_warp_config config = centered_warp();
    const double translate[] = {3, -2};
    const double shear[] = {5, 6};

    return sluice_dataset_affine(d, 30, translate, 0.5, shear, &config);
}

static sluice_status call_affine_defaults(sluice_dataset *d)
{
    return sluice_dataset_affine(d, 0, NULL, 1, NULL, NULL);
}

static sluice_status call_random_affine(sluice_dataset *d)
{
    const sluice_warp_config config = centered_warp();
    const double degrees[] = {-10, 20};
    const double translate[] = {0.25, 0.5};
    const double scale[] = {0.5, 2};
    const double shear[] = {-5, 5, -6, 7};

    return sluice_dataset_random_affine(d, degrees, translate, scale, shear, &config);
}

static sluice_status call_random_affine_defaults(sluice_dataset *d)
{
    const double degrees[] = {-10, 10};

    return sluice_dataset_random_affine(d, degrees, NULL, NULL, NULL, NULL);
}

static sluice_status call_perspective(sluice_dataset *d)
{
    const sluice_warp_config config = filled_warp("nearest");
    const double corners[] = {1, 2, 9, 3, 8, 7, 0, 9};

    return sluice_dataset_perspective(d, corners, &config);
}

static sluice_status call_random_perspective(sluice_dataset *d)
{
    const sluice_warp_config config = filled_warp("nearest");

    return sluice_dataset_random_perspective(d, 0.25, 0.75, &config);
}

static sluice_status call_random_perspective_defaults(sluice_dataset *d)
{
    return sluice_dataset_random_perspective(d, 0.5, 0.5, NULL);
}

static sluice_status call_trivial_augment(sluice_dataset *d)
{
    const sluice_warp_config config = filled_warp("bilinear");

    return sluice_dataset_trivial_augment(d, 11, &config);
}

static sluice_status call_trivial_augment_defaults(sluice_dataset *d)
{
    return sluice_dataset_trivial_augment(d, 31, NULL);
}

static sluice_status call_rand_augment(sluice_dataset *d)
{
    const sluice_warp_config config = filled_warp("bilinear");

    return sluice_dataset_rand_augment(d, 3, 5, 11, &config);
}

static sluice_status call_aug_mix(sluice_dataset *d)
{
    const sluice_warp_config config = filled_warp("nearest");

    return sluice_dataset_aug_mix(d, 5, 2, 4, 0.5, false, &config);
}

static sluice_status call_aug_mix_defaults(sluice_dataset *d)
{
    return sluice_dataset_aug_mix(d, 3, 3, -1, 1, true, NULL);
}

static sluice_status call_elastic(sluice_dataset *d)
{
    static const double alpha[2] = {30, 40};
    static const double sigma[2] = {2, 3};
    const sluice_warp_config config = filled_warp("nearest");

    return sluice_dataset_elastic(d, alpha, sigma, &config);
}

static sluice_status call_elastic_defaults(sluice_dataset *d)
{
    return sluice_dataset_elastic(d, NULL, NULL, NULL);
}

static sluice_status call_rand_augment_defaults(sluice_dataset *d)
{
    return sluice_dataset_rand_augment(d, 2, 9, 31, NULL);
}

static sluice_status call_warp_affine(sluice_dataset *d)
{
    static const double matrix[6] = {0.5, 0.25, 3, -0.25, 1, -2};
    const sluice_warp_config config = filled_warp("nearest");

    return sluice_dataset_warp_affine(d, matrix, false, &config);
}

static sluice_status call_warp_affine_defaults(sluice_dataset *d)
{
    static const double matrix[6] = {1, 0, 3, 0, 1, -2};

    return sluice_dataset_warp_affine(d, matrix, true, NULL);
}

/* ---- the cases ------------------------------------------------------------------------------- */

#define SOURCE "synthetic 100 24,20,3 7"

const stage_call warp_calls[] = {
    {SOURCE, "trivial_augment 11 bilinear 1,2,3 9", call_trivial_augment, NULL, "batch 4"},
    {SOURCE, "trivial_augment", call_trivial_augment_defaults, NULL, "batch 4"},
    {SOURCE, "rand_augment 3 5 11 bilinear 1,2,3 9", call_rand_augment, NULL, "batch 4"},
    {SOURCE, "aug_mix 5 2 4 0.5 false nearest 1,2,3 9", call_aug_mix, NULL, "batch 4"},
    {SOURCE, "warp_affine 0.5,0.25,3,-0.25,1,-2 false nearest 1,2,3 9", call_warp_affine, NULL,
     "batch 4"},
    {SOURCE, "warp_affine 1,0,3,0,1,-2", call_warp_affine_defaults, NULL, "batch 4"},
    {SOURCE, "aug_mix", call_aug_mix_defaults, NULL, "batch 4"},
    {SOURCE, "elastic 30,40 2,3 nearest 1,2,3 9", call_elastic, NULL, "batch 4"},
    {SOURCE, "elastic", call_elastic_defaults, NULL, "batch 4"},
    {SOURCE, "rand_augment", call_rand_augment_defaults, NULL, "batch 4"},
    {SOURCE, "rotate 30 bilinear 1,2,3 9 3,4", call_rotate, NULL, "batch 4"},
    {SOURCE, "rotate 30 bilinear 1,2,3 9 expand=true", call_rotate_expand, NULL, "batch 4"},
    {SOURCE, "random_rotation 10,20 expand=true", call_random_rotation_expand, NULL,
     "resize 8,8 | batch 4"},
    {SOURCE, "random_rotation 30", call_random_rotation, NULL, "batch 4"},
    {SOURCE, "random_rotation 10,20 bilinear 1,2,3 9 3,4", call_random_rotation_filled, NULL,
     "batch 4"},
    {SOURCE, "affine 30 3,-2 0.5 5,6 bilinear 1,2,3 9 3,4", call_affine, NULL, "batch 4"},
    {SOURCE, "affine", call_affine_defaults, NULL, "batch 4"},
    {SOURCE, "random_affine -10,20 0.25,0.5 0.5,2 -5,5,-6,7 bilinear 1,2,3 9 3,4",
     call_random_affine, NULL, "batch 4"},
    {SOURCE, "random_affine 10", call_random_affine_defaults, NULL, "batch 4"},
    {SOURCE, "perspective 1,2 9,3 8,7 0,9 nearest 1,2,3 9", call_perspective, NULL, "batch 4"},
    {SOURCE, "random_perspective 0.25 0.75 nearest 1,2,3 9", call_random_perspective, NULL,
     "batch 4"},
    {SOURCE, "random_perspective", call_random_perspective_defaults, NULL, "batch 4"},
    {NULL, NULL, NULL, NULL, NULL},
};
