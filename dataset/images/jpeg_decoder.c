/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decodes JPEG files with libjpeg-turbo. The pixels of a region are identical to those of a full
 * decode (accurate integer DCT, smooth chroma upsampling), for every chroma subsampling. The
 * inverse DCT runs only on the lines and columns that the region needs. A file that has restart
 * markers or an index is first shortened to the part that the region needs, so only that part is
 * entropy-decoded.
 */
#include <string.h>

#include "alloc_int.h"
#include "exif.h"
#include "image_format.h"
#include "jpeg_cut.h"
#include "jpeg_guard.h"
#include "jpeg_stitch.h"
#include "status_int.h"
#include "thread_interrupt_int.h"

enum { ROWS_AT_ONCE = 8 };

/* Twice the default distance of restart markers in a pack: see jpeg_restart_interval(). */
enum { SMALL_SIDE = 64 };

typedef struct jpeg_decoder {
    struct jpeg_decompress_struct info; /* the first field: see read_app1() */
    jpeg_guard guard;
    uint32_t orientation; /* of the open file, by its Exif data */
    bool gray;
    jpeg_scans scans;     /* completeness of the scans of the last decoded file */
    bool lacks_index;     /* the last region was decoded from the beginning of the file, although an
                             index would have avoided it */
    uint32_t divisor;     /* divides the sides of the image: 1, 2, 4 or 8 */
    const uint8_t *bytes; /* contents of the open file */
    size_t size;
    image_index *index; /* index of the open file; NULL: there is none, and none is to be built */
    image_buffer part;  /* the shortened file */
    image_buffer image;
    image_buffer cmyk; /* one line of four-channel pixels */
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

/*
 * Takes the orientation from a segment APP1, and skips it. The bytes of the whole file are in
 * memory, so the segment is read where it lies. libjpeg calls this after the marker.
 */
static boolean read_app1(j_decompress_ptr info)
{
    static const uint8_t exif[] = {'E', 'x', 'i', 'f', 0, 0};
    jpeg_decoder *decoder = (jpeg_decoder *)(void *)info;
    struct jpeg_source_mgr *source = info->src;
    long length = 0;

    for (int i = 0; i < 2; i++) {
        if (source->bytes_in_buffer == 0) {
            source->fill_input_buffer(info);
        }
        length = length << 8 | *source->next_input_byte++;
        source->bytes_in_buffer--;
    }
    length -= 2;
    if (length > (long)sizeof(exif) && (size_t)length <= source->bytes_in_buffer &&
        memcmp(source->next_input_byte, exif, sizeof(exif)) == 0) {
        decoder->orientation =
            exif_orientation(source->next_input_byte + sizeof(exif), (size_t)length - sizeof(exif));
    }
    source->skip_input_data(info, length);
    return TRUE;
}

/* Reads the headers of a JPEG file in memory. */
static sluice_status open_bytes(jpeg_decoder *decoder, const uint8_t *bytes, size_t size)
{
    struct jpeg_decompress_struct *info = &decoder->info;

    if (setjmp(decoder->guard.give_up) != 0) {
        return jpeg_guard_failed(&decoder->guard, info);
    }
    jpeg_guard_begin(&decoder->guard, info, bytes, size);
    jpeg_set_marker_processor(info, JPEG_APP0 + 1, read_app1);
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
    decoder->orientation = EXIF_UPRIGHT;
    st = open_bytes(decoder, bytes, size);
    if (st == SLUICE_OK) {
        *width_out = decoder->info.image_width;
        *height_out = decoder->info.image_height;
    }
    return st;
}

/*
 * Selects libjpeg's output colour space: gray, RGB, or CMYK, which convert_cmyk() converts to gray
 * or RGB.
 */
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
 * Widens a box so that the pixels inside it are exact. Smooth chroma upsampling reads one pixel
 * beyond the box, and treats the edge of the decoded region as the edge of the image. Rows of one
 * or two chroma samples are not smoothed.
 */
static image_box widen_box(const struct jpeg_decompress_struct *info, const image_box *box)
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

/*
 * Returns the box of the whole image, for files in which coefficient bits are missing: libjpeg then
 * smooths blocks from their neighbours, and it is not documented that smoothing a part gives the
 * same pixels as smoothing the whole image.
 */
static image_box whole_of(const struct jpeg_decompress_struct *info)
{
    return (image_box){0, 0, info->output_width, info->output_height};
}

/*
 * Converts one line of CMYK to RGB or gray. Stored values are inverted: Adobe writes them so, and
 * all decoders assume it for files without Adobe's marker, too.
 */
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

/* Reserves the image buffer. Each line is followed by IMAGE_SLACK zeros, which vector kernels read.
 */
static sluice_status reserve_lines(jpeg_decoder *decoder, size_t length, size_t stride,
                                   uint32_t count)
{
    const sluice_status st = image_buffer_reserve(&decoder->image, stride * count);

    if (st == SLUICE_OK) {
        for (uint32_t y = 0; y < count; y++) {
            memset(decoder->image.data + y * stride + length, 0, IMAGE_SLACK);
        }
    }
    return st;
}

/* Reads the next `count` scan lines into the image. */
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
            ERREXIT(info, JERR_INPUT_EOF); /* unreachable: the data source makes up an end marker at
                                              the end of its bytes */
        }
        y += got;
    }
}

/*
 * Checks for damage that libjpeg does not report: missing scans, and missing data at the end of
 * arithmetic-coded files. A progressive file that has an end marker may leave out coefficient bits.
 */
static sluice_status check_for_damage(const jpeg_decoder *decoder)
{
    if (decoder->scans == JPEG_SCANS_MISSING) {
        return sli_fail(SLUICE_E_CORRUPT, "the file ends before the first scan of a component");
    }
    if (decoder->scans == JPEG_SCANS_COARSE && decoder->guard.exhausted) {
        return sli_fail(SLUICE_E_CORRUPT, "the file ends before its last scan");
    }
    if (decoder->guard.exhausted && decoder->info.arith_code) {
        return sli_fail(SLUICE_E_CORRUPT, "the file has no end");
    }
    return SLUICE_OK;
}

/* Decodes a box of the file that open_bytes() opened most recently. */
static sluice_status decode_box(jpeg_decoder *decoder, const image_box *box, image_view *region_out)
{
    struct jpeg_decompress_struct *info = &decoder->info;
    const uint32_t channels = decoder->gray ? 1 : 3;
    JDIMENSION left;
    JDIMENSION width;
    image_box wide;
    size_t length;
    size_t stride;
    sluice_status st;

    if (setjmp(decoder->guard.give_up) != 0) {
        return jpeg_guard_failed(&decoder->guard, info);
    }
    choose_output(decoder);
    jpeg_start_decompress(info);
    /* If there are several scans, libjpeg has read all of them by now. */
    decoder->scans = jpeg_has_multiple_scans(info) ? jpeg_scans_of(info) : JPEG_SCANS_WHOLE;
    wide = decoder->scans == JPEG_SCANS_WHOLE ? widen_box(info, box) : whole_of(info);
    left = wide.x;
    width = wide.width;
    if (width < info->output_width) {
        jpeg_crop_scanline(info, &left, &width);
    }
    length = (size_t)info->output_width * channels;
    stride = (length + IMAGE_SLACK + 63) / 64 * 64;
    st = reserve_lines(decoder, length, stride, wide.height);
    if (st == SLUICE_OK && info->out_color_space == JCS_CMYK) {
        st = image_buffer_reserve(&decoder->cmyk, (size_t)info->output_width * 4);
    }
    if (st == SLUICE_OK) {
        if (wide.y > 0) {
            jpeg_skip_scanlines(info, wide.y);
        }
        read_lines(decoder, wide.height, stride);
        st = check_for_damage(decoder);
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
    region_out->element = IMAGE_U8;
    return SLUICE_OK;
}

/* Makes a JPEG file of the part of the open file that the box needs. */
static jpeg_part_result shorten_file(jpeg_decoder *decoder, const jpeg_layout *layout,
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

/*
 * Converts one axis of a box from scaled-image pixels to full-resolution pixels. The resulting
 * range has at least `least` pixels, unless the image is smaller.
 */
static void unscale_axis(uint32_t at, uint32_t length, uint32_t divisor, uint32_t least,
                         uint32_t extent, uint32_t *at_out, uint32_t *length_out)
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
 * Returns the full-resolution box that a box of the scaled image needs. Smooth upsampling reads one
 * scaled pixel beyond the box; cells are multiples of scaled pixels, so jpeg_layout_cells()
 * includes that pixel. Rows that are too narrow are not smoothed, hence the minimum width in scaled
 * pixels.
 */
static image_box source_box(const jpeg_decoder *decoder, const jpeg_layout *layout,
                            const image_box *box)
{
    const uint32_t least = (2 * layout->h_max + 1) * decoder->divisor;
    image_box source = *box;

    if (decoder->divisor > 1) {
        unscale_axis(box->x, box->width, decoder->divisor, least, layout->width, &source.x,
                     &source.width);
        unscale_axis(box->y, box->height, decoder->divisor, 0, layout->height, &source.y,
                     &source.height);
    }
    return source;
}

/*
 * Decodes a box from a shortened file. If that fails, the caller decodes the original file, which
 * reports the error.
 */
static jpeg_part_result decode_part(jpeg_decoder *decoder, const jpeg_layout *layout,
                                    const image_box *box, image_view *region_out)
{
    const image_box source = source_box(decoder, layout, box);
    image_box within = *box;
    jpeg_cells cells;
    size_t size;
    jpeg_part_result result = shorten_file(decoder, layout, &source, &size, &cells);

    if (result != JPEG_PART_MADE) {
        return result;
    }
    within.x -= cells.pixels.x / decoder->divisor; /* exact: cells begin at multiples of 8 */
    within.y -= cells.pixels.y / decoder->divisor;
    return open_bytes(decoder, decoder->part.data, size) == SLUICE_OK &&
                   decoder->info.image_width == cells.pixels.width &&
                   decoder->info.image_height == cells.pixels.height &&
                   decode_box(decoder, &within, region_out) == SLUICE_OK
               ? JPEG_PART_MADE
               : JPEG_PART_WRONG;
}

/*
 * Builds the index of the open file. If the file cannot have an index (for example, layout is
 * NULL), the index is empty.
 */
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

/*
 * True if an index or restart markers would make decoding regions faster: the file has sequential
 * Huffman code without restart markers, and is larger than SMALL_SIDE in width or height, since
 * `sluice pack` adds no markers to smaller images.
 */
static bool gains_by_index(const jpeg_decoder *decoder)
{
    const struct jpeg_decompress_struct *info = &decoder->info;
    const bool is_small = info->image_width <= SMALL_SIDE && info->image_height <= SMALL_SIDE;

    return !info->progressive_mode && !info->arith_code && info->restart_interval == 0 && !is_small;
}

static sluice_status jpeg_region(void *state, const image_box *box, image_view *region_out)
{
    jpeg_decoder *decoder = state;
    image_index *index = decoder->index;
    sluice_status st = SLUICE_OK;
    bool can_part = false;
    jpeg_layout layout;

    decoder->lacks_index = false;
    if (index != NULL || decoder->info.restart_interval != 0) {
        can_part = jpeg_layout_read(decoder->bytes, decoder->size, &layout);
    }
    if (can_part) {
        const jpeg_part_result result = decode_part(decoder, &layout, box, region_out);

        if (result == JPEG_PART_WRONG && sli_is_interrupted()) {
            return SLUICE_CLOSED;
        }
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
        decoder->lacks_index = (index == NULL || index->size == 0) && gains_by_index(decoder);
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

static bool jpeg_lacks_index(const void *state)
{
    return ((const jpeg_decoder *)state)->lacks_index;
}

static void jpeg_describe(const void *state, image_facts *facts)
{
    const jpeg_decoder *decoder = state;
    const struct jpeg_decompress_struct *info = &decoder->info;

    facts->orientation = decoder->orientation;
    facts->channels = (uint32_t)info->num_components;
    facts->bits = (uint32_t)info->data_precision;
    facts->progressive = info->progressive_mode;
    facts->arithmetic = info->arith_code;
    facts->restart_interval = info->restart_interval;
    if (info->num_components > 1) {
        const jpeg_component_info *luma = &info->comp_info[0];
        const jpeg_component_info *chroma = &info->comp_info[1];

        facts->chroma_x = luma->h_samp_factor % chroma->h_samp_factor == 0
                              ? (uint32_t)(luma->h_samp_factor / chroma->h_samp_factor)
                              : 0;
        facts->chroma_y = luma->v_samp_factor % chroma->v_samp_factor == 0
                              ? (uint32_t)(luma->v_samp_factor / chroma->v_samp_factor)
                              : 0;
    }
}

const image_format format_jpeg = {
    .name = "JPEG",
    .formats = IMAGE_JPEG,
    .magic = magic,
    .magic_size = sizeof(magic),
    .create = jpeg_create,
    .destroy = jpeg_destroy_state,
    .open = jpeg_open,
    .region = jpeg_region,
    .scale = jpeg_scale,
    .use_index = jpeg_use_index,
    .lacks_index = jpeg_lacks_index,
    .describe = jpeg_describe,
};
