/* SPDX-License-Identifier: Apache-2.0 */
#include "edge_copy.h"

#include <string.h>

uint32_t edge_index(image_edge edge, int64_t i, uint32_t length)
{
    const int64_t last = (int64_t)length - 1;
    const int64_t period = edge == EDGE_REFLECT ? 2 * last : 2 * last + 2;
    int64_t at;

    if (edge == EDGE_REPEAT || period == 0) {
        return (uint32_t)(i < 0 ? 0 : i > last ? last : i);
    }
    at = i % period;
    at += at < 0 ? period : 0;
    if (at > last) {
        at = edge == EDGE_REFLECT ? period - at : period - 1 - at;
    }
    return (uint32_t)at;
}

void edge_range(image_edge edge, int64_t start, uint32_t count, uint32_t length, uint32_t *from,
                uint32_t *needed)
{
    uint32_t low = length - 1;
    uint32_t high = 0;

    for (uint32_t i = 0; i < count; i++) {
        const uint32_t at = edge_index(edge, start + i, length);

        low = at < low ? at : low;
        high = at > high ? at : high;
    }
    *from = low;
    *needed = high - low + 1;
}

void edge_line(image_edge edge, int64_t start, uint32_t count, uint32_t length, const uint8_t *line,
               uint32_t from, size_t pixel_bytes, uint8_t *to)
{
    for (uint32_t i = 0; i < count;) {
        const int64_t at = start + i;
        const uint32_t pixel = edge_index(edge, at, length) - from;
        const int64_t left = at >= 0 && at < length ? (int64_t)length - at : 1;
        const uint32_t pixels = left < count - i ? (uint32_t)left : count - i;

        memcpy(to + i * pixel_bytes, line + pixel * pixel_bytes, pixels * pixel_bytes);
        i += pixels;
    }
}
