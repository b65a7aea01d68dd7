/* SPDX-License-Identifier: Apache-2.0 */
/* The parameter padding of stages: numbers of pixels beside the image, as in torchvision. */
#ifndef SLUICE_MARGIN_ARGS_H
#define SLUICE_MARGIN_ARGS_H

#include "image.h"
#include "stage.h"

/* The help of the parameter; a literal, so that a stage can add to it. */
#define MARGIN_HELP                                                                                \
    "pixels on each side; LEFT_RIGHT,TOP_BOTTOM; or LEFT,TOP,RIGHT,BOTTOM; 0 to 65535"

/* Checks the numbers and completes them to four: left, top, right, bottom. */
sluice_status margins_check(const char *stage, param_reals *padding);

/*
 * After margins_check(): leaves a single number if all four are the same. The text of a stage that
 * began with one number is then that of older checkpoints.
 */
void margins_shorten(param_reals *padding);

/* After margins_check(). */
image_margins margins_of(const param_reals *padding);

bool margins_are_none(const image_margins *margins);

#endif
