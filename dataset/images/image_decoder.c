/* SPDX-License-Identifier: Apache-2.0 */
#include "image_decoder.h"

#include <string.h>

#include "alloc_int.h"
#include "exif.h"
#include "format_modules.h"
#include "image_format.h"
#include "orientation.h"
#include "status_int.h"

/* The image formats of this build, in order of precedence. */
static const image_format *const formats[] = {
    &format_jpeg,
#ifdef SLI_HAVE_PNG
    &format_png,
#endif
    &format_ppm,       &format_pgm,       &format_pbm, &format_plain_ppm,
    &format_plain_pgm, &format_plain_pbm, &format_bmp, &format_gif,
};

enum { FORMATS = sizeof(formats) / sizeof(formats[0]), ALL_FORMATS = FORMATS + FORMAT_MODULES };

struct image_decoder {
    /* For each format, those of modules behind the others: its decoder state; NULL: no file of that
     * format was opened yet. */
    void *states[ALL_FORMATS];
    const image_format *of_modules[FORMAT_MODULES]; /* NULL: no file of the module was opened yet */
    const image_format *format;                     /* of the open file */
    void *state;                                    /* of the open file's format */
    image_formats allowed;
    uint32_t orientation;  /* of the open image, by image_decoder_orient() */
    uint32_t stored_width; /* size of the open image in its file, or scaled */
    uint32_t stored_height;
    image_buffer upright; /* the last region, if its orientation is not 1 */
};

/* Common unsupported formats: the magic number of each, and its offset. */
static const struct {
    const char *name; /* name of the format, and a suggestion, for the error message */
    const char *magic;
    size_t size;
    size_t at;
} unknown[] = {
    {"file compressed by gzip; decompress it", "\x1F\x8B\x08", 3, 0},
    {"file compressed by zstd; decompress it", "\x28\xB5\x2F\xFD", 4, 0},
    {"file compressed by xz; decompress it", "\xFD\x37zXZ", 5, 0},
    {"file compressed by bzip2; decompress it", "BZh", 3, 0},
    {"PNG file, and this build has no libpng", "\x89PNG", 4, 0},
    {"HEIC file; convert it to JPEG", "ftyphei", 7, 4},
    {"HEIF file; convert it to JPEG", "ftypmif1", 8, 4},
    {"AVIF file; convert it to JPEG", "ftypavif", 8, 4},
    {"AVIF file; convert it to JPEG", "ftypavis", 8, 4}, /* with several frames */
    {"JPEG XL file; convert it to JPEG or PNG", "\xFF\x0A", 2, 0},
    {"JPEG XL file; convert it to JPEG or PNG", "JXL \r\n\x87\n", 8, 4},
    {"PAM file; convert it to binary PPM (P6)", "P7\n", 3, 0},
};

sluice_status image_decoder_create(image_decoder **decoder_out)
{
    image_decoder *decoder = sli_calloc(1, sizeof(*decoder));

    if (decoder == NULL) {
        return sli_fail(SLUICE_E_NO_MEMORY, "an image decoder");
    }
    decoder->allowed = IMAGE_FORMATS_USUAL;
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
    for (int i = 0; i < FORMAT_MODULES; i++) {
        if (decoder->states[FORMATS + i] != NULL) {
            decoder->of_modules[i]->destroy(decoder->states[FORMATS + i]);
        }
    }
    image_buffer_free(&decoder->upright);
    sli_free(decoder);
}

static sluice_status no_format(const uint8_t *bytes, size_t size)
{
    if (size == 0) {
        return sli_fail(SLUICE_E_CORRUPT, "the file is empty");
    }
    for (size_t i = 0; i < sizeof(unknown) / sizeof(unknown[0]); i++) {
        if (size >= unknown[i].at + unknown[i].size &&
            memcmp(bytes + unknown[i].at, unknown[i].magic, unknown[i].size) == 0) {
            return sli_fail(SLUICE_E_UNSUPPORTED, "unsupported format: a%s %s",
                            unknown[i].name[0] == 'A' ? "n" : "", unknown[i].name);
        }
    }
    return sli_fail(
        SLUICE_E_CORRUPT,
        "not an image of a supported format; it must be JPEG, PNG, BMP, GIF, WebP, TIFF, "
        "JPEG 2000, PPM, PGM or PBM");
}

/* Returns the index of the format whose files begin with these bytes; FORMATS: unknown format. */
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

void image_decoder_allow(image_decoder *decoder, image_formats allowed)
{
    decoder->allowed = allowed;
}

static sluice_status not_allowed(const char *name, image_formats format)
{
    const char *extensions = image_formats_extensions(format);

    return sli_fail(SLUICE_E_UNSUPPORTED,
                    "it is a %s file, and may not be opened: formats= of decode must have %s%s%s%s",
                    name, image_formats_name(format),
                    extensions != NULL ? " (formats=auto has it for files with the extension " : "",
                    extensions != NULL ? extensions : "", extensions != NULL ? ")" : "");
}

/* Makes the format of a module the current one. */
static sluice_status choose_module(image_decoder *decoder, int module)
{
    const image_format **format = &decoder->of_modules[module];
    void **state = &decoder->states[FORMATS + module];
    sluice_status st = SLUICE_OK;

    if ((decoder->allowed & format_module_formats(module)) == 0) {
        return not_allowed(format_module_name(module), format_module_formats(module));
    }
    if (*format == NULL) {
        st = format_module_open(module, format);
    }
    if (st == SLUICE_OK && *state == NULL) {
        st = (*format)->create(state);
    }
    if (st == SLUICE_OK) {
        decoder->format = *format;
        decoder->state = *state;
    }
    return st;
}

/* Makes the file's format the current one. */
static sluice_status choose_format(image_decoder *decoder, const uint8_t *bytes, size_t size)
{
    const int i = format_of(bytes, size);
    const int module = i == FORMATS ? format_module_find(bytes, size) : -1;
    sluice_status st = SLUICE_OK;

    if (module >= 0) {
        return choose_module(decoder, module);
    }
    if (i == FORMATS) {
        return no_format(bytes, size);
    }
    if ((decoder->allowed & formats[i]->formats) == 0) {
        return not_allowed(formats[i]->name, formats[i]->formats);
    }
    if (decoder->states[i] == NULL) {
        st = formats[i]->create(&decoder->states[i]);
    }
    if (st == SLUICE_OK) {
        decoder->format = formats[i];
        decoder->state = decoder->states[i];
    }
    return st;
}

/* Begins with the image that was just opened as it is stored. */
static void begin_stored(image_decoder *decoder, uint32_t width, uint32_t height)
{
    decoder->orientation = EXIF_UPRIGHT;
    decoder->stored_width = width;
    decoder->stored_height = height;
}

sluice_status image_decoder_open(image_decoder *decoder, const uint8_t *bytes, size_t size,
                                 uint64_t max_pixels, bool gray, uint32_t *width_out,
                                 uint32_t *height_out)
{
    sluice_status st = choose_format(decoder, bytes, size);

    if (st == SLUICE_OK) {
        st = decoder->format->open(decoder->state, bytes, size, max_pixels, gray, width_out,
                                   height_out);
    }
    if (st == SLUICE_OK) {
        begin_stored(decoder, *width_out, *height_out);
    }
    return st;
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
    if (st == SLUICE_OK) {
        st = decoder->format->open_head(decoder->state, bytes, size, rest, max_pixels, gray,
                                        width_out, height_out);
    }
    if (st == SLUICE_OK) {
        begin_stored(decoder, *width_out, *height_out);
    }
    return st;
}

/* Exchanges the two sides, if the orientation of the open image does. */
static void exchange_sides(const image_decoder *decoder, uint32_t *width, uint32_t *height)
{
    if (exif_exchanges_sides(decoder->orientation)) {
        const uint32_t stored_width = *width;

        *width = *height;
        *height = stored_width;
    }
}

void image_decoder_orient(image_decoder *decoder, uint32_t orientation, uint32_t *width_out,
                          uint32_t *height_out)
{
    decoder->orientation = orientation;
    *width_out = decoder->stored_width;
    *height_out = decoder->stored_height;
    exchange_sides(decoder, width_out, height_out);
}

image_box image_decoder_stored_box(const image_decoder *decoder, const image_box *box)
{
    return orientation_stored_box(decoder->orientation, box, decoder->stored_width,
                                  decoder->stored_height);
}

sluice_status image_decoder_region(image_decoder *decoder, const image_box *box,
                                   image_view *region_out)
{
    image_view stored;
    image_box part;
    sluice_status st;

    if (decoder->orientation == EXIF_UPRIGHT) {
        return decoder->format->region(decoder->state, box, region_out);
    }
    part = image_decoder_stored_box(decoder, box);
    st = decoder->format->region(decoder->state, &part, &stored);
    return st == SLUICE_OK
               ? orientation_apply(decoder->orientation, &stored, &decoder->upright, region_out)
               : st;
}

bool image_decoder_scale(image_decoder *decoder, uint32_t divisor, uint32_t *width_out,
                         uint32_t *height_out)
{
    const image_format *format = decoder->format;

    if (format->scale == NULL || !format->scale(decoder->state, divisor, width_out, height_out)) {
        return false;
    }
    decoder->stored_width = *width_out;
    decoder->stored_height = *height_out;
    exchange_sides(decoder, width_out, height_out);
    return true;
}

void image_decoder_use_index(image_decoder *decoder, image_index *index)
{
    const image_format *format = decoder->format;

    if (format->use_index != NULL) {
        format->use_index(decoder->state, index);
    }
}

sluice_status image_decoder_request_indices(image_decoder *decoder)
{
    const image_format *format = decoder->format;

    return format->request_indices != NULL
               ? format->request_indices(decoder->state)
               : sli_fail(SLUICE_E_UNSUPPORTED,
                          "a mask in a %s file: %s; it must be PNG or TIFF with a palette or in "
                          "gray, BMP or GIF with a palette, or PGM",
                          format->name,
                          strcmp(format->name, "JPEG") == 0
                              ? "its compression is lossy, so class numbers are not exact"
                              : "its values are colours");
}

sluice_status image_decoder_request_wide(image_decoder *decoder, image_element element, bool rgb)
{
    static const char *const modes[][2] = {
        [IMAGE_U16] = {"u16", "u16_rgb"}, [IMAGE_F32] = {"f32", "f32_rgb"}};
    static const char *const files[][2] = {
        [IMAGE_U16] = {"gray of 16 bits: PNG, TIFF, JPEG 2000 or PGM",
                       "RGB of 16 bits: PNG, TIFF, JPEG 2000 or PPM"},
        [IMAGE_F32] = {"gray of 32 bits in floating-point: TIFF",
                       "RGB of 32 bits in floating-point: TIFF"}};
    const image_format *format = decoder->format;
    image_facts facts;
    bool is_cmyk;
    bool is_rgb;

    image_decoder_describe(decoder, &facts);
    is_cmyk = facts.channels == 4 && !facts.transparent;
    is_rgb = facts.channels >= 3 || facts.palette;
    if (format->request_wide == NULL || facts.bits != 8U << element || is_rgb != rgb || is_cmyk) {
        return sli_fail(SLUICE_E_UNSUPPORTED,
                        "a %s file in %s of %u bits per channel; decode mode=%s is for files in %s",
                        format->name,
                        is_cmyk  ? "CMYK"
                        : is_rgb ? "colours"
                                 : "gray",
                        facts.bits, modes[element][rgb], files[element][rgb]);
    }
    format->request_wide(decoder->state);
    return SLUICE_OK;
}

void image_decoder_describe(const image_decoder *decoder, image_facts *facts_out)
{
    const image_format *format = decoder->format;

    *facts_out = (image_facts){.format = format->name, .orientation = EXIF_UPRIGHT};
    format->describe(decoder->state, facts_out);
}

uint32_t image_decoder_make_upright(image_decoder *decoder, uint32_t *width, uint32_t *height)
{
    image_facts facts;

    image_decoder_describe(decoder, &facts);
    if (facts.orientation != EXIF_UPRIGHT) {
        image_decoder_orient(decoder, facts.orientation, width, height);
    }
    return facts.orientation;
}

bool image_decoder_lacks_index(const image_decoder *decoder)
{
    const image_format *format = decoder->format;

    return format->lacks_index != NULL && format->lacks_index(decoder->state);
}
