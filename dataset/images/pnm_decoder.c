/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decodes PBM, PGM and PPM files, P1 to P6: a text header with the size, then the pixels, binary or
 * (P1 to P3) as text. Values become 8 bits as Pillow converts them. If a binary image is opened by
 * its head, only the lines of the box are read from the file.
 */
#include <assert.h>
#include <errno.h>
#include <string.h>

#include "alloc_int.h"
#include "descriptor_int.h"
#include "image_format.h"
#include "status_int.h"

enum {
    MOST_VALUE = 65535,
    LEAST_FILE = 10 /* bytes of the smallest file, "P5 1 1 1 " and a pixel */
};

typedef struct pnm_decoder {
    const uint8_t *bytes; /* the first bytes of the image if fd is open, else the whole image */
    int fd;               /* -1: the whole image is in memory */
    uint64_t offset;      /* offset in fd of the first byte of the image */
    uint64_t *bytes_read;
    bool gray;   /* output one channel instead of three */
    bool plain;  /* the pixels are text; the whole image is in memory */
    bool bitmap; /* pixels are bits, 1 is black; `most` is 1 */
    size_t size; /* bytes of a plain image */
    uint32_t width;
    uint32_t height;
    uint32_t channels;  /* number of channels in the file */
    uint32_t most;      /* the value of white, up to 65535; above 255 values have two bytes */
    bool indices;       /* values are not scaled */
    bool wide;          /* values have 16 bits */
    bool further;       /* there is room for another image behind this one */
    uint64_t pixels_at; /* offset of the pixels relative to the image's first byte */
    image_buffer lines; /* lines of the box, as wide as the image */
    image_buffer image; /* the box converted to another number of channels */
} pnm_decoder;

/* Parser state for the text header. */
typedef struct pnm_text {
    const uint8_t *bytes;
    size_t size;
    size_t at;
} pnm_text;

static sluice_status pnm_create(void **state_out)
{
    pnm_decoder *decoder = sli_calloc(1, sizeof(*decoder));

    if (decoder == NULL) {
        return sli_fail(SLUICE_E_NO_MEMORY, "a PNM decoder");
    }
    *state_out = decoder;
    return SLUICE_OK;
}

static void pnm_destroy(void *state)
{
    pnm_decoder *decoder = state;

    image_buffer_free(&decoder->lines);
    image_buffer_free(&decoder->image);
    sli_free(decoder);
}

static bool is_blank(uint8_t c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

/* Skips one or more blanks and comments. False: there is no blank, or the text ends. */
static bool skip_blanks(pnm_text *text)
{
    const size_t first = text->at;

    while (text->at < text->size &&
           (is_blank(text->bytes[text->at]) || text->bytes[text->at] == '#')) {
        if (text->bytes[text->at] == '#') {
            while (text->at < text->size && text->bytes[text->at] != '\n' &&
                   text->bytes[text->at] != '\r') {
                text->at++;
            }
        } else {
            text->at++;
        }
    }
    return text->at > first && text->at < text->size;
}

/* Parses a number below 2^31 after blanks. */
static bool read_number(pnm_text *text, uint32_t *number_out)
{
    uint32_t number = 0;
    size_t first;

    if (!skip_blanks(text)) {
        return false;
    }
    for (first = text->at;
         text->at < text->size && text->bytes[text->at] >= '0' && text->bytes[text->at] <= '9';
         text->at++) {
        if (number > (INT32_MAX - 9) / 10) {
            return false;
        }
        number = number * 10 + (uint32_t)(text->bytes[text->at] - '0');
    }
    *number_out = number;
    return text->at > first;
}

/* Parses the header: width, height, maximum value unless it is a bitmap, and the one blank after
 * them. */
static sluice_status read_header(pnm_decoder *decoder, const uint8_t *bytes, size_t size,
                                 uint64_t max_pixels)
{
    pnm_text text = {bytes, size < IMAGE_HEAD ? size : IMAGE_HEAD, 2};

    decoder->plain = bytes[1] <= '3';
    decoder->bitmap = bytes[1] == '1' || bytes[1] == '4';
    decoder->most = 1;
    if (!read_number(&text, &decoder->width) || !read_number(&text, &decoder->height) ||
        (!decoder->bitmap && !read_number(&text, &decoder->most)) || text.at == text.size ||
        !is_blank(bytes[text.at])) {
        return sli_fail(SLUICE_E_CORRUPT,
                        "the header of the PNM file is corrupt, or longer than %d bytes",
                        IMAGE_HEAD);
    }
    if (decoder->width == 0 || decoder->height == 0) {
        return sli_fail(SLUICE_E_CORRUPT, "the PNM file has no pixels");
    }
    if (decoder->most == 0 || decoder->most > MOST_VALUE) {
        return sli_fail(SLUICE_E_CORRUPT,
                        "the PNM file has %u as its maximum value; it must be 1 to %d",
                        decoder->most, MOST_VALUE);
    }
    decoder->channels = bytes[1] == '6' || bytes[1] == '3' ? 3 : 1;
    decoder->pixels_at = text.at + 1;
    return image_check_size(decoder->width, decoder->height, max_pixels);
}

/* Bytes of a line in the file; of a plain file, the least number of bytes. */
static size_t bytes_of_line(const pnm_decoder *decoder)
{
    if (decoder->bitmap) {
        return decoder->plain ? decoder->width : ((size_t)decoder->width + 7) / 8;
    }
    if (decoder->plain) {
        return (size_t)decoder->width * decoder->channels * 2; /* each a digit and a blank */
    }
    return (size_t)decoder->width * decoder->channels * (decoder->most > 255 ? 2 : 1);
}

static sluice_status pnm_open_head(void *state, const uint8_t *bytes, size_t size,
                                   const image_rest *rest, uint64_t max_pixels, bool gray,
                                   uint32_t *width_out, uint32_t *height_out)
{
    pnm_decoder *decoder = state;
    const uint64_t whole = rest != NULL ? rest->size : size;
    sluice_status st = read_header(decoder, bytes, size, max_pixels);
    uint64_t pixels;

    if (st != SLUICE_OK) {
        return st;
    }
    pixels = (uint64_t)decoder->height * bytes_of_line(decoder);
    pixels -= decoder->plain && !decoder->bitmap; /* no blank must follow the last value */
    if (whole - decoder->pixels_at < pixels) {
        return sli_fail(SLUICE_E_CORRUPT, "the PNM file ends early: %ux%u pixels do not fit in it",
                        decoder->width, decoder->height);
    }
    decoder->bytes = bytes;
    decoder->fd = rest != NULL ? rest->fd : -1;
    decoder->offset = rest != NULL ? rest->offset : 0;
    decoder->bytes_read = rest != NULL ? rest->bytes_read : NULL;
    decoder->size = size;
    decoder->gray = gray;
    decoder->indices = false;
    decoder->wide = false;
    decoder->further = !decoder->plain && whole - decoder->pixels_at - pixels >= LEAST_FILE;
    *width_out = decoder->width;
    *height_out = decoder->height;
    return SLUICE_OK;
}

static sluice_status pnm_open(void *state, const uint8_t *bytes, size_t size, uint64_t max_pixels,
                              bool gray, uint32_t *width_out, uint32_t *height_out)
{
    return pnm_open_head(state, bytes, size, NULL, max_pixels, gray, width_out, height_out);
}

/* Reads bytes of the image from memory or from the file. */
static sluice_status fetch_bytes(pnm_decoder *decoder, uint64_t at, uint8_t *to, size_t size)
{
    ssize_t got;

    if (decoder->fd < 0) {
        memcpy(to, decoder->bytes + at, size);
        return SLUICE_OK;
    }
    got = sli_pread(decoder->fd, to, size, decoder->offset + at);
    if (got < 0) {
        return sli_fail_errno(SLUICE_E_IO, errno, "cannot read the pixels");
    }
    if ((size_t)got < size) {
        return sli_fail(SLUICE_E_IO,
                        "the file ends within the pixels: it was truncated since it was opened");
    }
    *decoder->bytes_read += size;
    return SLUICE_OK;
}

static sluice_status value_too_large(const pnm_decoder *decoder, uint32_t value)
{
    return sli_fail(SLUICE_E_CORRUPT, "the PNM file has a value of %u, above its maximum value %u",
                    value, decoder->most);
}

/* Expands the bits of the lines to bytes, in place: 1 is white. */
static void expand_bits(pnm_decoder *decoder, uint32_t height)
{
    const size_t line = bytes_of_line(decoder);
    uint8_t *values = decoder->lines.data;

    for (uint32_t y = height;
         y-- > 0;) { /* from the end: no bit is overwritten before it is read */
        for (uint32_t x = decoder->width; x-- > 0;) {
            const uint8_t bits = values[y * line + x / 8];

            values[(size_t)y * decoder->width + x] = (uint8_t)(~bits >> (7 - x % 8) & 1);
        }
    }
}

/* Parses the next value of a plain file; the digits of a bitmap need no blanks between them. */
static sluice_status read_value(const pnm_decoder *decoder, pnm_text *text, uint32_t *value_out)
{
    uint8_t c;

    if (!decoder->bitmap) {
        if (read_number(text, value_out) &&
            (text->at == text->size || is_blank(text->bytes[text->at]) ||
             text->bytes[text->at] == '#')) {
            return SLUICE_OK;
        }
    } else {
        (void)skip_blanks(text);
        c = text->at < text->size ? text->bytes[text->at] : ' ';
        *value_out = c == '0';
        if (c == '0' || c == '1') {
            text->at++;
            return SLUICE_OK;
        }
    }
    return text->at >= text->size
               ? sli_fail(SLUICE_E_CORRUPT,
                          "the PNM file ends early: %ux%u pixels do not fit in it", decoder->width,
                          decoder->height)
               : sli_fail(SLUICE_E_CORRUPT, "the plain PNM file has a corrupt value at byte %zu",
                          text->at);
}

/* Parses all values of a plain file, and stores those in the lines of the box as a binary file has
 * them. */
static sluice_status read_plain(pnm_decoder *decoder, const image_box *box)
{
    const size_t per_line = (size_t)decoder->width * decoder->channels;
    const size_t first = box->y * per_line;
    const size_t end = first + box->height * per_line;
    pnm_text text = {decoder->bytes, decoder->size, (size_t)decoder->pixels_at - 1};
    uint8_t *out = decoder->lines.data;

    for (size_t i = 0; i < decoder->height * per_line; i++) {
        uint32_t value = 0;
        const sluice_status st = read_value(decoder, &text, &value);

        if (st != SLUICE_OK) {
            return st;
        }
        if (value > decoder->most) {
            return value_too_large(decoder, value);
        }
        if (i >= first && i < end) {
            if (decoder->most > 255) {
                *out++ = (uint8_t)(value >> 8);
            }
            *out++ = (uint8_t)value;
        }
    }
    return SLUICE_OK;
}

/* Reads the lines of the box, with the values as stored. */
static sluice_status read_lines(pnm_decoder *decoder, const image_box *box)
{
    const size_t line = bytes_of_line(decoder);
    const size_t values = (size_t)decoder->width * decoder->channels * box->height;
    sluice_status st =
        image_buffer_reserve(&decoder->lines, decoder->most > 255 ? 2 * values : values);

    if (st != SLUICE_OK) {
        return st;
    }
    if (decoder->plain) {
        return read_plain(decoder, box);
    }
    st = fetch_bytes(decoder, decoder->pixels_at + box->y * line, decoder->lines.data,
                     line * box->height);
    if (st == SLUICE_OK && decoder->bitmap) {
        expand_bits(decoder, box->height);
    }
    return st;
}

/* Returns the value scaled to `white`, as Pillow rounds it: a half to the even number. */
static inline uint32_t scale_value(uint32_t value, uint32_t most, uint32_t white)
{
    const double scaled = (double)value / most * white;
    const uint32_t whole = (uint32_t)scaled;
    const double half = scaled - whole - 0.5;

    return whole + (half > 0 || (half == 0 && whole % 2 == 1));
}

/* Converts the values of the lines to 8 bits, in place. */
static sluice_status scale_values(pnm_decoder *decoder, size_t count)
{
    const uint32_t most = decoder->most;
    uint8_t *values = decoder->lines.data;

    if (most == 255) {
        return SLUICE_OK;
    }
    for (size_t i = 0; i < count; i++) {
        const uint32_t value =
            most > 255 ? (uint32_t)values[2 * i] << 8 | values[2 * i + 1] : values[i];

        if (value > most) {
            return value_too_large(decoder, value);
        }
        values[i] = decoder->indices ? (uint8_t)value : (uint8_t)scale_value(value, most, 255);
    }
    return SLUICE_OK;
}

/* Converts the values of the lines, which have two bytes, to 16 bits, in place. */
static sluice_status widen_values(pnm_decoder *decoder, size_t count)
{
    const uint32_t most = decoder->most;
    uint8_t *values = decoder->lines.data;

    for (size_t i = 0; i < count; i++) {
        const uint32_t value = (uint32_t)values[2 * i] << 8 | values[2 * i + 1];
        uint16_t wide = (uint16_t)value;

        if (value > most) {
            return value_too_large(decoder, value);
        }
        if (most != MOST_VALUE) {
            wide = (uint16_t)scale_value(value, most, MOST_VALUE);
        }
        memcpy(values + 2 * i, &wide, sizeof(wide));
    }
    return SLUICE_OK;
}

/* Converts the box from one channel to three, or from three to one. */
static void convert_box(pnm_decoder *decoder, const image_box *box, const uint8_t *lines,
                        size_t stride)
{
    uint8_t *out = decoder->image.data;

    for (uint32_t y = 0; y < box->height; y++) {
        const uint8_t *in = lines + y * stride;

        for (uint32_t x = 0; x < box->width; x++) {
            if (decoder->gray) {
                *out++ = image_luma(in[3 * x], in[3 * x + 1], in[3 * x + 2]);
            } else {
                memset(out, in[x], 3);
                out += 3;
            }
        }
    }
}

static sluice_status pnm_region(void *state, const image_box *box, image_view *region_out)
{
    pnm_decoder *decoder = state;
    const uint32_t channels = decoder->gray ? 1 : 3;
    const size_t stride = (size_t)decoder->width * decoder->channels;
    const uint8_t *lines;
    sluice_status st;

    assert(box->x + box->width <= decoder->width && box->y + box->height <= decoder->height);
    st = read_lines(decoder, box);
    if (st == SLUICE_OK && decoder->wide) {
        st = widen_values(decoder, stride * box->height);
        *region_out = (image_view){decoder->lines.data, 2 * stride, box->width,
                                   box->height,         channels,   IMAGE_U16};
        region_out->pixels += box->x * image_pixel_bytes(region_out);
        return st;
    }
    if (st == SLUICE_OK) {
        st = scale_values(decoder, stride * box->height);
    }
    if (st == SLUICE_OK && channels != decoder->channels) {
        st = image_buffer_reserve(&decoder->image, (size_t)box->width * box->height * channels);
    }
    if (st != SLUICE_OK) {
        return st;
    }
    lines = decoder->lines.data + (size_t)box->x * decoder->channels;
    *region_out = (image_view){lines, stride, box->width, box->height, channels, IMAGE_U8};
    if (channels != decoder->channels) {
        convert_box(decoder, box, lines, stride);
        region_out->pixels = decoder->image.data;
        region_out->stride = (size_t)box->width * channels;
    }
    return SLUICE_OK;
}

static sluice_status pgm_request_indices(void *state)
{
    pnm_decoder *decoder = state;

    decoder->indices = true;
    return decoder->most <= 255
               ? SLUICE_OK
               : sli_fail(SLUICE_E_UNSUPPORTED,
                          "class numbers in a PGM file with values up to %u; they must be at most "
                          "255 (depth= does not convert numbers)",
                          decoder->most);
}

static void pnm_request_wide(void *state)
{
    ((pnm_decoder *)state)->wide = true;
}

static void pnm_describe(const void *state, image_facts *facts)
{
    const pnm_decoder *decoder = state;

    facts->channels = decoder->channels;
    facts->bits = decoder->bitmap ? 1 : decoder->most > 255 ? 16 : 8;
    facts->further = decoder->further;
}

/* A kind of PNM file. Files of text have no head to open: lines have no fixed place in them. */
#define PNM_FORMAT(title, number, head, indices_fn)                                                \
    {                                                                                              \
        .name = (title), .formats = IMAGE_PNM, .magic = (const uint8_t *)(number),                 \
        .magic_size = 2, .create = pnm_create, .destroy = pnm_destroy, .open = pnm_open,           \
        .open_head = (head), .region = pnm_region, .request_indices = (indices_fn),                \
        .request_wide = pnm_request_wide, .describe = pnm_describe,                                \
    }

const image_format format_plain_pbm = PNM_FORMAT("PBM", "P1", NULL, NULL);
const image_format format_plain_pgm = PNM_FORMAT("PGM", "P2", NULL, pgm_request_indices);
const image_format format_plain_ppm = PNM_FORMAT("PPM", "P3", NULL, NULL);
const image_format format_pbm = PNM_FORMAT("PBM", "P4", pnm_open_head, NULL);
const image_format format_pgm = PNM_FORMAT("PGM", "P5", pnm_open_head, pgm_request_indices);
const image_format format_ppm = PNM_FORMAT("PPM", "P6", pnm_open_head, NULL);
