/* SPDX-License-Identifier: Apache-2.0 */
#include "stage_calls.h"

#include <stdio.h>

#include <sluice/arrays.h>
#include <sluice/assembly.h>
#include <sluice/cache.h>
#include <sluice/coco.h>
#include <sluice/columns.h>
#include <sluice/sampling.h>
#include <sluice/tokens.h>
#include <sluice/transforms.h>
#include <sluice/warps.h>

/* ---- the calls ------------------------------------------------------------------------------- */

static sluice_status begin_image_folder(const char *folder, sluice_dataset **dataset_out)
{
    char index[500];
    sluice_image_folder_config config;

    sluice_image_folder_config_init(&config);
    snprintf(index, sizeof(index), "%s/index", folder);
    config.extensions = "jpg";
    config.index = index;
    config.cache = "drop";
    return sluice_dataset_image_folder(folder, &config, dataset_out);
}

static sluice_status begin_image_folder_defaults(const char *folder, sluice_dataset **dataset_out)
{
    return sluice_dataset_image_folder(folder, NULL, dataset_out);
}

static sluice_status begin_webdataset(const char *folder, sluice_dataset **dataset_out)
{
    char shards[500];
    sluice_webdataset_config config;

    sluice_webdataset_config_init(&config);
    snprintf(shards, sizeof(shards), "%s/x.tar", folder);
    config.image = "ppm";
    config.label = "class";
    config.index = "none";
    config.cache = "drop";
    config.access = "stream";
    config.max_sample = 1 << 20;
    return sluice_dataset_webdataset(shards, &config, dataset_out);
}

static sluice_status begin_webdataset_fields(const char *folder, sluice_dataset **dataset_out)
{
    char shards[500];
    sluice_webdataset_config config;

    sluice_webdataset_config_init(&config);
    snprintf(shards, sizeof(shards), "%s/x.tar", folder);
    config.fields = "image:ppm,y:class[2]";
    return sluice_dataset_webdataset(shards, &config, dataset_out);
}

static sluice_status begin_cifar10(const char *folder, sluice_dataset **dataset_out)
{
    return sluice_dataset_cifar10(folder, "test", dataset_out);
}

static sluice_status begin_cifar100(const char *folder, sluice_dataset **dataset_out)
{
    return sluice_dataset_cifar100(folder, "test", "both", dataset_out);
}

static sluice_status begin_cifar100_defaults(const char *folder, sluice_dataset **dataset_out)
{
    return sluice_dataset_cifar100(folder, "train", NULL, dataset_out);
}

static sluice_status begin_mnist(const char *folder, sluice_dataset **dataset_out)
{
    return sluice_dataset_mnist(folder, "test", dataset_out);
}

static sluice_status begin_image_masks(const char *folder, sluice_dataset **dataset_out)
{
    char images[500];
    char masks[500];

    snprintf(images, sizeof(images), "%s/photos", folder);
    snprintf(masks, sizeof(masks), "%s/masks", folder);
    return sluice_dataset_image_masks(images, masks, dataset_out);
}

static sluice_status begin_image_list(const char *folder, sluice_dataset **dataset_out)
{
    char list[500];

    snprintf(list, sizeof(list), "%s/x.csv", folder);
    return sluice_dataset_image_list(list, folder, dataset_out);
}

static sluice_status begin_coco(const char *folder, sluice_dataset **dataset_out)
{
    char file[500];
    sluice_coco_config config;

    sluice_coco_config_init(&config);
    snprintf(file, sizeof(file), "%s/x.json", folder);
    config.root = folder;
    config.iscrowd = "keep";
    config.max_boxes = 7;
    return sluice_dataset_coco(file, &config, dataset_out);
}

static sluice_status begin_coco_defaults(const char *folder, sluice_dataset **dataset_out)
{
    char file[500];

    snprintf(file, sizeof(file), "%s/x.json", folder);
    return sluice_dataset_coco(file, NULL, dataset_out);
}

static sluice_status begin_npy(const char *folder, sluice_dataset **dataset_out)
{
    char files[500];

    snprintf(files, sizeof(files), "%s/x.npy", folder);
    return sluice_dataset_npy(files, "y", dataset_out);
}

static sluice_status begin_tokens(const char *folder, sluice_dataset **dataset_out)
{
    char files[500];
    sluice_tokens_config config;

    sluice_tokens_config_init(&config);
    snprintf(files, sizeof(files), "%s/x.npy", folder);
    config.files = files;
    config.seq = 16;
    config.stride = 4;
    config.dtype = "u16";
    config.offload = "device";
    return sluice_dataset_tokens(&config, dataset_out);
}

static sluice_status begin_tokens_llmc(const char *folder, sluice_dataset **dataset_out)
{
    char files[500];
    sluice_tokens_config config;

    sluice_tokens_config_init(&config);
    snprintf(files, sizeof(files), "%s/x.npy", folder);
    config.files = files;
    config.seq = 16;
    config.dtype = "u16";
    config.order = "llmc";
    return sluice_dataset_tokens(&config, dataset_out);
}

static sluice_status begin_synthetic(const char *folder, sluice_dataset **dataset_out)
{
    (void)folder;
    return sluice_dataset_synthetic(12, 6, 5, 1, 3, dataset_out);
}

/* Two parts, of which the second one has no column of the first one if it is to be zipped. */
static sluice_status begin_parts(bool zips, sluice_dataset *parts[2])
{
    sluice_status st = sluice_dataset_synthetic(12, 6, 5, 1, 3, &parts[0]);

    if (st == SLUICE_OK) {
        st = sluice_dataset_synthetic(20, 6, 5, 1, 3, &parts[1]);
    }
    if (st == SLUICE_OK && zips) {
        st = sluice_dataset_rename(parts[1], "label", "y");
        st = st == SLUICE_OK ? sluice_dataset_drop(parts[1], "image") : st;
        st = st == SLUICE_OK ? sluice_dataset_take(parts[1], 12) : st;
    } else if (st == SLUICE_OK) {
        st = sluice_dataset_shuffle(parts[0], SLUICE_SEED_OF_RUN, 0);
    }
    return st;
}

static sluice_status begin_concat(const char *folder, sluice_dataset **dataset_out)
{
    sluice_dataset *parts[2];
    const sluice_status st = begin_parts(false, parts);

    (void)folder;
    return st == SLUICE_OK ? sluice_dataset_concat(parts, 2, dataset_out) : st;
}

static sluice_status begin_mix(const char *folder, sluice_dataset **dataset_out)
{
    static const uint64_t weights[] = {70, 30};
    sluice_dataset *parts[2];
    const sluice_status st = begin_parts(false, parts);

    (void)folder;
    return st == SLUICE_OK ? sluice_dataset_mix(parts, weights, 2, 2, dataset_out) : st;
}

static sluice_status begin_mix_defaults(const char *folder, sluice_dataset **dataset_out)
{
    sluice_dataset *parts[2];
    const sluice_status st = begin_parts(false, parts);

    (void)folder;
    return st == SLUICE_OK ? sluice_dataset_mix(parts, NULL, 0, 2, dataset_out) : st;
}

static sluice_status begin_zip(const char *folder, sluice_dataset **dataset_out)
{
    sluice_dataset *parts[2];
    const sluice_status st = begin_parts(true, parts);

    (void)folder;
    return st == SLUICE_OK ? sluice_dataset_zip(parts, 2, dataset_out) : st;
}

static sluice_status call_shuffle(sluice_dataset *d)
{
    return sluice_dataset_shuffle(d, 5, 7);
}

static sluice_status call_shard(sluice_dataset *d)
{
    return sluice_dataset_shard(d, 2, 3);
}

static sluice_status call_split(sluice_dataset *d)
{
    return sluice_dataset_split(d, "val", 0.25, 9, 0.5);
}

static sluice_status call_take(sluice_dataset *d)
{
    return sluice_dataset_take(d, 7);
}

static sluice_status call_skip(sluice_dataset *d)
{
    return sluice_dataset_skip(d, 90);
}

/* Files of numbers, of a source of 100 samples. */
#define SAMPLES SLUICE_TEST_DATA "/numbers/samples.txt"
#define WEIGHTS SLUICE_TEST_DATA "/numbers/weights.txt"

static sluice_status call_subset(sluice_dataset *d)
{
    return sluice_dataset_subset(d, SAMPLES);
}

static sluice_status call_weights(sluice_dataset *d)
{
    return sluice_dataset_weights(d, WEIGHTS, 50, 9);
}

static sluice_status call_weights_defaults(sluice_dataset *d)
{
    return sluice_dataset_weights(d, "label", 0, SLUICE_SEED_OF_RUN);
}

static sluice_status call_balance(sluice_dataset *d)
{
    return sluice_dataset_balance(d, "y", 33, 4);
}

static sluice_status call_balance_defaults(sluice_dataset *d)
{
    return sluice_dataset_balance(d, NULL, 0, SLUICE_SEED_OF_RUN);
}

static sluice_status call_repeat(sluice_dataset *d)
{
    return sluice_dataset_repeat(d, 2);
}

static sluice_status call_decode(sluice_dataset *d)
{
    sluice_decode_config config;

    sluice_decode_config_init(&config);
    config.mode = "gray";
    config.max_pixels = 1000000;
    config.fast_scale = true;
    return sluice_dataset_decode(d, &config);
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

/* Fills of 1, 2 and 3, 9 in masks. */
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

static sluice_status call_rotate(sluice_dataset *d)
{
    const sluice_warp_config config = filled_warp("bilinear");

    return sluice_dataset_rotate(d, 30, &config);
}

static sluice_status call_random_rotation(sluice_dataset *d)
{
    return sluice_dataset_random_rotation(d, -30, 30, NULL);
}

static sluice_status call_random_rotation_filled(sluice_dataset *d)
{
    const sluice_warp_config config = filled_warp("bilinear");

    return sluice_dataset_random_rotation(d, 10, 20, &config);
}

static sluice_status call_affine(sluice_dataset *d)
{
    const sluice_warp_config config = filled_warp("bilinear");
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
    const sluice_warp_config config = filled_warp("bilinear");
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

static sluice_status call_random_erasing(sluice_dataset *d)
{
    static const uint8_t value[] = {1, 2, 3};
    const double scale[] = {0.125, 0.5};
    const double ratio[] = {0.5, 2};
    const sluice_status st = sluice_dataset_for_columns(d, "image");

    return st == SLUICE_OK ? sluice_dataset_random_erasing(d, 0.75, scale, ratio, value, 3) : st;
}

static sluice_status call_random_erasing_defaults(sluice_dataset *d)
{
    return sluice_dataset_random_erasing(d, 0.5, NULL, NULL, NULL, 0);
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

static sluice_status call_rand_augment_defaults(sluice_dataset *d)
{
    return sluice_dataset_rand_augment(d, 2, 9, 31, NULL);
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

static sluice_status call_batch(sluice_dataset *d)
{
    return sluice_dataset_batch(d, 7, true);
}

static sluice_status call_project(sluice_dataset *d)
{
    return sluice_dataset_project(d, "label,image");
}

static sluice_status call_drop(sluice_dataset *d)
{
    return sluice_dataset_drop(d, "label");
}

static sluice_status call_rename(sluice_dataset *d)
{
    return sluice_dataset_rename(d, "label", "y");
}

static sluice_status call_cache(sluice_dataset *d)
{
    return sluice_dataset_cache(d, 3 << 20);
}

static sluice_status call_cache_shared(sluice_dataset *d)
{
    return sluice_dataset_cache_shared(d, 3 << 20);
}

static sluice_status call_one_hot(sluice_dataset *d)
{
    return sluice_dataset_one_hot(d, "label", 7, 0.25);
}

static sluice_status call_pad(sluice_dataset *d)
{
    return sluice_dataset_pad_array(d, "label", 9, 2.5);
}

static sluice_status call_truncate(sluice_dataset *d)
{
    return sluice_dataset_truncate_array(d, "label", 3);
}

static sluice_status call_cast(sluice_dataset *d)
{
    return sluice_dataset_cast(d, "label", SLUICE_I64);
}

static sluice_status call_pack(sluice_dataset *d)
{
    return sluice_dataset_pack(d, "label", 16, false, 9);
}

static sluice_status call_bucket(sluice_dataset *d)
{
    static const uint64_t edges[] = {2, 5};

    return sluice_dataset_bucket(d, "label", edges, 2);
}

static sluice_status call_pack_defaults(sluice_dataset *d)
{
    return sluice_dataset_pack(d, NULL, 16, true, 0);
}

static sluice_status call_geometry(sluice_dataset *d)
{
    return sluice_dataset_geometry(d, "where");
}

static sluice_status call_geometry_defaults(sluice_dataset *d)
{
    return sluice_dataset_geometry(d, NULL);
}

static sluice_status call_shuffle_by_run(sluice_dataset *d)
{
    return sluice_dataset_shuffle(d, SLUICE_SEED_OF_RUN, 0);
}

static sluice_status call_shard_by_run(sluice_dataset *d)
{
    return sluice_dataset_shard(d, SLUICE_OF_RUN, SLUICE_OF_RUN);
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

#define SOURCE    "synthetic 100 24,20,3 7"
#define PART_A    "synthetic 12 6,5,1 3"
#define PART_B    "synthetic 20 6,5,1 3"
#define JPEGS     "image_folder ${FOLDER} extensions=jpg"
#define SOURCE    "synthetic 100 24,20,3 7"
#define DOCUMENTS SOURCE " | one_hot label 7 | cast label i32"
#define JPEGS     "image_folder ${FOLDER} extensions=jpg"

const stage_call stage_calls[] = {
    {NULL, "image_folder ${FOLDER} jpg index=${FOLDER}/index cache=drop", NULL, begin_image_folder,
     "decode | resize 8,8 | batch 4"},
    {NULL, "image_folder ${FOLDER}", NULL, begin_image_folder_defaults,
     "decode | resize 8,8 | batch 4"},
    {NULL,
     "webdataset ${FOLDER}/x.tar image=ppm label=class index=none cache=drop access=stream "
     "max_sample=1M",
     NULL, begin_webdataset, "decode | resize 8,8 | batch 4"},
    {NULL, "webdataset ${FOLDER}/x.tar fields=image:ppm,y:class[2]", NULL, begin_webdataset_fields,
     "decode | resize 8,8 | batch 4"},
    {NULL, "cifar10 ${FOLDER} test", NULL, begin_cifar10, "batch 4"},
    {NULL, "cifar100 ${FOLDER} test label=both", NULL, begin_cifar100, "batch 4"},
    {NULL, "cifar100 ${FOLDER}", NULL, begin_cifar100_defaults, "batch 4"},
    {NULL, "mnist ${FOLDER} split=test", NULL, begin_mnist, "batch 4"},
    {NULL, "mnist ${FOLDER} part=test", NULL, begin_mnist, "batch 4"},
    {NULL, "image_list ${FOLDER}/photos masks=${FOLDER}/masks", NULL, begin_image_masks,
     "decode | batch 1"},
    {NULL, "image_list ${FOLDER}/x.csv root=${FOLDER}", NULL, begin_image_list,
     "decode | resize 8,8 | batch 4"},
    {NULL, "coco ${FOLDER}/x.json root=${FOLDER} iscrowd=keep max_boxes=7", NULL, begin_coco,
     "decode | resize 8,8 | batch 4"},
    {NULL, "coco ${FOLDER}/x.json", NULL, begin_coco_defaults, "decode | resize 8,8 | batch 4"},
    {NULL, "npy ${FOLDER}/x.npy names=y", NULL, begin_npy, "batch 4"},
    {NULL, "tokens ${FOLDER}/x.npy 16 stride=4 dtype=u16 offload=device", NULL, begin_tokens,
     "batch 4"},
    {NULL, "tokens ${FOLDER}/x.npy 16 dtype=u16 order=llmc", NULL, begin_tokens_llmc, "batch 4"},
    {NULL, "synthetic samples=12 shape=6,5,1 classes=3", NULL, begin_synthetic, "batch 4"},
    {NULL, "concat (" PART_A " | shuffle) (" PART_B ")", NULL, begin_concat, "batch 4"},
    {NULL, "mix 0.7:(" PART_A " | shuffle) 0.3:end:(" PART_B ")", NULL, begin_mix, "batch 4"},
    {NULL, "mix (" PART_A " | shuffle) (" PART_B ")", NULL, begin_mix_defaults, "batch 4"},
    {NULL, "zip (" PART_A ") (" PART_B " | rename label y | drop image | take 12)", NULL, begin_zip,
     "batch 4"},
    {SOURCE, "shuffle seed=5 buffer=7", call_shuffle, NULL, "batch 4"},
    {SOURCE, "shuffle", call_shuffle_by_run, NULL, "batch 4"},
    {SOURCE, "shard 2 3", call_shard, NULL, "batch 4"},
    {SOURCE, "shard", call_shard_by_run, NULL, "batch 4"},
    {SOURCE, "shard none", sluice_dataset_shard_none, NULL, "batch 4"},
    {SOURCE, "split val 0.25 seed=9 test=0.5", call_split, NULL, "batch 4"},
    {SOURCE, "take 7", call_take, NULL, "batch 4"},
    {SOURCE, "skip 90", call_skip, NULL, "batch 4"},
    {SOURCE, "subset " SAMPLES, call_subset, NULL, "batch 4"},
    {SOURCE, "weights " WEIGHTS " samples=50 seed=9", call_weights, NULL, "batch 4"},
    {SOURCE, "weights label", call_weights_defaults, NULL, "batch 4"},
    {SOURCE " | rename label y", "balance y samples=33 seed=4", call_balance, NULL, "batch 4"},
    {SOURCE, "balance", call_balance_defaults, NULL, "batch 4"},
    {SOURCE " | shuffle", "repeat 2", call_repeat, NULL, "batch 4"},
    {JPEGS, "decode gray max_pixels=1000000 fast_scale=true", call_decode, NULL,
     "resize 8,8 | batch 4"},
    {JPEGS, "decode", call_decode_defaults, NULL, "resize 8,8 | batch 4"},
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
    {SOURCE, "trivial_augment 11 bilinear 1,2,3 9", call_trivial_augment, NULL, "batch 4"},
    {SOURCE, "trivial_augment", call_trivial_augment_defaults, NULL, "batch 4"},
    {SOURCE, "rand_augment 3 5 11 bilinear 1,2,3 9", call_rand_augment, NULL, "batch 4"},
    {SOURCE, "rand_augment", call_rand_augment_defaults, NULL, "batch 4"},
    {SOURCE, "rotate 30 bilinear 1,2,3 9", call_rotate, NULL, "batch 4"},
    {SOURCE, "random_rotation 30", call_random_rotation, NULL, "batch 4"},
    {SOURCE, "random_rotation 10,20 bilinear 1,2,3 9", call_random_rotation_filled, NULL,
     "batch 4"},
    {SOURCE, "affine 30 3,-2 0.5 5,6 bilinear 1,2,3 9", call_affine, NULL, "batch 4"},
    {SOURCE, "affine", call_affine_defaults, NULL, "batch 4"},
    {SOURCE, "random_affine -10,20 0.25,0.5 0.5,2 -5,5,-6,7 bilinear 1,2,3 9", call_random_affine,
     NULL, "batch 4"},
    {SOURCE, "random_affine 10", call_random_affine_defaults, NULL, "batch 4"},
    {SOURCE, "perspective 1,2 9,3 8,7 0,9 nearest 1,2,3 9", call_perspective, NULL, "batch 4"},
    {SOURCE, "random_perspective 0.25 0.75 nearest 1,2,3 9", call_random_perspective, NULL,
     "batch 4"},
    {SOURCE, "random_perspective", call_random_perspective_defaults, NULL, "batch 4"},
    {SOURCE, "color_jitter 0.4 0.25 0.5 0.125 columns=image", call_color_jitter, NULL, "batch 4"},
    {SOURCE, "random_grayscale 0.25 columns=image", call_random_grayscale, NULL, "batch 4"},
    {SOURCE, "random_invert 0.25 columns=image", call_random_invert, NULL, "batch 4"},
    {SOURCE, "random_posterize 3 0.25 columns=image", call_random_posterize, NULL, "batch 4"},
    {SOURCE, "random_solarize 100 0.25 columns=image", call_random_solarize, NULL, "batch 4"},
    {SOURCE, "random_autocontrast 0.25 columns=image", call_random_autocontrast, NULL, "batch 4"},
    {SOURCE, "random_equalize 0.25 columns=image", call_random_equalize, NULL, "batch 4"},
    {SOURCE, "random_horizontal_flip 0.75 offload=host", call_random_horizontal_flip, NULL,
     "batch 4"},
    {SOURCE, "normalize 1,2,3 40,50,60 range=255 dtype=f16 offload=device columns=image",
     call_normalize, NULL, "batch 4"},
    {SOURCE, "to_dtype bf16 scale=true offload=device columns=image", call_to_dtype, NULL,
     "batch 4"},
    {SOURCE, "to_chw offload=device columns=image", call_to_chw, NULL, "batch 4"},
    {SOURCE, "project label,image", call_project, NULL, "batch 4"},
    {SOURCE, "drop label", call_drop, NULL, "batch 4"},
    {SOURCE, "rename label y", call_rename, NULL, "batch 4"},
    {SOURCE, "one_hot label 7 smoothing=0.25", call_one_hot, NULL, "batch 4"},
    {SOURCE, "cast label i64", call_cast, NULL, "batch 4"},
    {SOURCE " | one_hot label 7", "pad label to=9 value=2.5", call_pad, NULL, "batch 4"},
    {SOURCE " | one_hot label 7", "truncate label 3", call_truncate, NULL, "batch 4"},
    {DOCUMENTS, "pack label 16 split=false pad=9", call_pack, NULL, "batch 4"},
    {SOURCE, "bucket label 2,5", call_bucket, NULL, "batch 4"},
    {DOCUMENTS " | rename label tokens", "pack tokens 16", call_pack_defaults, NULL, "batch 4"},
    {SOURCE, "cache 3M", call_cache, NULL, "batch 4"},
    {SOURCE, "cache 3M shared=true", call_cache_shared, NULL, "batch 4"},
    {SOURCE, "geometry where", call_geometry, NULL, "batch 4"},
    {SOURCE, "geometry", call_geometry_defaults, NULL, "batch 4"},
    {SOURCE, "batch 7 drop_remainder=true", call_batch, NULL, NULL},
    {NULL, NULL, NULL, NULL, NULL},
};
