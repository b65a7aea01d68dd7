/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "image_kit.h"
#include "testing.h"

/* A canvas of 3x2, a palette of 4 gray values, and a frame of 2x2 at 1,0: codes 4 1 2 3 0 5. */
static const char file[] = "GIF89a\3\0\2\0\x81\0\0\1\1\1\2\2\2\3\3\3\4\4\4"
                           "!\xF9\4\1\0\0\2\0,\1\0\0\0\2\0\2\0\0\2\x03\x8C\x06\x05\0;";

enum { SIZE = sizeof(file) - 1 };

static void frames_smaller_than_the_canvas_are_decoded(void)
{
    static const image_box all = {0, 0, 3, 2};
    image_decoder *decoder = NULL;
    image_view region;

    T_OK(image_decoder_create(&decoder));
    T_OK(decode_box(decoder, (const uint8_t *)file, SIZE, true, &all, &region));
    T_EQ(region.width, 3);
    T_EQ(memcmp(region.pixels, "\0\2\0\0\4\1", 6), 0); /* 2 is transparent */
    image_decoder_destroy(decoder);
}

static void gif_files_cut_anywhere_are_errors(void)
{
    static const image_box all = {0, 0, 3, 2};

    for (size_t size = 4; size < SIZE - 3; size++) {
        image_decoder *decoder = NULL;
        image_view region;
        uint8_t *copy = malloc(size); /* for what looks beyond the end */

        memcpy(copy, file, size);
        T_OK(image_decoder_create(&decoder));
        T_STATUS(decode_box(decoder, copy, size, true, &all, &region), SLUICE_E_CORRUPT);
        image_decoder_destroy(decoder);
        free(copy);
    }
}

static void code_sizes_out_of_range_are_errors(void)
{
    static const uint8_t sizes[] = {0, 9, 12, 255};
    static const image_box all = {0, 0, 3, 2};
    uint8_t copy[SIZE];

    for (size_t i = 0; i < sizeof(sizes); i++) {
        image_decoder *decoder = NULL;
        image_view region;

        memcpy(copy, file, SIZE);
        copy[SIZE - 7] = sizes[i];
        T_OK(image_decoder_create(&decoder));
        T_STATUS(decode_box(decoder, copy, SIZE, true, &all, &region), SLUICE_E_CORRUPT);
        T_CONTAINS(sluice_last_error(), "it must be 1 to 8");
        image_decoder_destroy(decoder);
    }
}

static void gif_codes_beyond_the_table_are_errors(void)
{
    static const image_box all = {0, 0, 3, 2};
    image_decoder *decoder = NULL;
    image_view region;
    uint8_t copy[SIZE];

    memcpy(copy, file, SIZE);
    copy[SIZE - 5] = 0xBC; /* codes 4 7 */
    T_OK(image_decoder_create(&decoder));
    T_STATUS(decode_box(decoder, copy, SIZE, true, &all, &region), SLUICE_E_CORRUPT);
    T_CONTAINS(sluice_last_error(), "has the code 7");
    image_decoder_destroy(decoder);
}

/* ---- files made by a writer ------------------------------------------------------------------ */

enum { CANVAS_WIDTH = 90, CANVAS_HEIGHT = 75, MOST_BYTES = 40000, TABLE = 4096 };

/* What a file has. */
typedef struct gif_spec {
    image_box frame;
    uint32_t bits; /* of an index */
    bool interlaced;
    bool local;      /* the frame has a palette */
    bool no_palette; /* the file has none */
    bool second;     /* a second frame follows */
    bool clears;     /* the table is cleared when it is full; else its codes stay */
} gif_spec;

typedef struct gif_file {
    uint8_t bytes[MOST_BYTES];
    size_t size;
    uint32_t word;
    uint32_t bits;
    size_t block_at;
} gif_file;

static void put(gif_file *f, uint32_t byte)
{
    T_TRUE(f->size < MOST_BYTES);
    f->bytes[f->size++] = (uint8_t)byte;
}

static void put_16(gif_file *f, uint32_t value)
{
    put(f, value & 255);
    put(f, value >> 8);
}

static void put_code(gif_file *f, uint32_t code, uint32_t size)
{
    f->word |= code << f->bits;
    for (f->bits += size; f->bits >= 8; f->bits -= 8) {
        if (f->bytes[f->block_at] == 255) {
            f->block_at = f->size;
            put(f, 0);
        }
        put(f, f->word & 255);
        f->bytes[f->block_at]++;
        f->word >>= 8;
    }
}

/* Gray values: those of the palette of the file, and of the frame's own. */
static uint8_t gray_of(const gif_spec *spec, uint32_t index)
{
    return (uint8_t)(spec->local ? 255 - index : spec->no_palette ? index : index * 3);
}

static void put_palette(gif_file *f, const gif_spec *spec)
{
    for (uint32_t i = 0; i < 1U << spec->bits; i++) {
        for (int k = 0; k < 3; k++) {
            put(f, gray_of(spec, i));
        }
    }
}

/* The index of a pixel of a frame: some lines are runs, others change at each pixel. */
static uint8_t index_of(const gif_spec *spec, uint32_t x, uint32_t y)
{
    const uint32_t value = y % 4 == 0 ? x / 7 : x * x * 5 + y * 11 + x * y / 3;

    return (uint8_t)(value & ((1U << spec->bits) - 1));
}

/* The place in the image of line i of the file. */
static uint32_t line_of(const gif_spec *spec, uint32_t i)
{
    static const uint32_t from[] = {0, 4, 2, 1};
    static const uint32_t step[] = {8, 8, 4, 2};

    for (uint32_t pass = 0; spec->interlaced && pass < 4; pass++) {
        const uint32_t height = spec->frame.height;
        const uint32_t lines =
            height <= from[pass] ? 0 : (height - from[pass] - 1) / step[pass] + 1;

        if (i < lines) {
            return from[pass] + i * step[pass];
        }
        i -= lines;
    }
    return i;
}

static void put_pixels(gif_file *f, const gif_spec *spec)
{
    static uint16_t table[TABLE][256]; /* the code of a code and the next index; 0: none */
    const uint32_t clear = 1U << spec->bits;
    const uint32_t width = spec->frame.width;
    uint32_t next = clear + 2;
    uint32_t size = spec->bits + 1;
    uint32_t code = index_of(spec, 0, 0);

    memset(table, 0, sizeof(table));
    put(f, spec->bits);
    f->block_at = f->size;
    put(f, 0);
    put_code(f, clear, size);
    for (uint32_t i = 1; i < width * spec->frame.height; i++) {
        const uint8_t index = index_of(spec, i % width, line_of(spec, i / width));

        if (table[code][index] != 0) {
            code = table[code][index];
            continue;
        }
        put_code(f, code, size);
        if (next < TABLE) {
            table[code][index] = (uint16_t)next++;
            size += next > 1U << size && size < 12;
        } else if (spec->clears) {
            put_code(f, clear, size);
            memset(table, 0, sizeof(table));
            next = clear + 2;
            size = spec->bits + 1;
        }
        code = index;
    }
    put_code(f, code, size);
    put_code(f, clear + 1, size);
    put_code(f, 0, 7);
    put(f, 0);
}

static void put_frame(gif_file *f, const gif_spec *spec)
{
    put(f, ',');
    put_16(f, spec->frame.x);
    put_16(f, spec->frame.y);
    put_16(f, spec->frame.width);
    put_16(f, spec->frame.height);
    put(f, (spec->local ? 0x80 | (spec->bits - 1) : 0) | (spec->interlaced ? 0x40 : 0));
    if (spec->local) {
        put_palette(f, spec);
    }
    put_pixels(f, spec);
}

static const gif_file *make_gif(const gif_spec *spec)
{
    static gif_file f;
    const gif_spec all = {.bits = spec->bits};

    memset(&f, 0, sizeof(f));
    memcpy(f.bytes, "GIF89a", 6);
    f.size = 6;
    put_16(&f, CANVAS_WIDTH);
    put_16(&f, CANVAS_HEIGHT);
    put(&f, spec->no_palette ? 0 : 0x80 | (spec->bits - 1));
    put_16(&f, 0);
    if (!spec->no_palette) {
        put_palette(&f, &all);
    }
    put_frame(&f, spec);
    if (spec->second) {
        put_frame(&f, &(gif_spec){.frame = {1, 1, 2, 2}, .bits = spec->bits});
    }
    put(&f, ';');
    return &f;
}

/* The value of a pixel of the canvas: beside the frame it has index 0. */
static uint8_t gray_at(const gif_spec *spec, uint32_t x, uint32_t y)
{
    const image_box *frame = &spec->frame;
    const bool is_in = x >= frame->x && x - frame->x < frame->width && y >= frame->y &&
                       y - frame->y < frame->height;

    return gray_of(spec, is_in ? index_of(spec, x - frame->x, y - frame->y) : 0);
}

static const gif_spec specs[] = {
    {.frame = {0, 0, CANVAS_WIDTH, CANVAS_HEIGHT}, .bits = 8},
    {.frame = {0, 0, CANVAS_WIDTH, CANVAS_HEIGHT}, .bits = 8, .clears = true},
    {.frame = {0, 0, CANVAS_WIDTH, CANVAS_HEIGHT}, .bits = 2, .interlaced = true},
    {.frame = {20, 7, 50, 61}, .bits = 5, .interlaced = true, .local = true, .second = true},
    {.frame = {89, 74, 1, 1}, .bits = 3},
    {.frame = {3, 0, 7, 1}, .bits = 4, .interlaced = true},
    {.frame = {3, 4, 9, 3}, .bits = 7, .interlaced = true, .no_palette = true},
};

static void all_boxes_have_the_pixels_that_were_written(void)
{
    static const image_box boxes[] = {
        {0, 0, CANVAS_WIDTH, CANVAS_HEIGHT}, {21, 8, 30, 40}, {89, 74, 1, 1}, {0, 2, 30, 3}};

    for (size_t i = 0; i < COUNT(specs); i++) {
        const gif_file *f = make_gif(&specs[i]);
        image_decoder *decoder = NULL;

        T_OK(image_decoder_create(&decoder));
        for (size_t k = 0; k < COUNT(boxes); k++) {
            const image_box *box = &boxes[k];
            image_view region;

            T_OK(decode_box(decoder, f->bytes, f->size, false, box, &region));
            T_EQ(region.channels, 3);
            for (uint32_t p = 0; p < box->width * box->height; p++) {
                const uint32_t x = p % box->width;
                const uint32_t y = p / box->width;

                T_EQ(region.pixels[y * region.stride + 3 * x + 1],
                     gray_at(&specs[i], box->x + x, box->y + y));
            }
        }
        image_decoder_destroy(decoder);
    }
}

static void stored_indices_and_further_frames_are_told(void)
{
    const gif_spec *spec = &specs[3];
    const gif_file *f = make_gif(spec);
    image_decoder *decoder = NULL;
    image_facts facts;
    image_view region;
    uint32_t width;
    uint32_t height;

    T_OK(image_decoder_create(&decoder));
    T_OK(image_decoder_open(decoder, f->bytes, f->size, MAX_PIXELS, true, &width, &height));
    image_decoder_describe(decoder, &facts);
    T_TRUE(facts.further && facts.palette && facts.progressive && !facts.transparent);
    T_OK(image_decoder_request_indices(decoder));
    T_OK(image_decoder_region(decoder, &spec->frame, &region));
    for (uint32_t y = 0; y < spec->frame.height; y++) {
        for (uint32_t x = 0; x < spec->frame.width; x++) {
            T_EQ(region.pixels[y * region.stride + x], index_of(spec, x, y));
        }
    }
    image_decoder_destroy(decoder);
}

static void large_canvases_are_refused(void)
{
    const gif_file *f = make_gif(&specs[4]);
    const uint64_t pixels = CANVAS_WIDTH * CANVAS_HEIGHT;
    image_decoder *decoder = NULL;
    uint32_t width;
    uint32_t height;

    T_OK(image_decoder_create(&decoder));
    T_OK(image_decoder_open(decoder, f->bytes, f->size, pixels, true, &width, &height));
    T_STATUS(image_decoder_open(decoder, f->bytes, f->size, pixels - 1, true, &width, &height),
             SLUICE_E_INVALID);
    image_decoder_destroy(decoder);
}

static void indices_beyond_the_palette_are_errors(void)
{
    static const image_box all = {0, 0, CANVAS_WIDTH, CANVAS_HEIGHT};
    gif_file f = *make_gif(&specs[1]);
    image_decoder *decoder = NULL;
    image_view region;

    f.bytes[10] &= 0xF8; /* 2 colours, and as many bytes fewer */
    memmove(f.bytes + 13 + 6, f.bytes + 13 + 768, f.size - 13 - 768);
    T_OK(image_decoder_create(&decoder));
    T_STATUS(decode_box(decoder, f.bytes, f.size - 762, true, &all, &region), SLUICE_E_CORRUPT);
    T_CONTAINS(sluice_last_error(), "a palette of 2 colours");
    image_decoder_destroy(decoder);
}

static void a_gif_without_memory_is_no_crash(void)
{
    const gif_file *f = make_gif(&specs[2]);
    const image_box all = {0, 0, CANVAS_WIDTH, CANVAS_HEIGHT};

    T_TRUE(decode_without_memory(f->bytes, f->size, &all) >= 3);
}

const t_test gif_tests[] = {
    T_TEST(all_boxes_have_the_pixels_that_were_written),
    T_TEST(stored_indices_and_further_frames_are_told),
    T_TEST(large_canvases_are_refused),
    T_TEST(indices_beyond_the_palette_are_errors),
    T_TEST(a_gif_without_memory_is_no_crash),
    T_TEST(gif_codes_beyond_the_table_are_errors),
    T_TEST(code_sizes_out_of_range_are_errors),
    T_TEST(frames_smaller_than_the_canvas_are_decoded),
    T_TEST(gif_files_cut_anywhere_are_errors),
    T_END,
};
