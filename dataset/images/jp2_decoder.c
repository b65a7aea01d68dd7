/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decodes JPEG 2000 files (JP2 and raw code streams) with OpenJPEG: gray and RGB, with or without
 * alpha, of 1 to 16 bits. Transparent pixels are blended with black, as those of PNG files are. The
 * whole image is decoded, as its parts depend on each other's rounding.
 */
#include <assert.h>
#include <openjpeg.h>
#include <stdio.h>
#include <string.h>

#include "alloc_int.h"
#include "image_format.h"
#include "status_int.h"

enum { MAX_SIDE = 1000000, MOST_SAMPLES = 4, STREAM_BUFFER = 1 << 16 };

typedef struct jp2_decoder {
    opj_codec_t *codec; /* NULL: no file is open */
    opj_stream_t *stream;
    opj_image_t *decoded;
    const uint8_t *bytes;
    uint64_t size;
    uint64_t at;
    uint32_t width;
    uint32_t height;
    bool gray;
    char text[256];     /* the first message of OpenJPEG for the open file */
    image_buffer image; /* lines of the box */
} jp2_decoder;

/* ---- what OpenJPEG calls --------------------------------------------------------------------- */

static OPJ_SIZE_T read_bytes(void *to, OPJ_SIZE_T count, void *opaque)
{
    jp2_decoder *decoder = opaque;
    const uint64_t left = decoder->size - decoder->at;
    const size_t taken = count < left ? count : (size_t)left;

    if (taken == 0) {
        return (OPJ_SIZE_T)-1;
    }
    memcpy(to, decoder->bytes + decoder->at, taken);
    decoder->at += taken;
    return taken;
}

static OPJ_OFF_T skip_bytes(OPJ_OFF_T count, void *opaque)
{
    jp2_decoder *decoder = opaque;

    if (count < 0 || (uint64_t)count > decoder->size - decoder->at) {
        return -1;
    }
    decoder->at += (uint64_t)count;
    return count;
}

static OPJ_BOOL seek_bytes(OPJ_OFF_T offset, void *opaque)
{
    jp2_decoder *decoder = opaque;

    if (offset < 0 || (uint64_t)offset > decoder->size) {
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

static void end_jp2(jp2_decoder *decoder)
{
    opj_image_destroy(decoder->decoded);
    opj_stream_destroy(decoder->stream);
    opj_destroy_codec(decoder->codec);
    decoder->decoded = NULL;
    decoder->stream = NULL;
    decoder->codec = NULL;
}

static void jp2_destroy(void *state)
{
    jp2_decoder *decoder = state;

    end_jp2(decoder);
    image_buffer_free(&decoder->image);
    sli_free(decoder);
}

/* Reports a failure of OpenJPEG, which may be out of memory. */
static sluice_status jp2_failed(const jp2_decoder *decoder)
{
    return sli_fail(strstr(decoder->text, "memory") != NULL ? SLUICE_E_NO_MEMORY : SLUICE_E_CORRUPT,
                    "OpenJPEG: %s",
                    decoder->text[0] != '\0' ? decoder->text : "the file cannot be read");
}

static sluice_status open_library(jp2_decoder *decoder)
{
    const bool raw = decoder->bytes[0] == 0xFF;
    opj_dparameters_t parameters;

    decoder->text[0] = '\0';
    decoder->codec = opj_create_decompress(raw ? OPJ_CODEC_J2K : OPJ_CODEC_JP2);
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
    opj_stream_set_user_data_length(decoder->stream, decoder->size);
    opj_set_default_decoder_parameters(&parameters);
    if (opj_setup_decoder(decoder->codec, &parameters) == OPJ_FALSE ||
        opj_decoder_set_strict_mode(decoder->codec, OPJ_TRUE) == OPJ_FALSE ||
        opj_read_header(decoder->stream, decoder->codec, &decoder->decoded) == OPJ_FALSE) {
        return jp2_failed(decoder);
    }
    return SLUICE_OK;
}

static sluice_status check_samples(const opj_image_t *image)
{
    if (image->numcomps == 0 || image->numcomps > MOST_SAMPLES) {
        return sli_fail(SLUICE_E_UNSUPPORTED,
                        "the JPEG 2000 file has %u components; it must have from 1 to %d",
                        image->numcomps, MOST_SAMPLES);
    }
    if (image->color_space != OPJ_CLRSPC_SRGB && image->color_space != OPJ_CLRSPC_GRAY &&
        image->color_space != OPJ_CLRSPC_UNSPECIFIED && image->color_space != OPJ_CLRSPC_UNKNOWN) {
        return sli_fail(SLUICE_E_UNSUPPORTED,
                        "the JPEG 2000 file has colours of the space %d; it must be sRGB or gray",
                        (int)image->color_space);
    }
    for (uint32_t c = 0; c < image->numcomps; c++) {
        const opj_image_comp_t *part = &image->comps[c];

        if (part->dx != 1 || part->dy != 1 || part->sgnd != 0 || part->prec == 0 ||
            part->prec > 16 || part->prec != image->comps[0].prec) {
            return sli_fail(SLUICE_E_UNSUPPORTED,
                            "the JPEG 2000 file has a component of %u bits%s, subsampled by %ux%u; "
                            "all must have the same 1 to 16 bits, unsigned, and be whole",
                            part->prec, part->sgnd != 0 ? ", signed" : "", part->dx, part->dy);
        }
    }
    return SLUICE_OK;
}

static sluice_status jp2_open(void *state, const uint8_t *bytes, size_t size, uint64_t max_pixels,
                              bool gray, uint32_t *width_out, uint32_t *height_out)
{
    jp2_decoder *decoder = state;
    const opj_image_t *image;
    sluice_status st;

    end_jp2(decoder);
    decoder->bytes = bytes;
    decoder->size = size;
    decoder->at = 0;
    decoder->gray = gray;
    st = open_library(decoder);
    if (st == SLUICE_OK) {
        image = decoder->decoded;
        decoder->width = image->x1 > image->x0 ? image->x1 - image->x0 : 0;
        decoder->height = image->y1 > image->y0 ? image->y1 - image->y0 : 0;
        if ((uint64_t)decoder->width * decoder->height > max_pixels) {
            st = image_too_large(decoder->width, decoder->height, max_pixels);
        } else if (decoder->width == 0 || decoder->height == 0 || decoder->width > MAX_SIDE ||
                   decoder->height > MAX_SIDE) {
            st = sli_fail(SLUICE_E_UNSUPPORTED, "the image is %ux%u; sides go from 1 to %d",
                          decoder->width, decoder->height, MAX_SIDE);
        } else {
            st = check_samples(image);
        }
    }
    if (st != SLUICE_OK) {
        end_jp2(decoder);
        return st;
    }
    *width_out = decoder->width;
    *height_out = decoder->height;
    return SLUICE_OK;
}

/* ---- pixels ---------------------------------------------------------------------------------- */

/* Returns a sample as 8 bits. */
static inline uint8_t sample_at(const opj_image_comp_t *part, size_t i)
{
    const int32_t most = (INT32_C(1) << part->prec) - 1;
    const int32_t value = part->data[i] < 0 ? 0 : part->data[i] > most ? most : part->data[i];

    return (uint8_t)(part->prec == 8 ? value : (value * 255 + most / 2) / most);
}

static void convert_line(const jp2_decoder *decoder, const image_box *box, uint32_t y, uint8_t *out)
{
    const opj_image_t *image = decoder->decoded;
    const uint32_t count = image->numcomps;
    const uint32_t alpha = count % 2 == 0 ? count - 1 : count;
    const size_t line = (size_t)(box->y + y) * decoder->width + box->x;

    for (size_t i = line; i < line + box->width; i++) {
        uint8_t rgb[3];

        for (uint32_t c = 0; c < 3; c++) {
            rgb[c] = sample_at(&image->comps[count >= 3 ? c : 0], i);
            if (alpha < count) {
                rgb[c] = image_times(rgb[c], sample_at(&image->comps[alpha], i));
            }
        }
        if (decoder->gray) {
            *out++ = image_luma(rgb[0], rgb[1], rgb[2]);
        } else {
            memcpy(out, rgb, 3);
            out += 3;
        }
    }
}

static sluice_status decode_all(jp2_decoder *decoder)
{
    if (opj_decode(decoder->codec, decoder->stream, decoder->decoded) == OPJ_FALSE ||
        opj_end_decompress(decoder->codec, decoder->stream) == OPJ_FALSE) {
        return jp2_failed(decoder);
    }
    for (uint32_t c = 0; c < decoder->decoded->numcomps; c++) {
        const opj_image_comp_t *part = &decoder->decoded->comps[c];

        if (part->data == NULL || part->w != decoder->width || part->h != decoder->height) {
            return sli_fail(SLUICE_E_CORRUPT, "the JPEG 2000 file has no complete image");
        }
    }
    return check_samples(decoder->decoded); /* a palette makes components */
}

static sluice_status jp2_region(void *state, const image_box *box, image_view *region_out)
{
    jp2_decoder *decoder = state;
    const uint32_t channels = decoder->gray ? 1 : 3;
    const size_t stride = (size_t)box->width * channels;
    sluice_status st = image_buffer_reserve(&decoder->image, stride * box->height);

    assert(decoder->codec != NULL);
    assert(box->x + box->width <= decoder->width && box->y + box->height <= decoder->height);
    if (st == SLUICE_OK) {
        st = decode_all(decoder);
    }
    for (uint32_t y = 0; y < box->height && st == SLUICE_OK; y++) {
        convert_line(decoder, box, y, decoder->image.data + y * stride);
    }
    end_jp2(decoder);
    *region_out =
        (image_view){decoder->image.data, stride, box->width, box->height, channels, IMAGE_U8};
    return st;
}

static void jp2_describe(const void *state, image_facts *facts)
{
    const jp2_decoder *decoder = state;

    facts->channels = decoder->decoded->numcomps;
    facts->bits = decoder->decoded->comps[0].prec;
    facts->transparent = facts->channels % 2 == 0;
}

const image_format format_jp2 = {
    .name = "JPEG 2000",
    .formats = IMAGE_JP2,
    .create = jp2_create,
    .destroy = jp2_destroy,
    .open = jp2_open,
    .region = jp2_region,
    .describe = jp2_describe,
};
