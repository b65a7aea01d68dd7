/* SPDX-License-Identifier: Apache-2.0 */
#include "stage_names.h"

#include <string.h>

const stage_def *stage_find(const stage_def *const *table, const char *name)
{
    for (size_t i = 0; table[i] != NULL; i++) {
        if (strcmp(table[i]->name, name) == 0) {
            return table[i];
        }
    }
    return NULL;
}

/* Names of our stages and arguments in DALI, MindSpore, torch, tf.data and FFCV. */
static const struct {
    const char *theirs;
    const char *ours;
} elsewhere[] = {
    {"RandomCropDecodeResize", "decode | random_resized_crop H,W"},
    {"RandomResizedCrop", "random_resized_crop H,W"},
    {"RandomSizedCrop", "random_resized_crop H,W"},
    {"RandomResize", "random_resize MIN,MAX"},
    {"ScaleJitter", "scale_jitter H,W"},
    {"RandomShortestSize", "random_shortest_size MIN,... max_size=N"},
    {"RandomHorizontalFlip", "random_horizontal_flip P"},
    {"RandomVerticalFlip", "random_vertical_flip P"},
    {"ColorJitter", "color_jitter BRIGHTNESS CONTRAST SATURATION HUE"},
    {"ColorTwist", "color_twist BRIGHTNESS CONTRAST SATURATION HUE"},
    {"RandomColorAdjust", "color_jitter BRIGHTNESS CONTRAST SATURATION HUE"},
    {"RandomGrayscale", "random_grayscale P"},
    {"RandomInvert", "random_invert P"},
    {"RandomPosterize", "random_posterize BITS P"},
    {"RandomSolarize", "random_solarize THRESHOLD P"},
    {"RandomAutocontrast", "random_autocontrast P"},
    {"RandomEqualize", "random_equalize P"},
    {"RandomErasing", "random_erasing P"},
    {"GaussianBlur", "gaussian_blur SIZE LOW,HIGH"},
    {"RandomAdjustSharpness", "random_adjust_sharpness FACTOR P"},
    {"TrivialAugmentWide", "trivial_augment"},
    {"RandAugment", "rand_augment"},
    {"AugMix", "aug_mix"},
    {"MixUp", "mixup CLASSES, after batch"},
    {"CutMix", "cutmix CLASSES, after batch"},
    {"num_classes", "classes"},
    {"labels_getter", "label, the name of a column"},
    {"RandomApply", "random_apply P (STAGES)"},
    {"RandomChoice", "random_choice (STAGES) (STAGES)"},
    {"RandomOrder", "random_order (STAGES) (STAGES)"},
    {"RandomRotation", "random_rotation DEGREES"},
    {"RandomAffine", "random_affine DEGREES"},
    {"WarpAffine", "warp_affine M11,M12,M13,M21,M22,M23"},
    {"RandomPerspective", "random_perspective SCALE P"},
    {"ElasticTransform", "elastic ALPHA SIGMA"},
    {"Rotate", "rotate DEGREES"},
    {"RandomCrop", "random_crop H,W"},
    {"Pad", "pad_image PADDING"},
    {"padding_mode", "mode"},
    {"RandomIoUCrop", "random_iou_crop"},
    {"FiveCrop", "five_crop H,W"},
    {"TenCrop", "ten_crop H,W"},
    {"RandomZoomOut", "random_zoom_out FILL LOW,HIGH P"},
    {"CenterCrop", "center_crop H,W"},
    {"Resize", "resize H,W"},
    {"Normalize", "normalize MEAN STD"},
    {"ToTensor", "to_dtype f32 scale=true | to_chw"},
    {"ToDtype", "to_dtype T"},
    {"ToType", "to_dtype T"},
    {"TypeCast", "to_dtype T"},
    {"HWC2CHW", "to_chw"},
    {"Decode", "decode"},
    {"Rescale", "to_dtype f32 scale=true"},
    {"ImageFolder", "image_folder DIR"},
    {"ImageFolderDataset", "image_folder DIR"},
    {"Cifar10Dataset", "cifar10 DIR"},
    {"CIFAR10", "cifar10 DIR"},
    {"Cifar100Dataset", "cifar100 DIR"},
    {"CIFAR100", "cifar100 DIR"},
    {"MnistDataset", "mnist DIR"},
    {"MNIST", "mnist DIR"},
    {"FashionMNIST", "mnist DIR"},
    {"KMNIST", "mnist DIR"},
    {"EMNIST", "mnist DIR"},
    {"FakeImageDataset", "synthetic"},
    {"crop_mirror_normalize",
     "center_crop H,W | random_horizontal_flip P | normalize MEAN STD | to_chw"},
    {"image_random_crop", "decode | random_resized_crop H,W"},
    {"readers.file", "image_folder DIR"},
    {"file_root", "the first argument of image_folder"},
    {"dataset_dir", "the first argument of the source"},
    {"random_shuffle", "the stage shuffle"},
    {"num_parallel_workers", "workers, an option of the run (--workers)"},
    {"num_workers", "workers, an option of the run (--workers)"},
    {"num_threads", "workers, an option of the run (--workers)"},
    {"num_parallel_calls", "workers, an option of the run (--workers)"},
    {"prefetch", "slots, an option of the run (--slots)"},
    {"prefetch_queue_depth", "slots, an option of the run (--slots)"},
    {"prefetch_factor", "slots, an option of the run (--slots)"},
    {"prefetch_size", "slots, an option of the run (--slots)"},
    {"num_shards", "world, of the stage shard or an option of the run (--world)"},
    {"shard_id", "rank, of the stage shard or an option of the run (--rank)"},
    {"batch_size", "the stage batch N"},
    {"interpolation", "filter"},
    {"interp_type", "filter"},
    {"drop_last", "drop_remainder"},
    {"last_batch_policy", "drop_remainder"},
    {"map", "the transforms themselves, one after another"},
};

const char *stage_name_from_elsewhere(const char *name)
{
    for (size_t i = 0; i < sizeof(elsewhere) / sizeof(elsewhere[0]); i++) {
        if (strcmp(name, elsewhere[i].theirs) == 0) {
            return elsewhere[i].ours;
        }
    }
    return NULL;
}

/* Returns the Levenshtein distance of two names; LONGEST if a name is too long for the table. */
static size_t edit_distance(const char *a, const char *b)
{
    enum { LONGEST = 64 };
    size_t row[LONGEST + 1];
    size_t length = strlen(b);

    if (strlen(a) > LONGEST || length > LONGEST) {
        return LONGEST;
    }
    for (size_t j = 0; j <= length; j++) {
        row[j] = j;
    }
    for (size_t i = 0; a[i] != '\0'; i++) {
        size_t diagonal = row[0];

        row[0] = i + 1;
        for (size_t j = 0; j < length; j++) {
            size_t replaced = diagonal + (a[i] != b[j]);
            size_t shorter = row[j] < row[j + 1] ? row[j] : row[j + 1];

            diagonal = row[j + 1];
            row[j + 1] = replaced < shorter + 1 ? replaced : shorter + 1;
        }
    }
    return row[length];
}

/*
 * Returns the candidate if its edit distance is smaller than *best_distance, which is then updated;
 * otherwise `best`.
 */
static const char *nearer(const char *name, const char *candidate, const char *best,
                          size_t *best_distance)
{
    size_t d = edit_distance(name, candidate);

    if (d < *best_distance) {
        *best_distance = d;
        return candidate;
    }
    return best;
}

/* Returns the edit distance from which on names are not suggested. */
static size_t too_far(const char *name)
{
    return strlen(name) / 3 + 2;
}

const char *stage_find_nearest(const stage_def *const *table, const char *name)
{
    size_t best_distance = too_far(name);
    const char *best = NULL;

    for (size_t i = 0; table[i] != NULL; i++) {
        best = nearer(name, table[i]->name, best, &best_distance);
    }
    return best;
}

const char *stage_param_nearest(const stage_def *def, const char *name)
{
    size_t best_distance = too_far(name);
    const char *best = NULL;

    for (uint32_t i = 0; i < def->param_count; i++) {
        best = nearer(name, def->params[i].name, best, &best_distance);
    }
    return best;
}

const char *stage_param_name(const stage_def *def, const char *name)
{
    /* Arguments that version 0.2 calls by another name. */
    static const struct {
        const char *stage;
        const char *before;
        const char *now;
    } renamed[] = {{"mnist", "part", "split"}};

    for (size_t i = 0; i < sizeof(renamed) / sizeof(renamed[0]); i++) {
        if (strcmp(def->name, renamed[i].stage) == 0 && strcmp(name, renamed[i].before) == 0) {
            return renamed[i].now;
        }
    }
    return name;
}
