/* SPDX-License-Identifier: Apache-2.0 */
#include "testing.h"

#ifdef SLI_HAVE_PNG
#include <stdlib.h>

#include "image_kit.h"
#include "png_maker.h"
#include "random_kit.h"

/* Every colour type with each of its depths. */
static const struct {
    int colour;
    int depth;
    uint32_t channels;
} kinds[] = {
    {PNG_COLOR_TYPE_GRAY, 1, 1},        {PNG_COLOR_TYPE_GRAY, 2, 1},
    {PNG_COLOR_TYPE_GRAY, 4, 1},        {PNG_COLOR_TYPE_GRAY, 8, 1},
    {PNG_COLOR_TYPE_GRAY, 16, 1},       {PNG_COLOR_TYPE_PALETTE, 1, 1},
    {PNG_COLOR_TYPE_PALETTE, 2, 1},     {PNG_COLOR_TYPE_PALETTE, 4, 1},
    {PNG_COLOR_TYPE_PALETTE, 8, 1},     {PNG_COLOR_TYPE_RGB, 8, 3},
    {PNG_COLOR_TYPE_RGB, 16, 3},        {PNG_COLOR_TYPE_GRAY_ALPHA, 8, 2},
    {PNG_COLOR_TYPE_GRAY_ALPHA, 16, 2}, {PNG_COLOR_TYPE_RGB_ALPHA, 8, 4},
    {PNG_COLOR_TYPE_RGB_ALPHA, 16, 4},
};

enum { KINDS = sizeof(kinds) / sizeof(kinds[0]) };

static const uint32_t sizes[][2] = {{1, 1}, {3, 2}, {8, 8}, {17, 9}, {33, 40}, {5, 70}};

enum { SIZES = sizeof(sizes) / sizeof(sizes[0]) };

/* A kind's file: number n counts kinds, and within each plain, interlaced, transparent, both. */
static png_recipe recipe_of(size_t n, size_t size)
{
    size_t kind = n / 4;

    return (png_recipe){.width = sizes[size][0],
                        .height = sizes[size][1],
                        .colour = kinds[kind].colour,
                        .depth = kinds[kind].depth,
                        .interlaced = n % 2 == 1,
                        .transparent =
                            n % 4 >= 2 && (kinds[kind].colour & PNG_COLOR_MASK_ALPHA) == 0,
                        .seed = (uint32_t)n + 1};
}

/* A sample of any depth as one of 8 bits. */
static uint32_t to_byte(uint32_t sample, int depth)
{
    uint32_t most = (1U << depth) - 1;

    return (sample * 255 + most / 2) / most;
}

static bool is_hidden(const png_recipe *recipe, uint32_t x, uint32_t y)
{
    uint32_t count = recipe->colour == PNG_COLOR_TYPE_RGB ? 3 : 1;

    for (uint32_t c = 0; c < count; c++) {
        if (png_sample(recipe, x, y, c) != png_sample(recipe, 0, 0, c)) {
            return false;
        }
    }
    return recipe->transparent;
}

/* What a pixel should be: the file's samples, on black. */
static void expected_pixel(const png_recipe *recipe, uint32_t x, uint32_t y, uint8_t rgb[3])
{
    const bool colour = (recipe->colour & PNG_COLOR_MASK_COLOR) != 0;
    uint32_t alpha = is_hidden(recipe, x, y) ? 0 : 255;
    uint8_t entry[4];

    for (uint32_t c = 0; c < 3; c++) {
        rgb[c] = (uint8_t)to_byte(png_sample(recipe, x, y, colour ? c : 0), recipe->depth);
    }
    if (recipe->colour == PNG_COLOR_TYPE_PALETTE) {
        png_palette_entry(recipe, png_sample(recipe, x, y, 0), entry);
        memcpy(rgb, entry, 3);
        alpha = entry[3];
    } else if ((recipe->colour & PNG_COLOR_MASK_ALPHA) != 0) {
        alpha = to_byte(png_sample(recipe, x, y, colour ? 3 : 1), recipe->depth);
    }
    for (uint32_t c = 0; c < 3; c++) {
        rgb[c] = (uint8_t)((rgb[c] * alpha + 127) / 255);
    }
}

static image_box some_box(uint32_t i, uint32_t width, uint32_t height, uint32_t *state)
{
    image_box box = {0, 0, width, height};

    if (i > 0) {
        box.width = i % 3 == 1 ? 1 : 1 + test_below(state, width);
        box.height = i % 3 == 2 ? 1 : 1 + test_below(state, height);
        box.x = test_below(state, width - box.width + 1);
        box.y = test_below(state, height - box.height + 1);
    }
    return box;
}

static void check_region(const png_recipe *recipe, const image_box *box, bool gray,
                         const image_view *region)
{
    T_EQ(region->width, box->width);
    T_EQ(region->height, box->height);
    T_EQ(region->channels, gray ? 1 : 3);
    for (uint32_t y = 0; y < box->height; y++) {
        for (uint32_t x = 0; x < box->width; x++) {
            const uint8_t *got = region->pixels + y * region->stride + (size_t)x * region->channels;
            uint8_t want[3];

            expected_pixel(recipe, box->x + x, box->y + y, want);
            if (gray) {
                T_NEAR(got[0], 0.299 * want[0] + 0.587 * want[1] + 0.114 * want[2], 0.51);
            } else if (memcmp(got, want, 3) != 0) {
                T_FAIL_("colour %d depth %d pixel %u,%u is %u %u %u, want %u %u %u", recipe->colour,
                        recipe->depth, box->x + x, box->y + y, got[0], got[1], got[2], want[0],
                        want[1], want[2]);
            }
        }
    }
}

static void check_all(bool gray)
{
    image_decoder *decoder = NULL;
    uint32_t state = 4;

    T_OK(image_decoder_create(&decoder));
    for (size_t n = 0; n < 4 * KINDS; n++) {
        for (size_t s = 0; s < SIZES; s++) {
            const png_recipe recipe = recipe_of(n, s);
            size_t size = 0;
            uint8_t *bytes = png_make(&recipe, &size);

            for (uint32_t i = 0; i < 6; i++) {
                const image_box box = some_box(i, recipe.width, recipe.height, &state);
                image_view region = {0};

                T_OK(decode_box(decoder, bytes, size, gray, &box, &region));
                check_region(&recipe, &box, gray, &region);
            }
            free(bytes);
        }
    }
    image_decoder_destroy(decoder);
}

static void every_kind_becomes_rgb(void)
{
    check_all(false);
}

static void every_kind_becomes_gray(void)
{
    check_all(true);
}

/* Loaders of training data take the samples as they are; so do we. */
static void gamma_changes_nothing(void)
{
    const png_recipe recipe = {.width = 20,
                               .height = 20,
                               .colour = PNG_COLOR_TYPE_RGB,
                               .depth = 8,
                               .gamma = 1.0,
                               .seed = 3};
    const image_box whole = {0, 0, 20, 20};
    image_decoder *decoder = NULL;
    image_view region = {0};
    size_t size = 0;
    uint8_t *bytes = png_make(&recipe, &size);

    T_OK(image_decoder_create(&decoder));
    T_OK(decode_box(decoder, bytes, size, false, &whole, &region));
    check_region(&recipe, &whole, false, &region);
    free(bytes);
    image_decoder_destroy(decoder);
}

/* ---- damage --------------------------------------------------------------------------------- */

/* Where the data of the first chunk of this name begins; its length stands 8 bytes before. */
static size_t find_chunk(const uint8_t *bytes, size_t size, const char *name, size_t *length)
{
    size_t at = 8;

    while (at + 12 <= size) {
        *length = (size_t)bytes[at] << 24 | (size_t)bytes[at + 1] << 16 |
                  (size_t)bytes[at + 2] << 8 | bytes[at + 3];
        if (memcmp(bytes + at + 4, name, 4) == 0) {
            return at + 8;
        }
        at += 12 + *length;
    }
    return 0;
}

static void claim_size(uint8_t *bytes, size_t size, uint32_t width, uint32_t height)
{
    size_t length = 0;
    uint8_t *header = bytes + find_chunk(bytes, size, "IHDR", &length);

    for (int i = 0; i < 4; i++) {
        header[i] = (uint8_t)(width >> (24 - 8 * i));
        header[4 + i] = (uint8_t)(height >> (24 - 8 * i));
    }
    png_seal(bytes, size);
}

static void a_file_cut_short_is_corrupt(void)
{
    const image_box whole = {0, 0, 33, 40};
    image_decoder *decoder = NULL;

    T_OK(image_decoder_create(&decoder));
    for (size_t n = 0; n < 4 * KINDS; n++) {
        const png_recipe recipe = recipe_of(n, 4);
        size_t size = 0;
        uint8_t *bytes = png_make(&recipe, &size);
        image_view region;

        for (size_t i = 0; i < 20; i++) {
            /* The 12 bytes of the last chunk say nothing. */
            T_STATUS(decode_box(decoder, bytes, (size - 12) * i / 20, false, &whole, &region),
                     SLUICE_E_CORRUPT);
        }
        T_OK(decode_box(decoder, bytes, size - 12, false, &whole, &region));
        free(bytes);
    }
    image_decoder_destroy(decoder);
}

/* Writes a chunk; returns its size. */
static size_t put_chunk(uint8_t *to, const char *name, const uint8_t *data, size_t length)
{
    for (int i = 0; i < 4; i++) {
        to[i] = (uint8_t)(length >> (24 - 8 * i));
    }
    memcpy(to + 4, name, 4);
    memcpy(to + 8, data, length);
    return 12 + length;
}

/* The same file with its data in IDAT chunks of so many bytes; *first_out: where they begin. */
static uint8_t *split_data(const uint8_t *bytes, size_t size, size_t most, size_t *first_out,
                           size_t *size_out)
{
    size_t length = 0;
    const size_t data = find_chunk(bytes, size, "IDAT", &length);
    uint8_t *split = malloc(size + length * 12);
    size_t at = data - 8;

    T_TRUE(data > 0 && split != NULL);
    memcpy(split, bytes, at);
    *first_out = at;
    for (size_t done = 0; done < length; done += most) {
        at += put_chunk(split + at, "IDAT", bytes + data + done,
                        length - done < most ? length - done : most);
    }
    memcpy(split + at, bytes + data + length + 4, size - data - length - 4);
    *size_out = at + size - data - length - 4;
    png_seal(split, *size_out);
    return split;
}

/* Also where all lines came before it: the checksum of the data lies in the last chunks then. */
static void a_file_cut_within_its_data_is_corrupt(void)
{
    static const size_t pieces[] = {1, 2, 3, 5, 100};
    const image_box whole = {0, 0, 9, 7};
    image_decoder *decoder = NULL;

    T_OK(image_decoder_create(&decoder));
    for (size_t i = 0; i < 2 * sizeof(pieces) / sizeof(pieces[0]); i++) {
        const png_recipe recipe = {.width = 9,
                                   .height = 7,
                                   .colour = PNG_COLOR_TYPE_RGB,
                                   .depth = 8,
                                   .interlaced = i % 2 == 1};
        size_t size = 0;
        size_t first = 0;
        size_t split_size = 0;
        uint8_t *bytes = png_make(&recipe, &size);
        uint8_t *split = split_data(bytes, size, pieces[i / 2], &first, &split_size);
        const size_t chunk = 12 + pieces[i / 2];
        image_view region;

        for (size_t cut = first; cut < split_size - 12; cut++) {
            if ((cut - first) % chunk != 0) {
                T_STATUS(decode_box(decoder, split, cut, false, &whole, &region), SLUICE_E_CORRUPT);
            }
        }
        T_OK(decode_box(decoder, split, split_size - 12, false, &whole, &region));
        T_OK(decode_box(decoder, split, split_size, false, &whole, &region));
        free(split);
        free(bytes);
    }
    image_decoder_destroy(decoder);
}

/* Damage of any byte of a chunk that matters is seen, also below the box. */
static void damage_is_seen_by_the_checksums(void)
{
    const image_box top = {0, 0, 33, 2};
    const png_recipe recipe = {.width = 33,
                               .height = 40,
                               .colour = PNG_COLOR_TYPE_PALETTE,
                               .depth = 8,
                               .transparent = true,
                               .seed = 2};
    static const char *const chunks[] = {"IHDR", "PLTE", "tRNS", "IDAT"};
    image_decoder *decoder = NULL;
    image_view region;
    size_t size = 0;
    uint8_t *bytes = png_make(&recipe, &size);

    T_OK(image_decoder_create(&decoder));
    for (size_t c = 0; c < 4; c++) {
        size_t length = 0;
        uint8_t *data = bytes + find_chunk(bytes, size, chunks[c], &length);

        for (size_t i = 0; i < length + 4; i += 1 + length / 100) {
            data[i] ^= 0x10;
            T_STATUS(decode_box(decoder, bytes, size, false, &top, &region), SLUICE_E_CORRUPT);
            data[i] ^= 0x10;
        }
    }
    T_OK(decode_box(decoder, bytes, size, false, &top, &region));
    free(bytes);
    image_decoder_destroy(decoder);
}

static void images_that_claim_to_be_huge_are_refused(void)
{
    static const struct {
        uint32_t width;
        uint32_t height;
        sluice_status want;
    } claims[] = {
        {60000, 60000, SLUICE_E_INVALID},
        {0x7FFFFFFF, 0x7FFFFFFF, SLUICE_E_INVALID},
        {100000001, 1, SLUICE_E_INVALID},
        {90000000, 1, SLUICE_E_UNSUPPORTED},
        {0xFFFFFFFF, 0xFFFFFFFF, SLUICE_E_CORRUPT},
        {0, 8, SLUICE_E_CORRUPT},
        {8, 0, SLUICE_E_CORRUPT},
        {9, 8, SLUICE_E_CORRUPT},
    };
    const png_recipe recipe = {
        .width = 8, .height = 8, .colour = PNG_COLOR_TYPE_RGB, .depth = 8, .seed = 3};
    const image_box corner = {0, 0, 8, 1};
    image_decoder *decoder = NULL;
    image_view region;
    size_t size = 0;
    uint8_t *bytes = png_make(&recipe, &size);

    T_OK(image_decoder_create(&decoder));
    for (size_t i = 0; i < sizeof(claims) / sizeof(claims[0]); i++) {
        claim_size(bytes, size, claims[i].width, claims[i].height);
        T_STATUS(decode_box(decoder, bytes, size, false, &corner, &region), claims[i].want);
    }
    claim_size(bytes, size, 8, 8);
    T_OK(decode_box(decoder, bytes, size, false, &corner, &region));
    free(bytes);
    image_decoder_destroy(decoder);
}

static void nothing_of_an_earlier_image_shows(void)
{
    const image_box whole = {0, 0, 17, 9};
    image_decoder *decoder = NULL;

    T_OK(image_decoder_create(&decoder));
    for (size_t n = 0; n < 4 * KINDS; n++) {
        png_recipe recipe = recipe_of(n, 3);
        uint8_t *files[2];
        size_t length[2] = {0, 0};

        recipe.transparent = false;
        for (int i = 0; i < 2; i++) {
            recipe.flat = 2 - i;
            files[i] = png_make(&recipe, &length[i]);
        }
        for (size_t cut = 0; cut <= length[1]; cut++) {
            image_view region = {0};

            T_OK(decode_box(decoder, files[0], length[0], false, &whole, &region));
            T_EQ(region.pixels[0], 255);
            if (decode_box(decoder, files[1], cut, false, &whole, &region) == SLUICE_OK) {
                recipe.flat = 1;
                check_region(&recipe, &whole, false, &region);
            }
        }
        free(files[0]);
        free(files[1]);
    }
    image_decoder_destroy(decoder);
}

/* Damage behind right checksums: an answer, and one that depends on nothing before it. */
static void damaged_bytes_give_an_answer(void)
{
    static const char *const chunks[] = {"IHDR", "IDAT", "PLTE", "tRNS"};
    image_decoder *decoders[2] = {NULL, NULL};
    const png_recipe other = {.width = 60, .height = 50, .colour = PNG_COLOR_TYPE_RGB, .depth = 16};
    size_t other_size = 0;
    uint8_t *before = png_make(&other, &other_size);
    uint32_t state = 321;

    T_OK(image_decoder_create(&decoders[0]));
    T_OK(image_decoder_create(&decoders[1]));
    for (size_t n = 0; n < 4 * KINDS * 40; n++) {
        const png_recipe recipe = recipe_of(n / 40, 3);
        const image_box box = some_box((uint32_t)n % 5, 17, 9, &state);
        const image_box first = {0, 0, 60, 50};
        size_t size = 0;
        uint8_t *bytes = png_make(&recipe, &size);
        size_t length = 0;
        size_t at = find_chunk(bytes, size, chunks[n % 4], &length);
        uint64_t digests[2];
        image_view region = {0};

        if (at != 0) {
            for (uint32_t i = 0; i < 1 + n % 3; i++) {
                bytes[at + test_below(&state, (uint32_t)length)] ^=
                    (uint8_t)(1 + test_below(&state, 255));
            }
            png_seal(bytes, size);
        } else {
            bytes[test_below(&state, (uint32_t)size)] ^= 0xFF;
        }
        T_OK(decode_box(decoders[0], before, other_size, false, &first, &region));
        for (int i = 0; i < 2; i++) {
            sluice_status st = decode_box(decoders[i], bytes, size, false, &box, &region);

            T_TRUE(st == SLUICE_OK || st == SLUICE_E_CORRUPT || st == SLUICE_E_INVALID ||
                   st == SLUICE_E_UNSUPPORTED || st == SLUICE_END_OF_DATA);
            digests[i] = digest(st, &region);
        }
        T_TRUE(digests[0] == digests[1]);
        free(bytes);
    }
    free(before);
    image_decoder_destroy(decoders[0]);
    image_decoder_destroy(decoders[1]);
}

static void running_out_of_memory_is_said(void)
{
    const png_recipe recipe = recipe_of(4 * 13 + 1, 4);
    const image_box whole = {0, 0, 33, 40};
    size_t size = 0;
    uint8_t *bytes = png_make(&recipe, &size);

    T_TRUE(decode_without_memory(bytes, size, &whole) > 5);
    free(bytes);
}

const t_test png_tests[] = {
    T_TEST(every_kind_becomes_rgb),
    T_TEST(every_kind_becomes_gray),
    T_TEST(gamma_changes_nothing),
    T_TEST(a_file_cut_short_is_corrupt),
    T_TEST(a_file_cut_within_its_data_is_corrupt),
    T_TEST(damage_is_seen_by_the_checksums),
    T_TEST(images_that_claim_to_be_huge_are_refused),
    T_TEST(nothing_of_an_earlier_image_shows),
    T_TEST(damaged_bytes_give_an_answer),
    T_TEST(running_out_of_memory_is_said),
    T_END,
};

#else

static void png_files_are_decoded(void)
{
    T_SKIP("this build has no libpng");
}

const t_test png_tests[] = {
    T_TEST(png_files_are_decoded),
    T_END,
};

#endif
