/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "image_kit.h"
#include "testing.h"

enum { MOST = 400 };

/* A BMP file that is being written. */
typedef struct bmp_file {
    uint8_t bytes[MOST];
    size_t size;
} bmp_file;

static void put_32(bmp_file *file, uint32_t value)
{
    for (int i = 0; i < 4; i++) {
        file->bytes[file->size++] = (uint8_t)(value >> 8 * i);
    }
}

static void put(bmp_file *file, const char *bytes, size_t size)
{
    memcpy(file->bytes + file->size, bytes, size);
    file->size += size;
}

/* Starts a file: its header of `header` bytes; the pixels are `gap` bytes behind the header. */
static void start(bmp_file *file, uint32_t header, uint32_t width, int32_t height, uint32_t bits,
                  uint32_t compression, uint32_t colors, uint32_t gap)
{
    *file = (bmp_file){.size = 0};
    put(file, "BM", 2);
    put_32(file, 0);
    put_32(file, 0);
    put_32(file, 14 + header + gap);
    put_32(file, header);
    if (header == 12) {
        put_32(file, width | (uint32_t)height << 16);
        put_32(file, 1 | bits << 16);
        return;
    }
    put_32(file, width);
    put_32(file, (uint32_t)height);
    put_32(file, 1 | bits << 16);
    put_32(file, compression);
    for (int i = 0; i < 3; i++) {
        put_32(file, 0);
    }
    put_32(file, colors);
    put_32(file, 0);
}

static sluice_status decode(const bmp_file *file, bool indices, const image_box *box,
                            uint8_t *pixels)
{
    image_decoder *decoder = NULL;
    image_view region;
    uint8_t *copy = malloc(file->size); /* for what looks beyond the end */
    uint32_t width;
    uint32_t height;
    sluice_status st;

    memcpy(copy, file->bytes, file->size);
    T_OK(image_decoder_create(&decoder));
    st = image_decoder_open(decoder, copy, file->size, 10000, indices, &width, &height);
    if (st == SLUICE_OK && indices) {
        st = image_decoder_request_indices(decoder);
    }
    if (st == SLUICE_OK) {
        st = image_decoder_region(decoder, box, &region);
    }
    for (uint32_t y = 0; st == SLUICE_OK && y < box->height; y++) {
        const size_t line = (size_t)box->width * region.channels;

        memcpy(pixels + y * line, region.pixels + y * region.stride, line);
    }
    image_decoder_destroy(decoder);
    free(copy);
    return st;
}

static void check(const bmp_file *file, bool indices, uint32_t width, uint32_t height,
                  const char *expected)
{
    const image_box all = {0, 0, width, height};
    const image_box last = {width - 1, height - 1, 1, 1};
    const size_t pixel = indices ? 1 : 3;
    uint8_t pixels[MOST];

    T_OK(decode(file, indices, &all, pixels));
    T_EQ(memcmp(pixels, expected, pixel * width * height), 0);
    T_OK(decode(file, indices, &last, pixels));
    T_EQ(memcmp(pixels, expected + pixel * (width * height - 1), pixel), 0);
}

static void palettes_of_all_widths_are_decoded(void)
{
    bmp_file file;

    start(&file, 40, 3, 2, 1, 0, 0, 8);
    put(&file, "\1\2\3\0\4\5\6\0\xA0\0\0\0\x40\0\0\0", 16);
    check(&file, false, 3, 2, "\3\2\1\6\5\4\3\2\1\6\5\4\3\2\1\6\5\4");
    check(&file, true, 3, 2, "\0\1\0\1\0\1");
    start(&file, 40, 3, -2, 4, 0, 3, 12);
    put(&file, "\1\2\3\0\4\5\6\0\7\10\11\0\x21\0\0\0\x10\x20\0\0", 20);
    check(&file, true, 3, 2, "\2\1\0\1\0\2");
    start(&file, 12, 2, 2, 8, 0, 0, 6); /* fewer entries than indices */
    put(&file, "\1\2\3\4\5\6\1\0\0\0\0\0\0\0", 14);
    check(&file, false, 2, 2, "\3\2\1\3\2\1\6\5\4\3\2\1");
}

static void colours_of_all_widths_are_decoded(void)
{
    bmp_file file;

    start(&file, 12, 1, 2, 24, 0, 0, 0);
    put(&file, "\1\2\3\0\4\5\6\0", 8);
    check(&file, false, 1, 2, "\6\5\4\3\2\1");
    start(&file, 40, 2, 1, 32, 0, 0, 0); /* the fourth byte has no meaning */
    put(&file, "\1\2\3\0\4\5\6\x80", 8);
    check(&file, false, 2, 1, "\3\2\1\6\5\4");
    start(&file, 40, 2, 1, 16, 0, 0, 0);
    put(&file, "\x1F\x7C\x21\x04", 4);
    check(&file, false, 2, 1, "\xFF\0\xFF\x08\x08\x08");
    start(&file, 40, 2, 1, 16, 3, 0, 12);
    put(&file, "\0\xF8\0\0\xE0\7\0\0\x1F\0\0\0\xE0\x07\x01\0", 16);
    check(&file, false, 2, 1, "\0\xFF\0\0\0\x08");
    start(&file, 56, 2, 1, 32, 3, 0, 0); /* red is the first byte, alpha the last */
    put(&file, "\xFF\0\0\0\0\xFF\0\0\0\0\xFF\0\0\0\0\xFF\1\2\3\xFF\xFF\xFF\xFF\x80", 24);
    check(&file, false, 2, 1, "\1\2\3\x80\x80\x80");
}

static void run_lengths_are_decoded(void)
{
    bmp_file file;

    start(&file, 40, 4, 3, 8, 1, 3, 12);
    put(&file, "\1\2\3\0\4\5\6\0\7\10\11\0", 12);
    put(&file, "\4\1\0\0\0\3\1\2\1\0\1\2\0\0\0\2\2\0\2\1\0\1", 22);
    check(&file, true, 4, 3, "\0\0\1\1\1\2\1\2\1\1\1\1");
    start(&file, 40, 5, 1, 4, 2, 3, 12);
    put(&file, "\1\2\3\0\4\5\6\0\7\10\11\0\2\x21\0\3\x12\x10\0\1", 20);
    check(&file, true, 5, 1, "\2\1\1\2\1");
}

static void damaged_bmp_files_are_errors(void)
{
    static const struct {
        uint32_t bits;
        uint32_t compression;
        uint32_t colors;
        const char *bytes;
        size_t size;
        sluice_status st;
        const char *words;
    } bad[] = {
        {8, 0, 1, "\0\0\0\0\0\1\0\0", 8, SLUICE_E_CORRUPT,
         "a pixel of index 1, and a palette of 1"},
        {8, 0, 1, "\0\0\0\0\0", 5, SLUICE_E_CORRUPT, "ends early"},
        {8, 1, 1, "\0\0\0\0\2\0", 6, SLUICE_E_CORRUPT, "ends early"},
        {8, 1, 1, "\0\0\0\0\4\0\0\1", 8, SLUICE_E_CORRUPT, "a run of 4 pixels at 0,0"},
        {8, 1, 1, "\0\0\0\0\0\2\4\0\0\1", 10, SLUICE_E_CORRUPT, "a step out of"},
        {8, 1, 1, "\0\0\0\0\0\4", 6, SLUICE_E_CORRUPT, "ends early"},
        {4, 1, 1, "\0\0\0\0\2\0", 6, SLUICE_E_CORRUPT, "compression 1 with 4 bits"},
        {2, 0, 1, "\0\0\0\0\0\0\0\0", 8, SLUICE_E_UNSUPPORTED, "2 bits per pixel; they must be 1"},
        {24, 4, 0, "\0\0\0\0", 4, SLUICE_E_UNSUPPORTED, "compression 4; it must be 0 to 3"},
        {16, 3, 0, "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 16, SLUICE_E_CORRUPT, "the mask 0x00000000"},
    };
    const image_box all = {0, 0, 3, 1};
    uint8_t pixels[MOST];
    bmp_file file;

    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        start(&file, 40, 3, 1, bad[i].bits, bad[i].compression, bad[i].colors, 4 * bad[i].colors);
        put(&file, bad[i].bytes, bad[i].size);
        T_STATUS(decode(&file, false, &all, pixels), bad[i].st);
        T_CONTAINS(sluice_last_error(), bad[i].words);
    }
    start(&file, 40, 101, 100, 24, 0, 0, 0);
    T_STATUS(decode(&file, false, &all, pixels), SLUICE_E_INVALID);
    T_CONTAINS(sluice_last_error(), "max_pixels");
    start(&file, 40, 0, 1, 24, 0, 0, 0);
    T_STATUS(decode(&file, false, &all, pixels), SLUICE_E_CORRUPT);
    T_CONTAINS(sluice_last_error(), "0x1; both must be positive");
}

static void bmp_files_cut_anywhere_are_errors(void)
{
    const image_box all = {0, 0, 3, 2};
    uint8_t pixels[MOST];
    bmp_file file;

    start(&file, 40, 3, 2, 8, 0, 2, 8);
    put(&file, "\1\2\3\0\4\5\6\0\1\0\1\0\0\1\0", 15);
    T_OK(decode(&file, false, &all, pixels));
    while (--file.size > 2) {
        T_STATUS(decode(&file, false, &all, pixels), SLUICE_E_CORRUPT);
    }
}

static void check_damage(bmp_file *file, uint32_t place, uint32_t value, const char *words)
{
    const bmp_file whole = *file;
    const image_box all = {0, 0, 1, 1};
    uint8_t pixels[MOST];

    T_OK(decode(file, false, &all, pixels));
    file->size = place;
    put_32(file, value);
    file->size = whole.size;
    T_STATUS(decode(file, false, &all, pixels), SLUICE_E_CORRUPT);
    T_CONTAINS(sluice_last_error(), words);
    *file = whole;
}

static void damaged_bmp_headers_are_errors(void)
{
    bmp_file file;

    start(&file, 40, 1, 1, 24, 0, 0, 0);
    put(&file, "\1\2\3\0", 4);
    check_damage(&file, 10, 0, "pixels at byte 0, within its header");
    check_damage(&file, 10, 53, "pixels at byte 53, within its header");
    check_damage(&file, 10, 59, "ends early");
    check_damage(&file, 10, UINT32_MAX, "ends early");
    check_damage(&file, 14, 45, "a header of 45 bytes");
    check_damage(&file, 14, UINT32_MAX, "a header of 4294967295 bytes");
    check_damage(&file, 14, 13, "a header of 13 bytes");
    check_damage(&file, 18, UINT32_MAX, "both must be positive");
    check_damage(&file, 22, 0, "both must be positive");
    start(&file, 40, 1, 1, 16, 3, 0, 12);
    put(&file, "\0\xF8\0\0\xE0\7\0\0\x1F\0\0\0\xE0\7\0\0", 16);
    check_damage(&file, 10, 54, "pixels at byte 54, within its header; it must be at least 66");
    check_damage(&file, 54, 0xFC00, "has the mask 0x000007E0 for channel 1");
    check_damage(&file, 54, 0xA000, "has the mask 0x0000A000 for channel 0");
    check_damage(&file, 54, 0x10000, "has the mask 0x00010000 for channel 0");
    check_damage(&file, 62, 0, "has the mask 0x00000000 for channel 2");
    start(&file, 40, 1, 1, 8, 0, 2, 8);
    put(&file, "\1\2\3\0\4\5\6\0\1\0\0\0", 12);
    check_damage(&file, 10, 50, "pixels at byte 50, within its header");
}

static void steps_and_top_down_runs_are_decoded(void)
{
    bmp_file file;

    start(&file, 40, 3, -2, 8, 1, 2, 8); /* as Pillow shows it: the first run is at the top */
    put(&file, "\1\2\3\0\4\5\6\0\0\2\1\0\1\1\0\0\3\1\0\1", 20);
    check(&file, true, 3, 2, "\0\1\0\1\1\1");
    start(&file, 40, 5, 2, 4, 2, 3, 12); /* a pixel, a step, 3 pixels */
    put(&file, "\1\2\3\0\4\5\6\0\7\10\11\0\1\x20\0\2\1\1\3\x12\0\1", 22);
    check(&file, true, 5, 2, "\0\0\1\2\1\2\0\0\0\0");
}

const t_test bmp_tests[] = {
    T_TEST(damaged_bmp_headers_are_errors),
    T_TEST(steps_and_top_down_runs_are_decoded),
    T_TEST(palettes_of_all_widths_are_decoded),
    T_TEST(colours_of_all_widths_are_decoded),
    T_TEST(run_lengths_are_decoded),
    T_TEST(damaged_bmp_files_are_errors),
    T_TEST(bmp_files_cut_anywhere_are_errors),
    T_END,
};
