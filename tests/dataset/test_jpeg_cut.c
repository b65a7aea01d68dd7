/* SPDX-License-Identifier: Apache-2.0 */
/* JPEG files cut at their restart markers: what comes out is a file, and has the same pixels. */
#include <stdlib.h>
#include <string.h>

#include "jpeg_cut.h"
#include "jpeg_kit.h"
#include "testing.h"

static const uint8_t samplings[][4] = {
    {0x11}, {0x21}, {0x22}, {0x12}, {0x41}, {0x31}, {0x22, 0x12, 0x12}, {0x11, 0x22, 0x22},
};

static const uint16_t sizes[][2] = {
    {1, 1},   {8, 8},   {17, 15},   {33, 16}, {48, 49}, {64, 64}, {65, 37},
    {9, 300}, {300, 9}, {201, 117}, {35, 20}, {36, 20}, {67, 19}, {68, 33},
};

enum {
    SAMPLINGS = sizeof(samplings) / sizeof(samplings[0]),
    SIZES = sizeof(sizes) / sizeof(sizes[0])
};

/* MCUs of a row: restart intervals that divide it, or are divided by it, can be cut at. */
static unsigned columns_of(const jpeg_recipe *recipe)
{
    unsigned h = 1;

    for (int i = 0; i < 3; i++) {
        h = recipe->sampling[i] >> 4 > (int)h ? recipe->sampling[i] >> 4 : h;
    }
    return (recipe->width + 8 * h - 1) / (8 * h);
}

static jpeg_recipe recipe_of(size_t sampling, size_t size, J_COLOR_SPACE space)
{
    jpeg_recipe recipe = {.width = sizes[size][0],
                          .height = sizes[size][1],
                          .space = space,
                          .optimised = size % 2 == 0,
                          .seed = (uint32_t)(size + sampling + 1)};

    memcpy(recipe.sampling, samplings[sampling], sizeof(samplings[sampling]));
    return recipe;
}

/* Cuts a file for a box. Every cut must decode as a plain file, to the pixels of the whole. */
static bool check_cut(const uint8_t *bytes, size_t size, const jpeg_plain *whole,
                      const image_box *box, image_buffer *file)
{
    const J_COLOR_SPACE space = whole->channels == 1 ? JCS_GRAYSCALE : JCS_RGB;
    image_box within = *box;
    jpeg_layout layout;
    jpeg_cells cells;
    jpeg_plain part;
    size_t cut_size;

    T_TRUE(jpeg_layout_read(bytes, size, &layout));
    if (jpeg_cut(&layout, bytes, size, box, file, &cut_size, &cells) != JPEG_PART_MADE) {
        const uint32_t rows = layout.restart / layout.columns;

        /* It has to be all of them. */
        cells = jpeg_layout_cells(&layout, rows > 0 ? layout.columns : layout.restart,
                                  rows > 0 ? rows : 1, box);
        T_EQ(cells.pixels.width, layout.width);
        T_EQ(cells.pixels.height, layout.height);
        return false;
    }
    T_TRUE(cut_size < size);
    part = jpeg_plain_decode(file->data, cut_size, space);
    T_TRUE(part.pixels != NULL);
    T_EQ(part.warnings, 0);
    T_EQ(part.width, cells.pixels.width);
    T_EQ(part.height, cells.pixels.height);
    within.x -= cells.pixels.x;
    within.y -= cells.pixels.y;
    T_TRUE(within.x + within.width <= part.width && within.y + within.height <= part.height);
    {
        const image_view view = {part.pixels +
                                     ((size_t)within.y * part.width + within.x) * part.channels,
                                 (size_t)part.width * part.channels,
                                 box->width,
                                 box->height,
                                 part.channels,
                                 IMAGE_U8};

        T_TRUE(is_slice(&view, box, whole));
    }
    free(part.pixels);
    return true;
}

/* All boxes of a file with this restart interval; returns how many were cut. */
static int check_file(const jpeg_recipe *recipe)
{
    const J_COLOR_SPACE space = recipe->space == JCS_GRAYSCALE ? JCS_GRAYSCALE : JCS_RGB;
    image_buffer file = {0};
    uint32_t state = recipe->seed;
    size_t size = 0;
    uint8_t *bytes = jpeg_make(recipe, &size);
    jpeg_plain whole = jpeg_plain_decode(bytes, size, space);
    int cuts = 0;

    T_TRUE(whole.pixels != NULL);
    for (uint32_t i = 0; i < 24; i++) {
        const image_box box = some_box(i, recipe->width, recipe->height, &state);

        cuts += check_cut(bytes, size, &whole, &box, &file);
    }
    free(whole.pixels);
    free(bytes);
    image_buffer_free(&file);
    return cuts;
}

static void a_cut_decodes_to_the_pixels_of_the_whole(void)
{
    int cuts = 0;

    for (size_t k = 0; k < SAMPLINGS; k++) {
        for (size_t i = 0; i < SIZES; i++) {
            jpeg_recipe recipe = recipe_of(k, i, JCS_YCbCr);
            const unsigned columns = columns_of(&recipe);

            for (unsigned restart = 1; restart <= 4 * columns; restart++) {
                recipe.restart = restart;
                if (columns % restart == 0 || restart % columns == 0) {
                    cuts += check_file(&recipe);
                }
            }
        }
    }
    T_TRUE(cuts > 1000);
}

static void a_cut_of_one_component_is_made_of_blocks(void)
{
    int cuts = 0;

    for (size_t k = 0; k < 3; k++) { /* what its sampling factors say means nothing */
        for (size_t i = 0; i < SIZES; i++) {
            jpeg_recipe recipe = recipe_of(k, i, JCS_GRAYSCALE);

            recipe.restart = 1;
            cuts += check_file(&recipe);
        }
    }
    T_TRUE(cuts > 100);
}

/* Only Adobe's marker says so, when components have the numbers that those of YCbCr have. */
static void a_cut_of_rgb_stays_rgb(void)
{
    const jpeg_recipe recipe = {.width = 64, .height = 64, .space = JCS_RGB, .restart = 8};
    const image_box box = {8, 8, 32, 32};
    image_buffer file = {0};
    jpeg_plain whole;
    size_t size;
    uint8_t *bytes = jpeg_make(&recipe, &size);

    for (size_t at = 0; bytes[at] != 0xFF || bytes[at + 1] != 0xDA; at++) {
        for (uint8_t i = 0; bytes[at] == 0xFF && bytes[at + 1] == 0xC0 && i < 3; i++) {
            bytes[at + 10 + 3 * i] = (uint8_t)(i + 1);
        }
        for (uint8_t i = 0; bytes[at + 2] == 0xFF && bytes[at + 3] == 0xDA && i < 3; i++) {
            bytes[at + 7 + 2 * i] = (uint8_t)(i + 1);
        }
    }
    whole = jpeg_plain_decode(bytes, size, JCS_RGB);
    T_EQ(whole.warnings, 0);
    T_EQ(whole.pixels[1] != whole.pixels[0], 1);
    T_TRUE(check_cut(bytes, size, &whole, &box, &file));
    free(whole.pixels);
    free(bytes);
    image_buffer_free(&file);
}

/* The cells for a box, of two MCUs each: [left, right) by [top, bottom). */
static void check_cells(const jpeg_layout *layout, const image_box *box, uint32_t left,
                        uint32_t top, uint32_t right, uint32_t bottom)
{
    const jpeg_cells cells = jpeg_layout_cells(layout, 2, 1, box);

    T_EQ(cells.left, left);
    T_EQ(cells.top, top);
    T_EQ(cells.right, right);
    T_EQ(cells.bottom, bottom);
}

/* 4:4:4 looks at nothing beside a block, 4:2:0 at the neighbours of a box that ends at an edge. */
static void only_the_segments_under_a_box_are_taken(void)
{
    jpeg_recipe recipe = {.width = 160, .height = 96, .restart = 2};
    const image_box inner = {32, 16, 32, 16};
    const image_box beyond = {31, 16, 33, 17};
    const image_box smooth = {33, 17, 30, 14};
    jpeg_layout layout;
    size_t size;
    uint8_t *bytes = jpeg_make(&recipe, &size);

    T_TRUE(jpeg_layout_read(bytes, size, &layout));
    check_cells(&layout, &inner, 2, 2, 4, 4);
    check_cells(&layout, &beyond, 1, 2, 4, 5);
    free(bytes);
    recipe.sampling[0] = 0x22;
    bytes = jpeg_make(&recipe, &size);
    T_TRUE(jpeg_layout_read(bytes, size, &layout));
    check_cells(&layout, &inner, 0, 0, 3, 3);
    check_cells(&layout, &smooth, 1, 1, 2, 2);
    free(bytes);
}

/* Where a segment's data lie: behind the (index - 1)-th restart marker. */
static size_t segment_at(const uint8_t *bytes, size_t size, int index)
{
    jpeg_layout layout;
    size_t at;

    T_TRUE(jpeg_layout_read(bytes, size, &layout));
    for (at = layout.scan; index > 0; at++) {
        if (bytes[at] == 0xFF && bytes[at + 1] >= 0xD0 && bytes[at + 1] <= 0xD7) {
            index--;
            at++;
        }
    }
    return at;
}

/* The decoder cuts: what is wrong with segments beside the region it does not see. */
static void damage_beside_the_region_is_not_read(void)
{
    const jpeg_recipe recipe = {.width = 64, .height = 64, .restart = 2, .seed = 4};
    const image_box first = {0, 0, 16, 8};
    const image_box second = {16, 0, 16, 8};
    image_decoder *decoder = NULL;
    image_view region;
    jpeg_plain whole;
    size_t size;
    uint8_t *bytes = jpeg_make(&recipe, &size);

    whole = jpeg_plain_decode(bytes, size, JCS_RGB);
    memset(bytes + segment_at(bytes, size, 1), 0, 20);
    T_OK(image_decoder_create(&decoder));
    T_OK(decode_box(decoder, bytes, size, false, &first, &region));
    T_TRUE(is_slice(&region, &first, &whole));
    if (decode_box(decoder, bytes, size, false, &second, &region) == SLUICE_OK) {
        T_TRUE(!is_slice(&region, &second, &whole));
    }
    free(whole.pixels);
    free(bytes);
    image_decoder_destroy(decoder);
}

/* One change to a file, in place or in size; returns its size, at most 64 more. */
static size_t mutate(uint8_t *bytes, size_t size, size_t scan, uint32_t *state)
{
    const size_t at = test_below(state, 4) == 0 ? test_below(state, (uint32_t)size)
                                                : scan + test_below(state, (uint32_t)(size - scan));
    const size_t length = 1 + test_below(state, 40);
    const size_t rest = size - at;

    switch (test_below(state, 6)) {
    case 0:
        bytes[at] = (uint8_t)test_below(state, 256);
        return size;
    case 1:
        bytes[at] ^= (uint8_t)(1U << test_below(state, 8));
        return size;
    case 2: /* cut off */
        return at;
    case 3: /* taken out */
        if (length < rest) {
            memmove(bytes + at, bytes + at + length, rest - length);
        }
        return length < rest ? size - length : at;
    case 4: /* put in, of the same file */
        memmove(bytes + at + length, bytes + at, rest);
        memmove(bytes + at, bytes + test_below(state, (uint32_t)(size - length)), length);
        return size + length;
    default: /* a marker, where it may not belong */
        if (rest > 1) {
            bytes[at] = 0xFF;
            bytes[at + 1] = (uint8_t)(0xD0 + test_below(state, 10));
        }
        return size;
    }
}

/* Whatever is done to a file: what libjpeg decodes without a warning we decode to the same. */
static void damaged_files_give_the_same_pixels_or_an_error(void)
{
    static const jpeg_recipe recipes[] = {
        {.width = 70, .height = 40, .restart = 3, .seed = 1},
        {.width = 90, .height = 60, .sampling = {0x22}, .restart = 1, .seed = 2},
        {.width = 64, .height = 64, .sampling = {0x21}, .restart = 8, .seed = 3},
        {.width = 50, .height = 50, .space = JCS_GRAYSCALE, .restart = 7, .seed = 4},
    };
    image_decoder *decoder = NULL;
    int whole_files = 0;
    int refused = 0;

    T_OK(image_decoder_create(&decoder));
    for (uint32_t i = 0; i < 4000; i++) {
        const jpeg_recipe *recipe = &recipes[i % 4];
        uint32_t state = i + 1;
        size_t size;
        size_t made_size;
        uint8_t *made = jpeg_make(recipe, &size);
        uint8_t *changed = calloc(1, size + 64);
        uint8_t *bytes;
        jpeg_layout layout;
        jpeg_plain plain;
        image_view region;
        image_box box;
        sluice_status st;

        made_size = size;
        memcpy(changed, made, size);
        T_TRUE(jpeg_layout_read(changed, size, &layout));
        size = mutate(changed, size, layout.scan, &state);
        bytes = malloc(size + (size == 0)); /* no more, so that a read beyond is one */
        memcpy(bytes, changed, size);
        plain = jpeg_plain_decode(bytes, size, JCS_RGB);
        box = some_box(i / 4, recipe->width, recipe->height, &state);
        if (plain.pixels != NULL && plain.warnings == 0 && plain.width == recipe->width &&
            plain.height == recipe->height) {
            T_OK(decode_box(decoder, bytes, size, false, &box, &region));
            T_TRUE(is_slice(&region, &box, &plain));
            whole_files++;
        } else if (plain.width == recipe->width && plain.height == recipe->height) {
            jpeg_plain before = jpeg_plain_decode(made, made_size, JCS_RGB);

            st = decode_box(decoder, bytes, size, false, &box, &region);
            T_TRUE(st != SLUICE_OK || is_slice(&region, &box, &plain) ||
                   is_slice(&region, &box, &before));
            refused += st != SLUICE_OK;
            free(before.pixels);
        }
        free(plain.pixels);
        free(bytes);
        free(changed);
        free(made);
    }
    T_TRUE(whole_files > 100);
    T_TRUE(refused > 100);
    image_decoder_destroy(decoder);
}

/* Headers one byte after the other cut off or changed: read within their bytes, and never cut to
 * something that is no part of the image. */
static void headers_are_read_within_their_bytes(void)
{
    const jpeg_recipe recipe = {.width = 40, .height = 40, .sampling = {0x21}, .restart = 1};
    const image_box box = {0, 0, 8, 8};
    image_buffer file = {0};
    jpeg_layout layout;
    jpeg_cells cells;
    size_t cut_size;
    size_t size;
    uint8_t *made = jpeg_make(&recipe, &size);
    size_t scan;

    T_TRUE(jpeg_layout_read(made, size, &layout));
    scan = layout.scan;
    for (size_t n = 0; n < scan; n++) {
        uint8_t *bytes = malloc(n + 1); /* so that a read beyond is one */

        memcpy(bytes, made, n);
        T_TRUE(!jpeg_layout_read(bytes, n, &layout));
        free(bytes);
    }
    for (size_t at = 0; at < scan; at++) {
        for (int value = 0; value < 256; value += 5) {
            uint8_t *bytes = malloc(size);

            memcpy(bytes, made, size);
            bytes[at] = (uint8_t)value;
            if (jpeg_layout_read(bytes, size, &layout) && layout.width >= 8 && layout.height >= 8 &&
                jpeg_cut(&layout, bytes, size, &box, &file, &cut_size, &cells) == JPEG_PART_MADE) {
                T_TRUE(cut_size <= size);
                T_TRUE(cells.pixels.width <= layout.width && cells.pixels.height <= layout.height);
            }
            free(bytes);
        }
    }
    image_buffer_free(&file);
    free(made);
}

static void what_cannot_be_cut_is_left(void)
{
    static const jpeg_scan_info scans[3] = {
        {1, {0}, 0, 63, 0, 0}, {1, {1}, 0, 63, 0, 0}, {1, {2}, 0, 63, 0, 0}};
    static const jpeg_recipe recipes[] = {
        {.width = 40, .height = 40, .restart = 1, .scans = scans, .scan_count = 3},
        {.width = 40, .height = 40, .progressive = true, .restart = 1},
        {.width = 40, .height = 40, .arithmetic = true, .restart = 1},
        {.width = 40, .height = 40, .space = JCS_CMYK, .restart = 1},
    };
    const jpeg_recipe without = {.width = 40, .height = 40};
    const jpeg_recipe across = {.width = 40, .height = 40, .restart = 3};
    const image_box box = {0, 0, 8, 8};
    image_buffer file = {0};
    jpeg_layout layout;
    jpeg_cells cells;
    size_t cut_size;
    size_t size;
    uint8_t *bytes;

    for (size_t i = 0; i < sizeof(recipes) / sizeof(recipes[0]); i++) {
        bytes = jpeg_make(&recipes[i], &size);
        T_TRUE(bytes == NULL || !jpeg_layout_read(bytes, size, &layout));
        free(bytes);
    }
    bytes = jpeg_make(&without, &size);
    T_TRUE(jpeg_layout_read(bytes, size, &layout));
    T_EQ(layout.restart, 0);
    T_TRUE(jpeg_cut(&layout, bytes, size, &box, &file, &cut_size, &cells) != JPEG_PART_MADE);
    free(bytes);
    bytes = jpeg_make(&across, &size);
    T_TRUE(jpeg_layout_read(bytes, size, &layout));
    T_TRUE(jpeg_cut(&layout, bytes, size, &box, &file, &cut_size, &cells) != JPEG_PART_MADE);
    free(bytes);
    image_buffer_free(&file);
}

const t_test jpeg_cut_tests[] = {
    T_TEST(a_cut_decodes_to_the_pixels_of_the_whole),
    T_TEST(a_cut_of_one_component_is_made_of_blocks),
    T_TEST(a_cut_of_rgb_stays_rgb),
    T_TEST(only_the_segments_under_a_box_are_taken),
    T_TEST(damage_beside_the_region_is_not_read),
    T_TEST(damaged_files_give_the_same_pixels_or_an_error),
    T_TEST(headers_are_read_within_their_bytes),
    T_TEST(what_cannot_be_cut_is_left),
    T_END,
};
