/* SPDX-License-Identifier: Apache-2.0 */
#include "fuzz_target.h"

#include <stdio.h>
#include <stdlib.h>

static image_decoder *decoder;

void fuzz_fail(const char *why)
{
    fprintf(stderr, "%s\n", why);
    abort();
}

static void free_decoder(void)
{
    image_decoder_destroy(decoder);
}

/* A start and a length within [0, size), both at least sometimes at each end; often a short one, or
 * one that begins with a block. */
static void some_span(uint32_t bits, uint32_t size, uint32_t *start, uint32_t *length)
{
    *length = 1 + (bits & 0xFFFF) % size;
    *length = bits % 3 == 0 ? 1 + *length % 4 % size : *length;
    *start = (bits >> 16) % (size - *length + 1);
    *start -= bits % 5 == 0 ? *start % 64 : 0;
    *start = bits % 7 == 0 ? size - *length : *start;
}

image_box fuzz_box(const uint8_t *data, size_t size, uint32_t seed, uint32_t width, uint32_t height)
{
    uint64_t hash = UINT64_C(0xCBF29CE484222325) + seed;
    image_box box;

    for (size_t i = 0; i < size; i++) {
        hash = (hash ^ data[i]) * UINT64_C(0x100000001B3);
    }
    some_span((uint32_t)(hash >> 32), width, &box.x, &box.width);
    some_span((uint32_t)hash, height, &box.y, &box.height);
    return box;
}

/* What was read goes here, so that reading is not left out. */
static volatile uint8_t sum;

static void read_all(const image_view *region)
{
    for (uint32_t y = 0; y < region->height; y++) {
        for (size_t i = 0; i < region->width * image_pixel_bytes(region); i++) {
            sum ^= region->pixels[y * region->stride + i];
        }
    }
}

/* A region of the open image, upright. */
static void read_upright(const uint8_t *data, size_t size, uint32_t orientation)
{
    uint32_t width;
    uint32_t height;
    image_view region;
    image_box box;

    image_decoder_orient(decoder, orientation, &width, &height);
    box = fuzz_box(data, size, orientation, width, height);
    if (image_decoder_region(decoder, &box, &region) == SLUICE_OK) {
        if (region.width != box.width || region.height != box.height) {
            fuzz_fail("an upright region of another size");
        }
        read_all(&region);
    }
}

/* A region of the values of 16 bits or of the floats, of a file that has them. */
static void read_wide(const uint8_t *data, size_t size, image_element element, bool gray)
{
    uint32_t width;
    uint32_t height;
    image_view region;
    image_box box;

    if (image_decoder_open(decoder, data, size, FUZZ_MAX_PIXELS, gray, &width, &height) ==
            SLUICE_OK &&
        image_decoder_request_wide(decoder, element, !gray) == SLUICE_OK) {
        box = fuzz_box(data, size, 9, width, height);
        if (image_decoder_region(decoder, &box, &region) == SLUICE_OK) {
            if (region.element != element || region.channels != (gray ? 1 : 3)) {
                fuzz_fail("a region of other elements");
            }
            read_all(&region);
        }
    }
}

bool fuzz_region(const uint8_t *data, size_t size, bool gray, image_box *box_out,
                 image_view *region_out)
{
    uint32_t width = 0;
    uint32_t height = 0;
    image_facts facts;

    if (decoder == NULL) {
        if (image_decoder_create(&decoder) != SLUICE_OK) {
            fuzz_fail("no decoder");
        }
        image_decoder_allow(decoder, IMAGE_FORMATS_ALL);
        atexit(free_decoder);
    }
    read_wide(data, size, IMAGE_U16, gray);
    read_wide(data, size, IMAGE_F32, gray);
    if (image_decoder_open(decoder, data, size, FUZZ_MAX_PIXELS, gray, &width, &height) !=
        SLUICE_OK) {
        return false;
    }
    if (width == 0 || height == 0 || (uint64_t)width * height > FUZZ_MAX_PIXELS) {
        fuzz_fail("an impossible size");
    }
    image_decoder_describe(decoder, &facts);
    if (facts.channels < 1 || facts.channels > 4 || facts.bits == 0 || facts.orientation < 1 ||
        facts.orientation > 8) {
        fuzz_fail("a header that cannot be");
    }
    if (facts.orientation != 1) {
        read_upright(data, size, facts.orientation);
        if (image_decoder_open(decoder, data, size, FUZZ_MAX_PIXELS, gray, &width, &height) !=
            SLUICE_OK) {
            fuzz_fail("an image that opens once");
        }
    }
    *box_out = fuzz_box(data, size, 0, width, height);
    if (image_decoder_region(decoder, box_out, region_out) != SLUICE_OK) {
        return false;
    }
    if (region_out->width != box_out->width || region_out->height != box_out->height ||
        region_out->channels != (gray ? 1 : 3)) {
        fuzz_fail("a region of another size");
    }
    read_all(region_out);
    return true;
}
