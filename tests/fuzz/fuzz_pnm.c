/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as a PBM, PGM or PPM file, binary or plain. A box of a binary one that is read from the
 * file equals the box of the file in memory.
 */
#include <string.h>

#include "fuzz_file.h"
#include "fuzz_target.h"

enum { MAX_PIXELS = 1 << 20 };

static void compare(const uint8_t *data, size_t size, bool gray, const image_box *box,
                    const image_view *region)
{
    static image_decoder *decoder;
    uint64_t bytes_read = 0;
    const image_rest rest = {fuzz_file(data, size), 0, size, &bytes_read};
    uint32_t width;
    uint32_t height;
    image_view other;

    if (decoder == NULL && image_decoder_create(&decoder) != SLUICE_OK) {
        fuzz_fail("no decoder");
    }
    if (image_decoder_open_head(decoder, data, size < IMAGE_HEAD ? size : IMAGE_HEAD, &rest,
                                MAX_PIXELS, gray, &width, &height) != SLUICE_OK ||
        image_decoder_region(decoder, box, &other) != SLUICE_OK) {
        fuzz_fail("the file is no image, its bytes are");
    }
    for (uint32_t y = 0; y < box->height; y++) {
        if (memcmp(region->pixels + y * region->stride, other.pixels + y * other.stride,
                   (size_t)box->width * region->channels) != 0) {
            fuzz_fail("the file has another image than its bytes");
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    image_box box;
    image_view region;

    for (int gray = 0; gray < 2; gray++) {
        if (fuzz_region(data, size, gray == 1, &box, &region) &&
            image_decoder_takes_head(data, size)) {
            compare(data, size, gray == 1, &box, &region);
        }
    }
    return 0;
}
