/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decodes JPEG 2000 files (JP2 and bare code streams) with OpenJPEG: gray values, palettes and
 * colours in RGB and sYCC, with or without alpha, of 1 to 16 bits. Transparent pixels are blended
 * with black, as those of PNG files are. The tiles that the box needs are decoded, and all of each,
 * as parts of a tile depend on each other's rounding.
 *
 * OpenJPEG gets the code stream after all of its markers were checked (jp2_walk.c), and after the
 * memory that it will need was found to be in proportion to the image (jp2_cost.c).
 */
#include <assert.h>
#include <openjpeg.h>
#include <stdio.h>
#include <string.h>

#include "alloc_int.h"
#include "image_format.h"
#include "jp2_boxes.h"
#include "jp2_cost.h"
#include "jp2_walk.h"
#include "status_int.h"

enum { STREAM_BUFFER = 1 << 16, MOST_VALUE = 65535 };

typedef struct jp2_decoder {
    opj_codec_t *codec; /* NULL: no image is being decoded */
    opj_stream_t *stream;
    opj_image_t *decoded;
    uint64_t at; /* in the code stream */
    jp2_boxes boxes;
    jp2_walk walk; /* `bytes` is NULL: no file is open */
    jp2_area area; /* what is decoded: the tiles of the box */
    uint32_t width;
    uint32_t height;
    uint32_t colours; /* 1 or 3 */
    bool gray;
    bool wide;          /* pixels of 16 bits */
    char text[256];     /* the first message of OpenJPEG for the open file */
    image_buffer image; /* lines of the box */
} jp2_decoder;

/* ---- what OpenJPEG calls --------------------------------------------------------------------- */

static OPJ_SIZE_T read_bytes(void *to, OPJ_SIZE_T count, void *opaque)
{
    jp2_decoder *decoder = opaque;
    const uint64_t left = decoder->walk.size - decoder->at;
    const size_t taken = count < left ? count : (size_t)left;

    if (taken == 0) {
        return (OPJ_SIZE_T)-1;
    }
    memcpy(to, decoder->walk.bytes + decoder->at, taken);
    decoder->at += taken;
    return taken;
}

static OPJ_OFF_T skip_bytes(OPJ_OFF_T count, void *opaque)
{
    jp2_decoder *decoder = opaque;

    if (count < 0 || (uint64_t)count > decoder->walk.size - decoder->at) {
        return -1;
    }
    decoder->at += (uint64_t)count;
    return count;
}

static OPJ_BOOL seek_bytes(OPJ_OFF_T offset, void *opaque)
{
    jp2_decoder *decoder = opaque;

    if (offset < 0 || (uint64_t)offset > decoder->walk.size) {
        return OPJ_FALSE;
    }
    decoder->at = (uint64_t)offset;
    return OPJ_TRUE;
}

static void keep_error(const char *text, void *opaque)
{
    jp2_decoder *decoder = opaque;

    if (decoder->text[0] == '\0') {
        snprintf(decoder->text, sizeof(decoder->text), "%.*s", (int)strcspn(text, "\n"), text);
    }
}

static void say_nothing(const char *text, void *opaque)
{
    (void)text;
    (void)opaque;
}

/* ---- headers --------------------------------------------------------------------------------- */

static sluice_status jp2_create(void **state_out)
{
    jp2_decoder *decoder = sli_calloc(1, sizeof(*decoder));

    if (decoder == NULL) {
        return sli_fail(SLUICE_E_NO_MEMORY, "a JPEG 2000 decoder");
    }
    *state_out = decoder;
    return SLUICE_OK;
}

static void end_library(jp2_decoder *decoder)
{
    opj_image_destroy(decoder->decoded);
    opj_stream_destroy(decoder->stream);
    opj_destroy_codec(decoder->codec);
    decoder->decoded = NULL;
    decoder->stream = NULL;
    decoder->codec = NULL;
}

static void end_jp2(jp2_decoder *decoder)
{
    end_library(decoder);
    jp2_walk_end(&decoder->walk);
    decoder->walk.bytes = NULL;
}

static void jp2_destroy(void *state)
{
    jp2_decoder *decoder = state;

    end_jp2(decoder);
    image_buffer_free(&decoder->image);
    sli_free(decoder);
}

/* The channels of a pixel: components, or columns of the palette. */
static uint32_t channels_of(const jp2_decoder *decoder)
{
    return decoder->boxes.columns > 0 ? decoder->boxes.columns : decoder->walk.components;
}

/* Decides which channels are colours, and which one is alpha: by a box, or by their number. */
static sluice_status assign_channels(jp2_decoder *decoder)
{
    jp2_boxes *boxes = &decoder->boxes;
    const uint32_t channels = channels_of(decoder);
    bool is_right = boxes->columns == 0 ||
                    (decoder->walk.components == 1 && decoder->walk.component[0].bits <= 8);

    if (!boxes->has_channels && channels % 2 == 0) {
        boxes->alpha = JP2_ALPHA;
        boxes->alpha_at = channels - 1;
    }
    decoder->colours = channels >= 3 ? 3 : 1;
    is_right = is_right &&
               (boxes->alpha == JP2_OPAQUE || (channels % 2 == 0 && boxes->alpha_at < channels));
    for (uint32_t c = 0; c < decoder->colours; c++) {
        is_right = is_right && boxes->order[c] < channels &&
                   (boxes->alpha == JP2_OPAQUE || boxes->order[c] != boxes->alpha_at);
    }
    if (!is_right) {
        return sli_fail(SLUICE_E_UNSUPPORTED,
                        "the JPEG 2000 file has %u channels in an arrangement that is not decoded; "
                        "it must be gray, RGB, sYCC or a palette of 8 bits, with or without alpha",
                        channels);
    }
    /* Without a box that says otherwise, colours are stored with fewer samples in sYCC only. */
    for (uint32_t c = 1; c < decoder->walk.components && !boxes->has_space; c++) {
        boxes->is_ycc =
            boxes->is_ycc || decoder->walk.component[c].dx > 1 || decoder->walk.component[c].dy > 1;
    }
    boxes->is_ycc = boxes->is_ycc && decoder->colours == 3 && boxes->columns == 0;
    return SLUICE_OK;
}

static sluice_status check_size(jp2_decoder *decoder, uint64_t max_pixels)
{
    const jp2_area *image = &decoder->walk.image;

    decoder->width = image->x1 - image->x0;
    decoder->height = image->y1 - image->y0;
    return image_check_size(decoder->width, decoder->height, max_pixels);
}

static sluice_status check_cost(const jp2_decoder *decoder, uint64_t cost)
{
    const uint64_t limit = jp2_cost_limit(&decoder->walk);

    return cost <= limit
               ? SLUICE_OK
               : sli_fail(SLUICE_E_UNSUPPORTED,
                          "the JPEG 2000 file of %ux%u pixels needs %llu MB to be decoded, by its "
                          "tiles, precincts, layers and code-blocks; it must be at most %llu: "
                          "encode it again with larger tiles and code-blocks, and fewer layers",
                          decoder->width, decoder->height, (unsigned long long)(cost >> 20),
                          (unsigned long long)(limit >> 20));
}

/* Checks all of the file before OpenJPEG sees it. */
static sluice_status walk_file(jp2_decoder *decoder, const uint8_t *bytes, size_t size,
                               uint64_t max_pixels)
{
    jp2_walk *walk = &decoder->walk;
    sluice_status st = jp2_boxes_read(&decoder->boxes, bytes, size);

    if (st == SLUICE_OK) {
        st = jp2_walk_header(walk, decoder->boxes.code, decoder->boxes.code_size);
    }
    if (st == SLUICE_OK) {
        st = check_size(decoder, max_pixels);
    }
    if (st == SLUICE_OK) {
        st = assign_channels(decoder);
    }
    if (st == SLUICE_OK) {
        st = check_cost(decoder, jp2_cost_of_tiles(walk));
    }
    if (st == SLUICE_OK) {
        st = jp2_walk_tiles(walk);
    }
    if (st == SLUICE_OK) {
        st = jp2_cost_check_packets(walk);
    }
    return st == SLUICE_OK ? check_cost(decoder, jp2_cost(walk)) : st;
}

static sluice_status jp2_open(void *state, const uint8_t *bytes, size_t size, uint64_t max_pixels,
                              bool gray, uint32_t *width_out, uint32_t *height_out)
{
    jp2_decoder *decoder = state;
    sluice_status st;

    end_jp2(decoder);
    decoder->gray = gray;
    decoder->wide = false;
    st = walk_file(decoder, bytes, size, max_pixels);
    if (st != SLUICE_OK) {
        end_jp2(decoder);
        return st;
    }
    *width_out = decoder->width;
    *height_out = decoder->height;
    return SLUICE_OK;
}

/* ---- decoding -------------------------------------------------------------------------------- */

/* Reports a failure of OpenJPEG. A text about memory is no lack of it: a file can claim any size.
 */
static sluice_status jp2_failed(const jp2_decoder *decoder)
{
    return sli_fail(SLUICE_E_CORRUPT, "OpenJPEG: %s",
                    decoder->text[0] != '\0' ? decoder->text : "the file cannot be read");
}

static sluice_status open_library(jp2_decoder *decoder)
{
    opj_dparameters_t parameters;

    decoder->text[0] = '\0';
    decoder->at = 0;
    decoder->codec = opj_create_decompress(OPJ_CODEC_J2K);
    decoder->stream = opj_stream_create(STREAM_BUFFER, OPJ_TRUE);
    if (decoder->codec == NULL || decoder->stream == NULL) {
        return sli_fail(SLUICE_E_NO_MEMORY, "OpenJPEG");
    }
    opj_set_error_handler(decoder->codec, keep_error, decoder);
    opj_set_warning_handler(decoder->codec, say_nothing, NULL);
    opj_set_info_handler(decoder->codec, say_nothing, NULL);
    opj_stream_set_read_function(decoder->stream, read_bytes);
    opj_stream_set_skip_function(decoder->stream, skip_bytes);
    opj_stream_set_seek_function(decoder->stream, seek_bytes);
    opj_stream_set_user_data(decoder->stream, decoder, NULL);
    opj_stream_set_user_data_length(decoder->stream, decoder->walk.size);
    opj_set_default_decoder_parameters(&parameters);
    if (opj_setup_decoder(decoder->codec, &parameters) == OPJ_FALSE ||
        opj_decoder_set_strict_mode(decoder->codec, OPJ_TRUE) == OPJ_FALSE ||
        opj_read_header(decoder->stream, decoder->codec, &decoder->decoded) == OPJ_FALSE) {
        return jp2_failed(decoder);
    }
    return SLUICE_OK;
}

/* Samples of a component along an axis of the image. */
static uint32_t samples_along(uint32_t from, uint32_t to, uint32_t step)
{
    return (to + step - 1) / step - (from + step - 1) / step;
}

/* The tiles that have pixels of the box. Of colours with fewer samples than pixels all tiles: the
 * nearest sample can be in the tile to the left. */
static jp2_area area_of(const jp2_walk *walk, const image_box *box)
{
    const uint32_t width = walk->first_tile.x1 - walk->first_tile.x0;
    const uint32_t height = walk->first_tile.y1 - walk->first_tile.y0;
    const uint32_t x = walk->image.x0 - walk->first_tile.x0 + box->x;
    const uint32_t y = walk->image.y0 - walk->first_tile.y0 + box->y;
    const jp2_area first = jp2_walk_tile(walk, x / width, y / height);
    const jp2_area last =
        jp2_walk_tile(walk, (x + box->width - 1) / width, (y + box->height - 1) / height);
    bool is_whole = false;

    for (uint32_t c = 0; c < walk->components; c++) {
        is_whole = is_whole || walk->component[c].dx > 1 || walk->component[c].dy > 1;
    }
    return is_whole ? walk->image : (jp2_area){first.x0, first.y0, last.x1, last.y1};
}

static bool is_all(const jp2_decoder *decoder)
{
    return memcmp(&decoder->area, &decoder->walk.image, sizeof(decoder->area)) == 0;
}

static sluice_status decode_tiles(jp2_decoder *decoder, const image_box *box)
{
    const jp2_walk *walk = &decoder->walk;
    const jp2_area *area = &decoder->area;
    sluice_status st = open_library(decoder);
    bool is_whole;

    if (st != SLUICE_OK) {
        return st;
    }
    decoder->area = area_of(walk, box);
    if ((!is_all(decoder) &&
         opj_set_decode_area(decoder->codec, decoder->decoded, (OPJ_INT32)area->x0,
                             (OPJ_INT32)area->y0, (OPJ_INT32)area->x1,
                             (OPJ_INT32)area->y1) == OPJ_FALSE) ||
        opj_decode(decoder->codec, decoder->stream, decoder->decoded) == OPJ_FALSE ||
        opj_end_decompress(decoder->codec, decoder->stream) == OPJ_FALSE) {
        return jp2_failed(decoder);
    }
    is_whole = decoder->decoded->numcomps == walk->components;
    for (uint32_t c = 0; c < walk->components && is_whole; c++) {
        const opj_image_comp_t *part = &decoder->decoded->comps[c];
        const jp2_component *stated = &walk->component[c];

        is_whole = part->data != NULL && part->prec == stated->bits && part->w > 0 && part->h > 0 &&
                   part->w == samples_along(area->x0, area->x1, stated->dx) &&
                   part->h == samples_along(area->y0, area->y1, stated->dy);
    }
    return is_whole ? SLUICE_OK
                    : sli_fail(SLUICE_E_CORRUPT, "the JPEG 2000 file has no complete image");
}

/* ---- pixels ---------------------------------------------------------------------------------- */

/* The sample of a component for pixel x, y: the nearest one to its left and above it. */
static inline uint32_t sample_at(const jp2_decoder *decoder, uint32_t component, uint32_t x,
                                 uint32_t y)
{
    const opj_image_comp_t *part = &decoder->decoded->comps[component];
    const jp2_component *stated = &decoder->walk.component[component];
    const int32_t most = (INT32_C(1) << stated->bits) - 1;
    const jp2_area *image = &decoder->walk.image;
    size_t column = image->x0 + x - decoder->area.x0;
    size_t line = image->y0 + y - decoder->area.y0;
    int32_t value;

    if (stated->dx > 1 || stated->dy > 1) {
        const uint32_t first_x = (image->x0 + stated->dx - 1) / stated->dx;
        const uint32_t first_y = (image->y0 + stated->dy - 1) / stated->dy;

        column = (image->x0 + x) / stated->dx;
        line = (image->y0 + y) / stated->dy;
        column = column > first_x ? column - first_x : 0;
        line = line > first_y ? line - first_y : 0;
    }
    value = part->data[line * part->w + column];
    return (uint32_t)(value < 0 ? 0 : value > most ? most : value);
}

/* Returns the value of a channel at x, y, from 0 to `most`. */
static inline uint32_t channel_at(const jp2_decoder *decoder, uint32_t channel, uint32_t x,
                                  uint32_t y, uint32_t most)
{
    const jp2_boxes *boxes = &decoder->boxes;
    uint32_t stored;
    uint32_t value;

    if (boxes->columns > 0) {
        value = sample_at(decoder, 0, x, y);
        return boxes->palette[value < boxes->entries ? value : boxes->entries - 1][channel];
    }
    value = sample_at(decoder, channel, x, y);
    stored = (UINT32_C(1) << decoder->walk.component[channel].bits) - 1;
    return stored == most ? value : (uint32_t)(((uint64_t)value * most + stored / 2) / stored);
}

/* Converts sYCC to RGB as libjpeg does, with 16 bits behind the point. Pillow has 6: it differs
 * by 1. */
static void to_rgb(uint32_t colours[3])
{
    const int32_t luma = (int32_t)colours[0];
    const int32_t blue = (int32_t)colours[1] - 128;
    const int32_t red = (int32_t)colours[2] - 128;
    const int32_t half = 1 << 15;
    const int32_t rgb[3] = {luma + ((91881 * red + half) >> 16),
                            luma + ((-22554 * blue - 46802 * red + half) >> 16),
                            luma + ((116130 * blue + half) >> 16)};

    for (int c = 0; c < 3; c++) {
        colours[c] = (uint32_t)(rgb[c] < 0 ? 0 : rgb[c] > 255 ? 255 : rgb[c]);
    }
}

/* Reads the colours of a pixel, from 0 to `most`, blended with black. */
static void read_pixel(const jp2_decoder *decoder, uint32_t x, uint32_t y, uint32_t most,
                       uint32_t colours[3])
{
    const jp2_boxes *boxes = &decoder->boxes;

    for (uint32_t c = 0; c < decoder->colours; c++) {
        colours[c] = channel_at(decoder, boxes->order[c], x, y, most);
    }
    if (boxes->is_ycc) {
        to_rgb(colours);
    }
    if (boxes->alpha == JP2_ALPHA) {
        const uint32_t alpha = channel_at(decoder, boxes->alpha_at, x, y, most);

        for (uint32_t c = 0; c < decoder->colours; c++) {
            colours[c] = most == UINT8_MAX
                             ? image_times((uint8_t)colours[c], (uint8_t)alpha)
                             : (uint32_t)(((uint64_t)colours[c] * alpha + most / 2) / most);
        }
    }
}

/* True if the components are the bytes of the colours: most files. */
static bool is_plain(const jp2_decoder *decoder)
{
    const jp2_boxes *boxes = &decoder->boxes;
    bool is = boxes->columns == 0 && boxes->alpha != JP2_ALPHA && !boxes->is_ycc;

    for (uint32_t c = 0; c < decoder->colours; c++) {
        const jp2_component *part = &decoder->walk.component[boxes->order[c]];

        is = is && part->bits == 8 && part->dx == 1 && part->dy == 1;
    }
    return is;
}

static inline uint8_t as_byte(int32_t value)
{
    return (uint8_t)(value < 0 ? 0 : value > UINT8_MAX ? UINT8_MAX : value);
}

static void convert_plain_line(const jp2_decoder *decoder, const image_box *box, uint32_t y,
                               uint8_t *out)
{
    const jp2_area *image = &decoder->walk.image;
    const jp2_area *area = &decoder->area;
    const size_t at = (size_t)(image->y0 + y - area->y0) * (area->x1 - area->x0) +
                      (image->x0 + box->x - area->x0);
    const int32_t *colours[3];

    for (uint32_t c = 0; c < 3; c++) {
        const uint32_t component = decoder->boxes.order[decoder->colours == 3 ? c : 0];

        colours[c] = decoder->decoded->comps[component].data + at;
    }
    for (size_t x = 0; x < box->width; x++) {
        const uint8_t red = as_byte(colours[0][x]);
        const uint8_t green = as_byte(colours[1][x]);
        const uint8_t blue = as_byte(colours[2][x]);

        if (decoder->gray) {
            out[x] = image_luma(red, green, blue);
        } else {
            out[3 * x] = red;
            out[3 * x + 1] = green;
            out[3 * x + 2] = blue;
        }
    }
}

static void convert_line(const jp2_decoder *decoder, const image_box *box, uint32_t y, uint8_t *out)
{
    for (uint32_t x = box->x; x < box->x + box->width; x++) {
        uint32_t rgb[3] = {0};

        read_pixel(decoder, x, y, UINT8_MAX, rgb);
        if (decoder->colours == 1) {
            rgb[1] = rgb[0];
            rgb[2] = rgb[0];
        }
        if (decoder->gray) {
            *out++ = image_luma((uint8_t)rgb[0], (uint8_t)rgb[1], (uint8_t)rgb[2]);
        } else {
            *out++ = (uint8_t)rgb[0];
            *out++ = (uint8_t)rgb[1];
            *out++ = (uint8_t)rgb[2];
        }
    }
}

static void convert_wide_line(const jp2_decoder *decoder, const image_box *box, uint32_t y,
                              uint16_t *out)
{
    for (uint32_t x = box->x; x < box->x + box->width; x++) {
        uint32_t colours[3];

        read_pixel(decoder, x, y, MOST_VALUE, colours);
        for (uint32_t c = 0; c < decoder->colours; c++) {
            *out++ = (uint16_t)colours[c];
        }
    }
}

static sluice_status jp2_region(void *state, const image_box *box, image_view *region_out)
{
    jp2_decoder *decoder = state;
    const uint32_t channels = decoder->gray ? 1 : 3;
    const size_t stride = (size_t)box->width * channels * (decoder->wide ? 2 : 1);
    const bool plain = is_plain(decoder);
    sluice_status st = image_buffer_reserve(&decoder->image, stride * box->height);

    assert(decoder->walk.bytes != NULL);
    assert(box->x + box->width <= decoder->width && box->y + box->height <= decoder->height);
    if (st == SLUICE_OK && decoder->wide && decoder->boxes.is_ycc) {
        st = sli_fail(SLUICE_E_UNSUPPORTED,
                      "a JPEG 2000 file in sYCC of 16 bits; decode depth=8 converts it");
    }
    if (st == SLUICE_OK) {
        st = decode_tiles(decoder, box);
    }
    for (uint32_t y = 0; y < box->height && st == SLUICE_OK; y++) {
        uint8_t *to = decoder->image.data + y * stride;

        if (decoder->wide) {
            convert_wide_line(decoder, box, box->y + y, (uint16_t *)(void *)to);
        } else if (plain) {
            convert_plain_line(decoder, box, box->y + y, to);
        } else {
            convert_line(decoder, box, box->y + y, to);
        }
    }
    end_jp2(decoder);
    *region_out = (image_view){decoder->image.data, stride,   box->width,
                               box->height,         channels, decoder->wide ? IMAGE_U16 : IMAGE_U8};
    return st;
}

static void jp2_request_wide(void *state)
{
    ((jp2_decoder *)state)->wide = true;
}

static void jp2_describe(const void *state, image_facts *facts)
{
    const jp2_decoder *decoder = state;
    uint32_t bits = 0;

    for (uint32_t c = 0; c < decoder->walk.components; c++) {
        bits = decoder->walk.component[c].bits > bits ? decoder->walk.component[c].bits : bits;
    }
    facts->transparent = decoder->boxes.alpha != JP2_OPAQUE;
    facts->palette = decoder->boxes.columns > 0;
    facts->channels = facts->palette ? 1 : decoder->colours + (facts->transparent ? 1U : 0U);
    facts->bits = bits > 8 ? 16 : bits; /* values of 9 to 15 bits are scaled, as those of PGM are */
}

const image_format format_jp2 = {
    .name = "JPEG 2000",
    .formats = IMAGE_JP2,
    .create = jp2_create,
    .destroy = jp2_destroy,
    .open = jp2_open,
    .region = jp2_region,
    .request_wide = jp2_request_wide,
    .describe = jp2_describe,
};
