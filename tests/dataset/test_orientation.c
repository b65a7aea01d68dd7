/* SPDX-License-Identifier: Apache-2.0 */
/* Where an Exif orientation puts pixels: each of the eight against the table of Exif 3.0. */
#include <stdlib.h>

#include "exif.h"
#include "orientation.h"
#include "random_kit.h"
#include "testing.h"
#include "upright_kit.h"

static const uint32_t sizes[][2] = {{1, 1},   {1, 7},   {7, 1},   {1, 33}, {40, 1},
                                    {16, 16}, {17, 33}, {48, 15}, {5, 3},  {64, 31}};

/* A stored image whose lines have gaps, and whose bytes are all different from their neighbours. */
static image_view make_stored(uint32_t width, uint32_t height, uint32_t channels)
{
    const size_t stride = (size_t)width * channels + 5;
    const size_t size = stride * height;
    uint8_t *bytes = malloc(size + IMAGE_SLACK);

    for (size_t i = 0; i < size + IMAGE_SLACK; i++) {
        bytes[i] = (uint8_t)(i * 167 + i / 251);
    }
    return (image_view){bytes, stride, width, height, channels, IMAGE_U8};
}

/* Pixels of 2, 4, 6 and 12 bytes, too, as of 16 bits and floats. */
static void each_orientation_puts_pixels_where_exif_says(void)
{
    static const uint32_t pixel_bytes[] = {1, 2, 3, 4, 6, 12};
    image_buffer buffer = {NULL, 0};

    for (uint32_t orientation = 1; orientation <= 8; orientation++) {
        for (size_t i = 0; i < COUNT(sizes); i++) {
            for (size_t k = 0; k < COUNT(pixel_bytes); k++) {
                const image_view stored = make_stored(sizes[i][0], sizes[i][1], pixel_bytes[k]);
                uint8_t *want = upright_pixels_of(&stored, orientation);
                const size_t size = (size_t)stored.width * stored.height * stored.channels;
                const bool exchanges = exif_exchanges_sides(orientation);
                image_view upright;

                T_OK(orientation_apply(orientation, &stored, &buffer, &upright));
                T_EQ(upright.width, exchanges ? stored.height : stored.width);
                T_EQ(upright.height, exchanges ? stored.width : stored.height);
                T_EQ(upright.channels, stored.channels);
                T_EQ(upright.stride, upright.width * upright.channels);
                if (memcmp(upright.pixels, want, size) != 0) {
                    T_FAIL_("orientation %u, %ux%u, %u bytes a pixel: other pixels", orientation,
                            stored.width, stored.height, stored.channels);
                }
                free(want);
                free((uint8_t *)(uintptr_t)stored.pixels);
            }
        }
    }
    image_buffer_free(&buffer);
}

/* A part of the upright image is the stored box, upright. */
static void boxes_are_those_of_the_stored_image(void)
{
    image_buffer buffer = {NULL, 0};
    uint32_t state = 5;

    for (uint32_t orientation = 1; orientation <= 8; orientation++) {
        for (size_t i = 0; i < COUNT(sizes) * 8; i++) {
            const uint32_t *size = sizes[i % COUNT(sizes)];
            const image_view stored = make_stored(size[0], size[1], 3);
            uint8_t *whole = upright_pixels_of(&stored, orientation);
            const bool exchanges = exif_exchanges_sides(orientation);
            const uint32_t width = exchanges ? size[1] : size[0];
            const uint32_t height = exchanges ? size[0] : size[1];
            image_box upright = {test_below(&state, width), test_below(&state, height), 0, 0};
            image_view part = stored;
            image_view got;
            image_box box;

            upright.width = 1 + test_below(&state, width - upright.x);
            upright.height = 1 + test_below(&state, height - upright.y);
            box = orientation_stored_box(orientation, &upright, stored.width, stored.height);
            T_TRUE(box.x + box.width <= stored.width && box.y + box.height <= stored.height);
            part.pixels += box.y * stored.stride + (size_t)box.x * 3;
            part.width = box.width;
            part.height = box.height;
            T_OK(orientation_apply(orientation, &part, &buffer, &got));
            T_EQ(got.width, upright.width);
            T_EQ(got.height, upright.height);
            for (uint32_t y = 0; y < got.height; y++) {
                T_TRUE(memcmp(got.pixels + y * got.stride,
                              whole + (((size_t)upright.y + y) * width + upright.x) * 3,
                              (size_t)got.width * 3) == 0);
            }
            free(whole);
            free((uint8_t *)(uintptr_t)stored.pixels);
        }
    }
    image_buffer_free(&buffer);
}

/* The centre of a pixel is where the pixel is; corners stay corners. */
static void points_move_with_their_pixels(void)
{
    const uint32_t width = 17;
    const uint32_t height = 9;

    for (uint32_t orientation = 1; orientation <= 8; orientation++) {
        for (uint32_t y = 0; y < height; y++) {
            for (uint32_t x = 0; x < width; x++) {
                const double from[2] = {x + 0.5, y + 0.5};
                double to[2];
                image_box upright;
                image_box back;

                orientation_point(orientation, width, height, from, to);
                upright = (image_box){(uint32_t)to[0], (uint32_t)to[1], 1, 1};
                T_TRUE(to[0] == upright.x + 0.5 && to[1] == upright.y + 0.5);
                back = orientation_stored_box(orientation, &upright, width, height);
                T_EQ(back.x, x);
                T_EQ(back.y, y);
            }
        }
    }
}

const t_test orientation_tests[] = {
    T_TEST(each_orientation_puts_pixels_where_exif_says),
    T_TEST(boxes_are_those_of_the_stored_image),
    T_TEST(points_move_with_their_pixels),
    T_END,
};
