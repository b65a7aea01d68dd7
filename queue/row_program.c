/* SPDX-License-Identifier: Apache-2.0 */
/* Row programs on the host: the same operators as in GetNext's kernels, pixel by pixel. */
#include "row_program_int.h"

#include <string.h>

#include "layout_int.h"

_Static_assert(sizeof(sli_row_program) == 240 && offsetof(sli_row_program, mix) % 16 == 0 &&
                   offsetof(sli_row_program, operators) % 16 == 0,
               "kernels load operators 16 bytes at a time; docs/guide/transforms.md has the size");

/* A row whose result is made, one line after another. */
typedef struct row_run {
    const sli_row_program *program;
    const sli_conversion *conversion;
    sli_row_image image;
    bool flips;
    bool flips_lines;
    uint32_t y;        /* the line of the slot's image that is next */
    sli_warp_row warp; /* of that line */
} row_run;

static row_run begin_row(const sli_row_batch *batch, uint32_t row, const sli_conversion *conversion)
{
    const size_t bytes = (size_t)conversion->height * conversion->width * conversion->channels;

    return (row_run){.program = &batch->programs[row],
                     .conversion = conversion,
                     .image = {batch->images + row * bytes, conversion->width, conversion->height,
                               conversion->channels},
                     .flips = conversion->flip && (batch->flags[row] & SLI_ROW_FLIP) != 0,
                     .flips_lines = (batch->flags[row] & SLI_ROW_FLIP_LINES) != 0};
}

static uint32_t load_pixel(const sli_row_image *image, uint32_t x, uint32_t y)
{
    const uint8_t *from = image->pixels + ((size_t)y * image->width + x) * image->channels;
    uint32_t pixel = 0;

    for (uint32_t c = 0; c < image->channels; c++) {
        pixel |= (uint32_t)from[c] << 8 * c;
    }
    return pixel;
}

/* Applies operators [first, end) to a pixel. */
static uint32_t operate(const row_run *run, uint32_t first, uint32_t end, uint32_t pixel,
                        uint32_t x, uint32_t y)
{
    for (uint32_t i = first; i < end; i++) {
        pixel = sli_row_operate(&run->program->operators[i], run->image.channels, pixel, x, y);
    }
    return pixel;
}

/* Makes pixel x of a line of the warp, from pixels that the operators before it have changed. */
static uint32_t warp_pixel(const row_run *run, uint32_t x)
{
    const sli_row_program *program = run->program;
    const sli_row_samples samples = sli_row_find(&run->warp, program->warp, x, &run->image);
    const uint32_t count = sli_row_blends(program->warp) ? 4 : 1;
    uint32_t pixels[4] = {program->fill, 0, 0, 0};

    for (uint32_t k = 0; k < count; k++) {
        const uint32_t column = (uint32_t)samples.column + (k & 1);
        const uint32_t line = (uint32_t)samples.line + (k >> 1);

        if (sli_row_is_inside(&samples, k, &run->image)) {
            pixels[k] = operate(run, 0, program->before, load_pixel(&run->image, column, line),
                                column, line);
        }
    }
    return count == 1 ? pixels[0]
                      : sli_row_blend(&samples, pixels, program->warp, program->fill, &run->image);
}

/* Prepares for line y of the result. */
static void begin_line(row_run *run, uint32_t y)
{
    run->y = run->flips_lines ? run->image.height - 1 - y : y;
    run->warp = sli_warp_row_of(run->program->matrix, run->y);
}

/* Makes pixel x of the line, not yet converted. */
static uint32_t make_pixel(const row_run *run, uint32_t x)
{
    const sli_row_program *program = run->program;
    const uint32_t from = run->flips ? run->image.width - 1 - x : x;
    const uint32_t pixel = program->warp == SLI_ROW_NO_WARP ? load_pixel(&run->image, from, run->y)
                                                            : warp_pixel(run, from);

    return operate(run, program->before, program->count, pixel, from, run->y);
}

/* The index of channel c of pixel `to` in the result. */
static size_t index_of(const sli_conversion *conversion, size_t to, uint32_t c)
{
    const size_t plane = (size_t)conversion->height * conversion->width;

    return conversion->to_chw ? c * plane + to : to * conversion->channels + c;
}

/* Converts a pixel by the conversion's tables, and stores it in `out` at pixel index `to`. */
static void store_pixel(const sli_conversion *conversion, uint32_t pixel, size_t to, void *out)
{
    for (uint32_t c = 0; c < conversion->channels; c++) {
        const size_t at = index_of(conversion, to, c);
        const uint32_t byte = sli_pixel_channel(pixel, c);

        switch (conversion->to) {
        case SLUICE_U8:
            ((uint8_t *)out)[at] = (uint8_t)byte;
            break;
        case SLUICE_F32:
            ((float *)out)[at] = conversion->table_f32[c][byte];
            break;
        default:
            ((uint16_t *)out)[at] = conversion->table_16[c][byte];
            break;
        }
    }
}

/* Converts a pixel and that of the partner, and stores their blend. */
static void store_blend(const sli_conversion *conversion, const sli_row_mix *mix, uint32_t own,
                        uint32_t other, size_t to, void *out)
{
    const float share = sli_f32_of_bits(mix->a);
    const float rest = sli_f32_of_bits(mix->b);

    for (uint32_t c = 0; c < conversion->channels; c++) {
        const size_t at = index_of(conversion, to, c);
        const uint32_t a = sli_pixel_channel(own, c);
        const uint32_t b = sli_pixel_channel(other, c);
        const float *f32 = conversion->table_f32[c];
        const uint16_t *half = conversion->table_16[c];

        switch (conversion->to) {
        case SLUICE_U8:
            ((uint8_t *)out)[at] = (uint8_t)sli_mix_round(
                sli_mix_blend((float)(int32_t)a, (float)(int32_t)b, share, rest));
            break;
        case SLUICE_F32:
            ((float *)out)[at] = sli_mix_blend(f32[a], f32[b], share, rest);
            break;
        case SLUICE_F16:
            ((uint16_t *)out)[at] = sli_f16_of_f32(
                sli_mix_blend(sli_f32_of_f16(half[a]), sli_f32_of_f16(half[b]), share, rest));
            break;
        default:
            ((uint16_t *)out)[at] = sli_bf16_of_f32(
                sli_mix_blend(sli_f32_of_bf16(half[a]), sli_f32_of_bf16(half[b]), share, rest));
            break;
        }
    }
}

/* Makes pixel (x, y) of the result of a row, and stores it. */
static void run_pixel(const row_run *own, const row_run *other, uint32_t x, uint32_t y, void *out)
{
    const sli_row_mix *mix = &own->program->mix;
    const size_t to = (size_t)y * own->image.width + x;

    if (mix->kind == SLI_ROW_BLEND) {
        store_blend(own->conversion, mix, make_pixel(own, x), make_pixel(other, x), to, out);
    } else {
        store_pixel(own->conversion, make_pixel(sli_row_is_pasted(mix, x, y) ? other : own, x), to,
                    out);
    }
}

void sli_row_program_run(const sli_row_batch *batch, uint32_t row, const sli_conversion *conversion,
                         void *out)
{
    const sli_row_mix *mix = &batch->programs[row].mix;
    row_run own;
    row_run other;

    if ((batch->flags[row] & SLI_ROW_ZERO) != 0) {
        memset(out, 0, sli_conversion_out_bytes(conversion));
        return;
    }
    own = begin_row(batch, row, conversion);
    other = mix->kind != SLI_ROW_NO_MIX ? begin_row(batch, mix->partner, conversion) : own;
    for (uint32_t y = 0; y < conversion->height; y++) {
        begin_line(&own, y);
        begin_line(&other, y);
        for (uint32_t x = 0; x < conversion->width; x++) {
            run_pixel(&own, &other, x, y, out);
        }
    }
}
