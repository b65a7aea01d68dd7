/* SPDX-License-Identifier: Apache-2.0 */
/*
 * WebP files by the format module: those of tests/data/formats against Pillow's pixels, box by box,
 * cut and damaged.
 */
#include <stdlib.h>
#include <string.h>

#include "exif.h"
#include "format_kit.h"
#include "image_kit.h"
#include "testing.h"

#if defined(SLI_HAVE_WEBP)
#define NEEDS_WEBP ((void)0)
#else
#define NEEDS_WEBP T_SKIP("the library has no WebP")
#endif

static const char *const names[] = {"lossless", "lossy", "alpha", "lossless-alpha", "animation"};

enum { NAMES = sizeof(names) / sizeof(names[0]) };

static void webp_files_have_the_pixels_of_pillow(void)
{
    image_decoder *decoder = NULL;

    NEEDS_WEBP;
    T_OK(image_decoder_create(&decoder));
    for (size_t i = 0; i < NAMES; i++) {
        format_file file = format_file_read(names[i], ".webp");
        const image_box all = {0, 0, file.want.width, file.want.height};

        format_file_check(decoder, &file, false, &all);
        format_file_check(decoder, &file, true, &all);
        format_file_free(&file);
    }
    image_decoder_destroy(decoder);
}

/* The upsampling of chroma reads beyond a box, which must not change its pixels. */
static void boxes_of_webp_files_have_the_pixels_of_the_whole(void)
{
    image_decoder *decoder = NULL;

    NEEDS_WEBP;
    T_OK(image_decoder_create(&decoder));
    for (size_t i = 0; i < NAMES; i++) {
        format_file file = format_file_read(names[i], ".webp");

        for (uint32_t n = 0; n < 400; n++) {
            image_box box = {n % file.want.width, n / 3 % file.want.height, 1, 1};

            box.width += n * 7 % (file.want.width - box.x);
            box.height += n * 5 % (file.want.height - box.y);
            format_file_check(decoder, &file, n % 2 == 0, &box);
        }
        format_file_free(&file);
    }
    image_decoder_destroy(decoder);
}

static image_facts facts_of(image_decoder *decoder, const char *name)
{
    format_file file = format_file_read(name, ".webp");
    image_facts facts;
    uint32_t width;
    uint32_t height;

    T_OK(image_decoder_open(decoder, file.bytes, file.size, MAX_PIXELS, false, &width, &height));
    T_TRUE(width == file.want.width && height == file.want.height);
    image_decoder_describe(decoder, &facts);
    T_STR(facts.format, "WebP");
    T_EQ(facts.bits, 8);
    format_file_free(&file);
    return facts;
}

static void webp_headers_are_described(void)
{
    image_decoder *decoder = NULL;
    image_facts facts;

    NEEDS_WEBP;
    T_OK(image_decoder_create(&decoder));
    facts = facts_of(decoder, "lossy");
    T_TRUE(facts.channels == 3 && !facts.transparent && !facts.further);
    T_EQ(facts.orientation, EXIF_UPRIGHT);
    facts = facts_of(decoder, "alpha");
    T_TRUE(facts.channels == 4 && facts.transparent && !facts.further);
    T_EQ(facts.orientation, 6);
    T_TRUE(facts_of(decoder, "animation").further);
    image_decoder_destroy(decoder);
}

static void webp_files_with_too_many_pixels_are_refused(void)
{
    image_decoder *decoder = NULL;
    format_file file;
    uint32_t width;
    uint32_t height;

    NEEDS_WEBP;
    file = format_file_read("lossy", ".webp");
    T_OK(image_decoder_create(&decoder));
    T_OK(image_decoder_open(decoder, file.bytes, file.size, 41 * 37, false, &width, &height));
    T_STATUS(
        image_decoder_open(decoder, file.bytes, file.size, 41 * 37 - 1, false, &width, &height),
        SLUICE_E_INVALID);
    T_CONTAINS(sluice_last_error(), "41x37, more than max_pixels=1516");
    format_file_free(&file);
    file = format_file_read("animation", ".webp");
    file.bytes[24] = 0x40; /* a canvas of 1000001 pixels, less 1 */
    file.bytes[25] = 0x42;
    file.bytes[26] = 0x0F;
    T_STATUS(image_decoder_open(decoder, file.bytes, file.size, MAX_PIXELS, false, &width, &height),
             SLUICE_E_UNSUPPORTED);
    T_CONTAINS(sluice_last_error(), "1000001x11; sides go up to 1000000");
    image_decoder_destroy(decoder);
    format_file_free(&file);
}

static void webp_files_cut_anywhere_are_errors(void)
{
    NEEDS_WEBP;
    for (size_t i = 0; i < NAMES; i++) {
        format_file file = format_file_read(names[i], ".webp");
        const image_box all = {0, 0, file.want.width, file.want.height};
        const size_t end = i == 4 ? file.size / 3 : i == 2 ? file.size - 60 : file.size;

        for (size_t size = 12; size < end; size += 1 + size / 40) {
            image_decoder *decoder = NULL;
            image_view region;
            uint8_t *copy = malloc(size);

            memcpy(copy, file.bytes, size);
            T_OK(image_decoder_create(&decoder));
            T_STATUS(decode_box(decoder, copy, size, false, &all, &region), SLUICE_E_CORRUPT);
            image_decoder_destroy(decoder);
            free(copy);
        }
        format_file_free(&file);
    }
}

static void a_webp_file_without_memory_is_no_crash(void)
{
    const image_box all = {0, 0, 13, 11};
    format_file file;

    NEEDS_WEBP;
    file = format_file_read("lossless", ".webp");
    T_TRUE(decode_without_memory(file.bytes, file.size, &all) >= 3);
    format_file_free(&file);
}

static void webp_files_are_not_masks(void)
{
    image_decoder *decoder = NULL;
    format_file file;
    uint32_t width;
    uint32_t height;

    NEEDS_WEBP;
    file = format_file_read("lossless", ".webp");
    T_OK(image_decoder_create(&decoder));
    T_OK(image_decoder_open(decoder, file.bytes, file.size, MAX_PIXELS, true, &width, &height));
    T_STATUS(image_decoder_request_indices(decoder), SLUICE_E_UNSUPPORTED);
    T_CONTAINS(sluice_last_error(), "a mask in a WebP file: its values are colours");
    image_decoder_destroy(decoder);
    format_file_free(&file);
}

static void webp_files_are_opened_if_they_are_allowed(void)
{
    image_decoder *decoder = NULL;
    format_file file;
    uint32_t width;
    uint32_t height;

    NEEDS_WEBP;
    file = format_file_read("lossless", ".webp");
    T_OK(image_decoder_create(&decoder));
    image_decoder_allow(decoder, IMAGE_JPEG | IMAGE_PNG);
    T_STATUS(image_decoder_open(decoder, file.bytes, file.size, MAX_PIXELS, true, &width, &height),
             SLUICE_E_UNSUPPORTED);
    T_CONTAINS(sluice_last_error(),
               "it is a WebP file, and may not be opened: formats= of decode must have webp");
    image_decoder_allow(decoder, IMAGE_WEBP);
    T_OK(image_decoder_open(decoder, file.bytes, file.size, MAX_PIXELS, true, &width, &height));
    image_decoder_destroy(decoder);
    format_file_free(&file);
}

const t_test webp_tests[] = {
    T_TEST(webp_files_have_the_pixels_of_pillow),
    T_TEST(boxes_of_webp_files_have_the_pixels_of_the_whole),
    T_TEST(webp_headers_are_described),
    T_TEST(webp_files_with_too_many_pixels_are_refused),
    T_TEST(webp_files_cut_anywhere_are_errors),
    T_TEST(a_webp_file_without_memory_is_no_crash),
    T_TEST(webp_files_are_not_masks),
    T_TEST(webp_files_are_opened_if_they_are_allowed),
    T_END,
};
