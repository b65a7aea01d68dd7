/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <unistd.h>

#include "alloc_int.h"
#include "image_kit.h"
#include "tar_kit.h"
#include "testing.h"

enum { WIDTH = 13, HEIGHT = 11, BIG = WIDTH * HEIGHT * 3 + 600 };

/* A file with any header; its pixels follow from their place. Returns its size. */
static size_t make(uint8_t *bytes, const char *header, uint32_t channels)
{
    const size_t start = strlen(header);

    memcpy(bytes, header, start);
    for (size_t i = 0; i < (size_t)WIDTH * HEIGHT * channels; i++) {
        bytes[start + i] = (uint8_t)(i * 31 + 7);
    }
    return start + (size_t)WIDTH * HEIGHT * channels;
}

/* The value that the pixel shall have. */
static uint8_t value(uint32_t x, uint32_t y, uint32_t channel, uint32_t in, bool gray)
{
    const size_t i = ((size_t)y * WIDTH + x) * in;
    const uint8_t v[3] = {(uint8_t)(i * 31 + 7), (uint8_t)((i + 1) * 31 + 7),
                          (uint8_t)((i + 2) * 31 + 7)};

    return in == 1 ? v[0] : gray ? image_luma(v[0], v[1], v[2]) : v[channel];
}

static void check_region(const image_view *region, const image_box *box, uint32_t in, bool gray)
{
    const uint32_t channels = gray ? 1 : 3;

    T_EQ(region->width, box->width);
    T_EQ(region->height, box->height);
    T_EQ(region->channels, channels);
    for (uint32_t y = 0; y < box->height; y++) {
        for (uint32_t x = 0; x < box->width; x++) {
            for (uint32_t c = 0; c < channels; c++) {
                T_EQ(region->pixels[y * region->stride + x * channels + c],
                     value(box->x + x, box->y + y, c, in, gray));
            }
        }
    }
}

/* The same box by the first bytes and the file, which begins with some that are not the image's. */
static sluice_status box_of_file(image_decoder *decoder, const uint8_t *bytes, size_t size,
                                 size_t cut, bool gray, const image_box *box, image_view *region,
                                 uint64_t *bytes_read)
{
    static uint8_t all[100 + BIG];
    const int fd = (memcpy(all + 100, bytes, size), bytes_file(all, 100 + size - cut));
    const image_rest rest = {fd, 100, size, bytes_read};
    uint32_t width = 0;
    uint32_t height = 0;
    sluice_status st =
        image_decoder_open_head(decoder, bytes, size < IMAGE_HEAD ? size : IMAGE_HEAD, &rest,
                                MAX_PIXELS, gray, &width, &height);

    if (st == SLUICE_OK) {
        T_EQ(width, WIDTH);
        T_EQ(height, HEIGHT);
        st = image_decoder_region(decoder, box, region);
    }
    close(fd);
    return st;
}

static void every_box_of_every_kind_is_exact(void)
{
    static const image_box boxes[] = {
        {0, 0, WIDTH, HEIGHT}, {0, 0, 1, 1},   {WIDTH - 1, HEIGHT - 1, 1, 1},
        {3, 2, 5, 4},          {0, 10, 13, 1}, {12, 0, 1, 11}};
    uint8_t bytes[BIG];
    image_decoder *decoder = NULL;
    image_view region;

    T_OK(image_decoder_create(&decoder));
    for (uint32_t in = 1; in <= 3; in += 2) {
        const size_t size = make(bytes, in == 3 ? "P6\n13 11\n255\n" : "P5 13 11 255\n", in);

        for (int gray = 0; gray < 2; gray++) {
            for (size_t i = 0; i < sizeof(boxes) / sizeof(boxes[0]); i++) {
                uint64_t bytes_read = 0;

                T_OK(decode_box(decoder, bytes, size, gray == 1, &boxes[i], &region));
                check_region(&region, &boxes[i], in, gray == 1);
                T_OK(box_of_file(decoder, bytes, size, 0, gray == 1, &boxes[i], &region,
                                 &bytes_read));
                check_region(&region, &boxes[i], in, gray == 1);
                T_EQ(bytes_read, WIDTH * in * boxes[i].height);
            }
        }
    }
    image_decoder_destroy(decoder);
}

static sluice_status open_text(const uint8_t *bytes, size_t size, uint64_t max_pixels)
{
    image_decoder *decoder = NULL;
    uint8_t *copy = malloc(size); /* for what looks beyond the end */
    uint32_t width = 0;
    uint32_t height = 0;
    sluice_status st;

    T_OK(image_decoder_create(&decoder));
    memcpy(copy, bytes, size);
    st = image_decoder_open(decoder, copy, size, max_pixels, false, &width, &height);
    free(copy);
    image_decoder_destroy(decoder);
    T_TRUE(st != SLUICE_OK || (width == WIDTH && height == HEIGHT));
    return st;
}

static void headers_may_have_blanks_and_comments(void)
{
    static const char *const good[] = {
        "P6 13 11 255 ",          "P6\t13\r\n11\v255\f",         "P6\n# made by hand\n13 11\n255\n",
        "P6#c\n13#c\r11 #\n255 ", "P6\n\n\n13\n#\n#\n11\n255\n", "P6 0013 0000011 255\n"};
    static const char *const bad[] = {"P6",
                                      "P613 11 255\n",
                                      "P6 13 11 255",
                                      "P6 13 11 255#c\n",
                                      "P6 13 11 255x",
                                      "P6 13,11 255\n",
                                      "P6 -13 11 255\n",
                                      "P6 13 +11 255\n",
                                      "P6 13 11 # 255\n",
                                      "P6 4294967309 11 255\n",
                                      "P6 13 99999999999999999999999 255\n",
                                      "P6 0 11 255\n",
                                      "P6 13 0 255\n",
                                      "P6 13 12 255\n",
                                      "P6 2000000000 2000000000 255\n"};
    uint8_t bytes[BIG];
    uint8_t rubbish[BIG] = {0};

    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        T_OK(open_text(bytes, make(bytes, good[i], 3), MAX_PIXELS));
    }
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        const size_t size = make(bytes, bad[i], 3);
        const size_t length = strlen(bad[i]);
        const bool too_many = strstr(bad[i], "2000000000") != NULL;

        memset(bytes + length, 0, size - length);
        T_STATUS(open_text(bytes, size, MAX_PIXELS),
                 too_many ? SLUICE_E_INVALID : SLUICE_E_CORRUPT);
    }
    memset(rubbish, ' ', sizeof(rubbish));
    memcpy(rubbish, "P6", 2);
    memcpy(rubbish + 490, "13 11 255\n", 10);
    T_OK(open_text(rubbish, sizeof(rubbish), MAX_PIXELS));
    memcpy(rubbish + 490, "               13 11 255\n", 25);
    T_STATUS(open_text(rubbish, sizeof(rubbish), MAX_PIXELS), SLUICE_E_CORRUPT);
    T_CONTAINS(sluice_last_error(), "longer than 512 bytes");
}

static void other_depths_are_refused_by_name(void)
{
    uint8_t bytes[BIG];

    T_STATUS(open_text(bytes, make(bytes, "P6 13 11 65536\n", 3), MAX_PIXELS), SLUICE_E_CORRUPT);
    T_CONTAINS(sluice_last_error(), "65536 as its maximum value; it must be 1 to 65535");
    T_STATUS(open_text(bytes, make(bytes, "P5 13 11 0\n", 1), MAX_PIXELS), SLUICE_E_CORRUPT);
    T_STATUS(open_text(bytes, make(bytes, "\x1F\x8B\x08", 3), MAX_PIXELS), SLUICE_E_UNSUPPORTED);
    T_CONTAINS(sluice_last_error(), "a file compressed by gzip; decompress it");
    T_STATUS(open_text(bytes, make(bytes, "P6 1000001 1 255\n", 3), MAX_PIXELS),
             SLUICE_E_UNSUPPORTED);
    T_STATUS(open_text(bytes, make(bytes, "P6 1 1000001 255\n", 3), MAX_PIXELS),
             SLUICE_E_UNSUPPORTED);
}

/* Decodes the box of a file that is text, and compares all values. */
static sluice_status decode_text(const char *text, size_t size, bool gray, const image_box *box,
                                 const char *expected)
{
    image_decoder *decoder = NULL;
    image_view region;
    uint8_t *copy = malloc(size); /* for what looks beyond the end */
    sluice_status st;

    memcpy(copy, text, size);
    T_OK(image_decoder_create(&decoder));
    st = decode_box(decoder, copy, size, gray, box, &region);
    for (uint32_t y = 0; st == SLUICE_OK && y < box->height; y++) {
        const size_t line = (size_t)box->width * region.channels;

        T_EQ(memcmp(region.pixels + y * region.stride, expected + y * line, line), 0);
    }
    image_decoder_destroy(decoder);
    free(copy);
    return st;
}

static void plain_files_and_bitmaps_are_decoded(void)
{
    static const char bits[] = "P4 #c\n10 2\n\x80\x40\x01\x80";
    static const image_box all = {0, 0, 3, 2};
    static const image_box part = {1, 1, 2, 1};
    static const image_box ten = {0, 0, 10, 2};
    static const image_box two = {7, 1, 3, 1};
    static const image_box colours = {0, 0, 2, 1};

    T_OK(decode_text("P1\n#c\n3 2\n10 1#c\n\n0 01", 22, true, &all, "\0\xFF\0\xFF\xFF\0"));
    T_OK(decode_text("P1 3 2 101001", 13, true, &part, "\xFF\0"));
    T_OK(decode_text("P2 3 2 255\n1 2 3#c\n4 5\n6", 24, true, &all, "\1\2\3\4\5\6"));
    T_OK(decode_text("P2 3 2 65535 0 257 514 771 1028 65535", 37, true, &part, "\4\xFF"));
    T_OK(decode_text("P3 2 1 255 1 2 3\t4 5 6\n", 24, false, &colours, "\1\2\3\4\5\6"));
    T_OK(decode_text(bits, sizeof(bits) - 1, true, &ten,
                     "\0\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\0"
                     "\xFF\xFF\xFF\xFF\xFF\xFF\xFF\0\0\xFF"));
    T_OK(decode_text(bits, sizeof(bits) - 1, true, &two, "\0\0\xFF"));
    T_STATUS(decode_text(bits, sizeof(bits) - 2, true, &two, ""), SLUICE_E_CORRUPT);
    T_CONTAINS(sluice_last_error(), "ends early");
}

/* A half is rounded to the even number, as by Python's round(). */
static void values_are_scaled_as_pillow_scales_them(void)
{
    static const image_box box = {0, 0, 4, 1};

    T_OK(decode_text("P2 4 1 6 1 3 5 6", 16, true, &box, "\x2A\x80\xD4\xFF"));
    T_OK(decode_text("P5 4 1 6 \1\3\5\6", 13, true, &box, "\x2A\x80\xD4\xFF"));
}

static void damaged_plain_files_are_errors(void)
{
    static const image_box box = {0, 0, 1, 1};
    static const struct {
        const char *text;
        const char *words;
    } bad[] = {
        {"P2 3 1 9 1 2", "ends early"},       {"P2 3 1 9 1 2    ", "ends early"},
        {"P2 3 1 9 1 2 x", "corrupt value"},  {"P2 3 1 9 1 -2 3", "corrupt value"},
        {"P2 3 1 9 1 2 3x", "corrupt value"}, {"P2 3 1 9 1 2 10", "a value of 10, above"},
        {"P1 3 1 10", "ends early"},          {"P1 3 1 1     ", "ends early"},
        {"P1 3 1 102", "corrupt value"},
    };

    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        T_STATUS(decode_text(bad[i].text, strlen(bad[i].text), true, &box, "\1"), SLUICE_E_CORRUPT);
        T_CONTAINS(sluice_last_error(), bad[i].words);
    }
}

static void images_beyond_max_pixels_are_refused(void)
{
    uint8_t bytes[BIG];
    const size_t size = make(bytes, "P6 13 11 255\n", 3);

    T_OK(open_text(bytes, size, WIDTH * HEIGHT));
    T_STATUS(open_text(bytes, size, WIDTH * HEIGHT - 1), SLUICE_E_INVALID);
    T_CONTAINS(sluice_last_error(), "max_pixels");
}

static void files_cut_anywhere_are_errors(void)
{
    uint8_t bytes[BIG];
    const size_t size = make(bytes, "P6 13 11 255\n", 3);

    for (size_t cut = 1; cut < size; cut++) {
        T_STATUS(open_text(bytes, size - cut, MAX_PIXELS), SLUICE_E_CORRUPT);
    }
    T_OK(open_text(bytes, size + 1, MAX_PIXELS)); /* what follows is another image */
}

/* The file lost its end after its header was read: lines that are there can still be had. */
static void a_file_cut_while_it_is_read_is_an_error(void)
{
    static const image_box all = {0, 0, WIDTH, HEIGHT};
    static const image_box top = {0, 0, WIDTH, HEIGHT - 1};
    uint8_t bytes[BIG];
    const size_t size = make(bytes, "P6 13 11 255\n", 3);
    image_decoder *decoder = NULL;
    image_view region;
    uint64_t bytes_read = 0;

    T_OK(image_decoder_create(&decoder));
    T_STATUS(box_of_file(decoder, bytes, size, 1, false, &all, &region, &bytes_read), SLUICE_E_IO);
    T_CONTAINS(sluice_last_error(), "ends within the pixels");
    T_OK(box_of_file(decoder, bytes, size, 1, false, &top, &region, &bytes_read));
    check_region(&region, &top, 3, false);
    image_decoder_destroy(decoder);
}

static void only_pnm_goes_without_the_whole_file(void)
{
    T_TRUE(image_decoder_takes_head((const uint8_t *)"P6", 2));
    T_TRUE(image_decoder_takes_head((const uint8_t *)"P5 ", 3));
    T_TRUE(!image_decoder_takes_head((const uint8_t *)"P", 1));
    T_TRUE(!image_decoder_takes_head((const uint8_t *)"\xff\xd8\xff\xe0", 4));
    T_TRUE(!image_decoder_takes_head((const uint8_t *)"\x89PNG", 4));
    T_TRUE(!image_decoder_takes_head((const uint8_t *)"rubbish", 7));
}

static void failing_allocations_of_pnm_are_reported(void)
{
    static const image_box box = {1, 1, 3, 3};
    uint8_t bytes[BIG];
    const size_t size = make(bytes, "P6 13 11 255\n", 3);
    sluice_status st;
    int failures = 0;

    do {
        image_decoder *decoder = NULL;
        image_view region;

        sli_alloc_fail_after(failures++);
        st = image_decoder_create(&decoder);
        if (st == SLUICE_OK) {
            st = decode_box(decoder, bytes, size, true, &box, &region);
            image_decoder_destroy(decoder);
        }
        sli_alloc_fail_after(-1);
        T_TRUE(st == SLUICE_OK || st == SLUICE_E_NO_MEMORY);
    } while (st != SLUICE_OK);
    T_EQ(failures, 5);
}

const t_test pnm_tests[] = {
    T_TEST(every_box_of_every_kind_is_exact),        T_TEST(headers_may_have_blanks_and_comments),
    T_TEST(other_depths_are_refused_by_name),        T_TEST(plain_files_and_bitmaps_are_decoded),
    T_TEST(values_are_scaled_as_pillow_scales_them), T_TEST(damaged_plain_files_are_errors),
    T_TEST(images_beyond_max_pixels_are_refused),    T_TEST(files_cut_anywhere_are_errors),
    T_TEST(a_file_cut_while_it_is_read_is_an_error), T_TEST(only_pnm_goes_without_the_whole_file),
    T_TEST(failing_allocations_of_pnm_are_reported), T_END,
};
