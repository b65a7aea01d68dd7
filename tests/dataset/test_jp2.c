/* SPDX-License-Identifier: Apache-2.0 */
/*
 * JPEG 2000 files by the format module: those of tests/data/formats against Pillow's pixels, box by
 * box, cut and damaged.
 */
#include <stdlib.h>
#include <string.h>

#include "format_kit.h"
#include "image_kit.h"
#include "testing.h"

#if defined(SLI_HAVE_JP2)
#define NEEDS_JP2 ((void)0)
#else
#define NEEDS_JP2 T_SKIP("the library has no JPEG 2000")
#endif

static const char *const names[] = {"jp2-rgb", "jp2-alpha", "jp2-gray", "jp2-lossy"};

enum { NAMES = sizeof(names) / sizeof(names[0]) };

static image_decoder *make_decoder(void)
{
    image_decoder *decoder = NULL;

    T_OK(image_decoder_create(&decoder));
    image_decoder_allow(decoder, IMAGE_JP2);
    return decoder;
}

static void jp2_files_have_the_pixels_of_pillow(void)
{
    image_decoder *decoder;

    NEEDS_JP2;
    decoder = make_decoder();
    for (size_t i = 0; i < NAMES; i++) {
        format_file file = format_file_read(names[i], ".jp2");
        const image_box all = {0, 0, file.want.width, file.want.height};

        format_file_check(decoder, &file, false, &all);
        for (uint32_t n = 0; n < 40; n++) {
            image_box box = {n * 5 % file.want.width, n * 3 % file.want.height, 1, 1};

            box.width += n * 7 % (file.want.width - box.x);
            box.height += n * 11 % (file.want.height - box.y);
            format_file_check(decoder, &file, n % 2 == 0, &box);
        }
        format_file_free(&file);
    }
    image_decoder_destroy(decoder);
}

static void jp2_headers_are_described(void)
{
    static const uint32_t channels[] = {3, 4, 1, 3};
    image_decoder *decoder;

    NEEDS_JP2;
    decoder = make_decoder();
    for (size_t i = 0; i < NAMES; i++) {
        format_file file = format_file_read(names[i], ".jp2");
        image_facts facts;
        uint32_t width;
        uint32_t height;

        T_OK(
            image_decoder_open(decoder, file.bytes, file.size, MAX_PIXELS, false, &width, &height));
        image_decoder_describe(decoder, &facts);
        T_STR(facts.format, "JPEG 2000");
        T_EQ(facts.bits, 8);
        T_EQ(facts.channels, channels[i]);
        T_EQ(facts.transparent, channels[i] == 4);
        T_TRUE(width == file.want.width && height == file.want.height);
        T_STATUS(image_decoder_open(decoder, file.bytes, file.size, (uint64_t)width * height - 1,
                                    false, &width, &height),
                 SLUICE_E_INVALID);
        T_CONTAINS(sluice_last_error(), "more than max_pixels=");
        format_file_free(&file);
    }
    image_decoder_destroy(decoder);
}

static void jp2_files_cut_anywhere_are_errors(void)
{
    NEEDS_JP2;
    for (size_t i = 0; i < NAMES; i++) {
        format_file file = format_file_read(names[i], ".jp2");
        const image_box all = {0, 0, file.want.width, file.want.height};

        for (size_t size = 12; size < file.size - 2; size += 1 + size / 30) {
            image_decoder *decoder = make_decoder();
            image_view region;
            uint8_t *copy = malloc(size);

            memcpy(copy, file.bytes, size);
            T_STATUS(decode_box(decoder, copy, size, false, &all, &region), SLUICE_E_CORRUPT);
            image_decoder_destroy(decoder);
            free(copy);
        }
        format_file_free(&file);
    }
}

static void flipped_bits_of_jp2_files_are_no_crash(void)
{
    image_decoder *decoder;

    NEEDS_JP2;
    decoder = make_decoder();
    for (size_t i = 0; i < NAMES; i++) {
        format_file file = format_file_read(names[i], ".jp2");
        const image_box all = {0, 0, file.want.width, file.want.height};

        for (size_t bit = 96; bit < file.size * 8; bit += 1 + bit % 13) {
            image_view region;

            file.bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
            (void)decode_box(decoder, file.bytes, file.size, false, &all, &region);
            file.bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
        }
        format_file_free(&file);
    }
    image_decoder_destroy(decoder);
}

static void jp2_files_are_opened_if_they_are_allowed(void)
{
    image_decoder *decoder;
    format_file file;
    uint32_t width;
    uint32_t height;

    NEEDS_JP2;
    file = format_file_read("jp2-gray", ".jp2");
    decoder = make_decoder();
    image_decoder_allow(decoder, IMAGE_FORMATS_USUAL);
    T_STATUS(image_decoder_open(decoder, file.bytes, file.size, MAX_PIXELS, true, &width, &height),
             SLUICE_E_UNSUPPORTED);
    T_CONTAINS(sluice_last_error(), "formats= of decode must have jp2 (formats=auto has it for "
                                    "files with the extension jp2,j2k,jpf,jpx,j2c,jpc)");
    image_decoder_destroy(decoder);
    format_file_free(&file);
}

const t_test jp2_tests[] = {
    T_TEST(jp2_files_have_the_pixels_of_pillow),
    T_TEST(jp2_headers_are_described),
    T_TEST(jp2_files_cut_anywhere_are_errors),
    T_TEST(flipped_bits_of_jp2_files_are_no_crash),
    T_TEST(jp2_files_are_opened_if_they_are_allowed),
    T_END,
};
