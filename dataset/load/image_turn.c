/* SPDX-License-Identifier: Apache-2.0 */
#include "image_turn.h"

#include "thread_interrupt_int.h"

#include <string.h>

sluice_status image_turn(const image_warp *warp, const image_view *from, uint32_t width,
                         uint32_t height, image_buffer *line, const line_sink *sink)
{
    const size_t bytes = (size_t)width * from->channels;
    const sluice_status st = image_buffer_reserve(line, bytes);

    for (uint32_t y = 0; y < height && st == SLUICE_OK && !sli_is_interrupted_at(y); y++) {
        warp_line_of(warp, from, width, y, line->data);
        if (sink->direct != NULL) {
            memcpy(sink->direct + y * bytes, line->data, bytes);
        } else {
            sink->line(sink->arg, y, line->data);
        }
    }
    return st == SLUICE_OK && sli_is_interrupted() ? SLUICE_CLOSED : st;
}
