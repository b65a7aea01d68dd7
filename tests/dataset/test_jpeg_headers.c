/* SPDX-License-Identifier: Apache-2.0 */
/* Headers and segments that claim what is not so, and what else may be wrong before any pixel. */
#include <stdlib.h>

#include "jpeg_kit.h"
#include "testing.h"

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

/* ---- other ----------------------------------------------------------------------------------- */

static void other_files_are_named(void)
{
    static const struct {
        const char *bytes;
        size_t size;
        sluice_status want;
        const char *says;
    } files[] = {
        {"", 0, SLUICE_E_CORRUPT, "empty"},
        {"GIF89a", 6, SLUICE_E_CORRUPT, "the GIF file ends early"},
        {"II*\0....", 8, SLUICE_E_UNSUPPORTED, "a TIFF file, and may not be opened"},
        {"MM\0*....", 8, SLUICE_E_UNSUPPORTED, "a TIFF file, and may not be opened"},
        {"\xFF\x0A......", 8, SLUICE_E_UNSUPPORTED, "JPEG XL"},
        {"\xFF\x4F\xFF\x51", 4, SLUICE_E_UNSUPPORTED, "JPEG 2000 file, and may not be"},
        {"BM......", 8, SLUICE_E_CORRUPT, "the BMP file of 8 bytes has a header"},
        {"\0\0\0\x18"
         "ftypheic",
         12, SLUICE_E_UNSUPPORTED, "HEIC file; convert it to JPEG"},
        {"\0\0\0\x18"
         "ftypmif1",
         12, SLUICE_E_UNSUPPORTED, "HEIF"},
        {"\0\0\0\x18"
         "ftypavif",
         12, SLUICE_E_UNSUPPORTED, "an AVIF file; convert it to JPEG"},
        {"RIFF....WAVE", 12, SLUICE_E_CORRUPT, "it must be JPEG, PNG"},
        {"hello", 5, SLUICE_E_CORRUPT, "not an image of a supported format"},
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
    size_t size = 0;
    uint8_t *bytes = coded(5, 40, 33, 0, &size);

    T_TRUE(decode_without_memory(bytes, size, &whole) > 2);
    free(bytes);
}

const t_test jpeg_headers_tests[] = {
    T_TEST(images_that_claim_to_be_huge_are_refused),
    T_TEST(files_of_too_many_scans_are_refused),
    T_TEST(odd_segments_are_refused_or_skipped),
    T_TEST(a_second_frame_header_is_refused),
    T_TEST(tables_of_an_earlier_file_are_not_used),
    T_TEST(other_files_are_named),
    T_TEST(running_out_of_memory_is_said),
    T_END,
};
