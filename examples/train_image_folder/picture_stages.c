/* SPDX-License-Identifier: Apache-2.0 */
#include "picture_stages.h"

/*
 * Training uses a random crop of each picture, randomly flipped; the test uses its centre. Each
 * call adds a stage; after a failed call the later ones return its error, so one check at the end
 * is enough.
 *
 * The same pipeline as text, for sluice_dataset_parse() or the tool: image_folder DIR | shuffle |
 * decode | random_resized_crop 64 scale=0.8,1 | random_horizontal_flip 0.5 | normalize imagenet |
 * to_chw | batch 32 drop_remainder=true
 */
bool picture_stages_add(sluice_dataset *set, const picture_form *form, bool training)
{
    static const double mean[] = {0.485, 0.456, 0.406};
    static const double deviation[] = {0.229, 0.224, 0.225};
    sluice_random_resized_crop_config crop;
    const uint32_t size = form->size;
    int failed = 0;

    sluice_random_resized_crop_config_init(&crop);
    crop.scale[0] = form->min_crop;
    crop.scale[1] = 1.0;
    if (training) {
        failed |= sluice_dataset_add(set, "shuffle");
    }
    failed |= sluice_dataset_decode(set, NULL);
    if (training) {
        failed |= sluice_dataset_random_resized_crop(set, size, size, &crop);
        failed |= sluice_dataset_random_horizontal_flip(set, 0.5);
    } else {
        failed |= sluice_dataset_resize(set, size, 0, NULL, true); /* size of the shorter side */
        failed |= sluice_dataset_center_crop(set, size, size);
    }
    failed |= sluice_dataset_normalize(set, mean, deviation, 3, 1.0, SLUICE_F32);
    failed |= sluice_dataset_to_chw(set);
    /* The step trains on full batches only; the test must see every picture. */
    failed |= sluice_dataset_addf(set, "batch %u drop_remainder=%s", form->batch,
                                  training ? "true" : "false");
    return failed == 0;
}
