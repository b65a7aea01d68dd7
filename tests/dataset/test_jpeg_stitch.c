/* SPDX-License-Identifier: Apache-2.0 */
/* Parts of JPEG files by an index of their bits: what comes out has the pixels of the whole. */
#include <stdlib.h>
#include <string.h>

#include "jpeg_entropy.h"
#include "jpeg_kit.h"
#include "jpeg_stitch.h"
#include "testing.h"
#include "thread_interrupt_int.h"

static const uint8_t samplings[][4] = {
    {0x11}, {0x21}, {0x22}, {0x12}, {0x41}, {0x31}, {0x22, 0x12, 0x12}, {0x11, 0x22, 0x22},
};

static const uint16_t sizes[][2] = {
    {1, 1},   {8, 8},     {64, 8},   {65, 8},   {129, 49}, {64, 64},  {9, 300},
    {300, 9}, {201, 117}, {131, 20}, {132, 20}, {259, 19}, {260, 33}, {513, 40},
};

enum {
    SAMPLINGS = sizeof(samplings) / sizeof(samplings[0]),
    SIZES = sizeof(sizes) / sizeof(sizes[0])
};

/* A file with its index and its plain decode. */
typedef struct indexed_file {
    uint8_t *bytes;
    size_t size;
    jpeg_layout layout;
    uint8_t *index; /* NULL: it can have none */
    size_t index_size;
    jpeg_plain whole;
} indexed_file;

static indexed_file make_file(const jpeg_recipe *recipe)
{
    indexed_file file = {0};

    file.bytes = jpeg_make(recipe, &file.size);
    T_TRUE(file.bytes != NULL);
    T_TRUE(jpeg_layout_read(file.bytes, file.size, &file.layout));
    file.whole = jpeg_plain_decode(file.bytes, file.size,
                                   file.layout.components == 1 ? JCS_GRAYSCALE : JCS_RGB);
    T_TRUE(file.whole.pixels != NULL && file.whole.warnings == 0);
    if (jpeg_can_index(&file.layout, file.size)) {
        file.index_size = jpeg_index_size(&file.layout);
        file.index = malloc(file.index_size);
        T_TRUE(jpeg_index_make(&file.layout, file.bytes, file.size, file.index));
    }
    return file;
}

static void free_file(indexed_file *file)
{
    free(file->bytes);
    free(file->index);
    free(file->whole.pixels);
}

/* Stitches a box together, which must decode as a plain file; false: all of the file is needed. */
static bool check_stitch(const indexed_file *file, const image_box *box, image_buffer *part)
{
    image_box within = *box;
    image_view view;
    jpeg_plain plain;
    jpeg_cells cells;
    size_t size;

    if (jpeg_stitch(&file->layout, file->bytes, file->size, file->index, file->index_size, box,
                    part, &size, &cells) != JPEG_PART_MADE) {
        cells = jpeg_layout_cells(&file->layout, 8, 1, box);
        T_EQ(cells.pixels.width, file->layout.width);
        T_EQ(cells.pixels.height, file->layout.height);
        return false;
    }
    plain =
        jpeg_plain_decode(part->data, size, file->whole.channels == 1 ? JCS_GRAYSCALE : JCS_RGB);
    T_TRUE(plain.pixels != NULL);
    T_EQ(plain.warnings, 0);
    T_EQ(plain.width, cells.pixels.width);
    T_EQ(plain.height, cells.pixels.height);
    within.x -= cells.pixels.x;
    within.y -= cells.pixels.y;
    T_TRUE(within.x + within.width <= plain.width && within.y + within.height <= plain.height);
    view = (image_view){plain.pixels + ((size_t)within.y * plain.width + within.x) * plain.channels,
                        (size_t)plain.width * plain.channels,
                        box->width,
                        box->height,
                        plain.channels,
                        IMAGE_U8};
    T_TRUE(is_slice(&view, box, &file->whole));
    free(plain.pixels);
    return true;
}

/* Boxes of a file; returns how many were stitched. */
static int check_file(const jpeg_recipe *recipe, uint32_t boxes)
{
    indexed_file file = make_file(recipe);
    image_buffer part = {0};
    uint32_t state = recipe->seed;
    int stitched = 0;

    for (uint32_t i = 0; file.index != NULL && i < boxes; i++) {
        const image_box box = some_box(i, recipe->width, recipe->height, &state);

        stitched += check_stitch(&file, &box, &part);
    }
    image_buffer_free(&part);
    free_file(&file);
    return stitched;
}

static jpeg_recipe recipe_of(size_t sampling, size_t size, J_COLOR_SPACE space)
{
    jpeg_recipe recipe = {.width = sizes[size][0],
                          .height = sizes[size][1],
                          .space = space,
                          .optimised = size % 2 == 0,
                          .quality = 20 + (int)(size * 41 % 81),
                          .seed = (uint32_t)(size + 100 * sampling + 1)};

    memcpy(recipe.sampling, samplings[sampling], sizeof(samplings[sampling]));
    return recipe;
}

static void a_part_decodes_to_the_pixels_of_the_whole(void)
{
    int stitched = 0;

    for (size_t k = 0; k < SAMPLINGS; k++) {
        for (size_t i = 0; i < SIZES; i++) {
            const jpeg_recipe recipe = recipe_of(k, i, JCS_YCbCr);

            stitched += check_file(&recipe, 80);
        }
    }
    T_TRUE(stitched > 3000);
}

static void a_part_of_one_component_or_of_rgb(void)
{
    int stitched = 0;

    for (size_t i = 0; i < SIZES; i++) {
        const jpeg_recipe gray = recipe_of(i % 3, i, JCS_GRAYSCALE);
        const jpeg_recipe rgb = recipe_of(0, i, JCS_RGB);

        stitched += check_file(&gray, 40) + check_file(&rgb, 40);
    }
    T_TRUE(stitched > 300);
}

/* Bits of all kinds, FF bytes above all, at all eight shifts: noise of the highest quality. And a
 * flat picture, whose optimised tables have a single code, to which others must be added. */
static void bits_of_all_kinds_are_moved(void)
{
    int stitched = 0;

    for (uint32_t seed = 1; seed <= 40; seed++) {
        const jpeg_recipe fine = {
            .width = 320, .height = 48, .quality = 100, .optimised = seed % 2 == 0, .seed = seed};
        const jpeg_recipe flat = {.width = 320,
                                  .height = 48,
                                  .optimised = true,
                                  .flat = (int)seed * 6,
                                  .sampling = {seed % 3 == 0 ? 0x22 : 0x11}};

        stitched += check_file(&fine, 24) + check_file(&flat, 24);
    }
    T_TRUE(stitched > 1000);
}

/* Places that the library's own decode confirms: an entry's bits, and the end behind the last. */
static void an_index_ends_where_the_data_end(void)
{
    const jpeg_recipe recipe = {.width = 150, .height = 40, .sampling = {0x21}, .seed = 9};
    indexed_file file = make_file(&recipe);
    const uint8_t *last = file.index + file.index_size - 10;
    const uint32_t place =
        last[0] | (uint32_t)last[1] << 8 | (uint32_t)last[2] << 16 | (uint32_t)last[3] << 24;

    /* Behind the last MCU are at most 7 ones, then the end of the image. */
    T_EQ((place + 7) / 8, file.size - 2);
    T_EQ(file.index_size, 8 + 10 * (2 * 5 + 1));
    free_file(&file);
}

/* ---- the decoder ----------------------------------------------------------------------------- */

static void the_decoder_makes_an_index_and_uses_it(void)
{
    const jpeg_recipe recipe = {.width = 200, .height = 100, .sampling = {0x22}, .seed = 3};
    const image_box box = {130, 70, 50, 25};
    indexed_file file = make_file(&recipe);
    image_index index = {.wanted = true};
    image_decoder *decoder = NULL;
    image_view region;
    uint32_t width;
    uint32_t height;

    T_OK(image_decoder_create(&decoder));
    T_OK(image_decoder_open(decoder, file.bytes, file.size, MAX_PIXELS, false, &width, &height));
    image_decoder_use_index(decoder, &index);
    T_OK(image_decoder_region(decoder, &box, &region));
    T_TRUE(is_slice(&region, &box, &file.whole));
    T_TRUE(index.is_made && !index.is_used);
    T_EQ(index.size, file.index_size);
    T_TRUE(memcmp(index.bytes.data, file.index, index.size) == 0);
    index.is_made = false;
    /* Damage above the box is not even read. */
    memset(file.bytes + file.layout.scan + 40, 0x55, 40);
    T_OK(image_decoder_open(decoder, file.bytes, file.size, MAX_PIXELS, false, &width, &height));
    image_decoder_use_index(decoder, &index);
    T_OK(image_decoder_region(decoder, &box, &region));
    T_TRUE(is_slice(&region, &box, &file.whole));
    T_TRUE(!index.is_made && !index.is_wrong && index.is_used);
    /* An index is of one file: the next has none unless it is given one. */
    T_OK(image_decoder_open(decoder, file.bytes, file.size, MAX_PIXELS, false, &width, &height));
    if (image_decoder_region(decoder, &box, &region) == SLUICE_OK) {
        T_TRUE(!is_slice(&region, &box, &file.whole));
    }
    image_buffer_free(&index.bytes);
    image_decoder_destroy(decoder);
    free_file(&file);
}

static bool always(void *arg)
{
    (void)arg;
    return true;
}

static void an_index_is_not_wrong_where_a_stop_ends_the_decode(void)
{
    static const sli_interrupt interrupt = {always, NULL};
    const jpeg_recipe recipe = {.width = 200, .height = 100, .seed = 3};
    const image_box box = {130, 70, 50, 25};
    indexed_file file = make_file(&recipe);
    image_index index = {.size = file.index_size, .bytes = {file.index, file.index_size}};
    image_decoder *decoder = NULL;

    T_OK(image_decoder_create(&decoder));
    for (int stopped = 1; stopped >= 0; stopped--) {
        image_view region;
        uint32_t width;
        uint32_t height;

        T_OK(
            image_decoder_open(decoder, file.bytes, file.size, MAX_PIXELS, false, &width, &height));
        image_decoder_use_index(decoder, &index);
        sli_thread_interrupt(stopped ? &interrupt : NULL);
        T_STATUS(image_decoder_region(decoder, &box, &region), stopped ? SLUICE_CLOSED : SLUICE_OK);
        sli_thread_interrupt(NULL);
        T_TRUE(!index.is_wrong && index.is_used == !stopped);
    }
    image_decoder_destroy(decoder);
    free_file(&file);
}

/* Where all of an image is needed its index is neither used nor wrong; nor is one of a file that
 * has restart markers, which is cut at those. */
static void an_index_that_was_not_looked_at_is_not_used(void)
{
    for (int restart = 0; restart < 2; restart++) {
        const jpeg_recipe recipe = {.width = 140, .height = 20, .restart = restart, .seed = 4};
        const image_box box = restart == 0 ? (image_box){0, 0, 140, 20} : (image_box){9, 9, 4, 4};
        uint8_t none[100] = {0};
        image_index index = {.size = sizeof(none), .bytes = {none, sizeof(none)}};
        indexed_file file = make_file(&recipe);
        image_decoder *decoder = NULL;
        image_view region;
        uint32_t width;
        uint32_t height;

        if (restart == 0) {
            index.bytes.data = file.index;
            index.size = file.index_size;
        }
        T_OK(image_decoder_create(&decoder));
        T_OK(
            image_decoder_open(decoder, file.bytes, file.size, MAX_PIXELS, false, &width, &height));
        image_decoder_use_index(decoder, &index);
        T_OK(image_decoder_region(decoder, &box, &region));
        T_TRUE(is_slice(&region, &box, &file.whole));
        T_TRUE(!index.is_used && !index.is_wrong && !index.is_made);
        image_decoder_destroy(decoder);
        free_file(&file);
    }
}

static void files_without_an_index_get_an_empty_one(void)
{
    static const jpeg_recipe recipes[] = {
        {.width = 100, .height = 40, .progressive = true},
        {.width = 100, .height = 40, .restart = 3},
        {.width = 100, .height = 40, .space = JCS_CMYK},
        {.width = 8, .height = 8},
    };
    image_decoder *decoder = NULL;

    T_OK(image_decoder_create(&decoder));
    for (size_t i = 0; i < sizeof(recipes) / sizeof(recipes[0]); i++) {
        const image_box box = {1, 1, 4, 4};
        image_index index = {.wanted = true};
        image_view region;
        uint32_t width;
        uint32_t height;
        size_t size;
        uint8_t *bytes = jpeg_make(&recipes[i], &size);

        T_OK(image_decoder_open(decoder, bytes, size, MAX_PIXELS, false, &width, &height));
        image_decoder_use_index(decoder, &index);
        T_OK(image_decoder_region(decoder, &box, &region));
        T_TRUE(index.is_made);
        T_EQ(index.size, 0);
        image_buffer_free(&index.bytes);
        free(bytes);
    }
    image_decoder_destroy(decoder);
}

/* ---- damage ---------------------------------------------------------------------------------- */

/* An index that lies: pixels of some kind or an error, within the file's bytes and the buffer's.
 * One that fits no file is not used, and the pixels are right. */
static void a_wrong_index_does_no_harm(void)
{
    const jpeg_recipe recipe = {.width = 200, .height = 60, .sampling = {0x21}, .seed = 5};
    indexed_file file = make_file(&recipe);
    image_decoder *decoder = NULL;
    uint32_t state = 1;
    int wrong = 0;

    T_OK(image_decoder_create(&decoder));
    for (uint32_t i = 0; i < 6000; i++) {
        const image_box box = some_box(i, recipe.width, recipe.height, &state);
        image_index index = {.size = file.index_size};
        image_view region;
        uint32_t width;
        uint32_t height;

        T_OK(image_buffer_reserve(&index.bytes, index.size));
        memcpy(index.bytes.data, file.index, index.size);
        for (uint32_t k = 0; k <= i % 4; k++) {
            const uint32_t at = test_below(&state, (uint32_t)index.size);

            index.bytes.data[at] = i % 2 == 0 ? (uint8_t)test_below(&state, 256)
                                              : index.bytes.data[test_below(&state, at + 1)];
        }
        T_OK(
            image_decoder_open(decoder, file.bytes, file.size, MAX_PIXELS, false, &width, &height));
        image_decoder_use_index(decoder, &index);
        T_OK(image_decoder_region(decoder, &box, &region));
        T_TRUE(!index.is_used || !index.is_wrong);
        T_TRUE(index.is_used || is_slice(&region, &box, &file.whole));
        wrong += index.is_wrong;
        image_buffer_free(&index.bytes);
    }
    T_TRUE(wrong > 100);
    image_decoder_destroy(decoder);
    free_file(&file);
}

/* Rows that each take the whole file would be more than there is room for. */
static void bits_are_not_taken_twice(void)
{
    const jpeg_recipe recipe = {.width = 200, .height = 400, .seed = 5};
    const image_box box = {70, 10, 20, 380};
    indexed_file file = make_file(&recipe);
    uint8_t *first = file.index + 8;
    uint8_t *last = file.index + file.index_size - 10;
    image_buffer part = {0};
    jpeg_cells cells;
    size_t size;

    for (uint8_t *entry = first; entry < last; entry += 10) {
        memcpy(entry, (entry - first) / 10 % 4 == 2 ? last : first, 10);
    }
    T_EQ(jpeg_stitch(&file.layout, file.bytes, file.size, file.index, file.index_size, &box, &part,
                     &size, &cells),
         JPEG_PART_CANNOT);
    image_buffer_free(&part);
    free_file(&file);
}

/* What a header holds may look like data, and be more than there is room for. */
static void bits_are_not_taken_from_headers(void)
{
    const jpeg_recipe recipe = {.width = 200, .height = 16, .seed = 5};
    const image_box box = {10, 0, 20, 8};
    indexed_file file = make_file(&recipe);
    const size_t comment = file.size - file.layout.scan;
    const size_t size = file.size + 4 + comment;
    uint8_t *bytes = malloc(size);
    const uint8_t head[6] = {
        0xFF, 0xD8, 0xFF, 0xFE, (uint8_t)((comment + 2) >> 8), (uint8_t)(comment + 2)};
    image_buffer part = {0};
    jpeg_layout layout;
    jpeg_cells cells;
    size_t part_size;

    memcpy(bytes, head, 6); /* a comment that is the file's own data */
    memcpy(bytes + 6, file.bytes + file.layout.scan, comment);
    memcpy(bytes + 6 + comment, file.bytes + 2, file.size - 2);
    T_TRUE(jpeg_layout_read(bytes, size, &layout));
    T_TRUE(jpeg_index_make(&layout, bytes, size, file.index));
    T_EQ(jpeg_stitch(&layout, bytes, size, file.index, file.index_size, &box, &part, &part_size,
                     &cells),
         JPEG_PART_MADE);
    file.index[8] = 6 * 8; /* the first entry's place */
    file.index[9] = 0;
    T_EQ(jpeg_stitch(&layout, bytes, size, file.index, file.index_size, &box, &part, &part_size,
                     &cells),
         JPEG_PART_CANNOT);
    image_buffer_free(&part);
    free(bytes);
    free_file(&file);
}

/* A DC table with a code of every length has no room for categories that it lacks. */
static void tables_without_room_are_refused(void)
{
    static const uint8_t frame[] = {0xFF, 0xC0, 0, 11, 8, 0, 16, 0, 200, 1, 1, 0x11, 0};
    static const uint8_t scan[] = {0xFF, 0xDA, 0, 8, 1, 1, 0x00, 0, 63, 0};

    for (int lacks = 0; lacks < 3; lacks++) {
        uint8_t bytes[200] = {0xFF, 0xD8, 0xFF, 0xC4, 0, 2 + 17 + 16 + 17 + 1};
        uint8_t *to = bytes + 6;
        jpeg_entropy entropy;
        jpeg_layout layout;

        *to++ = 0;
        for (uint8_t n = 1; n <= 16; n++) {
            *to++ = 1;
        }
        for (uint8_t i = 0; i < 16; i++) { /* values 0 to 15, or one of the 12 is not there */
            *to++ = lacks == 1 && i == 11 ? 99 : i;
        }
        *to++ = 0x10;
        memset(to, 0, 16);
        to[lacks == 2 ? 0 : 15] = 1;
        to += 17;
        if (lacks == 2) { /* two codes of one bit: all ones is one of them */
            bytes[6 + 1] = 2;
            memset(bytes + 6 + 2, 0, 15);
            bytes[6 + 1 + 15] = 14;
        }
        memcpy(to, frame, sizeof(frame));
        memcpy(to + sizeof(frame), scan, sizeof(scan));
        T_TRUE(jpeg_layout_read(bytes, sizeof(bytes), &layout));
        T_EQ(jpeg_entropy_read(&layout, bytes, &entropy), lacks == 0);
    }
}

/*
 * Codes that the file's table lacks are damage, also those that it is completed by: libjpeg-turbo
 * takes them for a difference of zero, and says nothing where many bytes follow.
 */
static void codes_that_were_added_are_not_read(void)
{
    /* Nine blocks. Each table has one code, the bit 0: there is no difference, and no more. */
    static const uint8_t tables[] = {0xFF, 0xC4, 0, 2 + 2 * 18, 0x00, 1};
    static const uint8_t frame[] = {0xFF, 0xC0, 0, 11, 8, 0, 8, 0, 72, 1, 1, 0x11, 0};
    static const uint8_t scan[] = {0xFF, 0xDA, 0, 8, 1, 1, 0x00, 0, 63, 0};
    /* The second begins with the code 10, which would be one more, and a 1. */
    static const uint8_t data[2][5] = {{0, 0, 0x3F, 0xFF, 0xD9}, {0xA0, 0, 0x0F, 0xFF, 0xD9}};
    uint8_t bytes[2 + 40 + sizeof(frame) + sizeof(scan) + 5] = {0xFF, 0xD8};
    uint8_t *end = bytes + sizeof(bytes) - 5;
    uint8_t index[8 + 10 * 3];
    jpeg_layout layout;

    memcpy(bytes + 2, tables, sizeof(tables));
    bytes[2 + 4 + 18] = 0x10;
    bytes[2 + 4 + 18 + 1] = 1;
    memcpy(end - sizeof(scan) - sizeof(frame), frame, sizeof(frame));
    memcpy(end - sizeof(scan), scan, sizeof(scan));
    for (int i = 0; i < 2; i++) {
        memcpy(end, data[i], 5);
        T_TRUE(jpeg_layout_read(bytes, sizeof(bytes), &layout));
        T_EQ(jpeg_index_size(&layout), sizeof(index));
        T_EQ(jpeg_index_make(&layout, bytes, sizeof(bytes), index), i == 0);
    }
}

static void indexes_of_another_size_or_version_are_not_used(void)
{
    const jpeg_recipe recipe = {.width = 200, .height = 60, .seed = 5};
    const image_box box = {10, 10, 20, 20};
    indexed_file file = make_file(&recipe);
    image_buffer part = {0};
    jpeg_cells cells;
    size_t size;

    T_TRUE(jpeg_stitch(&file.layout, file.bytes, file.size, file.index, file.index_size, &box,
                       &part, &size, &cells) == JPEG_PART_MADE);
    for (size_t n = 0; n < file.index_size; n += 7) {
        uint8_t *shorter = malloc(n + 1);

        memcpy(shorter, file.index, n);
        T_TRUE(jpeg_stitch(&file.layout, file.bytes, file.size, shorter, n, &box, &part, &size,
                           &cells) != JPEG_PART_MADE);
        free(shorter);
    }
    for (int at = 0; at < 8; at++) {
        file.index[at] ^= 1;
        T_TRUE(jpeg_stitch(&file.layout, file.bytes, file.size, file.index, file.index_size, &box,
                           &part, &size, &cells) != JPEG_PART_MADE);
        file.index[at] ^= 1;
    }
    image_buffer_free(&part);
    free_file(&file);
}

/* Damaged data have no index; what has one is as libjpeg sees it. */
static void damaged_files_have_an_index_only_when_they_decode(void)
{
    const jpeg_recipe recipe = {.width = 140, .height = 40, .sampling = {0x22}, .seed = 8};
    indexed_file file = make_file(&recipe);
    image_buffer part = {0};
    uint32_t state = 5;
    int indexed = 0;
    int refused = 0;

    for (int i = 0; i < 3000; i++) {
        indexed_file damaged = file;
        const size_t at =
            i % 4 == 0
                ? test_below(&state, (uint32_t)file.size)
                : file.layout.scan + test_below(&state, (uint32_t)(file.size - file.layout.scan));

        damaged.size = i % 5 == 0 ? at : file.size;
        damaged.bytes = malloc(damaged.size + 1);
        memcpy(damaged.bytes, file.bytes, damaged.size);
        if (at < damaged.size) {
            damaged.bytes[at] ^= (uint8_t)(1U << test_below(&state, 8));
        }
        if (damaged.size > 0 && jpeg_layout_read(damaged.bytes, damaged.size, &damaged.layout) &&
            jpeg_can_index(&damaged.layout, damaged.size) &&
            (uint64_t)damaged.layout.width * damaged.layout.height < 1000000) {
            damaged.index_size = jpeg_index_size(&damaged.layout);
            damaged.index = malloc(damaged.index_size);
            if (jpeg_index_make(&damaged.layout, damaged.bytes, damaged.size, damaged.index)) {
                T_TRUE(damaged.size > file.size - 3); /* all data are there */
                damaged.whole = jpeg_plain_decode(damaged.bytes, damaged.size, JCS_RGB);
                if (damaged.whole.pixels != NULL && damaged.whole.warnings == 0) {
                    const image_box box =
                        some_box((uint32_t)i, damaged.layout.width, damaged.layout.height, &state);

                    check_stitch(&damaged, &box, &part);
                    indexed++;
                }
                free(damaged.whole.pixels);
            } else {
                refused++;
            }
            free(damaged.index);
        }
        free(damaged.bytes);
    }
    T_TRUE(indexed > 100);
    T_TRUE(refused > 100);
    image_buffer_free(&part);
    free_file(&file);
}

const t_test jpeg_stitch_tests[] = {
    T_TEST(a_part_decodes_to_the_pixels_of_the_whole),
    T_TEST(a_part_of_one_component_or_of_rgb),
    T_TEST(bits_of_all_kinds_are_moved),
    T_TEST(an_index_ends_where_the_data_end),
    T_TEST(the_decoder_makes_an_index_and_uses_it),
    T_TEST(an_index_is_not_wrong_where_a_stop_ends_the_decode),
    T_TEST(an_index_that_was_not_looked_at_is_not_used),
    T_TEST(files_without_an_index_get_an_empty_one),
    T_TEST(a_wrong_index_does_no_harm),
    T_TEST(bits_are_not_taken_twice),
    T_TEST(bits_are_not_taken_from_headers),
    T_TEST(tables_without_room_are_refused),
    T_TEST(codes_that_were_added_are_not_read),
    T_TEST(indexes_of_another_size_or_version_are_not_used),
    T_TEST(damaged_files_have_an_index_only_when_they_decode),
    T_END,
};
