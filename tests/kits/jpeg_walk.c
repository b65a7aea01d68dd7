/* SPDX-License-Identifier: Apache-2.0 */
#include "jpeg_walk.h"

#include <string.h>

static void read_frame(jpeg_walk *walk, uint8_t marker, const uint8_t *body)
{
    walk->sof = marker;
    walk->height = (uint32_t)body[1] << 8 | body[2];
    walk->width = (uint32_t)body[3] << 8 | body[4];
    walk->components = body[5];
    for (uint32_t i = 0; i < walk->components; i++) {
        const uint8_t factors = body[7 + 3 * i];

        walk->across = factors >> 4 > (int)walk->across ? factors >> 4 : walk->across;
        walk->down = (factors & 15) > (int)walk->down ? factors & 15 : walk->down;
    }
}

/* Passes over coded data from `at`; returns where the marker is that ends it, 0 none does. */
static size_t pass_scan(const uint8_t *bytes, size_t size, size_t at, jpeg_walk *walk)
{
    uint32_t number = 0;

    for (; at + 1 < size; at++) {
        if (bytes[at] != 0xFF || bytes[at + 1] == 0) {
            continue;
        }
        if (bytes[at + 1] < 0xD0 || bytes[at + 1] > 0xD7) {
            return at;
        }
        walk->restarts_in_order = walk->restarts_in_order && bytes[at + 1] == 0xD0 + (number++ & 7);
        walk->restarts++;
    }
    return 0;
}

bool jpeg_walk_file(const uint8_t *bytes, size_t size, jpeg_walk *walk)
{
    size_t at = 2;

    memset(walk, 0, sizeof(*walk));
    walk->restarts_in_order = true;
    walk->markers_hash = 1469598103934665603U;
    while (at + 4 <= size && bytes[at] == 0xFF && bytes[at + 1] != 0xD9) {
        const uint8_t marker = bytes[at + 1];
        const size_t length = (size_t)bytes[at + 2] << 8 | bytes[at + 3];

        if (at + 2 + length > size) {
            return false;
        }
        if (marker >= 0xC0 && marker <= 0xCF && marker != 0xC4 && marker != 0xC8 &&
            marker != 0xCC) {
            read_frame(walk, marker, bytes + at + 4);
        } else if (marker == 0xDD) {
            walk->interval = (uint32_t)bytes[at + 4] << 8 | bytes[at + 5];
        } else if (marker == 0xFE || (marker >= 0xE0 && marker <= 0xEF)) {
            for (size_t i = 0; i < length + 2; i++) {
                walk->markers_hash = (walk->markers_hash ^ bytes[at + i]) * 1099511628211U;
            }
            walk->markers_size += length + 2;
        }
        at += 2 + length;
        if (marker == 0xDA) {
            walk->scans++;
            at = pass_scan(bytes, size, at, walk);
        }
        if (at == 0) {
            return false;
        }
    }
    return at + 2 <= size && bytes[at] == 0xFF && bytes[at + 1] == 0xD9;
}
