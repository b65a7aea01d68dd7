/* SPDX-License-Identifier: Apache-2.0 */
#include "image_decoder.h"

#include <string.h>

#include "alloc_int.h"
#include "status_int.h"

extern const image_format format_jpeg;
extern const image_format format_png;
extern const image_format format_ppm;
extern const image_format format_pgm;

/* The formats of this build: a line each. */
static const image_format *const formats[] = {
    &format_jpeg,
#ifdef SLI_HAVE_PNG
    &format_png,
#endif
    &format_ppm,
    &format_pgm,
};

enum { FORMATS = sizeof(formats) / sizeof(formats[0]) };

struct image_decoder {
    void *states[FORMATS]; /* NULL: no file of that format was seen yet */
    int current;           /* format of the opened file */
};

/* Formats people will have that a build may not know, to say so. */
static const struct {
    const char *name;
    const char *magic;
    size_t size;
} unknown[] = {
    {"PNG; this build has no libpng", "\x89PNG", 4},
    {"GIF", "GIF8", 4},
    {"WebP", "RIFF", 4},
    {"TIFF", "II*\0", 4},
    {"TIFF", "MM\0*", 4},
    {"BMP", "BM", 2},
    {"plain PPM; want P6", "P3", 2},
    {"plain PGM; want P5", "P2", 2},
    {"PAM; want P6", "P7\n", 3},
};

sluice_status image_decoder_create(image_decoder **decoder_out)
{
    image_decoder *decoder = sli_calloc(1, sizeof(*decoder));

    if (decoder == NULL) {
        return sli_fail(SLUICE_E_NO_MEMORY, "an image decoder");
    }
    *decoder_out = decoder;
    return SLUICE_OK;
}

void image_decoder_destroy(image_decoder *decoder)
{
    if (decoder == NULL) {
        return;
    }
    for (int i = 0; i < FORMATS; i++) {
        if (decoder->states[i] != NULL) {
            formats[i]->destroy(decoder->states[i]);
        }
    }
    sli_free(decoder);
}

static sluice_status no_format(const uint8_t *bytes, size_t size)
{
    if (size == 0) {
        return sli_fail(SLUICE_E_CORRUPT, "the file is empty");
    }
    for (size_t i = 0; i < sizeof(unknown) / sizeof(unknown[0]); i++) {
        if (size >= unknown[i].size && memcmp(bytes, unknown[i].magic, unknown[i].size) == 0) {
            return sli_fail(SLUICE_E_UNSUPPORTED, "this is a %s file", unknown[i].name);
        }
    }
    return sli_fail(SLUICE_E_CORRUPT, "this is no image that can be decoded");
}

/* The format of a file that begins with these bytes; FORMATS when there is none. */
static int format_of(const uint8_t *bytes, size_t size)
{
    int i = 0;

    while (i < FORMATS && (size < formats[i]->magic_size ||
                           memcmp(bytes, formats[i]->magic, formats[i]->magic_size) != 0)) {
        i++;
    }
    return i;
}

bool image_decoder_takes_head(const uint8_t *bytes, size_t size)
{
    const int i = format_of(bytes, size);

    return i < FORMATS && formats[i]->open_head != NULL;
}

/* Makes the format of the file the current one. */
static sluice_status choose_format(image_decoder *decoder, const uint8_t *bytes, size_t size)
{
    const int i = format_of(bytes, size);
    sluice_status st = SLUICE_OK;

    if (i == FORMATS) {
        return no_format(bytes, size);
    }
    if (decoder->states[i] == NULL) {
        st = formats[i]->create(&decoder->states[i]);
    }
    decoder->current = st == SLUICE_OK ? i : decoder->current;
    return st;
}

sluice_status image_decoder_open(image_decoder *decoder, const uint8_t *bytes, size_t size,
                                 uint64_t max_pixels, bool gray, uint32_t *width_out,
                                 uint32_t *height_out)
{
    sluice_status st = choose_format(decoder, bytes, size);

    return st != SLUICE_OK
               ? st
               : formats[decoder->current]->open(decoder->states[decoder->current], bytes, size,
                                                 max_pixels, gray, width_out, height_out);
}

sluice_status image_decoder_open_head(image_decoder *decoder, const uint8_t *bytes, size_t size,
                                      const image_rest *rest, uint64_t max_pixels, bool gray,
                                      uint32_t *width_out, uint32_t *height_out)
{
    sluice_status st;

    if (rest->size == 0) {
        return image_decoder_open(decoder, bytes, size, max_pixels, gray, width_out, height_out);
    }
    st = choose_format(decoder, bytes, size);
    return st != SLUICE_OK ? st
                           : formats[decoder->current]->open_head(decoder->states[decoder->current],
                                                                  bytes, size, rest, max_pixels,
                                                                  gray, width_out, height_out);
}

sluice_status image_decoder_region(image_decoder *decoder, const image_box *box,
                                   image_view *region_out)
{
    return formats[decoder->current]->region(decoder->states[decoder->current], box, region_out);
}

bool image_decoder_scale(image_decoder *decoder, uint32_t divisor, uint32_t *width_out,
                         uint32_t *height_out)
{
    const image_format *format = formats[decoder->current];

    return format->scale != NULL &&
           format->scale(decoder->states[decoder->current], divisor, width_out, height_out);
}

void image_decoder_use_index(image_decoder *decoder, image_index *index)
{
    const image_format *format = formats[decoder->current];

    if (format->use_index != NULL) {
        format->use_index(decoder->states[decoder->current], index);
    }
}

sluice_status image_too_large(uint64_t width, uint64_t height, uint64_t max_pixels)
{
    return sli_fail(SLUICE_E_INVALID,
                    "the image says it is %llux%llu, more than max_pixels=%llu; decode "
                    "max_pixels=N allows more",
                    (unsigned long long)width, (unsigned long long)height,
                    (unsigned long long)max_pixels);
}
