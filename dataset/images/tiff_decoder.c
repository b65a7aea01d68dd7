/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decodes the first page of TIFF files with libtiff: strips and tiles of gray values, palettes, RGB
 * and CMYK, of 1 to 16 bits, and gray and RGB in floats; not compressed or by PackBits, LZW or
 * deflate. Only the strips, tiles and planes are read that the box needs. Transparent pixels are
 * blended with black, as those of PNG files are; where the file has colours that are already
 * multiplied by alpha, it is done.
 *
 * libtiff reads from memory. What the headers say is checked in tiff_layout.c.
 */
#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <tiffio.h>

#include "alloc_int.h"
#include "image_format.h"
#include "status_int.h"
#include "thread_interrupt_int.h"
#include "tiff_layout.h"

/* Each allocation of libtiff may have as many bytes as the file, and these. */
enum { LIBTIFF_OWN = 64 << 20 };

typedef struct tiff_decoder {
    TIFF *tiff; /* NULL: no file is open */
    const uint8_t *bytes;
    uint64_t size;
    uint64_t at;
    tiff_layout layout;
    bool further;
    bool gray;
    bool indices;       /* pixels are the stored numbers */
    bool wide;          /* pixels have the 16 bits or the floats of the file */
    bool as_stored;     /* lines of the box are bytes of the file's lines */
    char text[256];     /* the first message of libtiff for the open file */
    image_buffer raw;   /* a strip or tile; its planes one after another */
    image_buffer image; /* lines of the box */
} tiff_decoder;

/* ---- what libtiff calls ---------------------------------------------------------------------- */

static tmsize_t read_bytes(thandle_t handle, void *to, tmsize_t count)
{
    tiff_decoder *decoder = handle;
    const uint64_t left = decoder->at < decoder->size ? decoder->size - decoder->at : 0;
    const size_t taken = (uint64_t)count < left ? (size_t)count : (size_t)left;

    if (count <= 0) {
        return 0;
    }
    memcpy(to, decoder->bytes + (left > 0 ? decoder->at : 0), taken);
    decoder->at += taken;
    return (tmsize_t)taken;
}

static tmsize_t write_nothing(thandle_t handle, void *from, tmsize_t count)
{
    (void)handle;
    (void)from;
    (void)count;
    return -1;
}

static toff_t seek_bytes(thandle_t handle, toff_t offset, int whence)
{
    tiff_decoder *decoder = handle;

    decoder->at = whence == SEEK_SET   ? offset
                  : whence == SEEK_CUR ? decoder->at + offset
                                       : decoder->size + offset;
    return decoder->at;
}

static int close_nothing(thandle_t handle)
{
    (void)handle;
    return 0;
}

static toff_t size_of(thandle_t handle)
{
    return ((const tiff_decoder *)handle)->size;
}

/* Gives libtiff the bytes of the file, so that it does not copy strips before it decodes them. Its
 * codecs do not write to them. */
static int map_bytes(thandle_t handle, void **base, toff_t *size)
{
    tiff_decoder *decoder = handle;

    *base = (void *)(uintptr_t)decoder->bytes;
    *size = decoder->size;
    return 1;
}

static void unmap_nothing(thandle_t handle, void *base, toff_t size)
{
    (void)handle;
    (void)base;
    (void)size;
}

__attribute__((format(printf, 4, 0))) static int
keep_error(TIFF *tiff, void *opaque, const char *module, const char *format, va_list arguments)
{
    tiff_decoder *decoder = opaque;

    (void)tiff;
    (void)module;
    if (decoder->text[0] == '\0') {
        vsnprintf(decoder->text, sizeof(decoder->text), format, arguments);
    }
    return 1; /* handled: libtiff must not print it */
}

static int drop_warning(TIFF *tiff, void *opaque, const char *module, const char *format,
                        va_list arguments)
{
    (void)tiff;
    (void)opaque;
    (void)module;
    (void)format;
    (void)arguments;
    return 1;
}

/* ---- opening --------------------------------------------------------------------------------- */

static sluice_status tiff_create(void **state_out)
{
    tiff_decoder *decoder = sli_calloc(1, sizeof(*decoder));

    if (decoder == NULL) {
        return sli_fail(SLUICE_E_NO_MEMORY, "a TIFF decoder");
    }
    *state_out = decoder;
    return SLUICE_OK;
}

static void end_tiff(tiff_decoder *decoder)
{
    if (decoder->tiff != NULL) {
        TIFFClose(decoder->tiff);
        decoder->tiff = NULL;
    }
}

static void tiff_destroy(void *state)
{
    tiff_decoder *decoder = state;

    end_tiff(decoder);
    image_buffer_free(&decoder->raw);
    image_buffer_free(&decoder->image);
    sli_free(decoder);
}

/* Reports a failure of libtiff. A text about memory is no lack of it: a file can claim any size. */
static sluice_status tiff_failed(const tiff_decoder *decoder)
{
    return sli_fail(SLUICE_E_CORRUPT, "libtiff: %s",
                    decoder->text[0] != '\0' ? decoder->text : "the file cannot be read");
}

static sluice_status open_library(tiff_decoder *decoder)
{
    TIFFOpenOptions *options = TIFFOpenOptionsAlloc();

    if (options == NULL) {
        return sli_fail(SLUICE_E_NO_MEMORY, "libtiff");
    }
    decoder->text[0] = '\0';
    TIFFOpenOptionsSetMaxSingleMemAlloc(options, (tmsize_t)(decoder->size + LIBTIFF_OWN));
    TIFFOpenOptionsSetErrorHandlerExtR(options, keep_error, decoder);
    TIFFOpenOptionsSetWarningHandlerExtR(options, drop_warning, decoder);
    decoder->tiff = TIFFClientOpenExt("file", "r", decoder, read_bytes, write_nothing, seek_bytes,
                                      close_nothing, size_of, map_bytes, unmap_nothing, options);
    TIFFOpenOptionsFree(options);
    return decoder->tiff != NULL ? SLUICE_OK : tiff_failed(decoder);
}

static sluice_status tiff_open(void *state, const uint8_t *bytes, size_t size, uint64_t max_pixels,
                               bool gray, uint32_t *width_out, uint32_t *height_out)
{
    tiff_decoder *decoder = state;
    sluice_status st;

    end_tiff(decoder);
    decoder->bytes = bytes;
    decoder->size = size;
    decoder->at = 0;
    decoder->gray = gray;
    decoder->indices = false;
    decoder->wide = false;
    st = open_library(decoder);
    if (st == SLUICE_OK) {
        st = tiff_layout_read(&decoder->layout, decoder->tiff, max_pixels);
    }
    if (st != SLUICE_OK) {
        end_tiff(decoder);
        return st;
    }
    decoder->further = TIFFLastDirectory(decoder->tiff) == 0;
    *width_out = decoder->layout.width;
    *height_out = decoder->layout.height;
    return SLUICE_OK;
}

/* ---- pixels ---------------------------------------------------------------------------------- */

/* Returns a sample of a line: as stored, or as 8 bits. */
static inline uint8_t sample_at(const uint8_t *line, size_t i, uint32_t bits, bool stored)
{
    static const uint8_t scales[] = {[1] = 255, [2] = 85, [4] = 17};

    if (bits == 8) {
        return line[i];
    }
    if (bits == 16) {
        uint16_t value;

        memcpy(&value, line + 2 * i, sizeof(value));
        return (uint8_t)((value * 255U + 32895U) >> 16); /* as libpng scales */
    }
    {
        const size_t at = i * bits;
        const uint32_t value = (uint32_t)line[at / 8] >> (8 - bits - at % 8) & ((1U << bits) - 1);

        return (uint8_t)(stored ? value : value * scales[bits]);
    }
}

/* Converts the samples of a pixel, already of 8 bits, to RGB. */
static void to_rgb(const tiff_decoder *decoder, const uint8_t *samples, uint8_t rgb[3])
{
    const tiff_layout *layout = &decoder->layout;
    const uint16_t colours = tiff_layout_colours(layout->photometric);

    for (int c = 0; c < 3; c++) {
        switch (layout->photometric) {
        case PHOTOMETRIC_PALETTE:
            rgb[c] = layout->palette[c][samples[0]];
            break;
        case PHOTOMETRIC_RGB:
            rgb[c] = samples[c];
            break;
        case PHOTOMETRIC_SEPARATED: /* as Pillow: black is subtracted without a colour profile */
            rgb[c] = (uint8_t)(255 - samples[3] - image_times(samples[c], 255 - samples[3]));
            break;
        default:
            rgb[c] = layout->photometric == PHOTOMETRIC_MINISWHITE ? 255 - samples[0] : samples[0];
            break;
        }
        if (layout->extra == EXTRASAMPLE_UNASSALPHA) {
            rgb[c] = image_times(rgb[c], samples[colours]);
        }
    }
}

/* The samples of a pixel that decide what it becomes: the colours, and alpha that is blended. */
static uint16_t used_samples(const tiff_layout *layout)
{
    return (uint16_t)(tiff_layout_colours(layout->photometric) +
                      (layout->extra == EXTRASAMPLE_UNASSALPHA));
}

/* Returns sample c of pixel x of a line of 16 bits; `plane` is the size of a plane, or 0. */
static inline uint16_t word_at(const tiff_layout *layout, const uint8_t *line, size_t plane,
                               uint32_t x, uint16_t c)
{
    uint16_t value;

    memcpy(&value,
           layout->planes ? line + c * plane + (size_t)2 * x
                          : line + 2 * ((size_t)x * layout->samples + c),
           sizeof(value));
    return value;
}

/* Converts pixels [from, from + count) of a line of 16 bits. */
static void convert_words(const tiff_layout *layout, const uint8_t *line, size_t plane,
                          uint32_t from, uint32_t count, uint16_t *out)
{
    const uint16_t colours = tiff_layout_colours(layout->photometric);

    for (uint32_t x = from; x < from + count; x++) {
        const uint32_t alpha = layout->extra == EXTRASAMPLE_UNASSALPHA
                                   ? word_at(layout, line, plane, x, colours)
                                   : UINT16_MAX;

        for (uint16_t c = 0; c < colours; c++) {
            uint32_t value = word_at(layout, line, plane, x, c);

            value = layout->photometric == PHOTOMETRIC_MINISWHITE ? UINT16_MAX - value : value;
            *out++ = (uint16_t)(((uint64_t)value * alpha + UINT16_MAX / 2) / UINT16_MAX);
        }
    }
}

/* Copies pixels [from, from + count) of a line of floats, whose planes lie apart. */
static void join_floats(const tiff_layout *layout, const uint8_t *line, size_t plane, uint32_t from,
                        uint32_t count, uint8_t *out)
{
    for (uint32_t x = from; x < from + count; x++) {
        for (uint16_t c = 0; c < layout->samples; c++, out += sizeof(float)) {
            memcpy(out, line + c * plane + x * sizeof(float), sizeof(float));
        }
    }
}

/* True if lines of the box are bytes of the lines of strips and tiles: most files. */
static bool is_as_stored(const tiff_decoder *decoder, uint32_t channels)
{
    const tiff_layout *layout = &decoder->layout;
    const bool plain = layout->photometric == PHOTOMETRIC_RGB ||
                       layout->photometric == PHOTOMETRIC_MINISBLACK ||
                       (layout->photometric == PHOTOMETRIC_PALETTE && decoder->indices);

    return plain && !layout->planes && layout->samples == channels &&
           (decoder->wide || layout->bits == 8);
}

/* Converts pixels [from, from + count) of a line of bytes, whose samples lie side by side. */
static void convert_bytes(const tiff_decoder *decoder, const uint8_t *line, uint32_t from,
                          uint32_t count, uint8_t *out)
{
    const tiff_layout *layout = &decoder->layout;
    const bool blended = layout->extra == EXTRASAMPLE_UNASSALPHA;
    const uint16_t colours = tiff_layout_colours(layout->photometric);
    const uint8_t *samples = line + (size_t)from * layout->samples;

    for (uint32_t x = 0; x < count; x++, samples += layout->samples) {
        const uint8_t first = samples[0];
        uint8_t rgb[3] = {first, first, first};

        if (layout->photometric == PHOTOMETRIC_RGB) {
            memcpy(rgb, samples, 3);
        } else if (layout->photometric == PHOTOMETRIC_PALETTE) {
            rgb[0] = layout->palette[0][first];
            rgb[1] = layout->palette[1][first];
            rgb[2] = layout->palette[2][first];
        } else if (layout->photometric == PHOTOMETRIC_MINISWHITE) {
            memset(rgb, 255 - first, 3);
        }
        for (int c = 0; blended && c < 3; c++) {
            rgb[c] = image_times(rgb[c], samples[colours]);
        }
        if (decoder->gray) {
            *out++ = image_luma(rgb[0], rgb[1], rgb[2]);
        } else {
            memcpy(out, rgb, 3);
            out += 3;
        }
    }
}

/* Converts pixels [from, from + count) of line y of the strip or tile in `raw`. */
static void convert_line(const tiff_decoder *decoder, uint32_t y, uint32_t from, uint32_t count,
                         uint8_t *out)
{
    const tiff_layout *layout = &decoder->layout;
    const size_t stride = tiff_layout_line_bytes(layout);
    const uint8_t *line = decoder->raw.data + y * stride;
    const size_t plane = layout->planes ? stride * layout->part_height : 0;
    const bool stored = decoder->indices || layout->photometric == PHOTOMETRIC_PALETTE;
    const uint16_t used = used_samples(layout);

    if (decoder->as_stored) {
        const size_t pixel = layout->samples * (size_t)layout->bits / 8;

        memcpy(out, line + from * pixel, count * pixel);
        return;
    }
    if (decoder->wide && layout->bits == 16) {
        convert_words(layout, line, plane, from, count, (uint16_t *)(void *)out);
        return;
    }
    if (decoder->wide) {
        join_floats(layout, line, plane, from, count, out);
        return;
    }
    if (layout->bits == 8 && !layout->planes && layout->photometric != PHOTOMETRIC_SEPARATED) {
        convert_bytes(decoder, line, from, count, out);
        return;
    }
    for (uint32_t x = from; x < from + count; x++) {
        uint8_t samples[MOST_SAMPLES];
        uint8_t rgb[3];

        for (uint16_t c = 0; c < used; c++) {
            samples[c] = layout->planes ? sample_at(line + c * plane, x, layout->bits, stored)
                                        : sample_at(line, (size_t)x * layout->samples + c,
                                                    layout->bits, stored);
        }
        if (decoder->indices) {
            *out++ = samples[0];
            continue;
        }
        to_rgb(decoder, samples, rgb);
        if (decoder->gray) {
            *out++ = image_luma(rgb[0], rgb[1], rgb[2]);
        } else {
            memcpy(out, rgb, 3);
            out += 3;
        }
    }
}

/* Reads the strip or tile at x, y of the image to `to`: of a strip the first `lines`. */
static sluice_status read_part(tiff_decoder *decoder, uint32_t x, uint32_t y, uint32_t lines,
                               uint8_t *to)
{
    const tiff_layout *layout = &decoder->layout;
    const size_t plane = tiff_layout_line_bytes(layout) * layout->part_height;
    const size_t needed =
        tiff_layout_line_bytes(layout) * (layout->tiles ? layout->part_height : lines);

    for (uint16_t s = 0; s < (layout->planes ? used_samples(layout) : 1); s++, to += plane) {
        const tmsize_t count =
            layout->tiles
                ? TIFFReadEncodedTile(decoder->tiff, TIFFComputeTile(decoder->tiff, x, y, 0, s), to,
                                      (tmsize_t)needed)
                : TIFFReadEncodedStrip(decoder->tiff, TIFFComputeStrip(decoder->tiff, y, s), to,
                                       (tmsize_t)needed);

        if (count != (tmsize_t)needed) {
            return tiff_failed(decoder);
        }
    }
    return SLUICE_OK;
}

/* Converts the pixels that a strip or tile and the box have in common. The strip or tile, `lines`
 * lines of it, is in `raw`, and begins at left, top of the image. A pixel of the result has `pixel`
 * bytes, and a line `stride`. */
static void keep_part(const tiff_decoder *decoder, const image_box *box, uint32_t left,
                      uint32_t top, uint32_t lines, size_t pixel, size_t stride)
{
    const uint32_t width = decoder->layout.part_width;
    const uint32_t begin = box->x > left ? box->x : left;
    const uint32_t end = box->x + box->width < left + width ? box->x + box->width : left + width;

    for (uint32_t y = top < box->y ? box->y : top; y < top + lines; y++) {
        convert_line(decoder, y - top, begin - left, end - begin,
                     decoder->image.data + (y - box->y) * stride + (begin - box->x) * pixel);
    }
}

static sluice_status read_box(tiff_decoder *decoder, const image_box *box, size_t pixel,
                              size_t stride)
{
    const tiff_layout *layout = &decoder->layout;
    const uint32_t width = layout->part_width;
    const uint32_t height = layout->part_height;
    const uint32_t bottom = box->y + box->height;
    const bool whole = decoder->as_stored && !layout->tiles && box->width == layout->width;

    for (uint32_t y = box->y / height * height; y < bottom; y += height) {
        const uint32_t lines = bottom - y < height ? bottom - y : height;

        for (uint32_t x = box->x / width * width; x < box->x + box->width; x += width) {
            const bool direct = whole && y >= box->y;
            sluice_status st;

            if (sli_is_interrupted()) {
                return SLUICE_CLOSED;
            }
            st =
                read_part(decoder, x, y, lines,
                          direct ? decoder->image.data + (y - box->y) * stride : decoder->raw.data);
            if (st != SLUICE_OK) {
                return st;
            }
            if (!direct) {
                keep_part(decoder, box, x, y, lines, pixel, stride);
            }
        }
    }
    return SLUICE_OK;
}

static sluice_status tiff_region(void *state, const image_box *box, image_view *region_out)
{
    tiff_decoder *decoder = state;
    const tiff_layout *layout = &decoder->layout;
    image_view region = {.width = box->width,
                         .height = box->height,
                         .channels = decoder->gray ? 1 : 3,
                         .element = IMAGE_U8};
    sluice_status st = SLUICE_OK;

    assert(decoder->tiff != NULL);
    assert(box->x + box->width <= layout->width && box->y + box->height <= layout->height);
    if (decoder->wide) {
        region.channels = tiff_layout_colours(layout->photometric);
        region.element = layout->bits == 16 ? IMAGE_U16 : IMAGE_F32;
    } else if (layout->bits > 16) {
        st = sli_fail(SLUICE_E_UNSUPPORTED, "a TIFF file of floats, which bytes cannot hold");
    }
    region.stride = box->width * image_pixel_bytes(&region);
    decoder->as_stored = is_as_stored(decoder, region.channels);
    if (st == SLUICE_OK) {
        st = image_buffer_reserve(&decoder->image, region.stride * box->height);
    }
    if (st == SLUICE_OK) {
        st = image_buffer_reserve(&decoder->raw, tiff_layout_line_bytes(layout) *
                                                     layout->part_height *
                                                     (layout->planes ? used_samples(layout) : 1U));
    }
    if (st == SLUICE_OK) {
        st = read_box(decoder, box, image_pixel_bytes(&region), region.stride);
    }
    end_tiff(decoder);
    region.pixels = decoder->image.data;
    *region_out = region;
    return st;
}

static void tiff_request_wide(void *state)
{
    ((tiff_decoder *)state)->wide = true;
}

static sluice_status tiff_request_indices(void *state)
{
    tiff_decoder *decoder = state;
    const tiff_layout *layout = &decoder->layout;

    if (layout->samples > 1 || layout->bits > 8) {
        return sli_fail(
            SLUICE_E_UNSUPPORTED,
            "class numbers in a TIFF file with colours, alpha, 16 bits or floats; it "
            "must have a palette or gray of at most 8 bits (depth= does not convert numbers)");
    }
    if (layout->photometric == PHOTOMETRIC_MINISWHITE) {
        return sli_fail(SLUICE_E_UNSUPPORTED,
                        "class numbers in a TIFF file where 0 is white: some readers take them as "
                        "stored, and others as they look; `tiffset -s 262 1 FILE` makes them those "
                        "that are stored");
    }
    decoder->indices = true;
    return SLUICE_OK;
}

static void tiff_describe(const void *state, image_facts *facts)
{
    const tiff_decoder *decoder = state;
    const tiff_layout *layout = &decoder->layout;
    const uint16_t colours = tiff_layout_colours(layout->photometric);

    facts->transparent = layout->extra != EXTRASAMPLE_UNSPECIFIED;
    facts->channels = colours + (facts->transparent ? 1U : 0U);
    facts->bits = layout->bits;
    facts->palette = layout->photometric == PHOTOMETRIC_PALETTE;
    facts->orientation =
        layout->orientation >= 1 && layout->orientation <= 8 ? layout->orientation : 1;
    facts->further = decoder->further;
}

const image_format format_tiff = {
    .name = "TIFF",
    .formats = IMAGE_TIFF,
    .create = tiff_create,
    .destroy = tiff_destroy,
    .open = tiff_open,
    .region = tiff_region,
    .request_indices = tiff_request_indices,
    .request_wide = tiff_request_wide,
    .describe = tiff_describe,
};
