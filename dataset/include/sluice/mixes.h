/* SPDX-License-Identifier: Apache-2.0 */
/** @file
 * Stages that mix the samples of a batch, images and labels: torchvision's MixUp and CutMix. They
 * come after batch; several may follow each other.
 *
 * The partner of row i is row i - 1, that of row 0 the last row, as torchvision rolls the batch by
 * one. Rows without a sample (padding, and bad samples under policy zero) are not partners, and
 * stay zero. One lambda is drawn for each batch, from the beta distribution with both parameters
 * equal to `alpha` (Marsaglia and Tsang 2000). It depends only on the seed, the pass and the
 * position of the batch, so it is the same for any number of workers and in a resumed run. Ranks
 * draw different numbers.
 *
 * All images of a sample are mixed; they may be u8, f32, f16 or bf16, (H, W, C) or (C, H, W).
 * Masks, boxes and points are refused, and other columns do not change. The worker that writes the
 * last row of a batch mixes it, with two exceptions: after the stage device, and on a device whose
 * GetNext is a kernel, GetNext mixes the first image, after its conversions. The bits are the same.
 *
 * The label becomes f32 (classes): a soft label, for a loss that takes class probabilities, such
 * as torch's CrossEntropyLoss. Class numbers are one-hot encoded before they are mixed. A class
 * number that is not in [0, classes) makes a bad sample. For label smoothing put
 * the stage one_hot before batch.
 *
 * Returns: E_INVALID the stage comes before batch, there is no image or no such label, there are
 *          masks, boxes or points, or an argument is out of range; the sticky error of building;
 *          E_NO_MEMORY. Opening the dataset returns E_INVALID if the image is mixed after the stage
 *          device, and GetNext cannot do it: twice in one batch, after a conversion with
 *          offload=host, or after random_erasing that follows a conversion.
 */
#ifndef SLUICE_MIXES_H
#define SLUICE_MIXES_H

#include <sluice/dataset.h>

SLUICE_BEGIN_DECLS

/**
 * Blends each sample with its partner: row * lambda + partner * (1 - lambda), images and labels.
 * Computed in single precision, as in torchvision for float32 images; results of type f16, bf16
 * and u8 are rounded once, to nearest, halves to even. torchvision refuses integer images.
 *
 * @param classes  number of classes, up to 1 048 576; 0: the label is f32 (classes) already
 * @param alpha    1e-6 to 1e6; torchvision's default is 1
 * @param label    name of the label column: one integer, or f32 (classes); NULL: "label"
 *
 * Source: torchvision.transforms.v2.MixUp; Zhang et al., "mixup: Beyond Empirical Risk
 * Minimization" (ICLR 2018).
 *
 * Threads: the one that builds the dataset.
 */
SLUICE_API_CHECKED sluice_status sluice_dataset_mixup(sluice_dataset *dataset, uint64_t classes,
                                                      double alpha, const char *label);

/**
 * Copies a box of the partner's image into each image. With r = sqrt(1 - lambda) / 2 the box is
 * [x - w, x + w) by [y - h, y + h), clipped to the image, where (x, y) is a random pixel, and w and
 * h are r times width and height, truncated. Labels are blended as by mixup with lambda = 1 - (area
 * of the box) / (area of the image).
 *
 * @param classes  number of classes, up to 1 048 576; 0: the label is f32 (classes) already
 * @param alpha    1e-6 to 1e6; torchvision's default is 1
 * @param label    name of the label column: one integer, or f32 (classes); NULL: "label"
 *
 * Source: torchvision.transforms.v2.CutMix; Yun et al., "CutMix: Regularization Strategy to Train
 * Strong Classifiers with Localizable Features" (ICCV 2019).
 *
 * Threads: the one that builds the dataset.
 */
SLUICE_API_CHECKED sluice_status sluice_dataset_cutmix(sluice_dataset *dataset, uint64_t classes,
                                                       double alpha, const char *label);

SLUICE_END_DECLS

#endif
