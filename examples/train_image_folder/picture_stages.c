/* SPDX-License-Identifier: Apache-2.0 */
#include "picture_stages.h"

/*
 * Training uses a random crop of each picture, randomly flipped; the test uses its centre. Each
 * call adds stages; after a failed call the later ones return its error, so one check at the end
 * is enough.
 */
bool picture_stages_add(sluice_dataset *set, const picture_form *form, bool training)
{
    const uint32_t size = form->size;
    int failed = 0;

    if (training) {
        failed |= sluice_dataset_add(set, "shuffle | decode");
        failed |= sluice_dataset_addf(
            set, "random_resized_crop %u scale=%g,1 | random_horizontal_flip 0.5", size,
            form->min_crop);
    } else {
        /* One number is the size of the shorter side. */
        failed |= sluice_dataset_addf(set, "decode | resize %u | center_crop %u", size, size);
    }
    failed |= sluice_dataset_add(set, "normalize imagenet | to_chw");
    /* The step trains on full batches only; the test must see every picture. */
    failed |= sluice_dataset_addf(set, "batch %u drop_remainder=%s", form->batch,
                                  training ? "true" : "false");
    return failed == 0;
}
