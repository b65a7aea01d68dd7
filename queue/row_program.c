/* SPDX-License-Identifier: Apache-2.0 */
/* Row programs on the host: the same operators as in GetNext's kernels, pixel by pixel. */
#include "row_program_int.h"

#include <string.h>

#include "layout_int.h"

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

void sli_row_program_run(const sli_row_program *program, const sli_conversion *conversion,
                         const uint8_t *in, void *out, uint8_t flags)
{
    const bool flips = conversion->flip && (flags & SLI_ROW_FLIP) != 0;
    const uint32_t channels = conversion->channels;
    const uint32_t width = conversion->width;

    if ((flags & SLI_ROW_ZERO) != 0) {
        memset(out, 0, sli_conversion_out_bytes(conversion));
        return;
    }
    for (uint32_t y = 0; y < conversion->height; y++) {
        for (uint32_t x = 0; x < width; x++) {
            const size_t line = (size_t)y * width;
            uint32_t pixel = load_pixel(in + (line + x) * channels, channels);

            for (uint32_t i = 0; i < program->count; i++) {
                pixel = sli_row_operate(&program->operators[i], channels, pixel, x, y);
            }
            store_pixel(conversion, pixel, line + (flips ? width - 1 - x : x), out);
        }
    }
}
