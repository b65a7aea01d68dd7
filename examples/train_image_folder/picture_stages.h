/* SPDX-License-Identifier: Apache-2.0 */
/* The stages that a picture passes before the network. */
#ifndef PICTURE_STAGES_H
#define PICTURE_STAGES_H

#include <stdbool.h>

#include <sluice/transforms.h>

/* Sizes of pixels and batches; train_options describes each. */
typedef struct picture_form {
    uint32_t size;   /* pixels of a side */
    uint32_t batch;  /* pictures in a batch */
    double min_crop; /* for the training */
} picture_form;

/* Adds the stages from decode to batch, for training or for the test. False: one failed. */
bool picture_stages_add(sluice_dataset *set, const picture_form *form, bool training);

#endif
