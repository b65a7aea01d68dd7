/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a JPEG file: a region, if there is one, is the same part of a plain decode. */
#include <stdlib.h>
#include <string.h>

#include "fuzz_target.h"
#include "jpeg_maker.h"

static void compare(const uint8_t *data, size_t size, bool gray, const image_box *box,
                    const image_view *region)
{
    jpeg_plain plain = jpeg_plain_decode(data, size, gray ? JCS_GRAYSCALE : JCS_RGB);
    const size_t line = (size_t)plain.width * plain.channels;

    /* Where libjpeg itself warns, or cannot convert, there is nothing to compare with. */
    for (uint32_t y = 0; plain.pixels != NULL && plain.warnings == 0 && y < box->height; y++) {
        if (memcmp(region->pixels + y * region->stride,
                   plain.pixels + (box->y + y) * line + (size_t)box->x * plain.channels,
                   (size_t)box->width * plain.channels) != 0) {
            fuzz_fail("a region that is no part of the whole");
        }
    }
    free(plain.pixels);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    image_box box;
    image_view region;

    for (int gray = 0; gray < 2; gray++) {
        if (fuzz_region(data, size, gray == 1, &box, &region)) {
            compare(data, size, gray == 1, &box, &region);
        }
    }
    return 0;
}
