/* SPDX-License-Identifier: Apache-2.0 */
#include "image_kit.h"

#include "alloc_int.h"
#include "testing.h"

sluice_status decode_box(image_decoder *decoder, const uint8_t *bytes, size_t size, bool gray,
                         const image_box *box, image_view *region)
{
    uint32_t width = 0;
    uint32_t height = 0;
    sluice_status st = image_decoder_open(decoder, bytes, size, MAX_PIXELS, gray, &width, &height);

    if (st == SLUICE_OK && (box->x + box->width > width || box->y + box->height > height)) {
        return SLUICE_END_OF_DATA; /* no answer of the decoder: damage made the image smaller */
    }
    return st == SLUICE_OK ? image_decoder_region(decoder, box, region) : st;
}

int64_t decode_without_memory(const uint8_t *bytes, size_t size, const image_box *box)
{
    for (int64_t passes = 0;; passes++) {
        image_decoder *decoder = NULL;
        image_view region;
        sluice_status st;

        sli_alloc_fail_after(passes);
        st = image_decoder_create(&decoder);
        if (st == SLUICE_OK) {
            image_decoder_allow(decoder, IMAGE_FORMATS_ALL);
            st = decode_box(decoder, bytes, size, false, box, &region);
            image_decoder_destroy(decoder);
        }
        sli_alloc_fail_after(-1);
        if (st == SLUICE_OK) {
            return passes;
        }
        T_EQ(st, SLUICE_E_NO_MEMORY);
    }
}

uint64_t digest(sluice_status st, const image_view *region)
{
    uint64_t hash = UINT64_C(0xCBF29CE484222325) ^ (uint64_t)st;

    for (uint32_t y = 0; st == SLUICE_OK && y < region->height; y++) {
        for (size_t i = 0; i < (size_t)region->width * region->channels; i++) {
            hash = (hash ^ region->pixels[y * region->stride + i]) * UINT64_C(0x100000001B3);
        }
    }
    return hash;
}
