/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as a JPEG file and an index of its bits, of this file or of none:
 *
 *     u8     1: gray; 2 and 4: at 1/1, 1/2, 1/4, 1/8; 8: the index is changes of the file's own
 *     u16    bytes of the index, little-endian
 *     the index, or what its first bytes are XORed with
 *     the file
 *
 * Whatever the index is, a file that decodes without one decodes with it. The file's own gives the
 * pixels of a plain decode; so does one that was not used, as is the own one of a file that is too
 * odd to be stitched. One that lies unnoticed gives pixels of some kind, and the same each time.
 */
#include <stdlib.h>
#include <string.h>

#include "fuzz_target.h"

enum { HEAD = 3, GRAY = 1, SCALE_SHIFT = 1, CHANGES = 8, BOXES = 4 };

static image_decoder *plain;
static image_decoder *indexed;

typedef struct fuzz_input {
    const uint8_t *data; /* all of it, which the box follows from */
    size_t size;
    uint8_t *file; /* copies, so that a sanitizer sees where they end */
    size_t file_size;
    uint8_t *index;
    size_t index_size;
    bool gray;
    bool is_changes;
    uint32_t divisor;
    uint32_t box; /* the number of the one that is tried */
} fuzz_input;

/* What came of decoding; pixels are lines without gaps, NULL where there is no region. */
typedef struct fuzz_result {
    sluice_status status;
    uint8_t *pixels;
    size_t size;
} fuzz_result;

static uint8_t *copy_of(const uint8_t *from, size_t size)
{
    uint8_t *copy = malloc(size > 0 ? size : 1);

    if (copy == NULL) {
        fuzz_fail("no memory");
    }
    if (size > 0) {
        memcpy(copy, from, size);
    }
    return copy;
}

static bool take_input(const uint8_t *data, size_t size, fuzz_input *input)
{
    size_t index_size;

    if (size < HEAD) {
        return false;
    }
    index_size = data[1] | (size_t)data[2] << 8;
    if (size - HEAD < index_size + 2 || memcmp(data + HEAD + index_size, "\xFF\xD8", 2) != 0) {
        return false; /* no JPEG file */
    }
    *input = (fuzz_input){.data = data,
                          .size = size,
                          .file_size = size - HEAD - index_size,
                          .index_size = index_size,
                          .gray = (data[0] & GRAY) != 0,
                          .is_changes = (data[0] & CHANGES) != 0,
                          .divisor = 1U << (data[0] >> SCALE_SHIFT & 3)};
    input->index = copy_of(data + HEAD, index_size);
    input->file = copy_of(data + HEAD + index_size, input->file_size);
    return true;
}

static fuzz_result decode(image_decoder *decoder, const fuzz_input *input, image_index *index)
{
    fuzz_result result = {.status = SLUICE_OK};
    uint32_t width = 0;
    uint32_t height = 0;
    image_view region;
    image_box box;

    result.status = image_decoder_open(decoder, input->file, input->file_size, FUZZ_MAX_PIXELS,
                                       input->gray, &width, &height);
    if (result.status != SLUICE_OK) {
        return result;
    }
    image_decoder_use_index(decoder, index);
    (void)image_decoder_scale(decoder, input->divisor, &width, &height);
    box = fuzz_box(input->data, input->size, input->box, width, height);
    result.status = image_decoder_region(decoder, &box, &region);
    if (result.status == SLUICE_OK) {
        const size_t line = (size_t)box.width * (input->gray ? 1 : 3);

        if (region.width != box.width || region.height != box.height) {
            fuzz_fail("a region of another size");
        }
        result.size = line * box.height;
        result.pixels = malloc(result.size);
        for (uint32_t y = 0; result.pixels != NULL && y < box.height; y++) {
            memcpy(result.pixels + y * line, region.pixels + y * region.stride, line);
        }
    }
    return result;
}

static bool is_same(const fuzz_result *one, const fuzz_result *other)
{
    return one->status == other->status && one->size == other->size &&
           (one->size == 0 || memcmp(one->pixels, other->pixels, one->size) == 0);
}

/* The index that the input means; `own` is the file's own. */
static image_index index_of(const fuzz_input *input, const image_index *own)
{
    image_index index = {.size = input->is_changes ? own->size : input->index_size};

    index.bytes.capacity = index.size;
    index.bytes.data = copy_of(input->is_changes ? own->bytes.data : input->index, index.size);
    for (size_t i = 0; input->is_changes && i < index.size && i < input->index_size; i++) {
        index.bytes.data[i] ^= input->index[i];
    }
    return index;
}

/* Decodes with the index, twice: the second time the decoder has seen other images in between. */
static void check(const fuzz_input *input, const image_index *own, const fuzz_result *want)
{
    image_index index = index_of(input, own);
    fuzz_result first = decode(indexed, input, &index);
    const bool is_wrong = index.is_wrong;
    const bool is_used = index.is_used;
    const bool is_own = own->size > 0 && index.size == own->size &&
                        memcmp(index.bytes.data, own->bytes.data, own->size) == 0;
    fuzz_result again = decode(plain, input, &index);

    if (want->status == SLUICE_OK && first.status != SLUICE_OK) {
        fuzz_fail("an index spoils a file");
    }
    if (is_own && want->status == SLUICE_OK && !is_same(&first, want)) {
        fuzz_fail("other pixels than those of a plain decode");
    }
    if (!is_used && !is_same(&first, want)) {
        fuzz_fail("an index that was not used changes something");
    }
    if (is_used && (is_wrong || index.size == 0)) {
        fuzz_fail("an index was used that there was not");
    }
    if (!is_same(&first, &again) || index.is_made) {
        fuzz_fail("not the same again");
    }
    free(first.pixels);
    free(again.pixels);
    free(index.bytes.data);
}

static void free_decoders(void)
{
    image_decoder_destroy(plain);
    image_decoder_destroy(indexed);
}

static void try_box(const fuzz_input *input)
{
    image_index own = {.wanted = true};
    fuzz_result want = decode(plain, input, NULL);
    fuzz_result making = decode(indexed, input, &own);

    if (!is_same(&making, &want) || own.is_used || own.is_wrong) {
        fuzz_fail("something else where an index is made");
    }
    check(input, &own, &want);
    free(want.pixels);
    free(making.pixels);
    image_buffer_free(&own.bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_input input;

    if (plain == NULL) {
        if (image_decoder_create(&plain) != SLUICE_OK ||
            image_decoder_create(&indexed) != SLUICE_OK) {
            fuzz_fail("no decoder");
        }
        atexit(free_decoders);
    }
    if (!take_input(data, size, &input)) {
        return 0;
    }
    for (input.box = 0; input.box < BOXES; input.box++) {
        try_box(&input);
    }
    free(input.file);
    free(input.index);
    return 0;
}
