/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decodes BMP files of 1, 4, 8, 16, 24 and 32 bits per pixel, with RLE or masks, and with the
 * headers of OS/2 and Windows. Pixels are those of Pillow: alpha counts only if the header has a
 * mask for it, and is then blended with black as that of a PNG file. Only the box is stored.
 */
#include <assert.h>
#include <string.h>

#include "alloc_int.h"
#include "bytes_int.h"
#include "image_format.h"
#include "status_int.h"

enum {
    FILE_HEADER = 14,
    CORE_HEADER = 12, /* of OS/2 */
    INFO_HEADER = 40, /* of Windows; longer ones begin with it */
    MASK_HEADER = 52, /* the shortest header that has masks */
    ALPHA_HEADER = 56 /* the shortest header that has a mask of alpha */
};

typedef enum bmp_compression {
    BMP_RAW,
    BMP_RLE8,
    BMP_RLE4,
    BMP_MASKS,
} bmp_compression;

typedef struct bmp_decoder {
    const uint8_t *bytes;
    size_t size;
    size_t pixels_at;
    uint32_t width;
    uint32_t height;
    uint32_t bits; /* per pixel */
    uint32_t compression;
    bool top_down;
    bool gray;         /* output one channel instead of three */
    bool indices;      /* output palette indices */
    uint32_t colors;   /* entries of the palette; 0: there is none */
    uint32_t masks[4]; /* of red, green, blue and alpha; alpha may be 0 */
    uint8_t palette[256][3];
    image_buffer index; /* RLE: palette indices of the box */
    image_buffer image; /* lines of the box */
} bmp_decoder;

static sluice_status bmp_create(void **state_out)
{
    bmp_decoder *decoder = sli_calloc(1, sizeof(*decoder));

    if (decoder == NULL) {
        return sli_fail(SLUICE_E_NO_MEMORY, "a BMP decoder");
    }
    *state_out = decoder;
    return SLUICE_OK;
}

static void bmp_destroy(void *state)
{
    bmp_decoder *decoder = state;

    image_buffer_free(&decoder->index);
    image_buffer_free(&decoder->image);
    sli_free(decoder);
}

static sluice_status ends_early(const bmp_decoder *decoder)
{
    return sli_fail(SLUICE_E_CORRUPT, "the BMP file ends early: %ux%u pixels do not fit in it",
                    decoder->width, decoder->height);
}

/* Reads size, bits and compression from the header of `header` bytes. */
static sluice_status read_size(bmp_decoder *decoder, uint32_t header)
{
    const uint8_t *at = decoder->bytes + FILE_HEADER;

    decoder->compression = BMP_RAW;
    decoder->top_down = false;
    if (header == CORE_HEADER) {
        decoder->width = sli_get_u16(at + 4);
        decoder->height = sli_get_u16(at + 6);
        decoder->bits = sli_get_u16(at + 10);
    } else {
        decoder->width = sli_get_u32(at + 4);
        decoder->height = sli_get_u32(at + 8);
        decoder->bits = sli_get_u16(at + 14);
        decoder->compression = sli_get_u32(at + 16);
        decoder->top_down = decoder->height > INT32_MAX;
        if (decoder->top_down) {
            decoder->height = 0 - decoder->height;
        }
    }
    if (decoder->width == 0 || decoder->height == 0 || decoder->width > INT32_MAX) {
        return sli_fail(SLUICE_E_CORRUPT, "the BMP file has a size of %ux%u; both must be positive",
                        decoder->width, decoder->height);
    }
    return SLUICE_OK;
}

static sluice_status check_kind(const bmp_decoder *decoder)
{
    const uint32_t bits = decoder->bits;

    if (bits != 1 && bits != 4 && bits != 8 && bits != 16 && bits != 24 && bits != 32) {
        return sli_fail(SLUICE_E_UNSUPPORTED,
                        "the BMP file has %u bits per pixel; they must be 1, 4, 8, 16, 24 or 32; "
                        "convert the file to PNG",
                        bits);
    }
    if (decoder->compression > BMP_MASKS) {
        return sli_fail(SLUICE_E_UNSUPPORTED,
                        "the BMP file has compression %u; it must be 0 to 3 (none, RLE8, RLE4, bit "
                        "fields); convert the file to PNG",
                        decoder->compression);
    }
    if ((decoder->compression == BMP_RLE8 && bits != 8) ||
        (decoder->compression == BMP_RLE4 && bits != 4) ||
        (decoder->compression == BMP_MASKS && bits < 16)) {
        return sli_fail(SLUICE_E_CORRUPT, "the BMP file has compression %u with %u bits per pixel",
                        decoder->compression, bits);
    }
    return SLUICE_OK;
}

/* Reads the masks of the channels. Their bits must be consecutive, and of one channel only. */
static sluice_status read_masks(bmp_decoder *decoder, uint32_t header)
{
    static const uint32_t of_15_bits[4] = {0x7C00, 0x3E0, 0x1F, 0};
    static const uint32_t of_bytes[4] = {0xFF0000, 0xFF00, 0xFF, 0};
    const uint8_t *at = decoder->bytes + FILE_HEADER + INFO_HEADER;
    uint32_t all = 0;

    if (decoder->compression != BMP_MASKS) {
        memcpy(decoder->masks, decoder->bits == 16 ? of_15_bits : of_bytes, sizeof(decoder->masks));
        return SLUICE_OK;
    }
    if (decoder->size < FILE_HEADER + (header < MASK_HEADER ? MASK_HEADER : header)) {
        return ends_early(decoder);
    }
    for (uint32_t c = 0; c < 4; c++) {
        uint32_t mask = c < 3 || header >= ALPHA_HEADER ? sli_get_u32(at + (size_t)4 * c) : 0;
        const uint32_t least = mask & (0 - mask);

        decoder->masks[c] = mask;
        if ((mask == 0 && c < 3) || ((mask + least) & mask) != 0 || (mask & all) != 0 ||
            (decoder->bits < 32 && mask >> decoder->bits != 0)) {
            return sli_fail(SLUICE_E_CORRUPT,
                            "the BMP file has the mask 0x%08X for channel %u; it must be "
                            "consecutive bits of a pixel that no other channel has",
                            mask, c);
        }
        all |= mask;
    }
    return SLUICE_OK;
}

/* Reads the palette, which is behind the header. */
static sluice_status read_palette(bmp_decoder *decoder, uint32_t header)
{
    const uint32_t entry = header == CORE_HEADER ? 3 : 4;
    const size_t start = FILE_HEADER + header;
    const uint32_t most = UINT32_C(1) << decoder->bits;
    uint32_t colors =
        header == CORE_HEADER ? 0 : sli_get_u32(decoder->bytes + FILE_HEADER + 32); /* 0: all */

    colors = colors == 0 || colors > most ? most : colors;
    if (decoder->pixels_at == start) { /* by writers that forget the palette */
        decoder->pixels_at += (size_t)colors * entry;
    }
    if (decoder->pixels_at > decoder->size) {
        return ends_early(decoder);
    }
    if (decoder->pixels_at < start + (size_t)colors * entry) {
        colors = decoder->pixels_at < start ? 0 : (uint32_t)(decoder->pixels_at - start) / entry;
    }
    if (colors == 0) {
        return sli_fail(SLUICE_E_CORRUPT, "the BMP file has pixels at byte %zu, within its header",
                        decoder->pixels_at);
    }
    decoder->colors = colors;
    for (uint32_t i = 0; i < colors; i++) {
        const uint8_t *bgr = decoder->bytes + start + (size_t)i * entry;

        decoder->palette[i][0] = bgr[2];
        decoder->palette[i][1] = bgr[1];
        decoder->palette[i][2] = bgr[0];
    }
    return SLUICE_OK;
}

/* Bytes between the beginnings of two lines. */
static size_t bytes_of_line(const bmp_decoder *decoder)
{
    return ((size_t)decoder->width * decoder->bits + 31) / 32 * 4;
}

/* Checks the place of the pixels. Masks may be behind a header that has no place for them. */
static sluice_status check_pixels(const bmp_decoder *decoder, uint32_t header)
{
    const bool masks_behind = decoder->compression == BMP_MASKS && header < MASK_HEADER;
    const size_t least = FILE_HEADER + (size_t)(masks_behind ? MASK_HEADER : header);
    const bool run_length = decoder->compression == BMP_RLE8 || decoder->compression == BMP_RLE4;
    const uint64_t bytes = (uint64_t)bytes_of_line(decoder) * (decoder->height - 1) +
                           ((uint64_t)decoder->width * decoder->bits + 7) / 8;

    if (decoder->pixels_at < least) {
        return sli_fail(SLUICE_E_CORRUPT,
                        "the BMP file has pixels at byte %zu, within its header; it must be at "
                        "least %zu",
                        decoder->pixels_at, least);
    }
    if (decoder->pixels_at > decoder->size ||
        (!run_length && decoder->size - decoder->pixels_at < bytes)) {
        return ends_early(decoder);
    }
    return SLUICE_OK;
}

static sluice_status bmp_open(void *state, const uint8_t *bytes, size_t size, uint64_t max_pixels,
                              bool gray, uint32_t *width_out, uint32_t *height_out)
{
    bmp_decoder *decoder = state;
    const uint32_t header = size < FILE_HEADER + 4 ? 0 : sli_get_u32(bytes + FILE_HEADER);
    sluice_status st;

    if (size < FILE_HEADER + 4 || header > size - FILE_HEADER ||
        (header != CORE_HEADER && header < INFO_HEADER)) {
        return sli_fail(SLUICE_E_CORRUPT,
                        "the BMP file of %zu bytes has a header of %u bytes; it must be 12, or at "
                        "least 40 and in the file",
                        size, header);
    }
    decoder->bytes = bytes;
    decoder->size = size;
    decoder->pixels_at = sli_get_u32(bytes + 10);
    decoder->gray = gray;
    decoder->indices = false;
    decoder->colors = 0;
    st = read_size(decoder, header);
    if (st == SLUICE_OK) {
        st = image_check_size(decoder->width, decoder->height, max_pixels);
    }
    st = st == SLUICE_OK ? check_kind(decoder) : st;
    if (st == SLUICE_OK) {
        st = decoder->bits <= 8 ? read_palette(decoder, header) : read_masks(decoder, header);
    }
    st = st == SLUICE_OK ? check_pixels(decoder, header) : st;
    *width_out = decoder->width;
    *height_out = decoder->height;
    return st;
}

/* The rows of the box in the order of the file: row 0 is the first one stored. */
static uint32_t row_of(const bmp_decoder *decoder, uint32_t y)
{
    return decoder->top_down ? y : decoder->height - 1 - y;
}

/* ---- run lengths ----------------------------------------------------------------------------- */

/* Where the next pixel of run-length data goes. */
typedef struct bmp_pen {
    bmp_decoder *decoder;
    const image_box *box;
    uint32_t x;
    uint32_t row; /* in the order of the file */
} bmp_pen;

static void draw(bmp_pen *pen, uint8_t index)
{
    const image_box *box = pen->box;
    const uint32_t y = row_of(pen->decoder, pen->row);

    if (pen->x >= box->x && pen->x - box->x < box->width && y >= box->y &&
        y - box->y < box->height) {
        pen->decoder->index.data[(size_t)(y - box->y) * box->width + pen->x - box->x] = index;
    }
    pen->x++;
}

/* Draws `count` pixels of the bytes, from the first one again for each pixel if they repeat. */
static sluice_status draw_run(bmp_pen *pen, const uint8_t *bytes, uint32_t count, bool repeat)
{
    const bmp_decoder *decoder = pen->decoder;

    if (pen->row >= decoder->height || count > decoder->width - pen->x) {
        return sli_fail(SLUICE_E_CORRUPT,
                        "the BMP file has a run of %u pixels at %u,%u, beyond its %ux%u pixels",
                        count, pen->x, pen->row, decoder->width, decoder->height);
    }
    for (uint32_t i = 0; i < count; i++) {
        if (decoder->bits == 8) {
            draw(pen, bytes[repeat ? 0 : i]);
        } else {
            const uint8_t two = bytes[repeat ? 0 : i / 2];

            draw(pen, i % 2 == 0 ? two >> 4 : two & 15);
        }
    }
    return SLUICE_OK;
}

/* Draws all runs; pixels without a run have index 0. */
static sluice_status read_runs(bmp_decoder *decoder, const image_box *box)
{
    bmp_pen pen = {decoder, box, 0, 0};
    const uint8_t *at = decoder->bytes + decoder->pixels_at;
    size_t left = decoder->size - decoder->pixels_at;
    sluice_status st = SLUICE_OK;

    while (st == SLUICE_OK) {
        const bool whole = pen.row >= decoder->height ||
                           (pen.row == decoder->height - 1 && pen.x == decoder->width);
        size_t used = 2;

        if (left < 2) {
            return whole ? SLUICE_OK : ends_early(decoder);
        }
        if (at[0] > 0) {
            st = draw_run(&pen, at + 1, at[0], true);
        } else if (at[1] == 0) {
            pen.x = 0;
            pen.row += pen.row < decoder->height;
        } else if (at[1] == 1) {
            return SLUICE_OK;
        } else if (at[1] == 2) {
            used = 4;
            if (left < used) {
                return ends_early(decoder);
            }
            if (at[2] > decoder->width - pen.x || at[3] > decoder->height - pen.row) {
                return sli_fail(SLUICE_E_CORRUPT, "the BMP file has a step out of its %ux%u pixels",
                                decoder->width, decoder->height);
            }
            pen.x += at[2];
            pen.row += at[3];
        } else {
            const size_t data = decoder->bits == 8 ? at[1] : ((size_t)at[1] + 1) / 2;

            used += data + data % 2;
            if (left < 2 + data) {
                return ends_early(decoder);
            }
            used = used > left ? left : used;
            st = draw_run(&pen, at + 2, at[1], false);
        }
        at += used;
        left -= used;
    }
    return st;
}

/* ---- pixels ---------------------------------------------------------------------------------- */

static uint8_t channel_of(uint32_t pixel, uint32_t mask)
{
    uint32_t shift = 0;

    while ((mask >> shift & 1) == 0) {
        shift++;
    }
    return (uint8_t)((uint64_t)((pixel & mask) >> shift) * 255 / (mask >> shift));
}

/* The colour of the pixel at x of a line without a palette. */
static void read_color(const bmp_decoder *decoder, const uint8_t *line, uint32_t x, uint8_t *rgb)
{
    const uint32_t bytes = decoder->bits / 8;
    uint32_t pixel = 0;

    line += (size_t)x * bytes;
    if (decoder->compression == BMP_RAW && bytes >= 3) {
        rgb[0] = line[2];
        rgb[1] = line[1];
        rgb[2] = line[0];
        return;
    }
    for (uint32_t i = 0; i < bytes; i++) {
        pixel |= (uint32_t)line[i] << 8 * i;
    }
    for (uint32_t c = 0; c < 3; c++) {
        rgb[c] = channel_of(pixel, decoder->masks[c]);
        if (decoder->masks[3] != 0) {
            rgb[c] = image_times(rgb[c], channel_of(pixel, decoder->masks[3]));
        }
    }
}

static uint8_t index_at(const uint8_t *line, uint32_t bits, uint32_t x)
{
    const uint32_t per_byte = 8 / bits;

    return (uint8_t)(line[x / per_byte] >> (8 - bits - x % per_byte * bits) & ((1U << bits) - 1));
}

/* Converts a line of the box; `line` has palette indices of `bits` bits, or colours. */
static sluice_status convert_line(const bmp_decoder *decoder, const uint8_t *line, uint32_t bits,
                                  uint32_t first, uint32_t width, uint8_t *out)
{
    for (uint32_t x = first; x < first + width; x++) {
        uint8_t rgb[3];

        if (decoder->colors > 0) {
            const uint8_t index = index_at(line, bits, x);

            if (index >= decoder->colors) {
                return sli_fail(SLUICE_E_CORRUPT,
                                "the BMP file has a pixel of index %u, and a palette of %u colours",
                                index, decoder->colors);
            }
            if (decoder->indices) {
                *out++ = index;
                continue;
            }
            memcpy(rgb, decoder->palette[index], 3);
        } else {
            read_color(decoder, line, x, rgb);
        }
        if (decoder->gray) {
            *out++ = image_luma(rgb[0], rgb[1], rgb[2]);
        } else {
            memcpy(out, rgb, 3);
            out += 3;
        }
    }
    return SLUICE_OK;
}

static sluice_status bmp_region(void *state, const image_box *box, image_view *region_out)
{
    bmp_decoder *decoder = state;
    const bool run_length = decoder->compression == BMP_RLE8 || decoder->compression == BMP_RLE4;
    const uint32_t channels = decoder->gray ? 1 : 3;
    const size_t stride = (size_t)box->width * channels;
    sluice_status st = image_buffer_reserve(&decoder->image, stride * box->height);

    assert(box->x + box->width <= decoder->width && box->y + box->height <= decoder->height);
    if (st == SLUICE_OK && run_length) {
        const size_t bytes = (size_t)box->width * box->height;

        st = image_buffer_reserve(&decoder->index, bytes);
        if (st == SLUICE_OK) {
            memset(decoder->index.data, 0, bytes);
            st = read_runs(decoder, box);
        }
    }
    for (uint32_t y = 0; st == SLUICE_OK && y < box->height; y++) {
        uint8_t *out = decoder->image.data + y * stride;

        st = run_length ? convert_line(decoder, decoder->index.data + (size_t)y * box->width, 8, 0,
                                       box->width, out)
                        : convert_line(decoder,
                                       decoder->bytes + decoder->pixels_at +
                                           row_of(decoder, box->y + y) * bytes_of_line(decoder),
                                       decoder->bits, box->x, box->width, out);
    }
    *region_out =
        (image_view){decoder->image.data, stride, box->width, box->height, channels, IMAGE_U8};
    return st;
}

static sluice_status bmp_request_indices(void *state)
{
    bmp_decoder *decoder = state;

    decoder->indices = true;
    return decoder->colors > 0
               ? SLUICE_OK
               : sli_fail(SLUICE_E_UNSUPPORTED,
                          "class numbers in a BMP file of %u bits per pixel; it must have a "
                          "palette (1, 4 or 8 bits)",
                          decoder->bits);
}

static void bmp_describe(const void *state, image_facts *facts)
{
    const bmp_decoder *decoder = state;

    facts->palette = decoder->colors > 0;
    facts->transparent = !facts->palette && decoder->masks[3] != 0;
    facts->channels = facts->palette ? 1 : facts->transparent ? 4 : 3;
    facts->bits = facts->palette ? decoder->bits : 8;
}

const image_format format_bmp = {
    .name = "BMP",
    .formats = IMAGE_BMP,
    .magic = (const uint8_t *)"BM",
    .magic_size = 2,
    .create = bmp_create,
    .destroy = bmp_destroy,
    .open = bmp_open,
    .region = bmp_region,
    .request_indices = bmp_request_indices,
    .describe = bmp_describe,
};
