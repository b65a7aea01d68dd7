/* SPDX-License-Identifier: Apache-2.0 */
#include "image_turn.h"

#include "thread_interrupt_int.h"

#include <string.h>

/* Writes line y of a reflection of an image. Of images of 16 bits and of floats there are no other
 * warps. */
static void reflect_line(const image_warp *warp, const image_view *from, uint32_t y, uint8_t *to)
{
    const size_t pixel = image_pixel_bytes(from);
    const uint32_t line = warp->matrix.m[4] < 0 ? from->height - 1 - y : y;
    const uint8_t *pixels = from->pixels + line * from->stride;

    if (warp->matrix.m[0] > 0) {
        memcpy(to, pixels, from->width * pixel);
        return;
    }
    for (uint32_t x = 0; x < from->width; x++) {
        memcpy(to + x * pixel, pixels + (from->width - 1 - x) * pixel, pixel);
    }
}

sluice_status image_turn(const image_warp *warp, const image_view *from, uint32_t width,
                         uint32_t height, image_buffer *line, const line_sink *sink)
{
    const size_t bytes = width * image_pixel_bytes(from);
    const sluice_status st = image_buffer_reserve(line, bytes);

    for (uint32_t y = 0; y < height && st == SLUICE_OK && !sli_is_interrupted_at(y); y++) {
        if (from->element == IMAGE_U8) {
            warp_line_of(warp, from, width, y, line->data);
        } else {
            reflect_line(warp, from, y, line->data);
        }
        if (sink->direct != NULL) {
            memcpy(sink->direct + y * bytes, line->data, bytes);
        } else {
            sink->line(sink->arg, y, line->data);
        }
    }
    return st == SLUICE_OK && sli_is_interrupted() ? SLUICE_CLOSED : st;
}
