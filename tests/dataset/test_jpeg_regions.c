/* SPDX-License-Identifier: Apache-2.0 */
/* Any region of a JPEG file is that part of the whole, however the file is coded. */
#include <stdlib.h>

#include "jpeg_kit.h"
#include "testing.h"

typedef struct jpeg_kind {
    const char *name;
    J_COLOR_SPACE space;
    uint8_t sampling[4];
} jpeg_kind;

static const jpeg_kind kinds[] = {
    {"4:4:4", JCS_YCbCr, {0x11}},
    {"4:2:2", JCS_YCbCr, {0x21}},
    {"4:2:0", JCS_YCbCr, {0x22}},
    {"4:4:0", JCS_YCbCr, {0x12}},
    {"4:1:1", JCS_YCbCr, {0x41}},
    {"4:1:0", JCS_YCbCr, {0x42}},
    {"1x4", JCS_YCbCr, {0x14}},
    {"3x1", JCS_YCbCr, {0x31}},
    {"2x2+1x2+1x2", JCS_YCbCr, {0x22, 0x12, 0x12}},
    {"2x2+2x1+1x2", JCS_YCbCr, {0x22, 0x21, 0x12}},
    {"2x2+2x2+2x2", JCS_YCbCr, {0x22, 0x11, 0x22}},
    {"4x1+2x1+1x1", JCS_YCbCr, {0x41, 0x21, 0x11}},
    {"coarse luma", JCS_YCbCr, {0x11, 0x22, 0x22}},
    {"gray", JCS_GRAYSCALE, {0x11}},
    {"gray 2x2", JCS_GRAYSCALE, {0x22}},
    {"RGB", JCS_RGB, {0x11}},
    {"RGB 2x2", JCS_RGB, {0x22}},
};

static const uint16_t sizes[][2] = {
    {1, 1},   {2, 1},   {1, 2},   {3, 3},   {7, 5},   {8, 8},   {9, 9},   {15, 17}, {16, 16},
    {17, 15}, {31, 33}, {33, 16}, {48, 49}, {64, 64}, {70, 50}, {65, 37}, {9, 300}, {400, 8},
};

enum { KINDS = sizeof(kinds) / sizeof(kinds[0]), SIZES = sizeof(sizes) / sizeof(sizes[0]) };

/* A file of a kind, in the i-th size. */
static jpeg_recipe recipe_of(const jpeg_kind *kind, size_t i)
{
    jpeg_recipe recipe = {.width = sizes[i][0],
                          .height = sizes[i][1],
                          .space = kind->space,
                          .quality = 30 + (int)(i * 37 % 71),
                          .seed = (uint32_t)i + 1};

    memcpy(recipe.sampling, kind->sampling, sizeof(recipe.sampling));
    return recipe;
}

static void check_regions(image_decoder *decoder, const char *name, const jpeg_recipe *recipe,
                          bool gray, uint32_t boxes)
{
    size_t size = 0;
    uint8_t *bytes = jpeg_make(recipe, &size);
    jpeg_plain plain;
    uint32_t state = recipe->seed + 77;

    T_TRUE(bytes != NULL);
    plain = jpeg_plain_decode(bytes, size, gray ? JCS_GRAYSCALE : JCS_RGB);
    T_TRUE(plain.pixels != NULL && plain.warnings == 0);
    for (uint32_t i = 0; i < boxes; i++) {
        const image_box box = some_box(i, recipe->width, recipe->height, &state);
        image_view region = {0};

        T_OK(decode_box(decoder, bytes, size, gray, &box, &region));
        if (!is_slice(&region, &box, &plain)) {
            T_FAIL_("%s %ux%u%s: box %u,%u %ux%u differs", name, recipe->width, recipe->height,
                    gray ? " gray" : "", box.x, box.y, box.width, box.height);
        }
    }
    free(plain.pixels);
    free(bytes);
}

/* Every kind in every size, coded as `coding` says. */
static void check_all(const jpeg_recipe *coding, bool gray, uint32_t boxes)
{
    image_decoder *decoder = NULL;

    T_OK(image_decoder_create(&decoder));
    for (size_t k = 0; k < KINDS; k++) {
        for (size_t i = 0; i < SIZES; i++) {
            jpeg_recipe recipe = recipe_of(&kinds[k], i);

            recipe.progressive = coding->progressive;
            recipe.arithmetic = coding->arithmetic;
            recipe.optimised = coding->optimised;
            recipe.restart = coding->restart;
            check_regions(decoder, kinds[k].name, &recipe, gray && kinds[k].space != JCS_RGB,
                          boxes);
        }
    }
    image_decoder_destroy(decoder);
}

static void a_region_is_a_slice_of_the_whole(void)
{
    check_all(&(jpeg_recipe){0}, false, 40);
}

static void a_region_is_a_slice_with_restart_markers(void)
{
    check_all(&(jpeg_recipe){.restart = 1, .optimised = true}, false, 16);
    check_all(&(jpeg_recipe){.restart = 5}, false, 16);
}

static void a_region_is_a_slice_of_a_progressive_file(void)
{
    check_all(&(jpeg_recipe){.progressive = true}, false, 16);
    check_all(&(jpeg_recipe){.progressive = true, .restart = 3}, false, 8);
}

static void a_region_is_a_slice_of_an_arithmetic_coded_file(void)
{
    T_NEEDS(jpeg_has_arithmetic(), "this libjpeg has no arithmetic coding");
    check_all(&(jpeg_recipe){.arithmetic = true}, false, 16);
    check_all(&(jpeg_recipe){.arithmetic = true, .progressive = true}, false, 8);
}

static void gray_is_what_libjpeg_makes_of_it(void)
{
    check_all(&(jpeg_recipe){0}, true, 16);
    check_all(&(jpeg_recipe){.progressive = true}, true, 8);
}

/* One scan for each component: libjpeg then keeps all coefficients, as of a progressive file. */
static void a_region_is_a_slice_of_a_file_in_several_scans(void)
{
    static const jpeg_scan_info scans[3] = {
        {1, {0}, 0, 63, 0, 0}, {1, {1}, 0, 63, 0, 0}, {1, {2}, 0, 63, 0, 0}};
    image_decoder *decoder = NULL;

    T_OK(image_decoder_create(&decoder));
    for (size_t k = 0; k < KINDS; k++) {
        for (size_t i = 0; i < SIZES && kinds[k].space == JCS_YCbCr; i++) {
            jpeg_recipe recipe = recipe_of(&kinds[k], i);

            recipe.scans = scans;
            recipe.scan_count = 3;
            check_regions(decoder, kinds[k].name, &recipe, false, 8);
        }
    }
    image_decoder_destroy(decoder);
}

static void check_zeros(const uint8_t *bytes, const char *of)
{
    for (size_t i = 0; i < IMAGE_SLACK; i++) {
        if (bytes[i] != 0) {
            T_FAIL_("%s: byte %zu past the end is %u", of, i, bytes[i]);
        }
    }
}

/* Whatever was in the buffer before: kernels that work in whole vectors read them. */
static void bytes_past_the_end_of_lines_are_zero(void)
{
    static const uint16_t shapes[][2] = {{640, 480}, {499, 333}, {333, 499}, {21, 9},
                                         {64, 40},   {64, 90},   {64, 20},   {64, 90}};
    image_decoder *decoder = NULL;
    image_buffer buffer = {NULL, 0};

    T_OK(image_decoder_create(&decoder));
    for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++) {
        const image_box all = {0, 0, shapes[i][0], shapes[i][1]};
        const jpeg_recipe recipe = {.width = shapes[i][0],
                                    .height = shapes[i][1],
                                    .space = JCS_YCbCr,
                                    .sampling = {0x22},
                                    .quality = 90,
                                    .seed = 3};
        size_t size = 0;
        uint8_t *bytes = jpeg_make(&recipe, &size);
        image_view region;

        T_TRUE(bytes != NULL);
        T_OK(decode_box(decoder, bytes, size, i == 1 || i == 3, &all, &region));
        for (size_t y = 0; y < region.height; y++) {
            check_zeros(region.pixels + y * region.stride + (size_t)region.width * region.channels,
                        "a decoded line");
        }
        free(bytes);
    }
    for (size_t size = 1000; size > 0; size /= 3) {
        T_OK(image_buffer_reserve(&buffer, size));
        check_zeros(buffer.data + size, "a buffer");
        memset(buffer.data, 0xFF, size + IMAGE_SLACK);
    }
    image_buffer_free(&buffer);
    image_decoder_destroy(decoder);
}

static void the_longest_lines_work(void)
{
    static const uint32_t shapes[2][2] = {{65500, 1}, {1, 65500}};
    image_decoder *decoder = NULL;

    T_OK(image_decoder_create(&decoder));
    for (int i = 0; i < 4; i++) {
        jpeg_recipe recipe = {.width = shapes[i % 2][0],
                              .height = shapes[i % 2][1],
                              .sampling = {0x22},
                              .progressive = i / 2 == 1,
                              .seed = 1};

        check_regions(decoder, "65500", &recipe, false, 8);
    }
    image_decoder_destroy(decoder);
}

/* ---- CMYK ------------------------------------------------------------------------------------ */

/* Pillow takes every CMYK file for an inverted one, as Adobe writes them, marker or not. */
static void check_cmyk(image_decoder *decoder, const jpeg_recipe *recipe, bool gray)
{
    const image_box box = {1, 2, recipe->width - 2, recipe->height - 3};
    image_view region = {0};
    size_t size = 0;
    uint8_t *bytes = jpeg_make(recipe, &size);
    jpeg_plain plain = jpeg_plain_decode(bytes, size, JCS_CMYK);

    T_TRUE(plain.pixels != NULL);
    T_OK(decode_box(decoder, bytes, size, gray, &box, &region));
    T_EQ(region.channels, gray ? 1 : 3);
    for (uint32_t y = 0; y < box.height; y++) {
        for (uint32_t x = 0; x < box.width; x++) {
            const uint8_t *ink = plain.pixels + ((size_t)(y + box.y) * plain.width + x + box.x) * 4;
            const uint8_t *got = region.pixels + y * region.stride + (size_t)x * region.channels;
            double rgb[3];

            for (int c = 0; c < 3; c++) {
                rgb[c] = ink[c] * ink[3] / 255.0;
            }
            if (gray) {
                T_NEAR(got[0], 0.299 * rgb[0] + 0.587 * rgb[1] + 0.114 * rgb[2], 1);
            } else {
                T_NEAR(got[0], rgb[0], 0.51);
                T_NEAR(got[1], rgb[1], 0.51);
                T_NEAR(got[2], rgb[2], 0.51);
            }
        }
    }
    free(plain.pixels);
    free(bytes);
}

static void cmyk_becomes_rgb(void)
{
    image_decoder *decoder = NULL;

    T_OK(image_decoder_create(&decoder));
    for (int i = 0; i < 16; i++) {
        jpeg_recipe recipe = {.width = 37,
                              .height = 29,
                              .space = i % 2 == 0 ? JCS_CMYK : JCS_YCCK,
                              .no_adobe = i % 4 == 2,
                              .progressive = (i & 8) != 0,
                              .seed = 5};

        if (i % 4 == 3) {
            memcpy(recipe.sampling, "\x22\x11\x11\x22", 4);
        }
        check_cmyk(decoder, &recipe, (i & 4) != 0);
    }
    image_decoder_destroy(decoder);
}

const t_test jpeg_regions_tests[] = {
    T_TEST(a_region_is_a_slice_of_the_whole),
    T_TEST(a_region_is_a_slice_with_restart_markers),
    T_TEST(a_region_is_a_slice_of_a_progressive_file),
    T_TEST(a_region_is_a_slice_of_an_arithmetic_coded_file),
    T_TEST(a_region_is_a_slice_of_a_file_in_several_scans),
    T_TEST(gray_is_what_libjpeg_makes_of_it),
    T_TEST(cmyk_becomes_rgb),
    T_TEST(the_longest_lines_work),
    T_TEST(bytes_past_the_end_of_lines_are_zero),
    T_END,
};
