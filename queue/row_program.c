/* SPDX-License-Identifier: Apache-2.0 */
/* Row programs on the host: the same operators as in GetNext's kernels, pixel by pixel. */
#include "row_program_int.h"

#include <string.h>

#include "layout_int.h"

_Static_assert(sizeof(sli_row_program) == 224 && offsetof(sli_row_program, operators) % 16 == 0,
               "kernels load operators 16 bytes at a time; docs/guide/transforms.md has the size");

static uint32_t load_pixel(const uint8_t *in, uint32_t channels)
{
    uint32_t pixel = 0;

    for (uint32_t c = 0; c < channels; c++) {
        pixel |= (uint32_t)in[c] << 8 * c;
    }
    return pixel;
}

/* Converts a pixel and stores it as pixel `to` of the result, by the conversion's tables. */
static void store_pixel(const sli_conversion *conversion, uint32_t pixel, size_t to, void *out)
{
    const size_t plane = (size_t)conversion->height * conversion->width;

    for (uint32_t c = 0; c < conversion->channels; c++) {
        const size_t at = conversion->to_chw ? c * plane + to : to * conversion->channels + c;
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

/* Applies operators [first, end) to a pixel. */
static uint32_t operate(const sli_row_program *program, uint32_t first, uint32_t end,
                        uint32_t channels, uint32_t pixel, uint32_t x, uint32_t y)
{
    for (uint32_t i = first; i < end; i++) {
        pixel = sli_row_operate(&program->operators[i], channels, pixel, x, y);
    }
    return pixel;
}

/* Makes pixel x of a line of the warp, from pixels that the operators before it have changed. */
static uint32_t warp_pixel(const sli_row_program *program, const sli_warp_row *row,
                           const sli_row_image *image, uint32_t x)
{
    const sli_row_samples samples = sli_row_find(row, program->warp, x, image);
    const uint32_t count = program->warp == SLI_ROW_BILINEAR ? 4 : 1;
    uint32_t pixels[4] = {program->fill, 0, 0, 0};

    for (uint32_t k = 0; k < count; k++) {
        const uint32_t column = (uint32_t)samples.column + (k & 1);
        const uint32_t line = (uint32_t)samples.line + (k >> 1);
        const uint8_t *from =
            image->pixels + ((size_t)line * image->width + column) * image->channels;

        if (sli_row_is_inside(&samples, k, image)) {
            pixels[k] = operate(program, 0, program->before, image->channels,
                                load_pixel(from, image->channels), column, line);
        }
    }
    return count == 1 ? pixels[0] : sli_row_blend(&samples, pixels, program->fill, image);
}

void sli_row_program_run(const sli_row_program *program, const sli_conversion *conversion,
                         const uint8_t *in, void *out, uint8_t flags)
{
    const bool flips = conversion->flip && (flags & SLI_ROW_FLIP) != 0;
    const uint32_t channels = conversion->channels;
    const uint32_t width = conversion->width;
    const sli_row_image image = {in, width, conversion->height, channels};

    if ((flags & SLI_ROW_ZERO) != 0) {
        memset(out, 0, sli_conversion_out_bytes(conversion));
        return;
    }
    for (uint32_t y = 0; y < conversion->height; y++) {
        const size_t line = (size_t)y * width;
        const sli_warp_row row = sli_warp_row_of(program->matrix, y);

        for (uint32_t x = 0; x < width; x++) {
            const uint32_t pixel = program->warp == SLI_ROW_NO_WARP
                                       ? load_pixel(in + (line + x) * channels, channels)
                                       : warp_pixel(program, &row, &image, x);

            store_pixel(conversion,
                        operate(program, program->before, program->count, channels, pixel, x, y),
                        line + (flips ? width - 1 - x : x), out);
        }
    }
}
