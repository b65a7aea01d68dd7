/* SPDX-License-Identifier: Apache-2.0 */
/* Rewriting JPEG files: same pixels, restart markers where they belong, or not at all. */
#include <stdlib.h>
#include <string.h>

#include "alloc_int.h"
#include "jpeg_kit.h"
#include "jpeg_transcode.h"
#include "jpeg_walk.h"
#include "testing.h"
#include "thread_interrupt_int.h"

static const uint64_t MOST = 100000000;

/* Rewrites a file; what is no status of the file's is a failure of the test. */
static sluice_pack_fate transcode(const uint8_t *bytes, size_t size, uint32_t interval,
                                  jpeg_bytes *copy)
{
    sluice_pack_fate fate = SLUICE_PACK_RAW;
    char why[200] = "?";

    T_OK(jpeg_transcode(bytes, size, interval, MOST, copy, &fate, why, sizeof(why)));
    T_EQ(copy->data != NULL, fate == SLUICE_PACK_TRANSCODED);
    T_EQ(why[0] == '\0', fate == SLUICE_PACK_TRANSCODED);
    return fate;
}

/* Do both decode to the same pixels, without a warning? */
static bool same_pixels(const uint8_t *a, size_t a_size, const jpeg_bytes *b)
{
    jpeg_plain was = jpeg_plain_decode(a, a_size, JCS_RGB);
    jpeg_plain is = jpeg_plain_decode(b->data, b->size, JCS_RGB);
    const bool same = was.pixels != NULL && is.pixels != NULL && was.width == is.width &&
                      was.height == is.height && was.warnings == is.warnings &&
                      memcmp(was.pixels, is.pixels, (size_t)was.width * was.height * 3) == 0;

    free(was.pixels);
    free(is.pixels);
    return same;
}

/* ---- what is rewritten ----------------------------------------------------------------------- */

static const jpeg_recipe kinds[] = {
    {.space = JCS_GRAYSCALE},
    {.space = JCS_GRAYSCALE, .sampling = {0x22}},
    {.space = JCS_GRAYSCALE, .progressive = true},
    {.sampling = {0x11}},
    {.sampling = {0x21}},
    {.sampling = {0x22}},
    {.sampling = {0x12}},
    {.sampling = {0x41}},
    {.sampling = {0x22, 0x12, 0x12}},
    {.sampling = {0x11, 0x22, 0x22}},
    {.sampling = {0x22, 0x21, 0x12}},
    {.space = JCS_RGB},
    {.sampling = {0x22}, .progressive = true},
    {.sampling = {0x11}, .progressive = true, .restart = 3},
    {.sampling = {0x22}, .arithmetic = true},
    {.sampling = {0x21}, .arithmetic = true, .progressive = true},
    {.sampling = {0x22}, .restart = 5},
    {.sampling = {0x11}, .restart = 1},
    {.sampling = {0x22}, .optimised = true, .quality = 100},
    {.sampling = {0x11}, .quality = 3},
};

/* Widths of 47 and 23 MCUs among them, and of one pixel. */
static const struct {
    uint32_t width;
    uint32_t height;
} sizes[] = {{1, 1},    {1, 50},   {50, 1},   {3, 3},    {16, 16},
             {100, 75}, {375, 21}, {368, 33}, {4001, 40}};

enum { KINDS = sizeof(kinds) / sizeof(kinds[0]), SIZES = sizeof(sizes) / sizeof(sizes[0]) };

static uint8_t *make(size_t kind, uint32_t width, uint32_t height, size_t *size)
{
    jpeg_recipe recipe = kinds[kind];

    recipe.width = width;
    recipe.height = height;
    recipe.seed = (uint32_t)kind;
    return jpeg_make(&recipe, size);
}

/* Baseline, one scan, Huffman code of its own, the interval that is wanted, markers in their order.
 */
static void check_form(const jpeg_bytes *copy, uint32_t interval)
{
    jpeg_walk walk;

    T_TRUE(jpeg_walk_file(copy->data, copy->size, &walk));
    T_TRUE(walk.sof == 0xC0 || walk.sof == 0xC1);
    T_EQ(walk.scans, 1);
    T_TRUE(walk.restarts_in_order);
    T_EQ(walk.interval,
         jpeg_restart_interval(walk.width, walk.height,
                               8 * (walk.components == 1 ? 1 : walk.across), interval));
    if (walk.components == 1) {
        T_EQ(walk.across, 1);
        T_EQ(walk.down, 1);
    }
    if (walk.interval > 0) {
        const uint32_t columns = (walk.width + 8 * walk.across - 1) / (8 * walk.across);
        const uint32_t rows = (walk.height + 8 * walk.down - 1) / (8 * walk.down);

        T_EQ(columns % walk.interval, 0);
        T_EQ(walk.restarts, columns / walk.interval * rows - 1);
    } else {
        T_EQ(walk.restarts, 0);
    }
}

static void copies_of_all_kinds_and_sizes_have_the_same_pixels(void)
{
    static const uint32_t intervals[] = {32, 0, 8, 17};
    unsigned made = 0;

    for (size_t i = 0; i < (size_t)KINDS * SIZES; i++) {
        const uint32_t interval = intervals[(i / SIZES + i) % 4];
        size_t size = 0;
        uint8_t *bytes = make(i / SIZES, sizes[i % SIZES].width, sizes[i % SIZES].height, &size);
        jpeg_bytes copy;

        if (bytes == NULL) {
            continue; /* this libjpeg cannot make it */
        }
        T_EQ(transcode(bytes, size, interval, &copy), SLUICE_PACK_TRANSCODED);
        T_TRUE(same_pixels(bytes, size, &copy));
        check_form(&copy, interval);
        made++;
        free(bytes);
        sli_free(copy.data);
    }
    T_TRUE(made >= 16 * SIZES);
}

static void a_copy_of_a_copy_is_the_copy(void)
{
    for (size_t kind = 0; kind < KINDS; kind++) {
        size_t size = 0;
        uint8_t *bytes = make(kind, 203, 77, &size);
        jpeg_bytes copy;
        jpeg_bytes again;

        if (bytes == NULL) {
            continue;
        }
        T_EQ(transcode(bytes, size, 32, &copy), SLUICE_PACK_TRANSCODED);
        T_EQ(transcode(copy.data, copy.size, 32, &again), SLUICE_PACK_TRANSCODED);
        T_EQ(again.size, copy.size);
        T_EQ(memcmp(again.data, copy.data, copy.size), 0);
        free(bytes);
        sli_free(copy.data);
        sli_free(again.data);
    }
}

static void the_interval_is_the_divisor_nearest_in_ratio(void)
{
    static const struct {
        uint32_t width;
        uint32_t mcu;
        uint32_t pixels;
        uint32_t want;
    } cases[] = {
        {500, 8, 32, 3},      /* 63 = 3 * 3 * 7: 24 pixels are nearer than 56 */
        {512, 8, 32, 4},      /* */
        {375, 8, 32, 1},      /* 47 is prime: 8 pixels are nearer than 376 */
        {500, 16, 32, 2},     /* 32 */
        {499, 16, 32, 2},     /* the last MCU is cut off */
        {368, 16, 32, 1},     /* 23 is prime */
        {1, 8, 32, 1},        /* */
        {40, 8, 32, 5},       /* a row: 40 pixels are nearer than 8 */
        {48, 8, 32, 3},       /* 24 pixels are nearer than 48 */
        {4001, 16, 32, 1},    /* 251 is prime */
        {4001, 8, 32, 3},     /* 501 = 3 * 167 */
        {512, 8, 100000, 64}, /* never more than a row */
        {512, 8, 1, 1},       {512, 8, 0, 0},    {128, 16, 45, 2}, /* 32 is nearer to 45 than 64, */
        {128, 16, 46, 4},                                          /* and farther from 46 */
        {16, 8, 11, 1},                          /* 8 / 11 is nearer than 11 / 16 */
        {32, 16, 32, 2},      {65500, 8, 32, 4}, /* 8188 = 4 * 23 * 89 */
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        T_EQ(jpeg_restart_interval(cases[i].width, 1000000, cases[i].mcu, cases[i].pixels),
             cases[i].want);
    }
}

static void small_images_have_no_interval(void)
{
    T_EQ(jpeg_restart_interval(64, 64, 8, 32), 0);
    T_EQ(jpeg_restart_interval(65, 64, 8, 32), 3);
    T_EQ(jpeg_restart_interval(64, 65, 8, 32), 4);
    T_EQ(jpeg_restart_interval(1, 1, 8, 32), 0);
    T_EQ(jpeg_restart_interval(500, 500, 8, UINT32_MAX), 0);
}

/* ---- markers --------------------------------------------------------------------------------- */

/* A file with segments put in behind its first two bytes. */
static uint8_t *with_segments(const uint8_t *bytes, size_t size, const uint8_t *segments,
                              size_t segments_size, size_t *size_out)
{
    uint8_t *all = malloc(size + segments_size);

    T_TRUE(all != NULL);
    memcpy(all, bytes, 2);
    memcpy(all + 2, segments, segments_size);
    memcpy(all + 2 + segments_size, bytes + 2, size - 2);
    *size_out = size + segments_size;
    return all;
}

/* A segment of a marker: its contents begin with text, zeros and all, and are numbers then. */
static size_t put_segment(uint8_t *to, uint8_t marker, const char *text, size_t text_size,
                          size_t size)
{
    to[0] = 0xFF;
    to[1] = marker;
    to[2] = (uint8_t)((size + 2) >> 8);
    to[3] = (uint8_t)(size + 2);
    for (size_t i = 0; i < size; i++) {
        to[4 + i] = i < text_size ? (uint8_t)text[i] : (uint8_t)(i * 7 + marker);
    }
    return size + 4;
}

/* Exif of the largest size, a profile in two parts, comments, an unknown one, an empty one. */
static void markers_are_kept_byte_for_byte_in_their_order(void)
{
    static uint8_t segments[300000];
    size_t used = 0;
    jpeg_recipe recipe = {.width = 40, .height = 30, .sampling = {0x22}};

    used += put_segment(segments + used, 0xE1, "Exif\0\0", 6, 65533);
    used += put_segment(segments + used, 0xFE, "first", 5, 5);
    used += put_segment(segments + used, 0xE2, "ICC_PROFILE\0\1\2", 14, 60000);
    used += put_segment(segments + used, 0xE2, "ICC_PROFILE\0\2\2", 14, 1000);
    used += put_segment(segments + used, 0xEF, "", 0, 0);
    used += put_segment(segments + used, 0xE0, "JFXX\0\x10", 6, 300);
    used += put_segment(segments + used, 0xED, "Photoshop 3.0", 14, 99);
    used += put_segment(segments + used, 0xFE, "last", 4, 4000);
    for (int progressive = 0; progressive < 2; progressive++) {
        size_t size = 0;
        size_t plain_size = 0;
        uint8_t *plain;
        uint8_t *bytes;
        jpeg_bytes copy;
        jpeg_walk was;
        jpeg_walk is;

        recipe.progressive = progressive == 1;
        plain = jpeg_make(&recipe, &plain_size);
        bytes = with_segments(plain, plain_size, segments, used, &size);
        T_EQ(transcode(bytes, size, 32, &copy), SLUICE_PACK_TRANSCODED);
        T_TRUE(same_pixels(bytes, size, &copy));
        T_TRUE(jpeg_walk_file(bytes, size, &was));
        T_TRUE(jpeg_walk_file(copy.data, copy.size, &is));
        T_EQ(was.markers_size, used + 18); /* with that of JFIF */
        T_EQ(is.markers_size, was.markers_size);
        T_EQ(is.markers_hash, was.markers_hash);
        free(plain);
        free(bytes);
        sli_free(copy.data);
    }
}

/* Without JFIF's marker or Adobe's none is put in: the copy's colours are told by what is there. */
static void a_file_without_markers_gets_none(void)
{
    static const J_COLOR_SPACE spaces[] = {JCS_YCbCr, JCS_RGB, JCS_GRAYSCALE};

    for (size_t i = 0; i < 3; i++) {
        const jpeg_recipe recipe = {
            .width = 50, .height = 20, .space = spaces[i], .no_adobe = true};
        size_t size = 0;
        uint8_t *bytes = jpeg_make(&recipe, &size);
        jpeg_bytes copy;
        jpeg_walk is;

        if (spaces[i] != JCS_RGB) { /* JFIF's, 18 bytes */
            memmove(bytes + 2, bytes + 20, size - 20);
            size -= 18;
        }
        T_EQ(transcode(bytes, size, 32, &copy), SLUICE_PACK_TRANSCODED);
        T_TRUE(same_pixels(bytes, size, &copy));
        T_TRUE(jpeg_walk_file(copy.data, copy.size, &is));
        T_EQ(is.markers_size, 0);
        free(bytes);
        sli_free(copy.data);
    }
}

/* ---- stops ----------------------------------------------------------------------------------- */

static bool is_last(void *arg)
{
    return --*(int *)arg < 0;
}

/* Interrupted at each poll in turn, while the file is read and while the copy is written. */
static void an_interrupt_ends_the_copy_anywhere(void)
{
    for (int progressive = 0; progressive < 2; progressive++) {
        size_t size;
        uint8_t *bytes = jpeg_make(
            &(jpeg_recipe){.width = 64, .height = 48, .progressive = progressive > 0}, &size);
        sluice_status st = SLUICE_CLOSED;
        int polls = 0;

        for (; st == SLUICE_CLOSED; polls++) {
            const sli_interrupt interrupt = {is_last, &(int){polls}};
            sluice_pack_fate fate = SLUICE_PACK_RAW;
            jpeg_bytes copy = {NULL, 0};
            char why[200];

            sli_thread_interrupt(&interrupt);
            st = jpeg_transcode(bytes, size, 32, MOST, &copy, &fate, why, sizeof(why));
            sli_thread_interrupt(NULL);
            T_EQ(copy.data != NULL, st == SLUICE_OK);
            T_TRUE(st == SLUICE_CLOSED || fate == SLUICE_PACK_TRANSCODED);
            sli_free(copy.data);
        }
        T_OK(st);
        T_TRUE(polls > 6 + 6); /* 6 lines of blocks are read, and are written in two passes */
        free(bytes);
    }
}

static void an_interrupt_ends_encoding(void)
{
    static uint8_t pixels[48 * 64 * 3];
    const image_view image = {pixels, 64 * 3, 64, 48, 3, IMAGE_U8};
    sluice_status st = SLUICE_CLOSED;
    int polls = 0;

    for (; st == SLUICE_CLOSED; polls++) {
        const sli_interrupt interrupt = {is_last, &(int){polls}};
        jpeg_bytes file = {NULL, 0};

        sli_thread_interrupt(&interrupt);
        st = jpeg_encode(&image, &(jpeg_encoding){.quality = 90, .orientation = 1}, &file);
        sli_thread_interrupt(NULL);
        T_EQ(file.data != NULL, st == SLUICE_OK);
        sli_free(file.data);
    }
    T_OK(st);
    T_TRUE(polls > 48 + 6); /* for each line, and for lines of blocks in the second pass */
}

const t_test jpeg_transcode_tests[] = {
    T_TEST(copies_of_all_kinds_and_sizes_have_the_same_pixels),
    T_TEST(a_copy_of_a_copy_is_the_copy),
    T_TEST(the_interval_is_the_divisor_nearest_in_ratio),
    T_TEST(small_images_have_no_interval),
    T_TEST(markers_are_kept_byte_for_byte_in_their_order),
    T_TEST(a_file_without_markers_gets_none),
    T_TEST(an_interrupt_ends_the_copy_anywhere),
    T_TEST(an_interrupt_ends_encoding),
    T_END,
};
