/* SPDX-License-Identifier: Apache-2.0 */
#include "stage_table.h"

/* One line per stage. */
/* clang-format off */
#define STAGES(X)             \
    X(image_folder)           \
    X(image_list)             \
    X(coco)                   \
    X(webdataset)             \
    X(cifar10)                \
    X(cifar100)               \
    X(mnist)                  \
    X(npy)                    \
    X(tokens)                 \
    X(synthetic)              \
    X(concat)                 \
    X(mix)                    \
    X(zip)                    \
    X(shuffle)                \
    X(shard)                  \
    X(split)                  \
    X(subset)                 \
    X(weights)                \
    X(balance)                \
    X(take)                   \
    X(skip)                   \
    X(repeat)                 \
    X(column)                 \
    X(project)                \
    X(drop)                   \
    X(rename)                 \
    X(one_hot)                \
    X(cast)                   \
    X(pad)                    \
    X(truncate)               \
    X(geometry)               \
    X(cache)                  \
    X(decode)                 \
    X(resize)                 \
    X(center_crop)            \
    X(random_crop)            \
    X(random_resized_crop)    \
    X(random_resize)          \
    X(scale_jitter)           \
    X(random_shortest_size)   \
    X(letterbox)              \
    X(pad_image)              \
    X(views)                  \
    X(five_crop)              \
    X(ten_crop)               \
    X(random_zoom_out)        \
    X(random_iou_crop)        \
    X(mosaic)                 \
    X(color_jitter)           \
    X(color_twist)            \
    X(random_grayscale)       \
    X(random_invert)          \
    X(random_posterize)       \
    X(random_solarize)        \
    X(random_autocontrast)    \
    X(random_equalize)        \
    X(random_erasing)         \
    X(random_adjust_sharpness) \
    X(gaussian_blur)          \
    X(trivial_augment)        \
    X(rand_augment)           \
    X(aug_mix)                \
    X(random_apply)           \
    X(random_choice)          \
    X(random_order)           \
    X(rotate)                 \
    X(random_rotation)        \
    X(affine)                 \
    X(random_affine)          \
    X(warp_affine)            \
    X(perspective)            \
    X(random_perspective)     \
    X(elastic)                \
    X(device)                 \
    X(random_horizontal_flip) \
    X(random_vertical_flip)   \
    X(normalize)              \
    X(to_dtype)               \
    X(to_chw)                 \
    X(pack)                   \
    X(bucket)                 \
    X(batch)                  \
    X(mixup)                  \
    X(cutmix)
/* Stages that only function calls can add, not pipeline texts. */
#define CALLS(X) X(source) X(map) X(filter) X(map_batch)
/* clang-format on */

#define DECLARE(name) extern const stage_def stage_##name;
STAGES(DECLARE)
CALLS(DECLARE)

#define ENTRY(name) &stage_##name,
const stage_def *const stage_table[] = {STAGES(ENTRY) NULL};
const stage_def *const stage_table_with_calls[] = {STAGES(ENTRY) CALLS(ENTRY) NULL};
