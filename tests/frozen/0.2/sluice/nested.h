/* SPDX-License-Identifier: Apache-2.0 */
/** @file
 * Stages that contain other stages: torchvision's RandomApply, RandomChoice and RandomOrder. In
 * pipeline texts the nested stages are in parentheses:
 *
 *     random_apply 0.8 (color_jitter 0.4 0.4 0.4 0.1)
 *     random_choice 0.7:(random_invert 1) 0.3:(gaussian_blur 5 | random_grayscale 1)
 *     random_order (random_posterize 4) (rotate 30)
 *
 * The calls take the content of each pair of parentheses as a text: one or more stages, separated
 * by |. All texts of a call have at most 32 stages. Before batch nested stages are colour stages
 * and warps, and each sample draws which are applied. After batch they are mixup and cutmix, and
 * each batch draws. These three stages may themselves be nested, up to 8 levels deep. All
 * operations of nested stages count towards the 32 operations of a pipeline; of random_choice only
 * the text with the most operations counts.
 *
 * The random numbers of a nested stage depend on its position in the texts, not on which other
 * stages are applied. `columns` is an argument of the outer stage: sluice_dataset_for_columns().
 *
 * Returns: E_INVALID invalid arguments or texts, stages of other kinds, or a position where one of
 *          them is not allowed; the sticky error of building; E_NO_MEMORY.
 */
#ifndef SLUICE_NESTED_H
#define SLUICE_NESTED_H

#include <sluice/dataset.h>

SLUICE_BEGIN_DECLS

/**
 * Applies all the stages, or none of them: torchvision's RandomApply.
 *
 * @param p       the probability that they are applied, 0 to 1; torchvision's default is 0.5
 * @param stages  such as "color_jitter 0.4 | gaussian_blur 5"; copied
 *
 * Threads: the one that builds the dataset.
 */
SLUICE_API_CHECKED sluice_status sluice_dataset_random_apply(sluice_dataset *dataset, double p,
                                                             const char *stages);

/**
 * Applies the stages of one of several texts: torchvision's RandomChoice.
 *
 * @param stages   (count) texts; copied
 * @param weights  (count) 1e-9 to 1e6, rounded to 9 digits after the point; a text has the
 *                 probability weight / (sum of all weights); NULL: all are equally probable
 * @param count    1 to 32
 *
 * Threads: the one that builds the dataset.
 */
SLUICE_API_CHECKED sluice_status sluice_dataset_random_choice(sluice_dataset *dataset,
                                                              const char *const *stages,
                                                              const double *weights,
                                                              uint32_t count);

/**
 * Applies the stages of all texts, the texts in random order: torchvision's RandomOrder. All
 * permutations are equally probable; the stages of one text keep their order.
 *
 * @param stages  (count) texts; copied
 * @param count   1 to 32
 *
 * Threads: the one that builds the dataset.
 */
SLUICE_API_CHECKED sluice_status sluice_dataset_random_order(sluice_dataset *dataset,
                                                             const char *const *stages,
                                                             uint32_t count);

SLUICE_END_DECLS

#endif
