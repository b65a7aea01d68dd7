/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decodes WebP files with libwebp: lossy and lossless images, and the first frame of animations on
 * its canvas. Transparent pixels are blended with black, as those of PNG files are. Only the box is
 * decoded, with a margin: the upsampling of chroma reads one pixel beyond it.
 */
#include <assert.h>
#include <string.h>
#include <webp/decode.h>
#include <webp/demux.h>

#include "alloc_int.h"
#include "exif.h"
#include "image_format.h"
#include "status_int.h"

enum { MARGIN = 2 };

typedef struct webp_decoder {
    const uint8_t *frame; /* a complete file, or the chunks of a frame of one */
    size_t frame_size;
    image_box place; /* of the frame on the canvas */
    uint32_t width;  /* of the canvas */
    uint32_t height;
    uint32_t orientation;
    bool further; /* there are further frames */
    bool alpha;
    bool gray;
    image_buffer raw;   /* output of libwebp */
    image_buffer image; /* lines of the box */
} webp_decoder;

static sluice_status webp_create(void **state_out)
{
    webp_decoder *decoder = sli_calloc(1, sizeof(*decoder));

    if (decoder == NULL) {
        return sli_fail(SLUICE_E_NO_MEMORY, "a WebP decoder");
    }
    *state_out = decoder;
    return SLUICE_OK;
}

static void webp_destroy(void *state)
{
    webp_decoder *decoder = state;

    image_buffer_free(&decoder->raw);
    image_buffer_free(&decoder->image);
    sli_free(decoder);
}

static uint32_t orientation_of(WebPDemuxer *demuxer)
{
    static const uint8_t prefix[] = {'E', 'x', 'i', 'f', 0, 0}; /* which some writers add */
    WebPChunkIterator chunk;
    uint32_t orientation = EXIF_UPRIGHT;

    if (WebPDemuxGetChunk(demuxer, "EXIF", 1, &chunk) != 0) {
        const uint8_t *bytes = chunk.chunk.bytes;
        size_t size = chunk.chunk.size;

        if (size >= sizeof(prefix) && memcmp(bytes, prefix, sizeof(prefix)) == 0) {
            bytes += sizeof(prefix);
            size -= sizeof(prefix);
        }
        orientation = exif_orientation(bytes, size);
    }
    WebPDemuxReleaseChunkIterator(&chunk);
    return orientation;
}

/* Reads the chunks of the file up to the pixels of the first frame. */
static sluice_status read_chunks(webp_decoder *decoder, WebPDemuxer *demuxer)
{
    WebPIterator first;
    WebPBitstreamFeatures features;
    const bool found = WebPDemuxGetFrame(demuxer, 1, &first) != 0;
    sluice_status st = SLUICE_OK;

    if (!found || first.complete == 0 || first.x_offset < 0 || first.y_offset < 0 ||
        WebPGetFeatures(first.fragment.bytes, first.fragment.size, &features) != VP8_STATUS_OK ||
        features.width != first.width || features.height != first.height) {
        st = sli_fail(SLUICE_E_CORRUPT, "the WebP file has no complete image");
    } else {
        decoder->frame = first.fragment.bytes;
        decoder->frame_size = first.fragment.size;
        decoder->place = (image_box){(uint32_t)first.x_offset, (uint32_t)first.y_offset,
                                     (uint32_t)first.width, (uint32_t)first.height};
        decoder->alpha = features.has_alpha != 0;
        decoder->further = first.num_frames > 1;
        decoder->width = WebPDemuxGetI(demuxer, WEBP_FF_CANVAS_WIDTH);
        decoder->height = WebPDemuxGetI(demuxer, WEBP_FF_CANVAS_HEIGHT);
        decoder->orientation = orientation_of(demuxer);
    }
    if (found) {
        WebPDemuxReleaseIterator(&first);
    }
    return st;
}

static sluice_status webp_open(void *state, const uint8_t *bytes, size_t size, uint64_t max_pixels,
                               bool gray, uint32_t *width_out, uint32_t *height_out)
{
    const WebPData data = {bytes, size};
    webp_decoder *decoder = state;
    WebPDemuxer *demuxer = WebPDemux(&data);
    sluice_status st;

    if (demuxer == NULL) {
        return sli_fail(SLUICE_E_CORRUPT, "the WebP file ends early, or its chunks are corrupt");
    }
    st = read_chunks(decoder, demuxer);
    WebPDemuxDelete(demuxer);
    if (st != SLUICE_OK) {
        return st;
    }
    if (decoder->place.x + decoder->place.width > decoder->width ||
        decoder->place.y + decoder->place.height > decoder->height) {
        return sli_fail(SLUICE_E_CORRUPT, "the WebP file has a frame outside of its canvas");
    }
    decoder->gray = gray;
    *width_out = decoder->width;
    *height_out = decoder->height;
    return image_check_size(decoder->width, decoder->height, max_pixels);
}

/* Converts pixels of 3 or 4 channels to gray or RGB. */
static void convert_line(const uint8_t *in, bool alpha, bool gray, uint32_t width, uint8_t *out)
{
    for (uint32_t x = 0; x < width; x++) {
        uint8_t rgb[3] = {in[0], in[1], in[2]};

        for (int c = 0; alpha && c < 3; c++) {
            rgb[c] = image_times(rgb[c], in[3]);
        }
        in += alpha ? 4 : 3;
        if (gray) {
            *out++ = image_luma(rgb[0], rgb[1], rgb[2]);
        } else {
            memcpy(out, rgb, 3);
            out += 3;
        }
    }
}

/* The range [*at, *at + *length) of one axis, widened by the margin within [0, extent). */
static void widen(uint32_t *at, uint32_t *length, uint32_t extent)
{
    const uint32_t end = *at + *length;

    *at = (*at > MARGIN ? *at - MARGIN : 0) & ~1U; /* libwebp crops at even positions */
    *length = (extent - end > MARGIN ? end + MARGIN : extent) - *at;
}

/* Decodes a box of the frame, widened, into `raw`. *box becomes the widened one. */
static sluice_status decode_frame(webp_decoder *decoder, image_box *box, size_t *stride_out)
{
    WebPDecoderConfig config;
    VP8StatusCode code;
    sluice_status st;

    widen(&box->x, &box->width, decoder->place.width);
    widen(&box->y, &box->height, decoder->place.height);
    *stride_out = (size_t)box->width * (decoder->alpha ? 4 : 3);
    st = image_buffer_reserve(&decoder->raw, *stride_out * box->height);
    if (st != SLUICE_OK) {
        return st;
    }
    if (WebPInitDecoderConfig(&config) == 0) {
        return sli_fail(SLUICE_E_UNSUPPORTED,
                        "libwebp is of another version than the headers of this build");
    }
    config.options.use_cropping = 1;
    config.options.crop_left = (int)box->x;
    config.options.crop_top = (int)box->y;
    config.options.crop_width = (int)box->width;
    config.options.crop_height = (int)box->height;
    config.output.colorspace = decoder->alpha ? MODE_RGBA : MODE_RGB;
    config.output.is_external_memory = 1;
    config.output.u.RGBA.rgba = decoder->raw.data;
    config.output.u.RGBA.stride = (int)*stride_out;
    config.output.u.RGBA.size = *stride_out * box->height;
    code = WebPDecode(decoder->frame, decoder->frame_size, &config);
    WebPFreeDecBuffer(&config.output);
    if (code == VP8_STATUS_OUT_OF_MEMORY) {
        return sli_fail(SLUICE_E_NO_MEMORY, "libwebp, for an image of %ux%u", decoder->place.width,
                        decoder->place.height);
    }
    return code == VP8_STATUS_OK
               ? SLUICE_OK
               : sli_fail(SLUICE_E_CORRUPT, "the WebP file %s (libwebp's error %d)",
                          code == VP8_STATUS_NOT_ENOUGH_DATA ? "ends early" : "is corrupt",
                          (int)code);
}

/* Finds the part of [*at, *at + *length) that is within [from, from + count). */
static void intersect(uint32_t *at, uint32_t *length, uint32_t from, uint32_t count)
{
    const uint32_t end = *at + *length < from + count ? *at + *length : from + count;

    *at = *at > from ? *at : from;
    *length = end > *at ? end - *at : 0;
}

static sluice_status webp_region(void *state, const image_box *box, image_view *region_out)
{
    webp_decoder *decoder = state;
    const image_box *place = &decoder->place;
    const uint32_t channels = decoder->gray ? 1 : 3;
    const size_t stride = (size_t)box->width * channels;
    image_box seen = *box; /* the part of the box that the frame covers */
    sluice_status st = image_buffer_reserve(&decoder->image, stride * box->height);

    assert(box->x + box->width <= decoder->width && box->y + box->height <= decoder->height);
    intersect(&seen.x, &seen.width, place->x, place->width);
    intersect(&seen.y, &seen.height, place->y, place->height);
    if (st == SLUICE_OK && (seen.width < box->width || seen.height < box->height)) {
        memset(decoder->image.data, 0, stride * box->height);
    }
    if (st == SLUICE_OK && seen.width > 0 && seen.height > 0) {
        image_box part = {seen.x - place->x, seen.y - place->y, seen.width, seen.height};
        const image_box inner = part;
        size_t raw_stride;

        st = decode_frame(decoder, &part, &raw_stride);
        for (uint32_t y = 0; y < inner.height && st == SLUICE_OK; y++) {
            convert_line(decoder->raw.data + (inner.y - part.y + y) * raw_stride +
                             (size_t)(inner.x - part.x) * (decoder->alpha ? 4 : 3),
                         decoder->alpha, decoder->gray, inner.width,
                         decoder->image.data + (seen.y - box->y + y) * stride +
                             (size_t)(seen.x - box->x) * channels);
        }
    }
    *region_out =
        (image_view){decoder->image.data, stride, box->width, box->height, channels, IMAGE_U8};
    return st;
}

static void webp_describe(const void *state, image_facts *facts)
{
    const webp_decoder *decoder = state;

    facts->channels = decoder->alpha ? 4 : 3;
    facts->bits = 8;
    facts->transparent = decoder->alpha;
    facts->orientation = decoder->orientation;
    facts->further = decoder->further;
}

const image_format format_webp = {
    .name = "WebP",
    .formats = IMAGE_WEBP,
    .create = webp_create,
    .destroy = webp_destroy,
    .open = webp_open,
    .region = webp_region,
    .describe = webp_describe,
};
