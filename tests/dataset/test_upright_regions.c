/* SPDX-License-Identifier: Apache-2.0 */
/* Regions of an upright image are slices of the whole one, decoded and then turned. */
#include <stdlib.h>

#include "exif.h"
#include "jpeg_kit.h"
#include "testing.h"
#include "upright_kit.h"
#ifdef SLI_HAVE_PNG
#include "png_maker.h"
#endif

/* How the decoder gets at a part of the file. */
typedef struct part_way {
    bool by_index;
    uint32_t divisor;
} part_way;

/* The plain decode, upright. */
static jpeg_plain turned(const jpeg_plain *plain, uint32_t orientation)
{
    const bool exchanges = exif_exchanges_sides(orientation);
    const image_view stored = {plain->pixels,   (size_t)plain->width * plain->channels,
                               plain->width,    plain->height,
                               plain->channels, IMAGE_U8};

    return (jpeg_plain){.pixels = upright_pixels_of(&stored, orientation),
                        .width = exchanges ? plain->height : plain->width,
                        .height = exchanges ? plain->width : plain->height,
                        .channels = plain->channels};
}

/* Boxes of a file with this orientation. */
static void check_file(image_decoder *decoder, const uint8_t *bytes, size_t size,
                       const jpeg_plain *plain, uint32_t orientation, const part_way *way)
{
    image_index index = {.wanted = way->by_index};
    const jpeg_plain want = turned(plain, orientation);
    uint32_t state = orientation;

    for (uint32_t i = 0; i < 16; i++) {
        const image_box box = some_box(i, want.width, want.height, &state);
        image_view region;
        uint32_t width = 0;
        uint32_t height = 0;

        T_OK(image_decoder_open(decoder, bytes, size, MAX_PIXELS, false, &width, &height));
        image_decoder_orient(decoder, orientation, &width, &height);
        if (way->divisor > 1) {
            T_TRUE(image_decoder_scale(decoder, way->divisor, &width, &height));
        }
        T_EQ(width, want.width);
        T_EQ(height, want.height);
        if (way->by_index) {
            image_decoder_use_index(decoder, &index);
        }
        T_OK(image_decoder_region(decoder, &box, &region));
        T_TRUE(!index.is_wrong);
        if (!is_slice(&region, &box, &want)) {
            T_FAIL_("orientation %u, %ux%u: box %u,%u %ux%u differs", orientation, width, height,
                    box.x, box.y, box.width, box.height);
        }
    }
    image_buffer_free(&index.bytes);
    free(want.pixels);
}

static void check_jpeg(image_decoder *decoder, const jpeg_recipe *recipe, const part_way *way)
{
    size_t size = 0;
    uint8_t *bytes = jpeg_make(recipe, &size);
    jpeg_plain plain = jpeg_scaled_decode(bytes, size, JCS_RGB, way->divisor);

    T_TRUE(plain.pixels != NULL && plain.warnings == 0);
    for (uint32_t orientation = 1; orientation <= 8; orientation++) {
        check_file(decoder, bytes, size, &plain, orientation, way);
    }
    free(plain.pixels);
    free(bytes);
}

static void regions_of_jpeg_files_are_slices(void)
{
    static const uint8_t samplings[][4] = {{0x11}, {0x21}, {0x22}, {0x12}, {0x41}};
    static const uint32_t sizes[][2] = {{1, 1}, {7, 9}, {40, 17}, {33, 70}};
    static const part_way ways[] = {{false, 1}, {true, 1}, {false, 2}, {true, 8}};
    image_decoder *decoder = NULL;

    T_OK(image_decoder_create(&decoder));
    for (size_t k = 0; k < COUNT(samplings) * COUNT(sizes); k++) {
        jpeg_recipe recipe = {.width = sizes[k % COUNT(sizes)][0],
                              .height = sizes[k % COUNT(sizes)][1],
                              .space = JCS_YCbCr,
                              .seed = (uint32_t)k + 1};

        memcpy(recipe.sampling, samplings[k / COUNT(sizes)], sizeof(recipe.sampling));
        for (size_t w = 0; w < COUNT(ways); w++) {
            check_jpeg(decoder, &recipe, &ways[w]);
        }
        recipe.restart = 1;
        check_jpeg(decoder, &recipe, &ways[0]);
        recipe.restart = 0;
        recipe.progressive = true;
        check_jpeg(decoder, &recipe, &ways[0]);
    }
    image_decoder_destroy(decoder);
}

/* An orientation holds for one opening. */
static void the_next_image_is_as_stored(void)
{
    const jpeg_recipe recipe = {.width = 20, .height = 10, .space = JCS_YCbCr, .seed = 4};
    image_decoder *decoder = NULL;
    size_t size = 0;
    uint8_t *bytes = jpeg_make(&recipe, &size);
    jpeg_plain plain = jpeg_plain_decode(bytes, size, JCS_RGB);
    const image_box whole = {0, 0, 20, 10};
    image_view region;

    T_OK(image_decoder_create(&decoder));
    check_file(decoder, bytes, size, &plain, 6, &(part_way){false, 1});
    T_OK(decode_box(decoder, bytes, size, false, &whole, &region));
    T_TRUE(is_slice(&region, &whole, &plain));
    free(plain.pixels);
    free(bytes);
    image_decoder_destroy(decoder);
}

#ifdef SLI_HAVE_PNG
static void regions_of_png_files_are_slices(void)
{
    image_decoder *decoder = NULL;

    T_OK(image_decoder_create(&decoder));
    for (int interlaced = 0; interlaced < 2; interlaced++) {
        const png_recipe recipe = {.width = 21,
                                   .height = 34,
                                   .colour = PNG_COLOR_TYPE_RGB,
                                   .depth = 8,
                                   .interlaced = interlaced == 1,
                                   .seed = 5};
        const image_box whole = {0, 0, recipe.width, recipe.height};
        jpeg_plain plain = {NULL, recipe.width, recipe.height, 3, 0};
        size_t size = 0;
        uint8_t *bytes = png_make(&recipe, &size);
        image_view region;

        T_OK(decode_box(decoder, bytes, size, false, &whole, &region));
        plain.pixels = malloc(region.stride * region.height);
        memcpy(plain.pixels, region.pixels, region.stride * region.height);
        for (uint32_t orientation = 1; orientation <= 8; orientation++) {
            check_file(decoder, bytes, size, &plain, orientation, &(part_way){false, 1});
        }
        free(plain.pixels);
        free(bytes);
    }
    image_decoder_destroy(decoder);
}
#endif

const t_test upright_regions_tests[] = {
    T_TEST(regions_of_jpeg_files_are_slices),
    T_TEST(the_next_image_is_as_stored),
#ifdef SLI_HAVE_PNG
    T_TEST(regions_of_png_files_are_slices),
#endif
    T_END,
};
