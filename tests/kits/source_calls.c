/* SPDX-License-Identifier: Apache-2.0 */
#include "stage_calls.h"

#include <stdio.h>

#include <sluice/arrays.h>
#include <sluice/coco.h>
#include <sluice/columns.h>
#include <sluice/sampling.h>
#include <sluice/tokens.h>

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

/* ---- the cases ------------------------------------------------------------------------------- */

#define PART_A "synthetic 12 6,5,1 3"
#define PART_B "synthetic 20 6,5,1 3"

const stage_call source_calls[] = {
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
    {NULL, NULL, NULL, NULL, NULL},
};
