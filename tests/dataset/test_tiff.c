/* SPDX-License-Identifier: Apache-2.0 */
/* TIFF files by the format module: written by libtiff here, and read box by box. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "exif.h"
#include "image_kit.h"
#include "testing.h"

#if defined(SLI_HAVE_TIFF)

#include "tiff_maker.h"

enum { WIDTH = TIFF_WIDTH, HEIGHT = TIFF_HEIGHT, MOST_SAMPLES = 5 };

static const tiff_spec specs[] = {
    {COMPRESSION_NONE, PHOTOMETRIC_RGB, 8, 3, .tiles = false},
    {COMPRESSION_NONE, PHOTOMETRIC_RGB, 8, 3, .planes = true, .big_endian = true},
    {COMPRESSION_LZW, PHOTOMETRIC_RGB, 8, 3, .differences = true},
    {COMPRESSION_LZW, PHOTOMETRIC_RGB, 8, 3, .tiles = true, .planes = true},
    {COMPRESSION_ADOBE_DEFLATE, PHOTOMETRIC_RGB, 8, 3, .tiles = true, .differences = true},
    {COMPRESSION_DEFLATE, PHOTOMETRIC_MINISBLACK, 8, 1, .tiles = true},
    {COMPRESSION_PACKBITS, PHOTOMETRIC_MINISBLACK, 1, 1, .big_endian = true},
    {COMPRESSION_PACKBITS, PHOTOMETRIC_MINISWHITE, 1, 1, .tiles = true},
    {COMPRESSION_LZW, PHOTOMETRIC_MINISBLACK, 4, 1, .tiles = true},
    {COMPRESSION_LZW, PHOTOMETRIC_MINISWHITE, 2, 1, .big_endian = true},
    {COMPRESSION_LZW, PHOTOMETRIC_PALETTE, 8, 1, .tiles = true},
    {COMPRESSION_NONE, PHOTOMETRIC_PALETTE, 4, 1, .tiles = false},
    {COMPRESSION_LZW, PHOTOMETRIC_RGB, 8, 4, EXTRASAMPLE_UNASSALPHA, .tiles = true},
    {COMPRESSION_LZW, PHOTOMETRIC_RGB, 8, 4, EXTRASAMPLE_ASSOCALPHA, .planes = true},
    {COMPRESSION_LZW, PHOTOMETRIC_MINISBLACK, 8, 2, EXTRASAMPLE_UNASSALPHA, .tiles = false},
    {COMPRESSION_LZW, PHOTOMETRIC_SEPARATED, 8, 4, .tiles = false},
    {COMPRESSION_NONE, PHOTOMETRIC_MINISBLACK, 16, 1, .big_endian = true},
    {COMPRESSION_LZW, PHOTOMETRIC_RGB, 16, 3, .tiles = true},
    {COMPRESSION_LZW, PHOTOMETRIC_PALETTE, 8, 1, .bytes = true},
    {COMPRESSION_NONE, PHOTOMETRIC_MINISBLACK, 8, 1, .tiles = false},
    {COMPRESSION_NONE, PHOTOMETRIC_MINISWHITE, 8, 1, .tiles = false},
    {COMPRESSION_NONE, PHOTOMETRIC_RGB, 8, 3, .tiles = true},
    {COMPRESSION_PACKBITS, PHOTOMETRIC_RGB, 8, 4, EXTRASAMPLE_ASSOCALPHA, .tiles = false},
    {COMPRESSION_NONE, PHOTOMETRIC_MINISBLACK, 8, 2, EXTRASAMPLE_ASSOCALPHA, .planes = true},
};

enum { SPECS = sizeof(specs) / sizeof(specs[0]) };

/* What a pixel must become. */
static void expected(const tiff_spec *spec, uint32_t x, uint32_t y, uint8_t rgb[3])
{
    const uint32_t most = (1U << spec->bits) - 1;
    uint8_t s[MOST_SAMPLES];

    for (uint32_t c = 0; c < spec->samples; c++) {
        s[c] = (uint8_t)((tiff_stored(spec, x, y, c) * 255 + most / 2) / most);
    }
    for (uint32_t c = 0; c < 3; c++) {
        switch (spec->photometric) {
        case PHOTOMETRIC_RGB:
            rgb[c] = s[c];
            break;
        case PHOTOMETRIC_PALETTE:
            rgb[c] = (uint8_t)(tiff_colour(tiff_stored(spec, x, y, 0), c) >> 8);
            break;
        case PHOTOMETRIC_MINISWHITE:
            rgb[c] = (uint8_t)(255 - s[0]);
            break;
        case PHOTOMETRIC_SEPARATED:
            rgb[c] = (uint8_t)(255 - s[3] - image_times(s[c], (uint8_t)(255 - s[3])));
            break;
        default:
            rgb[c] = s[0];
            break;
        }
        if (spec->extra == EXTRASAMPLE_UNASSALPHA) {
            rgb[c] = image_times(rgb[c], s[spec->samples - 1]);
        }
    }
}

static sluice_status decode_tiff(image_decoder *decoder, const uint8_t *bytes, size_t size,
                                 bool gray, const image_box *box, image_view *region)
{
    image_decoder_allow(decoder, IMAGE_TIFF);
    return decode_box(decoder, bytes, size, gray, box, region);
}

static void check_box(image_decoder *decoder, const tiff_spec *spec, const uint8_t *bytes,
                      size_t size, bool gray, const image_box *box)
{
    image_view region;

    T_OK(decode_tiff(decoder, bytes, size, gray, box, &region));
    T_EQ(region.channels, gray ? 1 : 3);
    for (uint32_t y = 0; y < box->height; y++) {
        for (uint32_t x = 0; x < box->width; x++) {
            const uint8_t *got = region.pixels + y * region.stride + x * region.channels;
            uint8_t want[3];

            expected(spec, box->x + x, box->y + y, want);
            T_EQ(got[0], gray ? image_luma(want[0], want[1], want[2]) : want[0]);
            T_TRUE(gray || (got[1] == want[1] && got[2] == want[2]));
        }
    }
}

static void tiff_files_have_the_pixels_that_were_written(void)
{
    image_decoder *decoder = NULL;

    T_OK(image_decoder_create(&decoder));
    for (size_t i = 0; i < SPECS; i++) {
        const image_box all = {0, 0, WIDTH, HEIGHT};
        size_t size;
        uint8_t *bytes = tiff_make(&specs[i], 1, 1, &size);

        check_box(decoder, &specs[i], bytes, size, false, &all);
        for (uint32_t n = 0; n < 60; n++) {
            image_box box = {n * 11 % WIDTH, n * 3 % HEIGHT, 1, 1};

            box.width += n * 7 % (WIDTH - box.x);
            box.height += n * 5 % (HEIGHT - box.y);
            check_box(decoder, &specs[i], bytes, size, n % 2 == 0, &box);
        }
        free(bytes);
    }
    image_decoder_destroy(decoder);
}

static image_facts facts_of(image_decoder *decoder, const tiff_spec *spec, int pages,
                            uint16_t orientation)
{
    size_t size;
    uint8_t *bytes = tiff_make(spec, pages, orientation, &size);
    image_facts facts;
    uint32_t width;
    uint32_t height;

    image_decoder_allow(decoder, IMAGE_TIFF);
    T_OK(image_decoder_open(decoder, bytes, size, MAX_PIXELS, false, &width, &height));
    T_TRUE(width == WIDTH && height == HEIGHT);
    image_decoder_describe(decoder, &facts);
    T_STR(facts.format, "TIFF");
    free(bytes);
    return facts;
}

static void tiff_headers_are_described(void)
{
    image_decoder *decoder = NULL;
    image_facts facts;

    T_OK(image_decoder_create(&decoder));
    facts = facts_of(decoder, &specs[0], 1, 6);
    T_TRUE(facts.channels == 3 && facts.bits == 8 && !facts.further && !facts.palette);
    T_EQ(facts.orientation, 6);
    facts = facts_of(decoder, &specs[11], 3, 1);
    T_TRUE(facts.palette && facts.further && facts.bits == 4 && facts.channels == 1);
    T_EQ(facts.orientation, EXIF_UPRIGHT);
    facts = facts_of(decoder, &specs[12], 1, 1);
    T_TRUE(facts.transparent && facts.channels == 4);
    facts = facts_of(decoder, &specs[15], 1, 1); /* CMYK */
    T_TRUE(!facts.transparent && facts.channels == 4);
    T_EQ(facts_of(decoder, &specs[17], 1, 1).bits, 16);
    image_decoder_destroy(decoder);
}

/* Masks are numbers as they are stored. */
static void tiff_files_can_be_masks(void)
{
    image_decoder *decoder = NULL;

    T_OK(image_decoder_create(&decoder));
    image_decoder_allow(decoder, IMAGE_TIFF);
    for (size_t i = 0; i < SPECS; i++) {
        const image_box all = {0, 0, WIDTH, HEIGHT};
        const bool numbers = specs[i].samples == 1 && specs[i].bits <= 8 &&
                             specs[i].photometric != PHOTOMETRIC_MINISWHITE;
        image_view region;
        uint32_t width;
        uint32_t height;
        size_t size;
        uint8_t *bytes = tiff_make(&specs[i], 1, 1, &size);

        T_OK(image_decoder_open(decoder, bytes, size, MAX_PIXELS, true, &width, &height));
        T_STATUS(image_decoder_request_indices(decoder),
                 numbers ? SLUICE_OK : SLUICE_E_UNSUPPORTED);
        if (numbers) {
            T_OK(image_decoder_region(decoder, &all, &region));
            for (uint32_t n = 0; n < WIDTH * HEIGHT; n++) {
                T_EQ(region.pixels[n], tiff_stored(&specs[i], n % WIDTH, n / WIDTH, 0));
            }
        }
        if (specs[i].photometric == PHOTOMETRIC_MINISWHITE) {
            T_CONTAINS(sluice_last_error(), "where 0 is white: some readers take them as stored");
        }
        free(bytes);
    }
    image_decoder_destroy(decoder);
}

static void tiff_files_cut_anywhere_are_errors(void)
{
    static const size_t some[] = {0, 3, 5, 6};
    const image_box all = {0, 0, WIDTH, HEIGHT};

    for (size_t i = 0; i < sizeof(some) / sizeof(some[0]); i++) {
        size_t whole;
        uint8_t *bytes = tiff_make(&specs[some[i]], 1, 1, &whole);

        for (size_t size = 4; size < whole - 8; size += 1 + size / 60) {
            image_decoder *decoder = NULL;
            image_view region;
            uint8_t *copy = malloc(size);

            memcpy(copy, bytes, size);
            T_OK(image_decoder_create(&decoder));
            T_TRUE(decode_tiff(decoder, copy, size, false, &all, &region) != SLUICE_OK);
            image_decoder_destroy(decoder);
            free(copy);
        }
        free(bytes);
    }
}

/* Any flipped bit gives an error or pixels, and no crash. */
static void flipped_bits_of_tiff_files_are_no_crash(void)
{
    const image_box all = {0, 0, WIDTH, HEIGHT};
    image_decoder *decoder = NULL;

    T_OK(image_decoder_create(&decoder));
    for (size_t i = 0; i < SPECS; i++) {
        size_t size;
        uint8_t *bytes = tiff_make(&specs[i], 1, 1, &size);

        for (size_t bit = 0; bit < size * 8; bit += 1 + bit % 29) {
            image_view region;

            bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
            (void)decode_tiff(decoder, bytes, size, false, &all, &region);
            bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
        }
        free(bytes);
    }
    image_decoder_destroy(decoder);
}

/* The entry of a tag of a file in the order of bytes of this machine. */
static uint8_t *find_tag(uint8_t *bytes, uint16_t tag)
{
    uint32_t at;
    uint16_t count;

    memcpy(&at, bytes + 4, sizeof(at));
    memcpy(&count, bytes + at, sizeof(count));
    for (uint8_t *entry = bytes + at + 2; count > 0; count--, entry += 12) {
        if (memcmp(entry, &tag, sizeof(tag)) == 0) {
            return entry;
        }
    }
    T_TRUE(false);
    return NULL;
}

/* Writes a number over that of a tag. */
static void set_tag(uint8_t *bytes, uint16_t tag, uint32_t value)
{
    const uint16_t type = TIFF_LONG; /* libtiff writes small sizes with 16 bits */
    uint8_t *entry = find_tag(bytes, tag);

    memcpy(entry + 2, &type, sizeof(type));
    memcpy(entry + 8, &value, sizeof(value));
}

/* The number of a tag, or where its numbers are. */
static uint32_t tag_value(uint8_t *bytes, uint16_t tag)
{
    uint32_t value;

    memcpy(&value, find_tag(bytes, tag) + 8, sizeof(value));
    return value;
}

static void tiff_files_that_cannot_be_decoded_say_why(void)
{
    static const struct {
        uint16_t tag;
        uint32_t value;
        sluice_status want;
        const char *says;
    } changes[] = {
        {TIFFTAG_IMAGELENGTH, 5000000, SLUICE_E_INVALID, "37x5000000, more than max_pixels="},
        {TIFFTAG_IMAGELENGTH, 2000000, SLUICE_E_UNSUPPORTED, "sides go up to 1000000"},
        {TIFFTAG_IMAGEWIDTH, 0, SLUICE_E_CORRUPT, ""},
        {TIFFTAG_COMPRESSION, COMPRESSION_JPEG, SLUICE_E_UNSUPPORTED, "has the compression 7"},
        {TIFFTAG_PHOTOMETRIC, PHOTOMETRIC_CIELAB, SLUICE_E_UNSUPPORTED,
         "photometric interpretation 8"},
        {TIFFTAG_SAMPLESPERPIXEL, 2, SLUICE_E_UNSUPPORTED, "2 samples per pixel; they must be 1"},
        {TIFFTAG_BITSPERSAMPLE, 12, SLUICE_E_UNSUPPORTED, "1 samples of 12 bits per pixel"},
    };
    static const tiff_spec gray = {COMPRESSION_NONE, PHOTOMETRIC_MINISBLACK, 8, 1, .tiles = false};
    image_decoder *decoder = NULL;
    uint32_t width;
    uint32_t height;

    T_OK(image_decoder_create(&decoder));
    image_decoder_allow(decoder, IMAGE_TIFF);
    for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++) {
        size_t size;
        uint8_t *bytes = tiff_make(&gray, 1, 1, &size);

        set_tag(bytes, changes[i].tag, changes[i].value);
        T_STATUS(image_decoder_open(decoder, bytes, size, MAX_PIXELS, false, &width, &height),
                 changes[i].want);
        T_CONTAINS(sluice_last_error(), changes[i].says);
        free(bytes);
    }
    image_decoder_destroy(decoder);
}

/* A channel that the batch has no place for is not dropped. */
static void further_samples_are_refused(void)
{
    static const struct {
        tiff_spec spec;
        const char *says;
    } files[] = {
        {{COMPRESSION_NONE, PHOTOMETRIC_SEPARATED, 8, 5, EXTRASAMPLE_UNASSALPHA, .tiles = false},
         "CMYK with alpha"},
        {{COMPRESSION_NONE, PHOTOMETRIC_RGB, 8, 4, .tiles = false}, "has 4 samples per pixel"},
        {{COMPRESSION_NONE, PHOTOMETRIC_MINISBLACK, 8, 3, .tiles = false}, "has 3 samples per"},
    };
    image_decoder *decoder = NULL;

    T_OK(image_decoder_create(&decoder));
    image_decoder_allow(decoder, IMAGE_TIFF);
    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
        uint32_t width;
        uint32_t height;
        size_t size;
        uint8_t *bytes = tiff_make(&files[i].spec, 1, 1, &size);

        T_STATUS(image_decoder_open(decoder, bytes, size, MAX_PIXELS, false, &width, &height),
                 SLUICE_E_UNSUPPORTED);
        T_CONTAINS(sluice_last_error(), files[i].says);
        free(bytes);
    }
    image_decoder_destroy(decoder);
}

/* Tiles of a small image may be large, and their memory is limited as that of an image is. */
static void large_tiles_are_refused(void)
{
    image_decoder *decoder = NULL;
    size_t size;
    uint8_t *bytes = tiff_make(&specs[5], 1, 1, &size);
    uint32_t width;
    uint32_t height;

    T_OK(image_decoder_create(&decoder));
    image_decoder_allow(decoder, IMAGE_TIFF);
    set_tag(bytes, TIFFTAG_TILEWIDTH, 32768);
    set_tag(bytes, TIFFTAG_TILELENGTH, 32768);
    T_STATUS(image_decoder_open(decoder, bytes, size, MAX_PIXELS, false, &width, &height),
             SLUICE_E_INVALID);
    T_CONTAINS(sluice_last_error(), "32768x32768, more than max_pixels");
    set_tag(bytes, TIFFTAG_TILEWIDTH, 4096); /* each of them is small enough */
    set_tag(bytes, TIFFTAG_TILELENGTH, 16);
    T_STATUS(image_decoder_open(decoder, bytes, size, 80000, false, &width, &height), SLUICE_OK);
    set_tag(bytes, TIFFTAG_IMAGELENGTH, 700);
    T_STATUS(image_decoder_open(decoder, bytes, size, 80000, false, &width, &height),
             SLUICE_E_INVALID);
    T_CONTAINS(sluice_last_error(), "which together have more than 4 times max_pixels");
    image_decoder_destroy(decoder);
    free(bytes);
}

static void floating_point_of_64_bits_is_named(void)
{
    static const tiff_spec gray = {COMPRESSION_NONE, PHOTOMETRIC_MINISBLACK, 16, 1, .tiles = false};
    image_decoder *decoder = NULL;
    uint32_t width;
    uint32_t height;
    size_t size;
    const char *path = t_file("float.tif");
    uint8_t bytes[4096];
    double line[8] = {0};
    TIFF *tiff = TIFFOpen(path, "w");
    FILE *file;

    tiff_write_tags(tiff, &gray);
    TIFFSetField(tiff, TIFFTAG_IMAGEWIDTH, 8);
    TIFFSetField(tiff, TIFFTAG_IMAGELENGTH, 1);
    TIFFSetField(tiff, TIFFTAG_BITSPERSAMPLE, 64);
    TIFFSetField(tiff, TIFFTAG_SAMPLEFORMAT, SAMPLEFORMAT_IEEEFP);
    T_TRUE(TIFFWriteEncodedStrip(tiff, 0, line, sizeof(line)) > 0);
    TIFFClose(tiff);
    file = fopen(path, "rb");
    size = fread(bytes, 1, sizeof(bytes), file);
    fclose(file);
    T_OK(image_decoder_create(&decoder));
    image_decoder_allow(decoder, IMAGE_TIFF);
    T_STATUS(image_decoder_open(decoder, bytes, size, MAX_PIXELS, false, &width, &height),
             SLUICE_E_UNSUPPORTED);
    T_CONTAINS(sluice_last_error(), "floating-point numbers of 64 bits per channel");
    image_decoder_destroy(decoder);
}

static void a_tiff_file_without_memory_is_no_crash(void)
{
    const image_box all = {0, 0, WIDTH, HEIGHT};
    size_t size;
    uint8_t *bytes = tiff_make(&specs[3], 1, 1, &size);

    T_EQ(decode_without_memory(bytes, size, &all), 4); /* two decoders and two buffers */
    free(bytes);
}

/* The alpha of colours that are multiplied by it is not read: its strips may be corrupt. */
static void planes_that_no_pixel_needs_are_not_read(void)
{
    static const tiff_spec spec = {COMPRESSION_NONE,       PHOTOMETRIC_RGB, 8, 4,
                                   EXTRASAMPLE_ASSOCALPHA, .planes = true};
    const image_box all = {0, 0, WIDTH, HEIGHT};
    const uint32_t strips = (HEIGHT + 5) / 6;
    image_decoder *decoder = NULL;
    size_t size;
    uint8_t *bytes = tiff_make(&spec, 1, 1, &size);
    image_view region;
    uint32_t offsets = tag_value(bytes, TIFFTAG_STRIPOFFSETS);

    T_OK(image_decoder_create(&decoder));
    memset(bytes + offsets + (size_t)4 * 3 * strips, 0xFF, (size_t)4 * strips);
    check_box(decoder, &spec, bytes, size, false, &all);
    memset(bytes + offsets + (size_t)4 * 2 * strips, 0xFF, 4);
    T_STATUS(decode_tiff(decoder, bytes, size, false, &all, &region), SLUICE_E_CORRUPT);
    image_decoder_destroy(decoder);
    free(bytes);
}

/* Of the last strip of a box, lines below it are not decoded: they may be missing. */
static void lines_below_the_box_are_not_decoded(void)
{
    static const tiff_spec spec = {COMPRESSION_LZW, PHOTOMETRIC_RGB, 8, 3, .differences = true};
    const image_box first = {0, 0, WIDTH, 2};
    const image_box strip = {0, 0, WIDTH, 6};
    image_decoder *decoder = NULL;
    image_view region;
    size_t size;
    uint8_t *bytes = tiff_make(&spec, 1, 1, &size);
    const uint8_t *entry = find_tag(bytes, TIFFTAG_STRIPBYTECOUNTS);
    uint8_t *counts = bytes + tag_value(bytes, TIFFTAG_STRIPBYTECOUNTS);
    uint32_t count = 0;
    const size_t width = entry[2] == TIFF_SHORT ? 2 : 4;

    memcpy(&count, counts, width);
    count = count * 2 / 3;
    memcpy(counts, &count, width);
    T_OK(image_decoder_create(&decoder));
    check_box(decoder, &spec, bytes, size, false, &first);
    T_STATUS(decode_tiff(decoder, bytes, size, false, &strip, &region), SLUICE_E_CORRUPT);
    image_decoder_destroy(decoder);
    free(bytes);
}

static void tiff_files_are_opened_if_they_are_allowed(void)
{
    image_decoder *decoder = NULL;
    size_t size;
    uint8_t *bytes = tiff_make(&specs[0], 1, 1, &size);
    uint32_t width;
    uint32_t height;

    T_OK(image_decoder_create(&decoder)); /* by default all others are allowed */
    T_STATUS(image_decoder_open(decoder, bytes, size, MAX_PIXELS, false, &width, &height),
             SLUICE_E_UNSUPPORTED);
    T_CONTAINS(sluice_last_error(), "it is a TIFF file, and may not be opened: formats= of decode "
                                    "must have tiff (formats=auto has it for files with the "
                                    "extension tif,tiff)");
    image_decoder_destroy(decoder);
    free(bytes);
}

const t_test tiff_tests[] = {
    T_TEST(tiff_files_have_the_pixels_that_were_written),
    T_TEST(tiff_headers_are_described),
    T_TEST(tiff_files_can_be_masks),
    T_TEST(tiff_files_cut_anywhere_are_errors),
    T_TEST(flipped_bits_of_tiff_files_are_no_crash),
    T_TEST(tiff_files_that_cannot_be_decoded_say_why),
    T_TEST(further_samples_are_refused),
    T_TEST(large_tiles_are_refused),
    T_TEST(floating_point_of_64_bits_is_named),
    T_TEST(a_tiff_file_without_memory_is_no_crash),
    T_TEST(planes_that_no_pixel_needs_are_not_read),
    T_TEST(lines_below_the_box_are_not_decoded),
    T_TEST(tiff_files_are_opened_if_they_are_allowed),
    T_END,
};

#else

static void tiff_files_are_decoded(void)
{
    T_SKIP("the library has no TIFF");
}

const t_test tiff_tests[] = {T_TEST(tiff_files_are_decoded), T_END};

#endif
