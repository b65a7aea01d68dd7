/* SPDX-License-Identifier: Apache-2.0 */
#include "jpeg_kit.h"

#include <stdlib.h>
#include <string.h>

image_box some_box(uint32_t i, uint32_t width, uint32_t height, uint32_t *state)
{
    image_box box;

    box.width = 1 + test_below(state, width);
    box.height = 1 + test_below(state, height);
    if (i % 8 == 0) {
        box.width = width;
        box.height = height;
    } else if (i % 8 == 1) {
        box.width = 1;
        box.height = 1;
    } else if (i % 8 == 2) {
        box.height = 1 + test_below(state, 2) % height;
    } else if (i % 8 == 3) {
        box.width = 1 + test_below(state, 3) % width;
    }
    box.x = i % 8 == 4 || i % 8 == 6 ? width - box.width : test_below(state, width - box.width + 1);
    box.y = i % 8 == 5 || i % 8 == 6 ? height - box.height
            : i % 8 == 7             ? 0
                                     : test_below(state, height - box.height + 1);
    return box;
}

bool is_slice(const image_view *region, const image_box *box, const jpeg_plain *plain)
{
    size_t line = (size_t)region->width * region->channels;
    size_t stride = (size_t)plain->width * plain->channels;

    if (region->width != box->width || region->height != box->height ||
        region->channels != plain->channels) {
        return false;
    }
    for (uint32_t y = 0; y < region->height; y++) {
        if (memcmp(region->pixels + y * region->stride,
                   plain->pixels + (box->y + y) * stride + (size_t)box->x * plain->channels,
                   line) != 0) {
            return false;
        }
    }
    return true;
}

const jpeg_recipe codings[CODINGS] = {
    {.sampling = {0x22}},
    {.sampling = {0x11}, .restart = 2},
    {.sampling = {0x22}, .progressive = true},
    {.sampling = {0x21}, .progressive = true, .restart = 4},
    {.space = JCS_GRAYSCALE},
    {.space = JCS_YCCK},
    {.sampling = {0x22}, .arithmetic = true},
    {.sampling = {0x22}, .arithmetic = true, .progressive = true},
};

uint8_t *coded(size_t i, uint32_t width, uint32_t height, int flat, size_t *size)
{
    jpeg_recipe recipe = codings[i];

    recipe.width = width;
    recipe.height = height;
    recipe.flat = flat;
    recipe.seed = 3;
    return jpeg_make(&recipe, size);
}

bool jpeg_has_arithmetic(void)
{
    const jpeg_recipe recipe = {.arithmetic = true};
    size_t size;
    uint8_t *bytes = jpeg_make(&recipe, &size);

    free(bytes);
    return bytes != NULL;
}
