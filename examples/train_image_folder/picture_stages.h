/* SPDX-License-Identifier: Apache-2.0 */
/* The stages of a pipeline that prepares pictures for the network. */
#ifndef PICTURE_STAGES_H
#define PICTURE_STAGES_H

#include <stdbool.h>

#include <sluice/dataset.h>

/* Sizes of pictures and batches; train_options describes each. */
typedef struct picture_form {
    uint32_t size;   /* side of a picture in pixels */
    uint32_t batch;  /* pictures in a batch */
    double min_crop; /* smallest crop for the training, as a share of the picture */
} picture_form;

/* Adds the stages from decode to batch, for training or for the test. False: a stage failed. */
bool picture_stages_add(sluice_dataset *set, const picture_form *form, bool training);

#endif
