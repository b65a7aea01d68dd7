/* SPDX-License-Identifier: Apache-2.0 */
#include <malloc.h>
#include <stdlib.h>

#include "alloc_int.h"
#include "image_decoder.h"
#include "jpeg_maker.h"
#include "testing.h"

enum { MAX_PIXELS = 100000000 };

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

/* The i-th box of an image: whole, a pixel, slivers, glued to an edge or two, anywhere. */
static image_box some_box(uint32_t i, uint32_t width, uint32_t height, uint32_t *state)
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

/* Is a region the same part of the plain decode? */
static bool is_slice(const image_view *region, const image_box *box, const jpeg_plain *plain)
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

static sluice_status decode_box(image_decoder *decoder, const uint8_t *bytes, size_t size,
                                bool gray, const image_box *box, image_view *region)
{
    uint32_t width = 0;
    uint32_t height = 0;
    sluice_status st = image_decoder_open(decoder, bytes, size, MAX_PIXELS, gray, &width, &height);

    if (st == SLUICE_OK && (box->x + box->width > width || box->y + box->height > height)) {
        return SLUICE_END_OF_DATA; /* no answer of the decoder: damage made the image smaller */
    }
    return st == SLUICE_OK ? image_decoder_region(decoder, box, region) : st;
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

static bool has_arithmetic(void)
{
    const jpeg_recipe recipe = {.arithmetic = true};
    size_t size;
    uint8_t *bytes = jpeg_make(&recipe, &size);

    free(bytes);
    return bytes != NULL;
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
    if (!has_arithmetic()) {
        T_SKIP("this libjpeg has no arithmetic coding");
    }
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

/* ---- CMYK ---------------------------------------------------------------------------------- */

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

/* ---- damage --------------------------------------------------------------------------------- */

static bool is_answer(sluice_status st)
{
    return st == SLUICE_OK || st == SLUICE_E_CORRUPT || st == SLUICE_E_UNSUPPORTED ||
           st == SLUICE_E_INVALID || st == SLUICE_E_NO_MEMORY || st == SLUICE_END_OF_DATA;
}

/* Codings whose damage shows in different ways. */
static const jpeg_recipe codings[] = {
    {.sampling = {0x22}},
    {.sampling = {0x11}, .restart = 2},
    {.sampling = {0x22}, .progressive = true},
    {.sampling = {0x21}, .progressive = true, .restart = 4},
    {.space = JCS_GRAYSCALE},
    {.space = JCS_YCCK},
    {.sampling = {0x22}, .arithmetic = true},
    {.sampling = {0x22}, .arithmetic = true, .progressive = true},
};

enum { CODINGS = sizeof(codings) / sizeof(codings[0]) };

/* The i-th coding's file; NULL when this libjpeg cannot make it. */
static uint8_t *coded(size_t i, uint32_t width, uint32_t height, int flat, size_t *size)
{
    jpeg_recipe recipe = codings[i];

    recipe.width = width;
    recipe.height = height;
    recipe.flat = flat;
    recipe.seed = 3;
    return jpeg_make(&recipe, size);
}

static void a_file_cut_short_is_corrupt(void)
{
    const image_box whole = {0, 0, 120, 90};
    image_decoder *decoder = NULL;

    T_OK(image_decoder_create(&decoder));
    for (size_t c = 0; c < CODINGS; c++) {
        image_view region;
        size_t size = 0;
        uint8_t *bytes = coded(c, whole.width, whole.height, 0, &size);

        for (size_t i = 0; bytes != NULL && i < 20; i++) {
            sluice_status st = decode_box(decoder, bytes, size * i / 20, false, &whole, &region);

            if (st != SLUICE_E_CORRUPT) {
                T_FAIL_("coding %zu cut at %zu/20 is %s", c, i, sluice_status_name(st));
            }
        }
        free(bytes);
    }
    image_decoder_destroy(decoder);
}

/*
 * A progressive file that ends, properly, before its coefficients are complete: libjpeg smooths
 * what is there, and a part of it would not be the same part of the whole.
 */
static void a_file_without_its_last_scans_is_corrupt(void)
{
    static const jpeg_scan_info scans[] = {{3, {0, 1, 2}, 0, 0, 0, 1}, {1, {0}, 1, 5, 0, 1},
                                           {1, {1}, 1, 63, 0, 0},      {1, {2}, 1, 63, 0, 0},
                                           {1, {0}, 6, 63, 0, 1},      {3, {0, 1, 2}, 0, 0, 1, 0},
                                           {1, {0}, 1, 63, 1, 0}};
    const image_box whole = {0, 0, 33, 33};
    image_decoder *decoder = NULL;
    image_view region;

    T_OK(image_decoder_create(&decoder));
    for (int count = 1; count <= 7; count++) {
        const jpeg_recipe recipe = {
            .width = 33, .height = 33, .progressive = true, .scans = scans, .scan_count = count};
        size_t size = 0;
        uint8_t *bytes = jpeg_make(&recipe, &size);

        T_STATUS(decode_box(decoder, bytes, size, false, &whole, &region),
                 count < 7 ? SLUICE_E_CORRUPT : SLUICE_OK);
        free(bytes);
    }
    image_decoder_destroy(decoder);
}

/* What is above the cut is all there: its pixels, or an error, but no other pixels. */
static void above_the_cut_pixels_are_right(void)
{
    const image_box top = {3, 0, 100, 16};
    image_decoder *decoder = NULL;
    uint32_t fine = 0;

    T_OK(image_decoder_create(&decoder));
    for (size_t c = 0; c < CODINGS; c++) {
        image_view region;
        size_t size = 0;
        uint8_t *bytes = coded(c, 120, 90, 0, &size);
        J_COLOR_SPACE space = codings[c].space == JCS_YCCK ? JCS_CMYK : JCS_RGB;
        jpeg_plain plain = {0};

        if (bytes != NULL) {
            plain = jpeg_plain_decode(bytes, size, space);
        }
        for (size_t i = 0; bytes != NULL && space == JCS_RGB && i <= 40; i++) {
            if (decode_box(decoder, bytes, size * i / 40, false, &top, &region) == SLUICE_OK) {
                T_TRUE(is_slice(&region, &top, &plain));
                fine++;
            }
        }
        free(plain.pixels);
        free(bytes);
    }
    T_TRUE(fine > 3 * 20);
    image_decoder_destroy(decoder);
}

static void a_missing_last_marker_does_no_harm(void)
{
    const image_box whole = {0, 0, 120, 90};
    image_decoder *decoder = NULL;

    T_OK(image_decoder_create(&decoder));
    for (size_t c = 0; c < CODINGS; c++) {
        image_view region;
        size_t size = 0;
        uint8_t *bytes = coded(c, whole.width, whole.height, 0, &size);
        jpeg_plain plain;

        if (bytes == NULL || codings[c].space == JCS_YCCK || codings[c].arithmetic) {
            free(bytes);
            continue;
        }
        plain = jpeg_plain_decode(bytes, size, JCS_RGB);
        T_OK(decode_box(decoder, bytes, size - 2, false, &whole, &region));
        T_TRUE(is_slice(&region, &whole, &plain));
        T_OK(decode_box(decoder, bytes, size - 1, false, &whole, &region));
        T_TRUE(is_slice(&region, &whole, &plain));
        free(plain.pixels);
        free(bytes);
    }
    image_decoder_destroy(decoder);
}

static void too_little_to_be_an_image(void)
{
    image_decoder *decoder = NULL;
    uint32_t width = 7;
    uint32_t height = 7;
    size_t size = 0;
    uint8_t *bytes = coded(0, 16, 16, 0, &size);

    T_OK(image_decoder_create(&decoder));
    for (size_t i = 0; i < 20; i++) {
        T_STATUS(image_decoder_open(decoder, bytes, i, MAX_PIXELS, false, &width, &height),
                 SLUICE_E_CORRUPT);
    }
    T_EQ(width, 7); /* outputs are set only on OK */
    T_EQ(height, 7);
    free(bytes);
    image_decoder_destroy(decoder);
}

static bool any_above(const image_view *region, uint8_t limit)
{
    for (uint32_t y = 0; y < region->height; y++) {
        for (size_t i = 0; i < (size_t)region->width * region->channels; i++) {
            if (region->pixels[y * region->stride + i] > limit) {
                return true;
            }
        }
    }
    return false;
}

static void nothing_of_an_earlier_image_shows(void)
{
    const image_box whole = {0, 0, 64, 64};
    image_decoder *decoder = NULL;

    T_OK(image_decoder_create(&decoder));
    for (size_t c = 0; c < CODINGS; c++) {
        size_t white_size = 0;
        size_t size = 0;
        uint8_t *white = coded(c, 64, 64, 256, &white_size);
        uint8_t *black = coded(c, 64, 64, 1, &size);

        for (size_t cut = 0; white != NULL && cut <= size; cut++) {
            image_view region;

            T_OK(decode_box(decoder, white, white_size, false, &whole, &region));
            T_TRUE(any_above(&region, 250));
            if (decode_box(decoder, black, cut, false, &whole, &region) == SLUICE_OK) {
                T_TRUE(!any_above(&region, 5));
            }
        }
        free(white);
        free(black);
    }
    image_decoder_destroy(decoder);
}

/* FNV-1a of an answer, pixels included. */
static uint64_t digest(sluice_status st, const image_view *region)
{
    uint64_t hash = UINT64_C(0xCBF29CE484222325) ^ (uint64_t)st;

    for (uint32_t y = 0; st == SLUICE_OK && y < region->height; y++) {
        for (size_t i = 0; i < (size_t)region->width * region->channels; i++) {
            hash = (hash ^ region->pixels[y * region->stride + i]) * UINT64_C(0x100000001B3);
        }
    }
    return hash;
}

/* Changes up to four bytes. */
static void flip(uint8_t *bytes, size_t size, uint32_t *state)
{
    uint32_t changes = 1 + test_below(state, 4);

    for (uint32_t i = 0; i < changes; i++) {
        bytes[test_below(state, (uint32_t)size)] ^= (uint8_t)(1 + test_below(state, 255));
    }
}

/* One damaged file: an answer that does not depend on what was decoded before it, and that of a
 * plain decode when that finds nothing wrong. */
static void check_damaged(image_decoder *const decoders[2], const uint8_t *before[2],
                          const size_t before_sizes[2], const uint8_t *bytes, size_t size,
                          const image_box *box)
{
    uint64_t digests[2];
    image_view region = {0};
    sluice_status st = SLUICE_OK;
    jpeg_plain plain;

    for (int i = 0; i < 2; i++) {
        const image_box corner = {0, 0, 8, 8};

        (void)decode_box(decoders[i], before[i], before_sizes[i], i == 0, &corner, &region);
        st = decode_box(decoders[i], bytes, size, false, box, &region);
        T_TRUE(is_answer(st));
        digests[i] = digest(st, &region);
    }
    T_TRUE(digests[0] == digests[1]);
    if (st != SLUICE_OK) {
        return;
    }
    plain = jpeg_plain_decode(bytes, size, JCS_RGB);
    if (plain.pixels != NULL && plain.warnings == 0) {
        T_TRUE(is_slice(&region, box, &plain));
    }
    free(plain.pixels);
}

static void damaged_bytes_give_an_answer(void)
{
    image_decoder *decoders[2] = {NULL, NULL};
    const uint8_t *before[2];
    size_t before_sizes[2];
    uint8_t *made[2];
    uint32_t state = 12345;

    for (int i = 0; i < 2; i++) {
        T_OK(image_decoder_create(&decoders[i]));
        made[i] = coded(i == 0 ? 0 : 2, 64, 48, i == 0 ? 256 : 0, &before_sizes[i]);
        before[i] = made[i];
    }
    for (size_t c = 0; c < CODINGS; c++) {
        size_t size = 0;
        uint8_t *bytes = coded(c, 40, 33, 0, &size);
        uint8_t *copy = bytes != NULL ? malloc(size) : NULL;

        for (uint32_t i = 0; copy != NULL && i < 500; i++) {
            const image_box box = some_box(i, 40, 33, &state);

            memcpy(copy, bytes, size);
            /* Half of the damage goes to the headers, where more can break. */
            flip(copy, i % 2 == 0 ? size : size < 600 ? size / 2 : 600, &state);
            check_damaged(decoders, before, before_sizes, copy, size, &box);
        }
        free(copy);
        free(bytes);
    }
    for (int i = 0; i < 2; i++) {
        image_decoder_destroy(decoders[i]);
        free(made[i]);
    }
}

static void damaged_files_do_not_make_memory_grow(void)
{
#if defined(__GLIBC__) && __GLIBC_PREREQ(2, 33)
    image_decoder *decoder = NULL;
    uint32_t state = 99;
    size_t size = 0;
    uint8_t *bytes = coded(2, 64, 64, 0, &size);
    uint8_t *copy = malloc(size);
    size_t used = 0;

    T_OK(image_decoder_create(&decoder));
    for (uint32_t i = 0; i < 2000; i++) {
        const image_box box = {0, 0, 64, 64};
        image_view region;

        memcpy(copy, bytes, size);
        flip(copy, size, &state);
        (void)decode_box(decoder, copy, size, false, &box, &region);
        /* From here on nothing should be kept; the pixels' buffer may still grow to its size. */
        used = i == 200 ? mallinfo2().uordblks : used;
    }
    T_TRUE(mallinfo2().uordblks < used + 200000);
    free(copy);
    free(bytes);
    image_decoder_destroy(decoder);
#else
    T_SKIP("this C library does not tell how much memory is in use");
#endif
}

/* ---- hostile headers ------------------------------------------------------------------------ */

/* Where the first marker segment of this kind begins (its 0xFF); ends the test when none is there.
 */
static size_t find_segment(const uint8_t *bytes, size_t size, uint8_t marker)
{
    size_t at = 2;

    while (at + 4 <= size && bytes[at] == 0xFF) {
        if (bytes[at + 1] == marker) {
            return at;
        }
        at += 2 + ((size_t)bytes[at + 2] << 8 | bytes[at + 3]);
    }
    return 0;
}

static size_t segment_length(const uint8_t *bytes, size_t at)
{
    return 2 + ((size_t)bytes[at + 2] << 8 | bytes[at + 3]);
}

static size_t find_frame(const uint8_t *bytes, size_t size)
{
    for (uint8_t marker = 0xC0; marker <= 0xCA; marker++) {
        size_t at = marker != 0xC4 && marker != 0xC8 ? find_segment(bytes, size, marker) : 0;

        if (at != 0) {
            return at;
        }
    }
    return 0;
}

static void claim_size(uint8_t *bytes, size_t size, uint32_t width, uint32_t height)
{
    size_t at = find_frame(bytes, size);

    bytes[at + 5] = (uint8_t)(height >> 8);
    bytes[at + 6] = (uint8_t)height;
    bytes[at + 7] = (uint8_t)(width >> 8);
    bytes[at + 8] = (uint8_t)width;
}

/* A copy with `length` bytes at `at` replaced. From malloc(). */
static uint8_t *splice(const uint8_t *bytes, size_t size, size_t at, size_t length,
                       const uint8_t *insert, size_t insert_size, size_t *size_out)
{
    uint8_t *made = malloc(size - length + insert_size);

    memcpy(made, bytes, at);
    if (insert_size > 0) {
        memcpy(made + at, insert, insert_size);
    }
    memcpy(made + at + insert_size, bytes + at + length, size - at - length);
    *size_out = size - length + insert_size;
    return made;
}

static void images_that_claim_to_be_huge_are_refused(void)
{
    image_decoder *decoder = NULL;
    const image_box corner = {0, 0, 16, 16};
    image_view region;
    size_t size = 0;
    uint8_t *bytes = coded(0, 16, 16, 0, &size);
    uint32_t width = 0;
    uint32_t height = 0;

    T_OK(image_decoder_create(&decoder));
    claim_size(bytes, size, 60000, 60000);
    T_STATUS(decode_box(decoder, bytes, size, false, &corner, &region), SLUICE_E_INVALID);
    T_CONTAINS(sluice_last_error(), "60000x60000");
    T_CONTAINS(sluice_last_error(), "max_pixels");
    claim_size(bytes, size, 10000, 10000);
    T_OK(image_decoder_open(decoder, bytes, size, MAX_PIXELS, false, &width, &height));
    T_STATUS(image_decoder_open(decoder, bytes, size, MAX_PIXELS - 1, false, &width, &height),
             SLUICE_E_INVALID);
    claim_size(bytes, size, 65535, 1); /* beyond libjpeg's own limit */
    T_STATUS(decode_box(decoder, bytes, size, false, &corner, &region), SLUICE_E_UNSUPPORTED);
    claim_size(bytes, size, 16, 0);
    T_STATUS(decode_box(decoder, bytes, size, false, &corner, &region), SLUICE_E_CORRUPT);
    claim_size(bytes, size, 0, 16);
    T_STATUS(decode_box(decoder, bytes, size, false, &corner, &region), SLUICE_E_CORRUPT);
    free(bytes);
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

/*
 * A progressive file of 568 scans, each as the standard wants it: every coefficient of every
 * component by itself, in three steps.
 */
static uint8_t *scan_bomb(uint32_t width, uint32_t height, size_t *size_out)
{
    jpeg_scan_info *scans = calloc(568, sizeof(*scans));
    jpeg_recipe recipe = {.width = width, .height = height, .progressive = true};
    uint8_t *bytes;

    scans[recipe.scan_count++] = (jpeg_scan_info){3, {0, 1, 2}, 0, 0, 0, 0};
    for (int i = 0; i < 3 * 3 * 63; i++) {
        int step = i / (3 * 63);

        scans[recipe.scan_count++] = (jpeg_scan_info){
            1, {i / 63 % 3}, 1 + i % 63, 1 + i % 63, step == 0 ? 0 : 3 - step, 2 - step};
    }
    recipe.scans = scans;
    bytes = jpeg_make(&recipe, size_out);
    free(scans);
    return bytes;
}

static void files_of_too_many_scans_are_refused(void)
{
    image_decoder *decoder = NULL;
    const image_box corner = {0, 0, 16, 16};
    image_view region;
    uint32_t width = 0;
    uint32_t height = 0;
    size_t size = 0;
    uint8_t *bytes = scan_bomb(64, 64, &size);

    T_OK(image_decoder_create(&decoder));
    T_STATUS(decode_box(decoder, bytes, size, false, &corner, &region), SLUICE_E_CORRUPT);
    T_CONTAINS(sluice_last_error(), "more than 100 scans");
    /* The nearer the image is to max_pixels, the fewer scans. */
    T_OK(image_decoder_open(decoder, bytes, size, 64 * 64, false, &width, &height));
    T_STATUS(image_decoder_region(decoder, &corner, &region), SLUICE_E_CORRUPT);
    T_CONTAINS(sluice_last_error(), "more than 16 scans");
    free(bytes);
    image_decoder_destroy(decoder);
}

static void odd_segments_are_refused_or_skipped(void)
{
    static const uint8_t long_comment[4] = {0xFF, 0xFE, 0xFF, 0xFF};
    image_decoder *decoder = NULL;
    const image_box whole = {0, 0, 40, 33};
    image_view region;
    size_t size = 0;
    size_t made_size = 0;
    uint8_t *bytes = coded(0, 40, 33, 0, &size);
    uint8_t *comment = calloc(1, 65537);
    jpeg_plain plain = jpeg_plain_decode(bytes, size, JCS_RGB);
    uint8_t *made;

    T_OK(image_decoder_create(&decoder));
    memcpy(comment, long_comment, 4);
    made = splice(bytes, size, 2, 0, comment, 65537, &made_size);
    T_OK(decode_box(decoder, made, made_size, false, &whole, &region));
    T_TRUE(is_slice(&region, &whole, &plain));
    free(made);
    made = splice(bytes, size, 2, 0, long_comment, 4, &made_size); /* ends behind the file */
    T_STATUS(decode_box(decoder, made, made_size, false, &whole, &region), SLUICE_E_CORRUPT);
    free(made);
    /* Tables of 65535 bytes, of which the first says that it holds 16 * 255 codes. */
    memset(comment + 5, 255, 16);
    for (int i = 0; i < 2; i++) {
        comment[1] = i == 0 ? 0xC4 : 0xDB;
        made = splice(bytes, size, 2, 0, comment, 65537, &made_size);
        T_STATUS(decode_box(decoder, made, made_size, false, &whole, &region), SLUICE_E_CORRUPT);
        free(made);
    }
    free(plain.pixels);
    free(comment);
    free(bytes);
    image_decoder_destroy(decoder);
}

static void a_second_frame_header_is_refused(void)
{
    image_decoder *decoder = NULL;
    const image_box whole = {0, 0, 40, 33};
    image_view region;
    size_t size = 0;
    size_t made_size = 0;
    uint8_t *bytes = coded(0, 40, 33, 0, &size);
    size_t at = find_frame(bytes, size);
    uint8_t *made = splice(bytes, size, at, 0, bytes + at, segment_length(bytes, at), &made_size);

    T_OK(image_decoder_create(&decoder));
    T_STATUS(decode_box(decoder, made, made_size, false, &whole, &region), SLUICE_E_CORRUPT);
    free(made);
    free(bytes);
    image_decoder_destroy(decoder);
}

/* A copy without any segment of this kind. */
static uint8_t *without(const uint8_t *bytes, size_t size, uint8_t marker, size_t *size_out)
{
    uint8_t *made = malloc(size);
    size_t at;

    memcpy(made, bytes, size);
    *size_out = size;
    while ((at = find_segment(made, *size_out, marker)) != 0) {
        size_t length = segment_length(made, at);

        memmove(made + at, made + at + length, *size_out - at - length);
        *size_out -= length;
    }
    return made;
}

/*
 * A file without a table must not be decoded with that of the file before it. Without Huffman
 * tables it is one frame of Motion JPEG, whose tables are the standard's.
 */
static void tables_of_an_earlier_file_are_not_used(void)
{
    jpeg_recipe recipe = {.width = 40, .height = 33, .optimised = true, .seed = 3};
    image_decoder *decoder = NULL;
    const image_box whole = {0, 0, 40, 33};
    image_view region;
    size_t before_size = 0;
    uint8_t *before = jpeg_make(&recipe, &before_size);
    size_t size = 0;
    size_t less_size = 0;
    uint8_t *bytes;
    uint8_t *less;
    jpeg_plain plain;

    recipe.optimised = false;
    bytes = jpeg_make(&recipe, &size);
    plain = jpeg_plain_decode(bytes, size, JCS_RGB);
    T_OK(image_decoder_create(&decoder));
    T_OK(decode_box(decoder, before, before_size, false, &whole, &region));
    less = without(bytes, size, 0xDB, &less_size);
    T_STATUS(decode_box(decoder, less, less_size, false, &whole, &region), SLUICE_E_CORRUPT);
    free(less);
    T_OK(decode_box(decoder, before, before_size, false, &whole, &region));
    less = without(bytes, size, 0xC4, &less_size);
    T_OK(decode_box(decoder, less, less_size, false, &whole, &region));
    T_TRUE(is_slice(&region, &whole, &plain));
    free(less);
    free(plain.pixels);
    free(bytes);
    free(before);
    image_decoder_destroy(decoder);
}

/* ---- other -------------------------------------------------------------------------------- */

static void other_files_are_named(void)
{
    static const struct {
        const char *bytes;
        size_t size;
        sluice_status want;
        const char *says;
    } files[] = {
        {"", 0, SLUICE_E_CORRUPT, "empty"},
        {"GIF89a", 6, SLUICE_E_UNSUPPORTED, "GIF"},
        {"RIFF....WEBP", 12, SLUICE_E_UNSUPPORTED, "WebP"},
        {"II*\0....", 8, SLUICE_E_UNSUPPORTED, "TIFF"},
        {"MM\0*....", 8, SLUICE_E_UNSUPPORTED, "TIFF"},
        {"BM......", 8, SLUICE_E_UNSUPPORTED, "BMP"},
        {"hello", 5, SLUICE_E_CORRUPT, "no image"},
    };
    image_decoder *decoder = NULL;
    uint32_t width;
    uint32_t height;

    T_OK(image_decoder_create(&decoder));
    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
        T_STATUS(image_decoder_open(decoder, (const uint8_t *)files[i].bytes, files[i].size,
                                    MAX_PIXELS, false, &width, &height),
                 files[i].want);
        T_CONTAINS(sluice_last_error(), files[i].says);
    }
    image_decoder_destroy(decoder);
}

static void running_out_of_memory_is_said(void)
{
    const image_box whole = {0, 0, 40, 33};
    image_decoder *decoder = NULL;
    size_t size = 0;
    uint8_t *bytes = coded(5, 40, 33, 0, &size);
    int64_t passes = 0;

    for (;; passes++) {
        image_view region;
        sluice_status st;

        sli_alloc_fail_after(passes);
        st = image_decoder_create(&decoder);
        if (st == SLUICE_OK) {
            st = decode_box(decoder, bytes, size, false, &whole, &region);
            image_decoder_destroy(decoder);
        }
        sli_alloc_fail_after(-1);
        if (st == SLUICE_OK) {
            break;
        }
        T_EQ(st, SLUICE_E_NO_MEMORY);
    }
    T_TRUE(passes > 2);
    free(bytes);
}

const t_test jpeg_tests[] = {
    T_TEST(a_region_is_a_slice_of_the_whole),
    T_TEST(a_region_is_a_slice_with_restart_markers),
    T_TEST(a_region_is_a_slice_of_a_progressive_file),
    T_TEST(a_region_is_a_slice_of_an_arithmetic_coded_file),
    T_TEST(a_region_is_a_slice_of_a_file_in_several_scans),
    T_TEST(gray_is_what_libjpeg_makes_of_it),
    T_TEST(cmyk_becomes_rgb),
    T_TEST(a_file_cut_short_is_corrupt),
    T_TEST(a_file_without_its_last_scans_is_corrupt),
    T_TEST(above_the_cut_pixels_are_right),
    T_TEST(a_missing_last_marker_does_no_harm),
    T_TEST(too_little_to_be_an_image),
    T_TEST(nothing_of_an_earlier_image_shows),
    T_TEST(damaged_bytes_give_an_answer),
    T_TEST(damaged_files_do_not_make_memory_grow),
    T_TEST(images_that_claim_to_be_huge_are_refused),
    T_TEST(the_longest_lines_work),
    T_TEST(files_of_too_many_scans_are_refused),
    T_TEST(odd_segments_are_refused_or_skipped),
    T_TEST(a_second_frame_header_is_refused),
    T_TEST(tables_of_an_earlier_file_are_not_used),
    T_TEST(other_files_are_named),
    T_TEST(running_out_of_memory_is_said),
    T_END,
};
