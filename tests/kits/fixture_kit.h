/* SPDX-License-Identifier: Apache-2.0 */
/* Stages on the input of tests/data/torchvision, rgb-70x12.ppm. */
#ifndef SLUICE_FIXTURE_KIT_H
#define SLUICE_FIXTURE_KIT_H

#include "picture_kit.h"

/* Runs the stages on the input with a seed. The result has the size that the stages give. */
picture fixture_run(const char *stages, uint64_t seed);

/* Checks that the stages give tests/data/torchvision/NAME.ppm, each value within the tolerance. */
void fixture_check(const char *stages, const char *name, int tolerance);

#endif
