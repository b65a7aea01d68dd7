/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decodes PNG files with libpng. Samples are used as stored, without gamma or colour profiles, as
 * in other loaders of training data. Every colour type and bit depth becomes 8-bit RGB or gray, and
 * transparent pixels are blended with black. The whole file is read, since damage shows only in the
 * checksums at the ends of its chunks; only the lines of the box are stored.
 */
#include <assert.h>
#include <png.h>
#include <setjmp.h>
#include <stdio.h>
#include <string.h>

#include "alloc_int.h"
#include "exif.h"
#include "image_format.h"
#include "status_int.h"
#include "thread_interrupt_int.h"

typedef struct png_decoder {
    png_structp png; /* NULL: no file is open */
    png_infop info;
    jmp_buf give_up;
    char text[160]; /* message of the last failure */
    const uint8_t *bytes;
    size_t left;
    uint32_t orientation; /* by the chunk eXIf */
    bool animated;        /* there is a chunk acTL */
    bool has_lines;       /* all lines of the image were read */
    bool gray;
    bool indices;       /* pixels are palette indices or gray values as stored, not expanded or
                           scaled */
    bool wide;          /* values have 16 bits */
    image_buffer raw;   /* output of libpng: one line, or the whole image if it is interlaced */
    image_buffer image; /* lines of the box */
} png_decoder;

static const uint8_t magic[] = {0x89, 'P', 'N', 'G'};

static void give_up(png_structp png, png_const_charp text)
{
    png_decoder *decoder = png_get_error_ptr(png);

    snprintf(decoder->text, sizeof(decoder->text), "libpng: %s", text);
    longjmp(decoder->give_up, 1);
}

static void say_nothing(png_structp png, png_const_charp text)
{
    (void)png;
    (void)text;
}

static png_voidp png_allocate(png_structp png, png_alloc_size_t size)
{
    (void)png;
    return sli_calloc(1, size);
}

static void png_release(png_structp png, png_voidp block)
{
    (void)png;
    sli_free(block);
}

static void read_bytes(png_structp png, png_bytep to, size_t count)
{
    static const uint8_t last_chunk[] = {0, 0, 0, 0, 'I', 'E', 'N', 'D', 0xAE, 0x42, 0x60, 0x82};
    png_decoder *decoder = png_get_io_ptr(png);

    if (decoder->left == 0 && decoder->has_lines) { /* complete, but for the end chunk */
        decoder->bytes = last_chunk;
        decoder->left = sizeof(last_chunk);
    }
    if (count > decoder->left) {
        png_error(png, "the file ends early");
    }
    memcpy(to, decoder->bytes, count);
    decoder->bytes += count;
    decoder->left -= count;
}

static sluice_status png_create(void **state_out)
{
    png_decoder *decoder = sli_calloc(1, sizeof(*decoder));

    if (decoder == NULL) {
        return sli_fail(SLUICE_E_NO_MEMORY, "a PNG decoder");
    }
    *state_out = decoder;
    return SLUICE_OK;
}

static void end_png(png_decoder *decoder)
{
    png_destroy_read_struct(&decoder->png, &decoder->info, NULL);
}

static void png_destroy(void *state)
{
    png_decoder *decoder = state;

    end_png(decoder);
    image_buffer_free(&decoder->raw);
    image_buffer_free(&decoder->image);
    sli_free(decoder);
}

/* Reports the failure that caused the longjmp(), which may be out of memory. */
static sluice_status png_failed(png_decoder *decoder)
{
    end_png(decoder);
    return sli_fail(strstr(decoder->text, "memory") != NULL ? SLUICE_E_NO_MEMORY : SLUICE_E_CORRUPT,
                    "%s", decoder->text);
}

/* Reads everything before the pixels, and skips chunks that do not affect pixels. */
static void read_header(png_decoder *decoder)
{
    png_structp png = decoder->png;

    png_set_read_fn(png, decoder, read_bytes);
    png_set_crc_action(png, PNG_CRC_ERROR_QUIT, PNG_CRC_ERROR_QUIT);
    png_set_user_limits(png, PNG_UINT_31_MAX, PNG_UINT_31_MAX); /* png_open() refuses larger images,
                                                                   with a better message */
    png_set_keep_unknown_chunks(png, PNG_HANDLE_CHUNK_NEVER, NULL, -1);
    png_set_keep_unknown_chunks(png, PNG_HANDLE_CHUNK_AS_DEFAULT, (png_const_bytep) "tRNS", 1);
    png_read_info(png, decoder->info);
}

/*
 * Finds chunks that libpng is told to skip: eXIf, which may come after the pixels, and acTL of
 * animated files. Other chunks are stepped over by their lengths.
 */
static void find_chunks(png_decoder *decoder, const uint8_t *bytes, size_t size)
{
    enum { SIGNATURE = 8, HEAD = 8, CHECKSUM = 4 };
    size_t at = SIGNATURE;

    decoder->orientation = EXIF_UPRIGHT;
    decoder->animated = false;
    while (at <= size && size - at >= HEAD + CHECKSUM) {
        const uint8_t *chunk = bytes + at;
        const size_t length = png_get_uint_32(chunk);

        if (length > size - at - HEAD - CHECKSUM) {
            return;
        }
        if (memcmp(chunk + 4, "eXIf", 4) == 0) {
            decoder->orientation = exif_orientation(chunk + HEAD, length);
        }
        decoder->animated = decoder->animated || memcmp(chunk + 4, "acTL", 4) == 0;
        at += HEAD + length + CHECKSUM;
    }
}

static sluice_status png_open(void *state, const uint8_t *bytes, size_t size, uint64_t max_pixels,
                              bool gray, uint32_t *width_out, uint32_t *height_out)
{
    png_decoder *decoder = state;
    sluice_status st;
    uint32_t width;
    uint32_t height;

    end_png(decoder);
    decoder->bytes = bytes;
    decoder->left = size;
    decoder->has_lines = false;
    decoder->gray = gray;
    decoder->indices = false;
    decoder->wide = false;
    snprintf(decoder->text, sizeof(decoder->text), "out of memory while decoding");
    if (setjmp(decoder->give_up) != 0) {
        return png_failed(decoder);
    }
    decoder->png = png_create_read_struct_2(PNG_LIBPNG_VER_STRING, decoder, give_up, say_nothing,
                                            NULL, png_allocate, png_release);
    decoder->info = decoder->png != NULL ? png_create_info_struct(decoder->png) : NULL;
    if (decoder->info == NULL) {
        return png_failed(decoder);
    }
    read_header(decoder);
    width = png_get_image_width(decoder->png, decoder->info);
    height = png_get_image_height(decoder->png, decoder->info);
    st = image_check_size(width, height, max_pixels);
    if (st != SLUICE_OK) {
        return st;
    }
    find_chunks(decoder, bytes, size);
    *width_out = width;
    *height_out = height;
    return SLUICE_OK;
}

/* Converts pixels of 1 to 4 channels (gray, gray and alpha, RGB, RGBA) to gray or RGB. */
static void convert_line(const uint8_t *in, uint32_t channels, bool gray, uint32_t width,
                         uint8_t *out)
{
    for (uint32_t x = 0; x < width; x++, in += channels) {
        const bool colour = channels >= 3;
        uint8_t rgb[3] = {in[0], in[colour ? 1 : 0], in[colour ? 2 : 0]};

        for (int c = 0; channels % 2 == 0 && c < 3; c++) {
            rgb[c] = image_times(rgb[c], in[channels - 1]);
        }
        if (gray) {
            *out++ = colour ? image_luma(rgb[0], rgb[1], rgb[2]) : rgb[0];
        } else {
            memcpy(out, rgb, 3);
            out += 3;
        }
    }
}

/* Reads a value as a PNG file has it. */
static inline uint16_t read_16(const uint8_t *in)
{
    return (uint16_t)(in[0] << 8 | in[1]);
}

/* Converts values of 16 bits; the file stores the channels of the result, and perhaps alpha. */
static void convert_wide_line(const uint8_t *in, uint32_t channels, uint32_t width, uint16_t *out)
{
    const uint32_t colours = channels >= 3 ? 3 : 1;

    if (channels == colours) {
        for (size_t i = 0; i < (size_t)width * channels; i++) {
            out[i] = read_16(in + 2 * i);
        }
        return;
    }
    for (uint32_t x = 0; x < width; x++, in += (size_t)2 * channels) {
        const uint64_t alpha = read_16(in + (size_t)2 * colours);

        for (uint32_t c = 0; c < colours; c++) {
            *out++ = (uint16_t)((read_16(in + (size_t)2 * c) * alpha + 32767) / 65535);
        }
    }
}

/* Stores line y of the image, if the box contains it; `stride` is that of the box. */
static void keep_line(png_decoder *decoder, const image_box *box, uint32_t y, const uint8_t *line,
                      size_t stride)
{
    const uint32_t channels = png_get_channels(decoder->png, decoder->info);
    uint8_t *to;

    if (y < box->y || y - box->y >= box->height) {
        return;
    }
    to = decoder->image.data + (y - box->y) * stride;
    if (decoder->wide) {
        convert_wide_line(line + (size_t)2 * box->x * channels, channels, box->width,
                          (uint16_t *)(void *)to);
    } else {
        convert_line(line + (size_t)box->x * channels, channels, decoder->gray, box->width, to);
    }
}

static sluice_status read_lines(png_decoder *decoder, const image_view *to, const image_box *box,
                                uint32_t passes, size_t stride)
{
    const uint32_t height = png_get_image_height(decoder->png, decoder->info);

    for (uint32_t pass = 0; pass < passes; pass++) {
        for (uint32_t y = 0; y < height; y++) {
            uint8_t *line = decoder->raw.data + (passes > 1 ? y * stride : 0);

            if (sli_is_interrupted_at(y)) {
                return SLUICE_CLOSED;
            }
            png_read_row(decoder->png, line, NULL);
            if (pass + 1 == passes) {
                keep_line(decoder, box, y, line, to->stride);
            }
        }
    }
    return SLUICE_OK;
}

/*
 * Checks the data after the last line, where libpng stops reading. The compressed data may end in
 * further IDAT chunks, which must also be intact.
 */
static void check_rest(png_decoder *decoder)
{
    enum { CHUNK_HEADER = 8 };

    if (decoder->left > 0 && decoder->left < CHUNK_HEADER) {
        png_error(decoder->png, "the file ends early");
    }
    decoder->has_lines = true;
    if (decoder->left > 0 && memcmp(decoder->bytes + 4, "IDAT", 4) == 0) {
        png_read_end(decoder->png, NULL);
    }
}

/* Sets how libpng converts the pixels. */
static void set_conversions(png_decoder *decoder)
{
    if (decoder->indices) {
        png_set_packing(decoder->png);
        return;
    }
    png_set_expand(decoder->png);
    if (!decoder->wide) {
        png_set_scale_16(decoder->png);
    }
}

static sluice_status png_region(void *state, const image_box *box, image_view *region_out)
{
    png_decoder *decoder = state;
    size_t raw_stride;
    uint32_t passes;
    sluice_status st;

    assert(decoder->png != NULL);
    if (setjmp(decoder->give_up) != 0) {
        return png_failed(decoder);
    }
    *region_out = (image_view){.width = box->width,
                               .height = box->height,
                               .channels = decoder->gray ? 1 : 3,
                               .element = decoder->wide ? IMAGE_U16 : IMAGE_U8};
    region_out->stride = box->width * image_pixel_bytes(region_out);
    set_conversions(decoder);
    passes = (uint32_t)png_set_interlace_handling(decoder->png);
    png_read_update_info(decoder->png, decoder->info);
    raw_stride = png_get_rowbytes(decoder->png, decoder->info);
    st = image_buffer_reserve(
        &decoder->raw,
        passes > 1 ? raw_stride * png_get_image_height(decoder->png, decoder->info) : raw_stride);
    if (st == SLUICE_OK) {
        st = image_buffer_reserve(&decoder->image, region_out->stride * box->height);
    }
    if (st == SLUICE_OK) {
        region_out->pixels = decoder->image.data;
        st = read_lines(decoder, region_out, box, passes, raw_stride);
    }
    if (st == SLUICE_OK) {
        check_rest(decoder);
    }
    end_png(decoder);
    return st;
}

static void png_request_wide(void *state)
{
    ((png_decoder *)state)->wide = true;
}

static sluice_status png_request_indices(void *state)
{
    png_decoder *decoder = state;
    const uint8_t type = png_get_color_type(decoder->png, decoder->info);

    if ((type != PNG_COLOR_TYPE_PALETTE && type != PNG_COLOR_TYPE_GRAY) ||
        png_get_bit_depth(decoder->png, decoder->info) > 8) {
        return sli_fail(SLUICE_E_UNSUPPORTED,
                        "class numbers in a PNG file with colours, alpha or 16 bits; it must have "
                        "a palette or gray of at most 8 bits (depth= does not convert numbers)");
    }
    decoder->indices = true;
    return SLUICE_OK;
}

static void png_describe(const void *state, image_facts *facts)
{
    const png_decoder *decoder = state;

    facts->orientation = decoder->orientation;
    facts->further = decoder->animated;
    facts->transparent =
        (png_get_color_type(decoder->png, decoder->info) & PNG_COLOR_MASK_ALPHA) != 0 ||
        png_get_valid(decoder->png, decoder->info, PNG_INFO_tRNS) != 0;
    facts->palette = png_get_color_type(decoder->png, decoder->info) == PNG_COLOR_TYPE_PALETTE;
    facts->channels = png_get_channels(decoder->png, decoder->info);
    facts->bits = png_get_bit_depth(decoder->png, decoder->info);
    facts->progressive = png_get_interlace_type(decoder->png, decoder->info) != PNG_INTERLACE_NONE;
}

const image_format format_png = {
    .name = "PNG",
    .formats = IMAGE_PNG,
    .magic = magic,
    .magic_size = sizeof(magic),
    .create = png_create,
    .destroy = png_destroy,
    .open = png_open,
    .region = png_region,
    .request_indices = png_request_indices,
    .request_wide = png_request_wide,
    .describe = png_describe,
};
