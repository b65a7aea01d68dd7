/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decodes the first frame of GIF files. As in Pillow, the image has the size of the canvas, or of
 * the frame where that is larger, and pixels beside the frame have index 0 or are transparent.
 * Transparent pixels become black, as those of PNG files do. Only the box is stored.
 */
#include <assert.h>
#include <string.h>

#include "alloc_int.h"
#include "bytes_int.h"
#include "image_format.h"
#include "status_int.h"

enum { SCREEN = 13, FRAME = 10, CODES = 4096, MOST_BITS = 12, OPAQUE = 256 };

typedef struct gif_decoder {
    const uint8_t *bytes;
    size_t size;
    size_t data_at; /* offset of the frame's code size */
    uint32_t width;
    uint32_t height;
    image_box frame;
    const uint8_t *palette; /* red, green, blue; NULL: indices are gray values */
    uint32_t colors;
    uint32_t transparent; /* an index; OPAQUE: none */
    bool interlaced;
    bool further; /* there is a second frame */
    bool gray;    /* output one channel instead of three */
    bool indices; /* output palette indices */
    uint16_t prefix[CODES];
    uint8_t suffix[CODES];
    uint8_t stack[CODES];
    image_buffer index; /* palette indices of the box; see also `transparent` */
    image_buffer image; /* lines of the box */
} gif_decoder;

static sluice_status gif_create(void **state_out)
{
    gif_decoder *decoder = sli_calloc(1, sizeof(*decoder));

    if (decoder == NULL) {
        return sli_fail(SLUICE_E_NO_MEMORY, "a GIF decoder");
    }
    *state_out = decoder;
    return SLUICE_OK;
}

static void gif_destroy(void *state)
{
    gif_decoder *decoder = state;

    image_buffer_free(&decoder->index);
    image_buffer_free(&decoder->image);
    sli_free(decoder);
}

/* Returns the offset behind the sub-blocks at `at`, or the size of the file if they are cut. */
static size_t skip_blocks(const gif_decoder *decoder, size_t at)
{
    while (at < decoder->size && decoder->bytes[at] > 0) {
        at += (size_t)decoder->bytes[at] + 1;
    }
    return at < decoder->size ? at + 1 : decoder->size;
}

/* Skips extensions from `at` to a frame. False: there is none. */
static bool find_frame(gif_decoder *decoder, size_t *at, bool first)
{
    const uint8_t *bytes = decoder->bytes;

    while (*at < decoder->size && bytes[*at] == '!') {
        if (first && decoder->size - *at >= 8 && bytes[*at + 1] == 0xF9 && bytes[*at + 2] >= 4) {
            decoder->transparent = (bytes[*at + 3] & 1) != 0 ? bytes[*at + 6] : OPAQUE;
        }
        *at = skip_blocks(decoder, *at + 2);
    }
    return *at < decoder->size && bytes[*at] == ',';
}

/* Takes the palette at `at` if the flags have one. Returns the offset behind it. */
static size_t take_palette(gif_decoder *decoder, uint8_t flags, size_t at)
{
    const uint32_t colors = 2U << (flags & 7);

    if ((flags & 0x80) == 0) {
        return at;
    }
    decoder->palette = decoder->bytes + at;
    decoder->colors = colors;
    return at + 3 * (size_t)colors;
}

/* Reads everything before the pixels of the first frame. */
static sluice_status read_header(gif_decoder *decoder)
{
    const uint8_t *bytes = decoder->bytes;
    image_box *frame = &decoder->frame;
    size_t at;

    decoder->palette = NULL;
    decoder->colors = 256;
    decoder->transparent = OPAQUE;
    if (decoder->size < SCREEN) {
        return sli_fail(SLUICE_E_CORRUPT, "the GIF file ends early, within its header");
    }
    at = take_palette(decoder, bytes[10], SCREEN);
    if (!find_frame(decoder, &at, true) || decoder->size - at < FRAME) {
        return sli_fail(SLUICE_E_CORRUPT, "the GIF file ends early, or has no frame");
    }
    *frame = (image_box){sli_get_u16(bytes + at + 1), sli_get_u16(bytes + at + 3),
                         sli_get_u16(bytes + at + 5), sli_get_u16(bytes + at + 7)};
    decoder->interlaced = (bytes[at + 9] & 0x40) != 0;
    decoder->data_at = take_palette(decoder, bytes[at + 9], at + FRAME);
    decoder->width = sli_get_u16(bytes + 6);
    decoder->height = sli_get_u16(bytes + 8);
    if (decoder->width < frame->x + frame->width) {
        decoder->width = frame->x + frame->width;
    }
    if (decoder->height < frame->y + frame->height) {
        decoder->height = frame->y + frame->height;
    }
    if (frame->width == 0 || frame->height == 0) {
        return sli_fail(SLUICE_E_CORRUPT, "the GIF file has a frame of %ux%u without pixels",
                        frame->width, frame->height);
    }
    if (decoder->data_at >= decoder->size) {
        return sli_fail(SLUICE_E_CORRUPT, "the GIF file ends early, before its pixels");
    }
    if (bytes[decoder->data_at] < 1 || bytes[decoder->data_at] > 8) {
        return sli_fail(SLUICE_E_CORRUPT, "the GIF file has a code size of %u; it must be 1 to 8",
                        bytes[decoder->data_at]);
    }
    at = skip_blocks(decoder, decoder->data_at + 1);
    decoder->further = find_frame(decoder, &at, false);
    return SLUICE_OK;
}

static sluice_status gif_open(void *state, const uint8_t *bytes, size_t size, uint64_t max_pixels,
                              bool gray, uint32_t *width_out, uint32_t *height_out)
{
    gif_decoder *decoder = state;
    sluice_status st;

    decoder->bytes = bytes;
    decoder->size = size;
    decoder->gray = gray;
    decoder->indices = false;
    st = read_header(decoder);
    if (st == SLUICE_OK) {
        st = image_check_size(decoder->width, decoder->height, max_pixels);
    }
    *width_out = decoder->width;
    *height_out = decoder->height;
    return st;
}

/* ---- LZW ------------------------------------------------------------------------------------- */

/* The codes of a frame, and where its next pixel goes. */
typedef struct gif_codes {
    size_t at;
    size_t block; /* bytes left of the sub-block */
    uint32_t word;
    uint32_t bits;
    uint32_t x;
    uint32_t y;
    uint32_t step; /* of interlaced lines */
    bool whole;    /* all pixels were drawn */
} gif_codes;

/* Reads the next code of `size` bits. False: the data end. */
static bool read_code(const gif_decoder *decoder, gif_codes *codes, uint32_t size,
                      uint32_t *code_out)
{
    while (codes->bits < size) {
        if (codes->block == 0) {
            codes->block = codes->at < decoder->size ? decoder->bytes[codes->at++] : 0;
        }
        if (codes->block == 0 || codes->at >= decoder->size) {
            return false;
        }
        codes->word |= (uint32_t)decoder->bytes[codes->at++] << codes->bits;
        codes->bits += 8;
        codes->block--;
    }
    *code_out = codes->word & ((1U << size) - 1);
    codes->word >>= size;
    codes->bits -= size;
    return true;
}

static void next_line(const gif_decoder *decoder, gif_codes *codes)
{
    codes->x = 0;
    codes->y += codes->step;
    while (decoder->interlaced && codes->y >= decoder->frame.height && codes->step > 2) {
        const bool first = codes->step == 8 && codes->y % 8 == 0;

        codes->step = first ? 8 : codes->step / 2;
        codes->y = first ? 4 : codes->step / 2;
    }
    codes->whole = codes->y >= decoder->frame.height;
}

static void draw(gif_decoder *decoder, gif_codes *codes, const image_box *box, uint8_t index)
{
    const uint32_t x = decoder->frame.x + codes->x;
    const uint32_t y = decoder->frame.y + codes->y;

    if (codes->whole) {
        return;
    }
    if (x >= box->x && x - box->x < box->width && y >= box->y && y - box->y < box->height) {
        decoder->index.data[(size_t)(y - box->y) * box->width + x - box->x] = index;
    }
    if (++codes->x == decoder->frame.width) {
        next_line(decoder, codes);
    }
}

/* Draws the pixels of a code. Returns the first one. */
static uint8_t draw_code(gif_decoder *decoder, gif_codes *codes, const image_box *box,
                         uint32_t code, uint32_t clear)
{
    uint32_t depth = 0;

    for (; code > clear; code = decoder->prefix[code]) {
        decoder->stack[depth++] = decoder->suffix[code];
    }
    draw(decoder, codes, box, (uint8_t)code);
    while (depth > 0) {
        draw(decoder, codes, box, decoder->stack[--depth]);
    }
    return (uint8_t)code;
}

static sluice_status read_frame(gif_decoder *decoder, const image_box *box)
{
    const uint32_t least = decoder->bytes[decoder->data_at];
    const uint32_t clear = 1U << least;
    gif_codes codes = {.at = decoder->data_at + 1, .step = decoder->interlaced ? 8 : 1};
    uint32_t next = clear + 2;
    uint32_t size = least + 1;
    uint32_t last = CODES; /* CODES: none */
    uint32_t code;
    uint8_t first = 0;

    while (!codes.whole) {
        if (!read_code(decoder, &codes, size, &code) || code == clear + 1) {
            return sli_fail(SLUICE_E_CORRUPT,
                            "the GIF file ends early, in line %u of a frame of %u", codes.y,
                            decoder->frame.height);
        }
        if (code == clear) {
            next = clear + 2;
            size = least + 1;
            last = CODES;
            continue;
        }
        if (last == CODES ? code > clear : code > next || code == CODES) {
            return sli_fail(SLUICE_E_CORRUPT, "the GIF file has the code %u, and %u codes so far",
                            code, next);
        }
        if (last != CODES && next < CODES) {
            decoder->prefix[next] = (uint16_t)last;
            if (code == next) {
                decoder->suffix[next] = first;
            }
        } else if (code >= next) {
            return sli_fail(SLUICE_E_CORRUPT, "the GIF file has the code %u, and %u codes so far",
                            code, next);
        }
        first = draw_code(decoder, &codes, box, code, clear);
        if (last != CODES && next < CODES) {
            decoder->suffix[next++] = first;
            size += next == 1U << size && size < MOST_BITS;
        }
        last = code;
    }
    return SLUICE_OK;
}

/* ---- pixels ---------------------------------------------------------------------------------- */

static sluice_status convert(const gif_decoder *decoder, size_t count)
{
    const uint8_t *in = decoder->index.data;
    uint8_t *out = decoder->image.data;

    for (size_t i = 0; i < count; i++) {
        const uint8_t index = in[i];
        uint8_t rgb[3] = {index, index, index};

        if (index == decoder->transparent) {
            memset(rgb, 0, 3);
        } else if (index >= decoder->colors) {
            return sli_fail(SLUICE_E_CORRUPT,
                            "the GIF file has a pixel of index %u, and a palette of %u colours",
                            index, decoder->colors);
        } else if (decoder->palette != NULL) {
            memcpy(rgb, decoder->palette + (size_t)3 * index, 3);
        }
        if (decoder->gray) {
            *out++ = decoder->indices ? index : image_luma(rgb[0], rgb[1], rgb[2]);
        } else {
            memcpy(out, rgb, 3);
            out += 3;
        }
    }
    return SLUICE_OK;
}

static sluice_status gif_region(void *state, const image_box *box, image_view *region_out)
{
    gif_decoder *decoder = state;
    const uint32_t channels = decoder->gray ? 1 : 3;
    const size_t count = (size_t)box->width * box->height;
    sluice_status st = image_buffer_reserve(&decoder->image, count * channels);

    assert(box->x + box->width <= decoder->width && box->y + box->height <= decoder->height);
    if (st == SLUICE_OK) {
        st = image_buffer_reserve(&decoder->index, count);
    }
    if (st == SLUICE_OK) {
        memset(decoder->index.data, decoder->transparent == OPAQUE ? 0 : (int)decoder->transparent,
               count);
        st = read_frame(decoder, box);
    }
    if (st == SLUICE_OK) {
        st = convert(decoder, count);
    }
    *region_out = (image_view){decoder->image.data,
                               (size_t)box->width * channels,
                               box->width,
                               box->height,
                               channels,
                               IMAGE_U8};
    return st;
}

static sluice_status gif_request_indices(void *state)
{
    gif_decoder *decoder = state;

    decoder->indices = true;
    return SLUICE_OK;
}

static void gif_describe(const void *state, image_facts *facts)
{
    const gif_decoder *decoder = state;

    facts->palette = true;
    facts->channels = 1;
    facts->bits = 8;
    facts->transparent = decoder->transparent != OPAQUE;
    facts->progressive = decoder->interlaced;
    facts->further = decoder->further;
}

const image_format format_gif = {
    .name = "GIF",
    .formats = IMAGE_GIF,
    .magic = (const uint8_t *)"GIF8",
    .magic_size = 4,
    .create = gif_create,
    .destroy = gif_destroy,
    .open = gif_open,
    .region = gif_region,
    .request_indices = gif_request_indices,
    .describe = gif_describe,
};
