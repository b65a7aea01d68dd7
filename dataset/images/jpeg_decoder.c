/* SPDX-License-Identifier: Apache-2.0 */
/*
 * JPEG files, through libjpeg-turbo's libjpeg API. A region's pixels are those of a full decode
 * (accurate integer DCT, smooth chroma upsampling), for every chroma subsampling, and only the
 * lines and columns it needs are transformed. A file with restart markers, or with an index, is
 * made shorter first, so that only what lies under the region is read at all.
 */
#include <string.h>

#include "alloc_int.h"
#include "image_decoder.h"
#include "jpeg_cut.h"
#include "jpeg_guard.h"
#include "jpeg_stitch.h"
#include "status_int.h"

enum { ROWS_AT_ONCE = 8 };

typedef struct jpeg_decoder {
    struct jpeg_decompress_struct info;
    jpeg_guard guard;
    bool gray;
    uint32_t divisor;     /* of the sides; 1, 2, 4 or 8 */
    const uint8_t *bytes; /* the opened file */
    size_t size;
    image_index *index; /* of it; NULL: none, and none is wanted */
    image_buffer part;  /* a shorter file, of a part of it */
    image_buffer image;
    image_buffer cmyk; /* one line of four channels */
} jpeg_decoder;

static const uint8_t magic[] = {0xFF, 0xD8};

static sluice_status jpeg_create(void **state_out)
{
    jpeg_decoder *decoder = sli_calloc(1, sizeof(*decoder));

    if (decoder == NULL) {
        return sli_fail(SLUICE_E_NO_MEMORY, "a JPEG decoder");
    }
    jpeg_guard_init(&decoder->guard);
    *state_out = decoder;
    return SLUICE_OK;
}

static void jpeg_destroy_state(void *state)
{
    jpeg_decoder *decoder = state;

    jpeg_destroy_decompress(&decoder->info);
    image_buffer_free(&decoder->part);
    image_buffer_free(&decoder->image);
    image_buffer_free(&decoder->cmyk);
    sli_free(decoder);
}

/* Reads the headers of a file. */
static sluice_status open_bytes(jpeg_decoder *decoder, const uint8_t *bytes, size_t size)
{
    struct jpeg_decompress_struct *info = &decoder->info;

    if (setjmp(decoder->guard.give_up) != 0) {
        return jpeg_guard_failed(&decoder->guard, info);
    }
    jpeg_guard_begin(&decoder->guard, info, bytes, size);
    jpeg_read_header(info, TRUE);
    decoder->guard.pixels = (uint64_t)info->image_width * info->image_height;
    return decoder->guard.pixels <= decoder->guard.max_pixels
               ? SLUICE_OK
               : image_too_large(info->image_width, info->image_height, decoder->guard.max_pixels);
}

static sluice_status jpeg_open(void *state, const uint8_t *bytes, size_t size, uint64_t max_pixels,
                               bool gray, uint32_t *width_out, uint32_t *height_out)
{
    jpeg_decoder *decoder = state;
    sluice_status st;

    decoder->guard.max_pixels = max_pixels;
    decoder->gray = gray;
    decoder->bytes = bytes;
    decoder->size = size;
    decoder->index = NULL;
    decoder->divisor = 1;
    st = open_bytes(decoder, bytes, size);
    if (st == SLUICE_OK) {
        *width_out = decoder->info.image_width;
        *height_out = decoder->info.image_height;
    }
    return st;
}

/* What comes out of the library: gray, RGB, or CMYK, which is turned into RGB afterwards. */
static void choose_output(jpeg_decoder *decoder)
{
    struct jpeg_decompress_struct *info = &decoder->info;
    bool cmyk = info->jpeg_color_space == JCS_CMYK || info->jpeg_color_space == JCS_YCCK;

    info->out_color_space = cmyk ? JCS_CMYK : decoder->gray ? JCS_GRAYSCALE : JCS_RGB;
    info->dct_method = JDCT_ISLOW;
    info->scale_num = 1;
    info->scale_denom = decoder->divisor;
    /* Smooth upsampling stays on: libjpeg-turbo 2.1 skips and crops wrongly without it (its issues
     * 574 and 915). */
    info->do_fancy_upsampling = TRUE;
}

/*
 * The lines and columns to ask for so that those of the box are exact: smooth upsampling of
 * chroma looks one pixel further, and takes the edge of what is asked for to be the image's edge;
 * a row of one or two chroma samples is not smoothed at all.
 */
static image_box widen(const struct jpeg_decompress_struct *info, const image_box *box)
{
    uint32_t margin_x = info->max_h_samp_factor > 1 ? 1 : 0;
    uint32_t margin_y = info->max_v_samp_factor > 1 ? 1 : 0;
    uint32_t least = 2 * (uint32_t)info->max_h_samp_factor + 1;
    uint32_t left = box->x > margin_x ? box->x - margin_x : 0;
    uint32_t top = box->y > margin_y ? box->y - margin_y : 0;
    uint32_t right = box->x + box->width + margin_x;
    uint32_t bottom = box->y + box->height + margin_y;

    right = right < info->output_width ? right : info->output_width;
    bottom = bottom < info->output_height ? bottom : info->output_height;
    if (right - left < least) {
        right = left + least < info->output_width ? left + least : info->output_width;
        left = right > least ? right - least : 0;
    }
    return (image_box){left, top, right - left, bottom - top};
}

/* One line of CMYK to RGB or gray. Values are inverted: Adobe's are, and every reader takes those
 * of files without Adobe's marker for inverted, too. */
static void convert_cmyk(const jpeg_decoder *decoder, const uint8_t *in, uint8_t *out,
                         uint32_t width)
{
    for (uint32_t x = 0; x < width; x++, in += 4) {
        uint8_t red = image_times(in[0], in[3]);
        uint8_t green = image_times(in[1], in[3]);
        uint8_t blue = image_times(in[2], in[3]);

        if (decoder->gray) {
            *out++ = image_luma(red, green, blue);
        } else {
            *out++ = red;
            *out++ = green;
            *out++ = blue;
        }
    }
}

/* Reads lines [0, count) of what is left into the image; a line is `stride` bytes. */
static void read_lines(jpeg_decoder *decoder, uint32_t count, size_t stride)
{
    struct jpeg_decompress_struct *info = &decoder->info;
    uint8_t *to = decoder->image.data;

    if (info->out_color_space == JCS_CMYK) {
        JSAMPROW row = decoder->cmyk.data;

        for (uint32_t y = 0; y < count; y++, to += stride) {
            jpeg_read_scanlines(info, &row, 1);
            convert_cmyk(decoder, row, to, info->output_width);
        }
        return;
    }
    for (uint32_t y = 0; y < count;) {
        JSAMPROW rows[ROWS_AT_ONCE];
        uint32_t wanted = count - y < ROWS_AT_ONCE ? count - y : ROWS_AT_ONCE;
        JDIMENSION got;

        for (uint32_t i = 0; i < wanted; i++) {
            rows[i] = to + (y + i) * stride;
        }
        got = jpeg_read_scanlines(info, rows, wanted);
        if (got == 0) {
            ERREXIT(info, JERR_INPUT_EOF); /* cannot be: the source never runs dry */
        }
        y += got;
    }
}

/*
 * Damage that the library does not warn of: scans that are not there, and the end of arithmetic
 * code, which may be cut or not.
 */
static sluice_status look_for_damage(jpeg_decoder *decoder)
{
    struct jpeg_decompress_struct *info = &decoder->info;

    if (jpeg_has_multiple_scans(info) && !jpeg_has_all_scans(info)) {
        return sli_fail(SLUICE_E_CORRUPT, "the file ends before its last scan");
    }
    if (decoder->guard.exhausted && info->arith_code) {
        return sli_fail(SLUICE_E_CORRUPT, "the file has no end");
    }
    return SLUICE_OK;
}

/* Decodes a box of the file whose headers were read last. */
static sluice_status decode_box(jpeg_decoder *decoder, const image_box *box, image_view *region_out)
{
    struct jpeg_decompress_struct *info = &decoder->info;
    const uint32_t channels = decoder->gray ? 1 : 3;
    JDIMENSION left;
    JDIMENSION width;
    image_box wide;
    size_t stride;
    sluice_status st;

    if (setjmp(decoder->guard.give_up) != 0) {
        return jpeg_guard_failed(&decoder->guard, info);
    }
    choose_output(decoder);
    jpeg_start_decompress(info);
    wide = widen(info, box);
    left = wide.x;
    width = wide.width;
    if (width < info->output_width) {
        jpeg_crop_scanline(info, &left, &width);
    }
    stride = ((size_t)info->output_width * channels + IMAGE_SLACK + 63) / 64 * 64;
    st = image_buffer_reserve(&decoder->image, stride * wide.height);
    if (st == SLUICE_OK && info->out_color_space == JCS_CMYK) {
        st = image_buffer_reserve(&decoder->cmyk, (size_t)info->output_width * 4);
    }
    if (st == SLUICE_OK) {
        if (wide.y > 0) {
            jpeg_skip_scanlines(info, wide.y);
        }
        read_lines(decoder, wide.height, stride);
        st = look_for_damage(decoder);
    }
    jpeg_destroy_decompress(info);
    if (st != SLUICE_OK) {
        return st;
    }
    region_out->pixels =
        decoder->image.data + (box->y - wide.y) * stride + (size_t)(box->x - left) * channels;
    region_out->stride = stride;
    region_out->width = box->width;
    region_out->height = box->height;
    region_out->channels = channels;
    return SLUICE_OK;
}

/* Makes a file of the part of the opened one that the box needs. */
static jpeg_part_result shorten(jpeg_decoder *decoder, const jpeg_layout *layout,
                                const image_box *box, size_t *size_out, jpeg_cells *cells_out)
{
    const image_index *index = decoder->index;

    if (layout->restart != 0) {
        return jpeg_cut(layout, decoder->bytes, decoder->size, box, &decoder->part, size_out,
                        cells_out);
    }
    if (index == NULL || index->size == 0) {
        return JPEG_PART_CANNOT;
    }
    return jpeg_stitch(layout, decoder->bytes, decoder->size, index->bytes.data, index->size, box,
                       &decoder->part, size_out, cells_out);
}

/* One direction of a box of the scaled image in pixels of the file, and at least so many. */
static void unscale(uint32_t at, uint32_t length, uint32_t divisor, uint32_t least, uint32_t extent,
                    uint32_t *at_out, uint32_t *length_out)
{
    uint32_t low = at * divisor;
    uint32_t high = (at + length) * divisor < extent ? (at + length) * divisor : extent;

    if (high - low < least) {
        high = low + least < extent ? low + least : extent;
        low = high > least ? high - least : 0;
    }
    *at_out = low;
    *length_out = high - low;
}

/*
 * What a shorter file must hold for a box of the scaled image. What smooth upsampling looks at
 * beside it is a scaled pixel wide, as cells are a multiple of: jpeg_layout_cells() takes the next
 * one along. But narrow images are not smoothed, and what is wide enough there may not be so here.
 */
static image_box source_box(const jpeg_decoder *decoder, const jpeg_layout *layout,
                            const image_box *box)
{
    const uint32_t least = (2 * layout->h_max + 1) * decoder->divisor;
    image_box source = *box;

    if (decoder->divisor > 1) {
        unscale(box->x, box->width, decoder->divisor, least, layout->width, &source.x,
                &source.width);
        unscale(box->y, box->height, decoder->divisor, 0, layout->height, &source.y,
                &source.height);
    }
    return source;
}

/* Decodes a box from a shorter file. Whatever is odd about it is left to a decode of the whole
 * file, which has the words for it. */
static jpeg_part_result decode_part(jpeg_decoder *decoder, const jpeg_layout *layout,
                                    const image_box *box, image_view *region_out)
{
    const image_box source = source_box(decoder, layout, box);
    image_box within = *box;
    jpeg_cells cells;
    size_t size;
    jpeg_part_result result = shorten(decoder, layout, &source, &size, &cells);

    if (result != JPEG_PART_MADE) {
        return result;
    }
    within.x -= cells.pixels.x / decoder->divisor; /* cells begin at multiples of 8 */
    within.y -= cells.pixels.y / decoder->divisor;
    return open_bytes(decoder, decoder->part.data, size) == SLUICE_OK &&
                   decoder->info.image_width == cells.pixels.width &&
                   decoder->info.image_height == cells.pixels.height &&
                   decode_box(decoder, &within, region_out) == SLUICE_OK
               ? JPEG_PART_MADE
               : JPEG_PART_WRONG;
}

/* Reads the opened file through; one that cannot have an index (layout: NULL)
 * gets an empty one. */
static void make_index(jpeg_decoder *decoder, const jpeg_layout *layout)
{
    image_index *index = decoder->index;

    index->is_made = true;
    if (layout != NULL && jpeg_can_index(layout, decoder->size) &&
        image_buffer_reserve(&index->bytes, jpeg_index_size(layout)) == SLUICE_OK &&
        jpeg_index_make(layout, decoder->bytes, decoder->size, index->bytes.data)) {
        index->size = jpeg_index_size(layout);
    }
}

static sluice_status jpeg_region(void *state, const image_box *box, image_view *region_out)
{
    jpeg_decoder *decoder = state;
    image_index *index = decoder->index;
    sluice_status st = SLUICE_OK;
    bool can_part = false;
    jpeg_layout layout;

    if (index != NULL || decoder->info.restart_interval != 0) {
        can_part = jpeg_layout_read(decoder->bytes, decoder->size, &layout);
    }
    if (can_part) {
        const jpeg_part_result result = decode_part(decoder, &layout, box, region_out);

        if (index != NULL) {
            index->is_used = result == JPEG_PART_MADE && layout.restart == 0;
            index->is_wrong =
                index->size > 0 && result != JPEG_PART_MADE && result != JPEG_PART_IS_ALL;
        }
        if (result == JPEG_PART_MADE) {
            return SLUICE_OK;
        }
        if (result == JPEG_PART_WRONG) {
            st = open_bytes(decoder, decoder->bytes, decoder->size);
        }
    }
    if (st == SLUICE_OK) {
        st = decode_box(decoder, box, region_out);
    }
    if (st == SLUICE_OK && index != NULL && index->wanted && index->size == 0) {
        make_index(decoder, can_part ? &layout : NULL);
    }
    return st;
}

static bool jpeg_scale(void *state, uint32_t divisor, uint32_t *width_out, uint32_t *height_out)
{
    jpeg_decoder *decoder = state;

    decoder->divisor = divisor;
    *width_out = (decoder->info.image_width + divisor - 1) / divisor;
    *height_out = (decoder->info.image_height + divisor - 1) / divisor;
    return true;
}

static void jpeg_use_index(void *state, image_index *index)
{
    ((jpeg_decoder *)state)->index = index;
}

extern const image_format format_jpeg;
const image_format format_jpeg = {
    .name = "JPEG",
    .magic = magic,
    .magic_size = sizeof(magic),
    .create = jpeg_create,
    .destroy = jpeg_destroy_state,
    .open = jpeg_open,
    .region = jpeg_region,
    .scale = jpeg_scale,
    .use_index = jpeg_use_index,
};
