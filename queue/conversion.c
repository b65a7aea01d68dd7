/* SPDX-License-Identifier: Apache-2.0 */
#include "conversion_int.h"

#include <math.h>
#include <string.h>

#include "conversion_kernels.h"
#include "cpu_int.h"
#include "digest_int.h"
#include "float16_int.h"
#include "layout_int.h"
#include "rng_int.h"
#include "status_int.h"

enum { MOST_FINITE = 0x7F7FFFFF }; /* the bits of FLT_MAX */

static bool is_float(sluice_dtype dtype)
{
    return dtype == SLUICE_F32 || dtype == SLUICE_F16 || dtype == SLUICE_BF16;
}

/* Requires finite factors: the bits of infinities and NaNs depend on the processor. */
static sluice_status check_affine(const sli_conversion *conversion)
{
    for (uint32_t c = 0; c < conversion->channels; c++) {
        if (!isfinite(conversion->scale[c]) || !isfinite(conversion->bias[c])) {
            return sli_fail(SLUICE_E_INVALID,
                            "no conversion by %g * x + %g: not finite; is a std too small?",
                            (double)conversion->scale[c], (double)conversion->bias[c]);
        }
    }
    return SLUICE_OK;
}

/* True if a converted value is finite in the type that it is rounded to. */
static bool is_finite(sluice_dtype to, float value)
{
    return isfinite(to == SLUICE_F16    ? sli_f32_of_f16(sli_f16_of_f32(value))
                    : to == SLUICE_BF16 ? sli_f32_of_bf16(sli_bf16_of_f32(value))
                                        : value);
}

/* True if the conversion of values of this magnitude is finite in all channels. */
static bool takes(const sli_conversion *conversion, int32_t bits)
{
    const float magnitude = sli_f32_of_bits((uint32_t)bits);

    for (uint32_t c = 0; c < conversion->channels; c++) {
        const float scale = conversion->scale[c];

        if (!is_finite(conversion->to, fmaf(magnitude, scale, conversion->bias[c])) ||
            !is_finite(conversion->to, fmaf(-magnitude, scale, conversion->bias[c]))) {
            return false;
        }
    }
    return true;
}

/* Finds the largest magnitude that the conversion takes, so that lines are only compared with it.
 * It takes all smaller ones, too. */
static void find_most(sli_conversion *conversion)
{
    int32_t least = -1;

    conversion->most = MOST_FINITE;
    while (conversion->from == SLUICE_F32 && least < conversion->most) {
        const int32_t middle = conversion->most - (conversion->most - least) / 2;

        if (takes(conversion, middle)) {
            least = middle;
        } else {
            conversion->most = middle - 1;
        }
    }
    conversion->loses = conversion->most < MOST_FINITE;
}

sluice_status sli_conversion_prepare(sli_conversion *conversion)
{
    const bool is_whole = conversion->from == SLUICE_U8 || conversion->from == SLUICE_U16;
    const bool types = (is_whole || is_float(conversion->from)) &&
                       (is_float(conversion->to) ||
                        (is_whole && conversion->to == conversion->from && !conversion->affine));
    sluice_status st;

    if (!types || conversion->channels == 0 || conversion->channels > SLI_MAX_CHANNELS ||
        conversion->height == 0 || conversion->width == 0) {
        return sli_fail(SLUICE_E_INVALID, "no conversion of %ux%ux%u from %s to %s%s",
                        conversion->height, conversion->width, conversion->channels,
                        sluice_dtype_name(conversion->from), sluice_dtype_name(conversion->to),
                        conversion->affine ? " with a normalisation" : "");
    }
    st = conversion->affine ? check_affine(conversion) : SLUICE_OK;
    if (st != SLUICE_OK) {
        return st;
    }
    for (uint32_t c = 0; c < SLI_MAX_CHANNELS; c++) {
        if (!conversion->affine || c >= conversion->channels) {
            conversion->scale[c] = 1;
            conversion->bias[c] = 0;
        }
        for (int byte = 0; byte < 256; byte++) {
            float value = fmaf((float)byte, conversion->scale[c], conversion->bias[c]);

            conversion->table_f32[c][byte] = value;
            conversion->table_16[c][byte] =
                conversion->to == SLUICE_BF16 ? sli_bf16_of_f32(value) : sli_f16_of_f32(value);
        }
    }
    find_most(conversion);
    return SLUICE_OK;
}

bool sli_conversion_is_identity(const sli_conversion *conversion)
{
    return conversion->from == conversion->to && conversion->from_chw == conversion->to_chw &&
           !conversion->flip && !conversion->affine;
}

bool sli_conversion_is_finite(const sli_conversion *conversion)
{
    const float most = conversion->from == SLUICE_U16 ? 65535 : 255;

    for (uint32_t c = 0; c < conversion->channels; c++) { /* the largest ones are at the ends */
        if (!is_finite(conversion->to, conversion->bias[c]) ||
            !is_finite(conversion->to, fmaf(most, conversion->scale[c], conversion->bias[c]))) {
            return false;
        }
    }
    return true;
}

bool sli_conversion_loses(const sli_conversion *conversion, const float *in, size_t count,
                          float *value_out)
{
    const size_t plane = (size_t)conversion->height * conversion->width;

    if (SLI_CHOOSE(sli_conversion_kernels)->largest(in, count) <= conversion->most) {
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        const int32_t bits = (int32_t)(sli_f32_bits(in[i]) & INT32_MAX);

        if (bits > conversion->most && bits <= MOST_FINITE) {
            const size_t c = conversion->from_chw ? i / plane : i % conversion->channels;

            if (!is_finite(conversion->to,
                           fmaf(in[i], conversion->scale[c], conversion->bias[c]))) {
                *value_out = in[i];
                return true;
            }
        }
    }
    return false;
}

size_t sli_conversion_out_bytes(const sli_conversion *conversion)
{
    return (size_t)conversion->height * conversion->width * conversion->channels *
           sluice_dtype_size(conversion->to);
}

/* Converts and stores one value. With load_value() and convert_any() this is the reference for the
 * kernels: any type, any number of channels, value by value. */
static void store_value(const sli_conversion *conversion, void *out, size_t index, float value,
                        uint32_t channel)
{
    float result = conversion->affine
                       ? fmaf(value, conversion->scale[channel], conversion->bias[channel])
                       : value;

    switch (conversion->to) {
    case SLUICE_U8:
        ((uint8_t *)out)[index] = (uint8_t)value;
        break;
    case SLUICE_U16:
        ((uint16_t *)out)[index] = (uint16_t)value;
        break;
    case SLUICE_F16:
        ((uint16_t *)out)[index] = sli_f16_of_f32(result);
        break;
    case SLUICE_BF16:
        ((uint16_t *)out)[index] = sli_bf16_of_f32(result);
        break;
    default:
        ((float *)out)[index] = result;
        break;
    }
}

static float load_value(sluice_dtype from, const void *in, size_t index)
{
    switch (from) {
    case SLUICE_U8:
        return ((const uint8_t *)in)[index];
    case SLUICE_U16:
        return ((const uint16_t *)in)[index];
    case SLUICE_F16:
        return sli_f32_of_f16(((const uint16_t *)in)[index]);
    case SLUICE_BF16:
        return sli_f32_of_bf16(((const uint16_t *)in)[index]);
    default:
        return ((const float *)in)[index];
    }
}

static void convert_any(const sli_conversion *conversion, const void *in, void *out, uint8_t flags)
{
    const bool flipped = conversion->flip && (flags & SLI_ROW_FLIP) != 0;
    const bool reversed = (flags & SLI_ROW_FLIP_LINES) != 0;
    const size_t height = conversion->height;
    const size_t width = conversion->width;
    const size_t channels = conversion->channels;

    for (size_t y = 0; y < height; y++) {
        const size_t from_y = reversed ? height - 1 - y : y;

        for (size_t x = 0; x < width; x++) {
            size_t from_x = flipped ? width - 1 - x : x;

            for (size_t c = 0; c < channels; c++) {
                size_t from = conversion->from_chw ? (c * height + from_y) * width + from_x
                                                   : (from_y * width + from_x) * channels + c;
                size_t to = conversion->to_chw ? (c * height + y) * width + x
                                               : (y * width + x) * channels + c;

                store_value(conversion, out, to, load_value(conversion->from, in, from),
                            (uint32_t)c);
            }
        }
    }
}

/* Converts a line of (W, C) to a line of (W, C). */
static void convert_packed(const conversion_kernels *kernels, const sli_conversion *conversion,
                           const uint8_t *in, void *line)
{
    switch (conversion->to) {
    case SLUICE_U8:
        memcpy(line, in, (size_t)conversion->width * conversion->channels);
        break;
    case SLUICE_F16:
        kernels->packed_f16(conversion, in, line);
        break;
    case SLUICE_BF16:
        kernels->packed_bf16(conversion, in, line);
        break;
    default:
        kernels->packed_f32(conversion, in, line);
        break;
    }
}

/* Converts a line of (W, C) to a line of each plane. */
static void convert_planes(const conversion_kernels *kernels, const sli_conversion *conversion,
                           const uint8_t *in, void *const *planes)
{
    switch (conversion->to) {
    case SLUICE_U8:
        kernels->planes_u8(conversion, in, planes);
        break;
    case SLUICE_F16:
        kernels->planes_f16(conversion, in, planes);
        break;
    case SLUICE_BF16:
        kernels->planes_bf16(conversion, in, planes);
        break;
    default:
        kernels->planes_f32(conversion, in, planes);
        break;
    }
}

/* Converts one line with the vectorised kernels; 1 or 3 channels, u8 HWC input. */
static void convert_line_fast(const sli_conversion *conversion, uint32_t y, const uint8_t *in,
                              void *out)
{
    const conversion_kernels *kernels = SLI_CHOOSE(sli_conversion_kernels);
    const size_t line = conversion->width * sluice_dtype_size(conversion->to);
    void *planes[SLI_MAX_CHANNELS] = {NULL};

    if (!conversion->to_chw || conversion->channels == 1) {
        convert_packed(kernels, conversion, in, (uint8_t *)out + y * line * conversion->channels);
        return;
    }
    for (uint32_t c = 0; c < conversion->channels; c++) {
        planes[c] = (uint8_t *)out + (c * (size_t)conversion->height + y) * line;
    }
    convert_planes(kernels, conversion, in, planes);
}

/*
 * Lines up to this many bytes are flipped on the stack; longer ones are converted value by value.
 */
enum { FLIP_BYTES = 24576 };

static bool has_kernels(const sli_conversion *conversion)
{
    return conversion->from == SLUICE_U8 && !conversion->from_chw &&
           (conversion->channels == 1 || conversion->channels == 3) &&
           (size_t)conversion->width * conversion->channels <= FLIP_BYTES;
}

static void flip_line(const sli_conversion *conversion, const uint8_t *in, uint8_t *out)
{
    if (conversion->channels == 3) {
        SLI_CHOOSE(sli_conversion_kernels)->flip_rgb(in, out, conversion->width);
        return;
    }
    for (uint32_t x = 0; x < conversion->width; x++) {
        out[x] = in[conversion->width - 1 - x];
    }
}

/* convert_any() for line y of an image in HWC. Planes keep the stride of the whole image. */
static void convert_line_any(const sli_conversion *conversion, uint32_t y, const void *in,
                             void *out, bool flipped)
{
    const size_t width = conversion->width;
    const size_t plane = conversion->height * width;

    for (size_t x = 0; x < width; x++) {
        for (size_t c = 0; c < conversion->channels; c++) {
            size_t from = (flipped ? width - 1 - x : x) * conversion->channels + c;
            size_t to = conversion->to_chw ? c * plane + y * width + x
                                           : (y * width + x) * conversion->channels + c;

            store_value(conversion, out, to, load_value(conversion->from, in, from), (uint32_t)c);
        }
    }
}

/* Converts a line of wider values with a kernel. False: there is none for these types. */
static bool convert_line_wide(const sli_conversion *conversion, uint32_t y, const void *in,
                              void *out, bool flipped)
{
    const conversion_kernels *kernels = SLI_CHOOSE(sli_conversion_kernels);
    const size_t size = sluice_dtype_size(conversion->to);
    const size_t line = (size_t)conversion->width * conversion->channels * size;

    if (conversion->from == conversion->to && !conversion->affine && !conversion->to_chw &&
        !flipped) {
        memcpy((uint8_t *)out + y * line, in, line);
        return true;
    }
    if (conversion->from != SLUICE_U16 || flipped || conversion->to_chw ||
        (conversion->to != SLUICE_F32 && conversion->to != SLUICE_F16)) {
        return false;
    }
    (conversion->to == SLUICE_F32 ? kernels->wide_f32
                                  : kernels->wide_f16)(conversion, in, (uint8_t *)out + y * line);
    return true;
}

void sli_convert_line(const sli_conversion *conversion, uint32_t y, const void *in, void *out,
                      uint8_t flags)
{
    bool flipped = conversion->flip && (flags & SLI_ROW_FLIP) != 0;
    uint8_t flipped_line[FLIP_BYTES];

    y = (flags & SLI_ROW_FLIP_LINES) != 0 ? conversion->height - 1 - y : y;
    if (!has_kernels(conversion)) {
        if (conversion->from == SLUICE_U8 || !convert_line_wide(conversion, y, in, out, flipped)) {
            convert_line_any(conversion, y, in, out, flipped);
        }
        return;
    }
    if (flipped && conversion->to == SLUICE_U8 && !conversion->to_chw) {
        const size_t line = (size_t)conversion->width * conversion->channels;

        flip_line(conversion, in, (uint8_t *)out + y * line);
        return;
    }
    if (flipped) {
        flip_line(conversion, in, flipped_line);
        in = flipped_line;
    }
    convert_line_fast(conversion, y, in, out);
}

void sli_convert_image(const sli_conversion *conversion, const void *in, void *out, uint8_t flags)
{
    const uint8_t *line = in;

    if ((flags & SLI_ROW_ZERO) != 0) {
        memset(out, 0, sli_conversion_out_bytes(conversion));
        return;
    }
    if (sli_conversion_is_identity(conversion) && (flags & SLI_ROW_FLIP_LINES) == 0) {
        memcpy(out, in, sli_conversion_out_bytes(conversion));
        return;
    }
    if (!has_kernels(conversion)) {
        convert_any(conversion, in, out, flags);
        return;
    }
    for (uint32_t y = 0; y < conversion->height; y++) {
        sli_convert_line(conversion, y, line, out, flags);
        line += (size_t)conversion->width * conversion->channels;
    }
}

uint64_t sli_digest_bytes(const void *data, size_t bytes)
{
    const conversion_kernels *kernels = SLI_CHOOSE(sli_conversion_kernels);
    const uint8_t *tail = (const uint8_t *)data + bytes / 8 * 8;
    uint64_t sum = kernels->digest(data, bytes / 8);
    uint64_t last = 0;

    if (bytes % 8 != 0) {
        memcpy(&last, tail, bytes % 8);
        sum += sli_digest_word(last, bytes / 8);
    }
    return sum;
}
