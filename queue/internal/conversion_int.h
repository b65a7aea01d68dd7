/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The conversion program: the last transforms of a pipeline, as one pass over the image. Flip,
 * cast, normalise and HWC -> CHW commute, so any sequence of them is one program:
 *
 *     out = round(fmaf((float)in, scale[channel], bias[channel]))
 *
 * The fmaf rounds once, to f32; an output of f16 or bf16 is then rounded to nearest, ties to even.
 * Either a worker runs the program while it writes its row, or GetNext runs it on the device. The
 * bits are the same in both cases, at every instruction-set level and on every backend.
 */
#ifndef SLUICE_CONVERSION_INT_H
#define SLUICE_CONVERSION_INT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sluice/status.h>
#include <sluice/tensor.h>

enum { SLI_MAX_CHANNELS = 4 };

typedef struct sli_conversion {
    uint32_t height;
    uint32_t width;
    uint32_t channels; /* 1 to SLI_MAX_CHANNELS */
    sluice_dtype from; /* u8, u16, f32, f16 or bf16 */
    sluice_dtype to;   /* the same; u8 and u16 only from the same type and without `affine` */
    bool from_chw;     /* the input is (C, H, W) instead of (H, W, C) */
    bool to_chw;
    bool flip;                     /* flips rows that have SLI_ROW_FLIP */
    bool affine;                   /* if not set, scale is 1 and bias 0 */
    float scale[SLI_MAX_CHANNELS]; /* one per channel, finite */
    float bias[SLI_MAX_CHANNELS];
    /* Set by sli_conversion_prepare(): a float of `from` can become infinite; above this magnitude,
     * as the bits of a float, or -1: any one. */
    bool loses;
    int32_t most;
    /* Set by sli_conversion_prepare(): the converted value of each of the 256 bytes. */
    float table_f32[SLI_MAX_CHANNELS][256];
    uint16_t table_16[SLI_MAX_CHANNELS][256];
} sli_conversion;

/* Checks the program and fills its tables. Returns E_INVALID for an invalid program. */
sluice_status sli_conversion_prepare(sli_conversion *conversion);

/* True if the program changes nothing. */
bool sli_conversion_is_identity(const sli_conversion *conversion);

/* True if the converted values of all bytes, or of all values of 16 bits, are finite. Only for
 * prepared programs from u8 and u16. */
bool sli_conversion_is_finite(const sli_conversion *conversion);

/*
 * True if one of the values of an image or line is finite, and its converted value is not: it is
 * too large for the type. *value_out: the first one. Only for prepared programs with `loses`.
 */
bool sli_conversion_loses(const sli_conversion *conversion, const float *in, size_t count,
                          float *value_out);

/* Bytes of one converted image. */
size_t sli_conversion_out_bytes(const sli_conversion *conversion);

/*
 * Converts line y of one image: in is (W, C) of the type `from`, out the start of the converted
 * image. Only for programs from u8, u16 and f32 in HWC. flags: as in a batch's row flags, without
 * SLI_ROW_ZERO. With SLI_ROW_FLIP_LINES, line y is written as line height - 1 - y, also by an
 * identity.
 */
void sli_convert_line(const sli_conversion *conversion, uint32_t y, const void *in, void *out,
                      uint8_t flags);

/*
 * Converts one image of the program's shape and type; with SLI_ROW_ZERO the output is zeros, with
 * SLI_ROW_FLIP_LINES the lines are in reverse order.
 */
void sli_convert_image(const sli_conversion *conversion, const void *in, void *out, uint8_t flags);

#endif
