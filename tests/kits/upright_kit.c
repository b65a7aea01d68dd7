/* SPDX-License-Identifier: Apache-2.0 */
#include "upright_kit.h"

#include <stdlib.h>
#include <string.h>

void upright_place(uint32_t orientation, uint32_t width, uint32_t height, uint32_t x, uint32_t y,
                   uint32_t to[2])
{
    const uint32_t right = width - 1 - x;
    const uint32_t bottom = height - 1 - y;
    const uint32_t places[8][2] = {{x, y}, {right, y},  {right, bottom}, {x, bottom},
                                   {y, x}, {bottom, x}, {bottom, right}, {y, right}};

    memcpy(to, places[orientation - 1], sizeof(places[0]));
}

uint8_t *upright_pixels_of(const image_view *stored, uint32_t orientation)
{
    const size_t pixel = stored->channels;
    const uint32_t width = orientation >= 5 ? stored->height : stored->width;
    uint8_t *upright = malloc((size_t)stored->width * stored->height * pixel);

    for (uint32_t y = 0; y < stored->height; y++) {
        for (uint32_t x = 0; x < stored->width; x++) {
            uint32_t to[2];

            upright_place(orientation, stored->width, stored->height, x, y, to);
            memcpy(upright + ((size_t)to[1] * width + to[0]) * pixel,
                   stored->pixels + y * stored->stride + x * pixel, pixel);
        }
    }
    return upright;
}
