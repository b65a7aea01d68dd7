/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GetNext's gather of an image whose rows may be mixed with other rows of the batch
 * (row_program_int.h). The programs of a row and of its partner are applied to the same pixels, so
 * no mixed row is stored and read again. Included by getnext_gather.h.
 */
#ifndef SLUICE_GATHER_MIXES_H
#define SLUICE_GATHER_MIXES_H

#include "gather_programs.h"

/* Loads how a row is mixed; the partner is within the batch whatever the slot has. */
SLI_KERNEL_FN sli_row_mix gather_load_mix(const sli_gather *g, const uint8_t *slot, uint32_t row,
                                          bool zero)
{
    const sli_row_program *programs = (const sli_row_program *)(slot + g->image.programs);
    sli_row_mix mix;
    uint32_t words[4];

    gather_load_128((const uint8_t *)&programs[row].mix, words);
    mix.kind = zero ? (uint32_t)SLI_ROW_NO_MIX : words[0];
    mix.partner = words[1] < g->batch_size ? words[1] : row;
    mix.a = words[2];
    mix.b = words[3];
    return mix;
}

/* Rounds two values, neither a NaN, to the type of the result. */
SLI_KERNEL_FN void gather_round_pair(sluice_dtype dtype, float *v)
{
    if (dtype == SLUICE_F16) {
        const uint32_t pair = gather_pair_f16(v[0], v[1]);

        v[0] = gather_f32_of_f16((uint16_t)pair);
        v[1] = gather_f32_of_f16((uint16_t)(pair >> 16));
    } else if (dtype == SLUICE_BF16) {
        const uint32_t pair = gather_pair_bf16(v[0], v[1]);

        v[0] = sli_f32_of_bf16((uint16_t)pair);
        v[1] = sli_f32_of_bf16((uint16_t)(pair >> 16));
    }
}

/* Rounds a value of any type. */
SLI_KERNEL_FN float gather_round(uint32_t dtype, float value)
{
    switch (dtype) {
    case SLUICE_U8:
        return (float)sli_mix_round(value);
    case SLUICE_F16:
        return sli_f32_of_f16(sli_f16_of_f32(value));
    case SLUICE_BF16:
        return sli_f32_of_bf16(sli_bf16_of_f32(value));
    default:
        return value;
    }
}

/* Makes pixels of any type, layout, width and number of channels, one at a time. */
SLI_KERNEL_FN void gather_mix_any(const sli_gather *g, const uint8_t *slot, uint32_t t, uint32_t n)
{
    const sli_gather_image *image = &g->image;
    const uint32_t pixels = image->pixels;
    const uint32_t channels = image->channels;
    gather_walk walk = gather_walk_begin(pixels, t, n);

    for (; walk.row < g->batch_size; gather_walk_next(&walk, pixels)) {
        uint8_t *out = image->to + walk.row * image->to_bytes;
        const bool zero = (gather_load_flags(g, slot, walk.row) & SLI_ROW_ZERO) != 0;
        const sli_row_mix mix = gather_load_mix(g, slot, walk.row, zero);
        const bool pasted =
            sli_row_is_pasted(&mix, walk.unit % image->width, walk.unit / image->width);
        const bool blends = mix.kind == SLI_ROW_BLEND;
        uint32_t own = 0;
        uint32_t other = 0;

        /* A loop over both rows, so that the row program is inlined once; the partner is first. */
        SLI_NO_UNROLL
        for (uint32_t k = blends ? 0 : 1; k < 2; k++) {
            const uint32_t row = k == 0 || pasted ? mix.partner : walk.row;

            other = own;
            own = gather_make_pixel(g, slot, row, gather_load_flags(g, slot, row), walk.unit);
        }
        SLI_UNROLL
        for (uint32_t c = 0; c < SLI_MAX_CHANNELS; c++) {
            const uint32_t to =
                image->to_chw != 0 ? c * pixels + walk.unit : walk.unit * channels + c;
            float value = gather_convert(image, own, c);

            if (blends) {
                value =
                    sli_mix_blend(gather_round(image->to_dtype, value),
                                  gather_round(image->to_dtype, gather_convert(image, other, c)),
                                  sli_f32_of_bits(mix.a), sli_f32_of_bits(mix.b));
                value = image->to_dtype == SLUICE_U8 ? (float)sli_mix_round(value) : value;
            }
            if (c < channels) {
                gather_store(image->to_dtype, out, to, zero ? 0 : value);
            }
        }
    }
}

/* True if unit `to` of the result has pixels of the partner. */
SLI_KERNEL_FN bool gather_needs_partner(const sli_row_mix *mix, uint32_t x, uint32_t y,
                                        uint32_t unit)
{
    const uint32_t left = mix->a & 0xFFFF;

    return mix->kind == SLI_ROW_BLEND ||
           (mix->kind == SLI_ROW_PASTE && x + unit > left && x < left + (mix->b & 0xFFFF) &&
            y - (mix->a >> 16) < mix->b >> 16);
}

/*
 * Converts and mixes (H, W, 3) u8 to (3, H, W) or, if not `planes`, to (H, W, 3), one unit of
 * pixels at a time, with three stores of 16 bytes. Without normalisation scale is 1 and bias 0.
 */
SLI_KERNEL_FN void gather_mix_units(const sli_gather *g, const uint8_t *slot, uint32_t t,
                                    uint32_t n, uint32_t unit, sluice_dtype dtype, bool planes)
{
    const sli_gather_image *image = &g->image;
    const uint32_t units = image->pixels / unit;
    const uint32_t line = image->width / unit;
    const uint64_t part_bytes = planes ? image->to_bytes / 3 : 16;
    const uint64_t unit_bytes = planes ? 16 : 48;
    gather_walk walk = gather_walk_begin(units, t, n);

    for (; walk.row < g->batch_size; gather_walk_next(&walk, units)) {
        uint8_t *out = image->to + walk.row * image->to_bytes + unit_bytes * walk.unit;
        const bool zero = (gather_load_flags(g, slot, walk.row) & SLI_ROW_ZERO) != 0;
        const gather_scales scales = gather_scales_of(image, zero);
        const sli_row_mix mix = gather_load_mix(g, slot, walk.row, zero);
        const uint32_t x = walk.unit % line * unit;
        const uint32_t y = walk.unit / line;
        uint32_t own[8] = {0};
        uint32_t other[8] = {0};

        /* A loop over both rows, so that the row program is inlined once; the partner is first. */
        SLI_NO_UNROLL
        for (uint32_t k = gather_needs_partner(&mix, x, y, unit) ? 0 : 1; k < 2; k++) {
            const uint32_t row = k == 0 ? mix.partner : walk.row;

            SLI_UNROLL
            for (uint32_t i = 0; i < unit; i++) {
                other[i] = own[i];
            }
            gather_make_unit(g, slot, row, gather_load_flags(g, slot, row), walk.unit, unit, own);
        }
        SLI_UNROLL
        for (uint32_t i = 0; i < unit; i++) {
            own[i] = sli_row_is_pasted(&mix, x + i, y) ? other[i] : own[i];
        }
        SLI_UNROLL
        for (uint32_t part = 0; part < 3; part++) {
            float v[8];

            SLI_UNROLL
            for (uint32_t i = 0; i < unit; i += 2) {
                float w[2];

                SLI_UNROLL
                for (uint32_t k = 0; k < 2; k++) {
                    const uint32_t at = part * unit + i + k; /* of the packed values */
                    const uint32_t pixel = planes ? i + k : at / 3;
                    const uint32_t c = planes ? part : at % 3;

                    v[i + k] = gather_value(own, pixel, c, &scales);
                    w[k] = gather_value(other, pixel, c, &scales);
                }
                if (mix.kind == SLI_ROW_BLEND) {
                    gather_round_pair(dtype, &v[i]);
                    gather_round_pair(dtype, w);
                    SLI_UNROLL
                    for (uint32_t k = 0; k < 2; k++) {
                        v[i + k] = sli_mix_blend(v[i + k], w[k], sli_f32_of_bits(mix.a),
                                                 sli_f32_of_bits(mix.b));
                    }
                }
            }
            gather_store_unit(dtype, out + part * part_bytes, v);
        }
    }
}

#endif
