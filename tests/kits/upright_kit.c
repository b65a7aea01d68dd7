/* SPDX-License-Identifier: Apache-2.0 */
#include "upright_kit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "exif_maker.h"
#include "jpeg_maker.h"
#include "testing.h"

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

uint8_t *oriented_jpeg(uint32_t width, uint32_t height, uint32_t orientation, uint32_t seed,
                       size_t *size_out)
{
    const jpeg_recipe recipe = {.width = width, .height = height, .sampling = {0x22}, .seed = seed};
    uint8_t exif[EXIF_MADE];
    size_t size = 0;
    uint8_t *plain = jpeg_make(&recipe, &size);
    uint8_t *bytes;

    exif_make(orientation, orientation % 2 == 0, exif);
    bytes = exif_in_jpeg(plain, size, exif, sizeof(exif), size_out);
    free(plain);
    return bytes;
}

void write_oriented(const char *folder, const char *name, uint32_t width, uint32_t height,
                    uint32_t orientation, uint32_t seed)
{
    size_t size = 0;
    uint8_t *bytes = oriented_jpeg(width, height, orientation, seed, &size);

    t_write_file(t_path(folder, name), bytes, size);
    free(bytes);
}

void write_upright_image(const char *folder, const char *name, const image_view *stored,
                         uint32_t orientation)
{
    const uint32_t width = orientation >= 5 ? stored->height : stored->width;
    const uint32_t height = orientation >= 5 ? stored->width : stored->height;
    const size_t pixels = (size_t)width * height * stored->channels;
    uint8_t *upright = upright_pixels_of(stored, orientation);
    char *file = malloc(pixels + 40);
    const size_t head = (size_t)snprintf(file, 40, "P%c %u %u 255\n",
                                         stored->channels == 1 ? '5' : '6', width, height);

    memcpy(file + head, upright, pixels);
    t_write_file(t_path(folder, name), file, head + pixels);
    free(file);
    free(upright);
}

void write_upright(const char *folder, const char *name, uint32_t width, uint32_t height,
                   uint32_t orientation, uint32_t seed, bool gray)
{
    size_t size = 0;
    uint8_t *bytes = oriented_jpeg(width, height, orientation, seed, &size);
    const jpeg_plain plain = jpeg_plain_decode(bytes, size, gray ? JCS_GRAYSCALE : JCS_RGB);
    const image_view stored = {
        plain.pixels, (size_t)width * plain.channels, width, height, plain.channels, IMAGE_U8};

    write_upright_image(folder, name, &stored, orientation);
    free(plain.pixels);
    free(bytes);
}
