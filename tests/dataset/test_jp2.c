/* SPDX-License-Identifier: Apache-2.0 */
/*
 * JPEG 2000 files by the format module: those of tests/data/formats against Pillow's pixels, box by
 * box, cut and damaged, and what our own walk of the code stream refuses.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "format_kit.h"
#include "image_kit.h"
#include "shard_kit.h"
#include "testing.h"

#if defined(SLI_HAVE_JP2)
#define NEEDS_JP2 ((void)0)
#else
#define NEEDS_JP2 T_SKIP("the library has no JPEG 2000")
#endif

static const char *const names[] = {"jp2-rgb", "jp2-alpha",   "jp2-gray", "jp2-lossy",
                                    "jp2-ycc", "jp2-palette", "jp2-tiles"};

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

/* Colours with fewer samples than pixels are RGB if the file says so. */
static void a_stated_colour_space_holds(void)
{
    enum { SPACE = 76, SYCC = 18, SRGB = 16 }; /* EnumCS of the box colr */
    image_decoder *decoder;
    format_file file;
    image_view region;
    image_box all;
    bool differs = false;

    NEEDS_JP2;
    decoder = make_decoder();
    file = format_file_read("jp2-ycc", ".jp2");
    all = (image_box){0, 0, file.want.width, file.want.height};
    T_EQ(file.bytes[SPACE], SYCC);
    file.bytes[SPACE] = SRGB;
    T_OK(decode_box(decoder, file.bytes, file.size, false, &all, &region));
    for (uint32_t y = 0; y < all.height; y++) {
        differs = differs ||
                  memcmp(region.pixels + y * region.stride,
                         file.want.pixels + (size_t)y * all.width * 3, (size_t)all.width * 3) != 0;
    }
    T_TRUE(differs);
    image_decoder_destroy(decoder);
    format_file_free(&file);
}

static void jp2_headers_are_described(void)
{
    static const uint32_t channels[] = {3, 4, 1, 3, 3, 1, 3};
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
        T_EQ(facts.palette, strcmp(names[i], "jp2-palette") == 0);
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

        for (size_t size = 12; size < file.size; size += 1 + size / 30) {
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

static void a_jp2_file_without_memory_is_no_crash(void)
{
    format_file file;
    image_box all;

    NEEDS_JP2;
    file = format_file_read("jp2-tiles", ".jp2");
    all = (image_box){0, 0, file.want.width, file.want.height};
    /* Two decoders, the tiles and a buffer; OpenJPEG has memory of its own. */
    T_TRUE(decode_without_memory(file.bytes, file.size, &all) >= 4);
    format_file_free(&file);
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

/* Tiles without pixels of the box may be corrupt. */
static void tiles_beside_the_box_are_not_decoded(void)
{
    const image_box first = {0, 0, 9, 20};
    image_decoder *decoder;
    format_file file;
    image_box all;
    image_view region;

    NEEDS_JP2;
    file = format_file_read("jp2-tiles", ".jp2");
    all = (image_box){0, 0, file.want.width, file.want.height};
    memset(file.bytes + file.size - 60, 0xFF, 58); /* EOC remains */
    decoder = make_decoder();
    format_file_check(decoder, &file, false, &first);
    T_STATUS(decode_box(decoder, file.bytes, file.size, false, &all, &region), SLUICE_E_CORRUPT);
    image_decoder_destroy(decoder);
    format_file_free(&file);
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

/* Reads a file of tests/data/formats that has no picture beside it. */
static uint8_t *read_plain(const char *name, size_t *size_out)
{
    char path[500];
    uint8_t *bytes = malloc(4096);

    snprintf(path, sizeof(path), "%s/formats/%s", SLUICE_TEST_DATA, name);
    *size_out = read_file_bytes(path, bytes, 4096);
    return bytes;
}

static void values_of_16_bits_are_scaled_to_them(void)
{
    static const struct {
        const char *name;
        uint32_t most;
    } files[] = {{"jp2-wide16.jp2", 65535}, {"jp2-wide12.jp2", 4095}};
    image_decoder *decoder;

    NEEDS_JP2;
    decoder = make_decoder();
    for (size_t i = 0; i < 2; i++) {
        const image_box box = {3, 2, 17, 9};
        size_t size;
        uint8_t *bytes = read_plain(files[i].name, &size);
        image_view region;
        uint32_t width;
        uint32_t height;

        T_OK(image_decoder_open(decoder, bytes, size, MAX_PIXELS, true, &width, &height));
        T_TRUE(width == 21 && height == 12);
        T_STATUS(image_decoder_request_wide(decoder, IMAGE_U16, true), SLUICE_E_UNSUPPORTED);
        T_STATUS(image_decoder_request_wide(decoder, IMAGE_F32, false), SLUICE_E_UNSUPPORTED);
        T_OK(image_decoder_request_wide(decoder, IMAGE_U16, false));
        T_OK(image_decoder_region(decoder, &box, &region));
        T_EQ(region.element, IMAGE_U16);
        for (uint32_t y = 0; y < box.height; y++) {
            const uint16_t *got = (const void *)(region.pixels + y * region.stride);

            for (uint32_t x = 0; x < box.width; x++) {
                const uint64_t value =
                    ((box.x + x) * 257 + (box.y + y) * 1021) % (files[i].most + 1);

                T_EQ(got[x], (value * 65535 + files[i].most / 2) / files[i].most);
            }
        }
        free(bytes);
    }
    image_decoder_destroy(decoder);
}

/* ---- files that would take memory, or lack tiles --------------------------------------------- */

typedef struct code_stream {
    uint8_t bytes[2048];
    size_t size;
} code_stream;

static void put(code_stream *to, uint32_t value, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        to->bytes[to->size++] = (uint8_t)((uint64_t)value >> 8 * (count - 1 - i));
    }
}

/* What a code stream claims. Its tiles have empty packets: gray pixels. */
typedef struct claim {
    uint32_t width;
    uint32_t height;
    uint32_t tile; /* side */
    uint32_t components;
    uint32_t layers;
    uint32_t levels;
    uint32_t precincts;  /* each of 2^N by 2^N; 0: as large as the tile */
    uint32_t block;      /* side: 2^(N + 2) */
    uint32_t first_tile; /* that is there */
    uint32_t bytes;      /* of each tile */
    const char *answer;
} claim;

static void put_tile(code_stream *to, uint32_t index, uint32_t bytes)
{
    put(to, 0xFF90000A, 4);
    put(to, index, 2);
    put(to, 14 + bytes, 4);
    put(to, 0x0001FF93, 4);
    memset(to->bytes + to->size, 0, bytes);
    to->size += bytes;
}

static void put_main_header(code_stream *to, const claim *what)
{
    put(to, 0xFF4FFF51, 4);
    put(to, 38 + 3 * what->components, 2);
    put(to, 0, 2);
    put(to, what->width, 4);
    put(to, what->height, 4);
    put(to, 0, 8);
    put(to, what->tile, 4);
    put(to, what->tile, 4);
    put(to, 0, 8);
    put(to, what->components, 2);
    for (uint32_t c = 0; c < what->components; c++) {
        put(to, 0x070101, 3);
    }
    put(to, 0xFF52, 2);
    put(to, 12 + (what->precincts > 0 ? what->levels + 1 : 0), 2);
    put(to, what->precincts > 0 ? 0x0100 : 0, 2);
    put(to, what->layers, 2);
    put(to, 0, 1);
    put(to, what->levels << 24 | what->block << 16 | what->block << 8, 4);
    put(to, 1, 1);
    for (uint32_t r = 0; r <= what->levels && what->precincts > 0; r++) {
        put(to, what->precincts * 0x11, 1);
    }
    put(to, 0xFF5C, 2);
    put(to, 4 + 3 * what->levels, 2);
    put(to, 0x40, 1);
    for (uint32_t b = 0; b < 3 * what->levels + 1; b++) {
        put(to, 8 << 3, 1);
    }
}

static code_stream make_stream(const claim *what)
{
    const uint32_t across = (what->width + what->tile - 1) / what->tile;
    const uint32_t down = (what->height + what->tile - 1) / what->tile;
    code_stream stream = {.size = 0};

    put_main_header(&stream, what);
    for (uint32_t i = what->first_tile; i < across * down && i < what->first_tile + 4; i++) {
        put_tile(&stream, i, what->bytes);
    }
    put(&stream, 0xFFD9, 2);
    return stream;
}

static const claim claims[] = {
    {64, 64, 32, 3, 1, 0, 0, 4, 0, 3, NULL},
    {64, 64, 64, 4, 20, 0, 0, 4, 0, 80, NULL},
    {64, 64, 32, 3, 1, 0, 0, 4, 1, 3, "0 of 1 tile-parts of tile 0 of 4"},
    {64, 64, 64, 3, 1, 0, 0, 4, 0, 2, "is cut: tile 0 has 2 bytes for 3 packets"},
    {257, 255, 1, 3, 1, 0, 0, 4, 0, 3, "the JPEG 2000 file of 257x255 pixels needs "},
    {1024, 1024, 16, 4, 1, 0, 0, 4, 0, 3, "tile-parts of tile 4 of 4096"},
    {999, 999, 3, 4, 1, 0, 0, 4, 0, 3, "110889 tiles; it must have from 1 to 65535"},
    {64, 64, 64, 4, 65535, 0, 0, 4, 0, 4, "tile 0 has 4 bytes for 262140 packets"},
    {512, 512, 512, 4, 1, 32, 1, 4, 0, 4, "tile 0 has 4 bytes for "},
    {2048, 2048, 2048, 4, 1, 5, 0, 0, 0, 50, "needs "},
    {64, 64, 64, 5, 1, 0, 0, 4, 0, 5, "5 components; it must have from 1 to 4"},
    {64, 64, 64, 3, 1, 33, 0, 4, 0, 200, "34 resolutions"},
    {64, 64, 64, 3, 0, 0, 0, 4, 0, 5, "0 layers"},
    {64, 64, 0x7FFFFFFF, 3, 1, 0, 0, 7, 0, 5, "code-blocks of 2^9 x 2^9"},
};

static void memory_and_tiles_are_checked_before_openjpeg(void)
{
    image_decoder *decoder;

    NEEDS_JP2;
    decoder = make_decoder();
    for (size_t i = 0; i < sizeof(claims) / sizeof(claims[0]); i++) {
        const code_stream stream = make_stream(&claims[i]);
        uint32_t width;
        uint32_t height;
        const sluice_status st = image_decoder_open(decoder, stream.bytes, stream.size, MAX_PIXELS,
                                                    false, &width, &height);

        if (claims[i].answer != NULL) {
            T_TRUE(st == SLUICE_E_CORRUPT || st == SLUICE_E_UNSUPPORTED);
            T_CONTAINS(sluice_last_error(), claims[i].answer);
        } else {
            const image_box all = {0, 0, claims[i].width, claims[i].height};
            image_view region;

            T_OK(st);
            T_OK(image_decoder_region(decoder, &all, &region));
            T_EQ(region.pixels[0], claims[i].components == 4 ? 64 : 128); /* alpha is 128, too */
        }
    }
    image_decoder_destroy(decoder);
}

/* Bits that a conversion to bytes would drop may be those of any component. */
static void bits_are_those_of_the_widest_component(void)
{
    enum { BITS_OF_SECOND = 42 + 3 }; /* its Ssiz, in the marker SIZ */
    image_decoder *decoder;
    code_stream stream;
    image_facts facts;
    uint32_t width;
    uint32_t height;

    NEEDS_JP2;
    decoder = make_decoder();
    stream = make_stream(&claims[0]);
    T_EQ(stream.bytes[BITS_OF_SECOND], 7);
    stream.bytes[BITS_OF_SECOND] = 15;
    T_OK(
        image_decoder_open(decoder, stream.bytes, stream.size, MAX_PIXELS, false, &width, &height));
    image_decoder_describe(decoder, &facts);
    T_EQ(facts.bits, 16);
    image_decoder_destroy(decoder);
}

static void markers_that_are_not_known_are_refused(void)
{
    static const struct {
        uint32_t marker;
        const char *answer;
    } markers[] = {{0xFF5F, "FF5F (POC)"},
                   {0xFF60, "FF60 (PPM)"},
                   {0xFF50, "FF50 (CAP: HTJ2K)"},
                   {0xFF74, "FF74 in its main header"}};
    image_decoder *decoder;

    NEEDS_JP2;
    decoder = make_decoder();
    for (size_t i = 0; i < sizeof(markers) / sizeof(markers[0]); i++) {
        code_stream stream = {.size = 0};
        uint32_t width;
        uint32_t height;

        put_main_header(&stream, &claims[0]);
        put(&stream, markers[i].marker << 16 | 4, 4);
        put(&stream, 0, 2);
        put_tile(&stream, 0, 3);
        T_STATUS(image_decoder_open(decoder, stream.bytes, stream.size, MAX_PIXELS, false, &width,
                                    &height),
                 SLUICE_E_UNSUPPORTED);
        T_CONTAINS(sluice_last_error(), markers[i].answer);
    }
    image_decoder_destroy(decoder);
}

const t_test jp2_tests[] = {
    T_TEST(jp2_files_have_the_pixels_of_pillow),
    T_TEST(a_stated_colour_space_holds),
    T_TEST(jp2_headers_are_described),
    T_TEST(jp2_files_cut_anywhere_are_errors),
    T_TEST(a_jp2_file_without_memory_is_no_crash),
    T_TEST(flipped_bits_of_jp2_files_are_no_crash),
    T_TEST(tiles_beside_the_box_are_not_decoded),
    T_TEST(jp2_files_are_opened_if_they_are_allowed),
    T_TEST(values_of_16_bits_are_scaled_to_them),
    T_TEST(memory_and_tiles_are_checked_before_openjpeg),
    T_TEST(bits_are_those_of_the_widest_component),
    T_TEST(markers_that_are_not_known_are_refused),
    T_END,
};
