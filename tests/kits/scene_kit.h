/* SPDX-License-Identifier: Apache-2.0 */
/* Samples of two images, a mask and boxes, and what stages make of them. */
#ifndef SLUICE_SCENE_KIT_H
#define SLUICE_SCENE_KIT_H

#include <stdbool.h>
#include <stdint.h>

enum {
    SCENE_SAMPLES = 6,
    SCENE_WIDTH = 20,
    SCENE_HEIGHT = 16,
    SCENE_BOXES = 2,
    SCENE_ROW = 64 * 64 * 3
};

/* What the samples hold: columns image, s (a further image), m (a mask) and b (boxes). */
typedef struct scene {
    uint32_t width;
    uint32_t height;
    uint8_t image[SCENE_SAMPLES][SCENE_ROW];
    uint8_t second[SCENE_SAMPLES][SCENE_ROW];
    uint8_t mask[SCENE_SAMPLES][SCENE_ROW];
    float boxes[SCENE_SAMPLES][SCENE_BOXES][4];
    int32_t lengths[SCENE_SAMPLES];
} scene;

void scene_fill(scene *s);

/* The result of stages on a scene, in a pass of the run; it has no mask and boxes if image_only is
 * true. */
void scene_run(const scene *from, const char *stages, bool image_only, scene *to);

/* Fails unless stages `first | second` give what `second` makes of the result of `first`. */
void scene_check_halves(const char *first, const char *second, bool image_only);

/* True if sample i of two scenes is the same; boxes: but for rounding. */
bool scene_equal(const scene *a, const scene *b, uint32_t i);

#endif
