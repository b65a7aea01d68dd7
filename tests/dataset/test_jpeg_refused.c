/* SPDX-License-Identifier: Apache-2.0 */
/* JPEG files of which a copy would not surely be the same: each is refused, with the reason. */
#include <stdlib.h>
#include <string.h>

#include "alloc_int.h"
#include "jpeg_kit.h"
#include "jpeg_transcode.h"
#include "jpeg_walk.h"
#include "testing.h"

static const uint64_t MOST = 100000000;

static char why[200];

static sluice_pack_fate transcode(const uint8_t *bytes, size_t size, uint64_t max_pixels,
                                  jpeg_bytes *copy)
{
    sluice_pack_fate fate = SLUICE_PACK_RAW;

    T_OK(jpeg_transcode(bytes, size, 32, max_pixels, copy, &fate, why, sizeof(why)));
    T_EQ(copy->data != NULL, fate == SLUICE_PACK_TRANSCODED);
    return fate;
}

/* The file is refused for that reason, in words that have these. */
static void check_refused(const uint8_t *bytes, size_t size, sluice_pack_fate want,
                          const char *words)
{
    jpeg_bytes copy;

    const sluice_pack_fate fate = transcode(bytes, size, MOST, &copy);

    if (fate != want) {
        T_FAIL_("it is %s, want %s: %s", sluice_pack_fate_name(fate), sluice_pack_fate_name(want),
                why);
    }
    T_CONTAINS(why, words);
}

static void files_of_four_components_are_refused(void)
{
    static const J_COLOR_SPACE spaces[] = {JCS_CMYK, JCS_YCCK};

    for (size_t i = 0; i < 2; i++) {
        const jpeg_recipe recipe = {.width = 20, .height = 20, .space = spaces[i]};
        size_t size = 0;
        uint8_t *bytes = jpeg_make(&recipe, &size);

        check_refused(bytes, size, SLUICE_PACK_KEPT_COMPONENTS, "4 components");
        free(bytes);
    }
}

/* Where the frame's header begins; a file has one. */
static uint8_t *find_frame(uint8_t *bytes, size_t size)
{
    for (size_t i = 2; i + 4 < size; i += 2 + ((size_t)bytes[i + 2] << 8 | bytes[i + 3])) {
        if (bytes[i + 1] >= 0xC0 && bytes[i + 1] <= 0xC2) {
            return bytes + i;
        }
    }
    T_FAIL_("no frame");
    return NULL;
}

static void files_of_12_bits_and_unknown_codings_are_refused(void)
{
    const jpeg_recipe recipe = {.width = 20, .height = 20};
    size_t size = 0;
    uint8_t *bytes = jpeg_make(&recipe, &size);

    find_frame(bytes, size)[4] = 12;
    check_refused(bytes, size, SLUICE_PACK_KEPT_PRECISION, "precision 12");
    find_frame(bytes, size)[4] = 8;
    find_frame(bytes, size)[1] = 0xC3; /* lossless */
    check_refused(bytes, size, SLUICE_PACK_KEPT_HEADER, "SOF");
    free(bytes);
}

static void more_pixels_than_allowed_are_refused(void)
{
    const jpeg_recipe recipe = {.width = 20, .height = 20};
    size_t size = 0;
    uint8_t *bytes = jpeg_make(&recipe, &size);
    jpeg_bytes copy;

    T_EQ(transcode(bytes, size, 399, &copy), SLUICE_PACK_KEPT_LARGE);
    T_EQ(transcode(bytes, size, 400, &copy), SLUICE_PACK_TRANSCODED);
    sli_free(copy.data);
    free(bytes);
}

/* Wherever a file is cut, and with nothing at all in it. */
static void files_that_are_cut_are_refused(void)
{
    for (size_t i = 0; i < CODINGS; i++) {
        size_t size = 0;
        uint8_t *bytes = coded(i, 61, 43, 0, &size);
        jpeg_bytes copy;

        if (bytes == NULL) {
            continue;
        }
        for (size_t length = 0; length < size; length += length < size - 40 ? 23 : 1) {
            T_TRUE(transcode(bytes, length, MOST, &copy) != SLUICE_PACK_TRANSCODED);
            T_TRUE(why[0] != '\0');
        }
        free(bytes);
    }
}

static void a_missing_end_is_damage(void)
{
    const jpeg_recipe recipe = {.width = 20, .height = 20};
    size_t size = 0;
    uint8_t *bytes = jpeg_make(&recipe, &size);

    check_refused(bytes, size - 2, SLUICE_PACK_KEPT_CORRUPT, "no end");
    check_refused(bytes, size - 9, SLUICE_PACK_KEPT_CORRUPT, "premature end");
    free(bytes);
}

/* Stray bytes change no pixel, but another decoder may take them otherwise. */
static void stray_bytes_are_damage(void)
{
    static uint8_t bytes[20000];
    const jpeg_recipe recipe = {.width = 20, .height = 20};
    size_t size = 0;
    uint8_t *plain = jpeg_make(&recipe, &size);

    memcpy(bytes, plain, 20);
    memcpy(bytes + 20, "stray", 5);
    memcpy(bytes + 25, plain + 20, size - 20);
    check_refused(bytes, size + 5, SLUICE_PACK_KEPT_CORRUPT, "extraneous");
    free(plain);
}

/* The first scans of a progressive file: the decoder smooths what is missing. */
static void progressive_files_without_their_last_scans_are_refused(void)
{
    const jpeg_recipe recipe = {.width = 64, .height = 64, .progressive = true};
    size_t size = 0;
    uint8_t *bytes = jpeg_make(&recipe, &size);
    int scans = 0;

    for (size_t i = 2; i + 1 < size; i++) {
        if (bytes[i] == 0xFF && bytes[i + 1] == 0xDA && ++scans > 1) {
            uint8_t was[2] = {bytes[i], bytes[i + 1]};

            bytes[i + 1] = 0xD9;
            check_refused(bytes, i + 2, SLUICE_PACK_KEPT_INCOMPLETE,
                          "leave bits of coefficients out");
            check_refused(bytes, i, SLUICE_PACK_KEPT_INCOMPLETE, "before its last scan");
            memcpy(bytes + i, was, 2);
        }
    }
    T_TRUE(scans > 5);
    free(bytes);
}

/* A file of one scan for each component, that it may end before all came. */
static void sequential_files_that_lack_a_component_are_refused(void)
{
    static const jpeg_scan_info script[] = {
        {1, {0}, 0, 63, 0, 0}, {1, {1}, 0, 63, 0, 0}, {1, {2}, 0, 63, 0, 0}};
    const jpeg_recipe recipe = {.width = 64, .height = 64, .scans = script, .scan_count = 3};
    size_t size = 0;
    uint8_t *bytes = jpeg_make(&recipe, &size);
    jpeg_bytes copy;
    size_t third = 0;

    T_EQ(transcode(bytes, size, MOST, &copy), SLUICE_PACK_TRANSCODED);
    sli_free(copy.data);
    for (size_t i = 2; i + 1 < size; i++) {
        third = bytes[i] == 0xFF && bytes[i + 1] == 0xDA ? i : third;
    }
    bytes[third + 1] = 0xD9;
    check_refused(bytes, third + 2, SLUICE_PACK_KEPT_INCOMPLETE, "before its last scan");
    free(bytes);
}

/* A file with a segment of that marker and length before its frame. */
static uint8_t *with_segment(uint8_t marker, uint8_t length, size_t *size_out)
{
    const jpeg_recipe recipe = {.width = 40, .height = 30};
    size_t size = 0;
    uint8_t *bytes = jpeg_make(&recipe, &size);
    const uint8_t segment[] = {0xFF, marker, 0, length};
    const size_t at = (size_t)(find_frame(bytes, size) - bytes);

    bytes = realloc(bytes, size + sizeof(segment));
    T_TRUE(bytes != NULL);
    memmove(bytes + at + sizeof(segment), bytes + at, size - at);
    memcpy(bytes + at, segment, sizeof(segment));
    *size_out = size + sizeof(segment);
    return bytes;
}

/* libjpeg takes a length of 0 or 1 for an empty segment and forgets it. */
static void a_segment_that_a_copy_would_lose_is_refused(void)
{
    static const uint8_t markers[] = {0xE0, 0xE1, 0xEE, 0xEF, 0xFE};

    for (size_t i = 0; i < 3 * sizeof(markers); i++) {
        const uint8_t length = (uint8_t)(i % 3);
        size_t size = 0;
        uint8_t *bytes = with_segment(markers[i / 3], length, &size);
        jpeg_walk was;
        jpeg_walk is;
        jpeg_bytes copy;

        if (length < 2) {
            check_refused(bytes, size, SLUICE_PACK_KEPT_HEADER, "has the length 0 or 1");
        } else {
            T_EQ(transcode(bytes, size, MOST, &copy), SLUICE_PACK_TRANSCODED);
            T_TRUE(jpeg_walk_file(bytes, size, &was));
            T_TRUE(jpeg_walk_file(copy.data, copy.size, &is));
            T_EQ(is.markers_size, was.markers_size);
            T_EQ(is.markers_hash, was.markers_hash);
            sli_free(copy.data);
        }
        free(bytes);
    }
}

/* In the copy all markers come first, so one that says what colours mean would count there. */
static void a_marker_of_colours_behind_a_scan_is_refused(void)
{
    static const uint8_t adobe[] = {0xFF, 0xEE, 0,   14, 'A', 'd', 'o', 'b',
                                    'e',  0,    100, 0,  0,   0,   0,   0};
    static uint8_t bytes[50000];
    const jpeg_recipe recipe = {.width = 64, .height = 64, .progressive = true};
    size_t size = 0;
    uint8_t *plain = jpeg_make(&recipe, &size);
    size_t last = 0;

    for (size_t i = 2; i + 1 < size; i++) {
        last = plain[i] == 0xFF && plain[i + 1] == 0xDA ? i : last;
    }
    memcpy(bytes, plain, last);
    memcpy(bytes + last, adobe, sizeof(adobe));
    memcpy(bytes + last + sizeof(adobe), plain + last, size - last);
    check_refused(bytes, size + sizeof(adobe), SLUICE_PACK_KEPT_HEADER, "after a scan");
    bytes[last + 1] = 0xFE; /* a comment is welcome there */
    {
        jpeg_bytes copy;

        T_EQ(transcode(bytes, size + sizeof(adobe), MOST, &copy), SLUICE_PACK_TRANSCODED);
        sli_free(copy.data);
    }
    free(plain);
}

/* ---- coefficients ---------------------------------------------------------------------------- */

/* Arithmetic code of a picture whose first coefficients are all `value`. */
static uint8_t *arithmetic_of(uint32_t side, JCOEF value, size_t *size_out)
{
    const jpeg_recipe recipe = {.width = side, .height = side, .space = JCS_GRAYSCALE, .flat = 100};
    struct jpeg_decompress_struct in;
    struct jpeg_compress_struct out;
    struct jpeg_error_mgr errors;
    jvirt_barray_ptr *coefficients;
    unsigned char *bytes = NULL;
    unsigned long bytes_size = 0;
    size_t size = 0;
    uint8_t *plain = jpeg_make(&recipe, &size);

    in.err = jpeg_std_error(&errors); /* ends the program on errors, of which there are none */
    out.err = &errors;
    jpeg_create_decompress(&in);
    jpeg_create_compress(&out);
    jpeg_mem_src(&in, plain, size);
    jpeg_read_header(&in, TRUE);
    coefficients = jpeg_read_coefficients(&in);
    for (JDIMENSION y = 0; y < in.comp_info[0].height_in_blocks; y++) {
        JBLOCKARRAY row =
            in.mem->access_virt_barray((j_common_ptr)&in, coefficients[0], y, 1, TRUE);

        for (JDIMENSION x = 0; x < in.comp_info[0].width_in_blocks; x++) {
            row[0][x][0] = value;
        }
    }
    jpeg_mem_dest(&out, &bytes, &bytes_size);
    jpeg_copy_critical_parameters(&in, &out);
    out.arith_code = TRUE;
    jpeg_write_coefficients(&out, coefficients);
    jpeg_finish_compress(&out);
    jpeg_destroy_compress(&out);
    jpeg_destroy_decompress(&in);
    free(plain);
    *size_out = bytes_size;
    return bytes;
}

static void coefficients_beyond_baseline_are_refused(void)
{
    size_t size = 0;
    uint8_t *bytes;

    T_NEEDS(jpeg_has_arithmetic(), "this libjpeg has no arithmetic code");
    bytes = arithmetic_of(32, 30000, &size);
    check_refused(bytes, size, SLUICE_PACK_KEPT_RANGE, "out of range");
    free(bytes);
}

/* Nothing of a large flat image is a few bytes in arithmetic code, and a bit or two a block in
 * Huffman code. */
static void copies_that_would_be_far_larger_are_refused(void)
{
    size_t size = 0;
    uint8_t *bytes;

    T_NEEDS(jpeg_has_arithmetic(), "this libjpeg has no arithmetic code");
    bytes = arithmetic_of(4000, 0, &size);
    T_TRUE(size < 10000);
    check_refused(bytes, size, SLUICE_PACK_KEPT_GROWN, "twice");
    free(bytes);
}

/* ---- damage anywhere ------------------------------------------------------------------------- */

static void check_same_pixels(const uint8_t *bytes, size_t size, const jpeg_bytes *copy)
{
    jpeg_plain was = jpeg_plain_decode(bytes, size, JCS_RGB);
    jpeg_plain is = jpeg_plain_decode(copy->data, copy->size, JCS_RGB);

    if (was.pixels != NULL) {
        T_TRUE(is.pixels != NULL);
        T_EQ(is.width, was.width);
        T_EQ(is.height, was.height);
        T_EQ(memcmp(is.pixels, was.pixels, (size_t)was.width * was.height * 3), 0);
    }
    free(was.pixels);
    free(is.pixels);
}

/* Files with a few bytes changed are refused, or copied exactly. */
static void damaged_files_are_refused_or_copied_exactly(void)
{
    uint32_t state = 7;
    unsigned copied = 0;

    for (unsigned i = 0; i < 4000; i++) {
        size_t size = 0;
        uint8_t *bytes = coded(i % CODINGS, 37 + i % 11, 29 + i % 7, 0, &size);
        jpeg_bytes copy;

        if (bytes == NULL) {
            continue;
        }
        for (unsigned k = 0; k < 1 + i % 4; k++) {
            bytes[2 + test_below(&state, (uint32_t)(i % 2 == 0   ? size
                                                    : size < 700 ? size
                                                                 : 700) -
                                             2)] = (uint8_t)test_below(&state, 256);
        }
        if (transcode(bytes, size, 1000000, &copy) == SLUICE_PACK_TRANSCODED) {
            check_same_pixels(bytes, size, &copy);
            sli_free(copy.data);
            copied++;
        }
        free(bytes);
    }
    T_TRUE(copied > 50); /* or the test would show nothing */
}

/* ---- memory ---------------------------------------------------------------------------------- */

static void want_of_memory_is_no_fault_of_the_file(void)
{
    const jpeg_recipe recipe = {.width = 300, .height = 300, .quality = 95};
    size_t size = 0;
    uint8_t *bytes = jpeg_make(&recipe, &size);
    sluice_status st = SLUICE_E_NO_MEMORY;
    int failures = -1;

    T_TRUE(size > 20000); /* the copy's memory grows */
    while (st == SLUICE_E_NO_MEMORY) {
        sluice_pack_fate fate;
        jpeg_bytes copy = {NULL, 0};

        sli_alloc_fail_after(++failures);
        st = jpeg_transcode(bytes, size, 32, MOST, &copy, &fate, why, sizeof(why));
        sli_alloc_fail_after(-1);
        sli_free(copy.data);
    }
    T_OK(st);
    T_TRUE(failures >= 2);
    free(bytes);
}

const t_test jpeg_refused_tests[] = {
    T_TEST(files_of_four_components_are_refused),
    T_TEST(files_of_12_bits_and_unknown_codings_are_refused),
    T_TEST(more_pixels_than_allowed_are_refused),
    T_TEST(files_that_are_cut_are_refused),
    T_TEST(a_missing_end_is_damage),
    T_TEST(stray_bytes_are_damage),
    T_TEST(progressive_files_without_their_last_scans_are_refused),
    T_TEST(sequential_files_that_lack_a_component_are_refused),
    T_TEST(a_segment_that_a_copy_would_lose_is_refused),
    T_TEST(a_marker_of_colours_behind_a_scan_is_refused),
    T_TEST(coefficients_beyond_baseline_are_refused),
    T_TEST(copies_that_would_be_far_larger_are_refused),
    T_TEST(damaged_files_are_refused_or_copied_exactly),
    T_TEST(want_of_memory_is_no_fault_of_the_file),
    T_END,
};
