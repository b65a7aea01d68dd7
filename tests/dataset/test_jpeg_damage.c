/* SPDX-License-Identifier: Apache-2.0 */
/* JPEG files that are cut short or damaged: an answer, and no pixels that are not the file's. */
#include <malloc.h>
#include <stdlib.h>

#include "jpeg_kit.h"
#include "testing.h"

static bool is_answer(sluice_status st)
{
    return st == SLUICE_OK || st == SLUICE_E_CORRUPT || st == SLUICE_E_UNSUPPORTED ||
           st == SLUICE_E_INVALID || st == SLUICE_E_NO_MEMORY || st == SLUICE_END_OF_DATA;
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

enum { SCRIPT = 7, COARSE_WIDTH = 73, COARSE_HEIGHT = 57 };

/* A progressive file of the first `count` scans of a script. */
static uint8_t *make_coarse(int count, uint8_t sampling, size_t *size_out)
{
    static const jpeg_scan_info scans[SCRIPT] = {
        {3, {0, 1, 2}, 0, 0, 0, 1}, {1, {0}, 1, 5, 0, 1},  {1, {1}, 1, 63, 0, 0},
        {1, {2}, 1, 63, 0, 0},      {1, {0}, 6, 63, 0, 1}, {3, {0, 1, 2}, 0, 0, 1, 0},
        {1, {0}, 1, 63, 1, 0}};
    const jpeg_recipe recipe = {.width = COARSE_WIDTH,
                                .height = COARSE_HEIGHT,
                                .sampling = {sampling},
                                .progressive = true,
                                .scans = scans,
                                .scan_count = count};

    return jpeg_make(&recipe, size_out);
}

/* libjpeg smooths blocks of such a file, and gives no warning: the pixels are those of the whole.
 */
static void a_file_that_ends_before_all_bits_of_its_coefficients_is_decoded(void)
{
    image_decoder *decoder = NULL;
    uint32_t state = 1;

    T_OK(image_decoder_create(&decoder));
    for (uint32_t i = 0; i < 20 * SCRIPT; i++) {
        const image_box box = some_box(i / SCRIPT, COARSE_WIDTH, COARSE_HEIGHT, &state);
        const bool gray = i % 3 == 0;
        image_view region;
        size_t size = 0;
        uint8_t *bytes =
            make_coarse(1 + (int)(i % SCRIPT), i / SCRIPT % 2 == 0 ? 0x11 : 0x22, &size);
        jpeg_plain plain = jpeg_plain_decode(bytes, size, gray ? JCS_GRAYSCALE : JCS_RGB);

        T_EQ(plain.warnings, 0);
        T_OK(decode_box(decoder, bytes, size, gray, &box, &region));
        T_TRUE(is_slice(&region, &box, &plain));
        free(plain.pixels);
        free(bytes);
    }
    image_decoder_destroy(decoder);
}

static void a_file_that_lacks_its_end_and_its_last_scans_is_corrupt(void)
{
    const image_box whole = {0, 0, COARSE_WIDTH, COARSE_HEIGHT};
    image_decoder *decoder = NULL;
    image_view region;

    T_OK(image_decoder_create(&decoder));
    for (int count = 1; count <= SCRIPT; count++) {
        size_t size = 0;
        uint8_t *bytes = make_coarse(count, 0x11, &size);
        const sluice_status st = decode_box(decoder, bytes, size - 2, false, &whole, &region);

        T_STATUS(st, count < SCRIPT ? SLUICE_E_CORRUPT : SLUICE_OK);
        if (count < SCRIPT) {
            T_CONTAINS(sluice_last_error(), "the file ends before its last scan");
        }
        free(bytes);
    }
    image_decoder_destroy(decoder);
}

static void a_file_without_a_scan_of_a_component_is_corrupt(void)
{
    static const jpeg_scan_info scans[] = {
        {1, {0}, 0, 63, 0, 0}, {1, {1}, 0, 63, 0, 0}, {1, {2}, 0, 63, 0, 0}};
    const jpeg_recipe recipe = {.width = 33, .height = 33, .scans = scans, .scan_count = 3};
    const image_box whole = {0, 0, 33, 33};
    image_decoder *decoder = NULL;
    image_view region;
    size_t size = 0;
    uint8_t *bytes = jpeg_make(&recipe, &size);
    size_t last = 0;

    T_OK(image_decoder_create(&decoder));
    T_OK(decode_box(decoder, bytes, size, false, &whole, &region));
    for (size_t i = 2; i + 1 < size; i++) {
        last = bytes[i] == 0xFF && bytes[i + 1] == 0xDA ? i : last;
    }
    bytes[last + 1] = 0xD9;
    T_STATUS(decode_box(decoder, bytes, last + 2, false, &whole, &region), SLUICE_E_CORRUPT);
    T_CONTAINS(sluice_last_error(), "before the first scan of a component");
    free(bytes);
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

const t_test jpeg_damage_tests[] = {
    T_TEST(a_file_cut_short_is_corrupt),
    T_TEST(a_file_that_ends_before_all_bits_of_its_coefficients_is_decoded),
    T_TEST(a_file_that_lacks_its_end_and_its_last_scans_is_corrupt),
    T_TEST(a_file_without_a_scan_of_a_component_is_corrupt),
    T_TEST(above_the_cut_pixels_are_right),
    T_TEST(a_missing_last_marker_does_no_harm),
    T_TEST(too_little_to_be_an_image),
    T_TEST(nothing_of_an_earlier_image_shows),
    T_TEST(damaged_bytes_give_an_answer),
    T_TEST(damaged_files_do_not_make_memory_grow),
    T_END,
};
