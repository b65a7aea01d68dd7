/* SPDX-License-Identifier: Apache-2.0 */
#include "tiff_maker.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "image_decoder.h"
#include "testing.h"

float tiff_float(uint32_t x, uint32_t y, uint32_t c)
{
    return (float)((double)x / 3 - (double)y * 7.25 + (double)c * 1e6);
}

uint32_t tiff_stored(const tiff_spec *spec, uint32_t x, uint32_t y, uint32_t c)
{
    const uint32_t value = x * 7 + y * 13 + c * 61 + x * y % 17;

    if (spec->floats) {
        const float number = tiff_float(x, y, c);
        uint32_t bits;

        memcpy(&bits, &number, sizeof(bits));
        return bits;
    }
    return (spec->bits == 16 ? value * 977 : value) & ((1U << spec->bits) - 1);
}

uint16_t tiff_colour(uint32_t index, uint32_t c)
{
    return (uint16_t)(index * 2311 + c * 17001);
}

/* Writes a sample into a line of a strip or tile. */
static void put_sample(uint8_t *line, const tiff_spec *spec, size_t i, uint32_t value)
{
    if (spec->bits == 32) {
        memcpy(line + 4 * i, &value, sizeof(value));
    } else if (spec->bits == 16) {
        const uint16_t wide = (uint16_t)value;

        memcpy(line + 2 * i, &wide, sizeof(wide));
    } else {
        const size_t bit = i * spec->bits;

        line[bit / 8] = (uint8_t)(line[bit / 8] | value << (8 - spec->bits - bit % 8));
    }
}

/* Writes the strip or tile at x, y of a plane, or of all. */
static void write_part(TIFF *tiff, const tiff_spec *spec, const image_box *part, uint16_t plane)
{
    const uint32_t samples = spec->planes ? 1 : spec->samples;
    const size_t stride = ((size_t)part->width * samples * spec->bits + 7) / 8;
    uint8_t *bytes = calloc(part->height, stride);
    uint32_t lines = part->height;

    if (!spec->tiles && part->y + lines > TIFF_HEIGHT) {
        lines = TIFF_HEIGHT - part->y;
    }
    for (uint32_t y = 0; y < lines; y++) {
        for (uint32_t i = 0; i < part->width * samples; i++) {
            const uint32_t c = spec->planes ? plane : i % samples;

            put_sample(bytes + y * stride, spec, i,
                       tiff_stored(spec, part->x + i / samples, part->y + y, c));
        }
    }
    if (spec->tiles) {
        T_TRUE(TIFFWriteEncodedTile(tiff, TIFFComputeTile(tiff, part->x, part->y, 0, plane), bytes,
                                    (tmsize_t)(stride * lines)) > 0);
    } else {
        T_TRUE(TIFFWriteEncodedStrip(tiff, TIFFComputeStrip(tiff, part->y, plane), bytes,
                                     (tmsize_t)(stride * lines)) > 0);
    }
    free(bytes);
}

void tiff_write_tags(TIFF *tiff, const tiff_spec *spec)
{
    uint16_t map[3][256];

    TIFFSetField(tiff, TIFFTAG_IMAGEWIDTH, TIFF_WIDTH);
    TIFFSetField(tiff, TIFFTAG_IMAGELENGTH, TIFF_HEIGHT);
    TIFFSetField(tiff, TIFFTAG_BITSPERSAMPLE, spec->bits);
    TIFFSetField(tiff, TIFFTAG_SAMPLESPERPIXEL, spec->samples);
    TIFFSetField(tiff, TIFFTAG_PHOTOMETRIC, spec->photometric);
    TIFFSetField(tiff, TIFFTAG_COMPRESSION, spec->compression);
    TIFFSetField(tiff, TIFFTAG_PLANARCONFIG,
                 spec->planes ? PLANARCONFIG_SEPARATE : PLANARCONFIG_CONTIG);
    if (spec->floats) {
        TIFFSetField(tiff, TIFFTAG_SAMPLEFORMAT, SAMPLEFORMAT_IEEEFP);
    }
    if (spec->differences) {
        TIFFSetField(tiff, TIFFTAG_PREDICTOR,
                     spec->floats ? PREDICTOR_FLOATINGPOINT : PREDICTOR_HORIZONTAL);
    }
    if (spec->extra != 0) {
        TIFFSetField(tiff, TIFFTAG_EXTRASAMPLES, 1, &spec->extra);
    }
    if (spec->tiles) {
        TIFFSetField(tiff, TIFFTAG_TILEWIDTH, 16);
        TIFFSetField(tiff, TIFFTAG_TILELENGTH, 32);
    } else {
        TIFFSetField(tiff, TIFFTAG_ROWSPERSTRIP, 6);
    }
    for (uint32_t i = 0; i < 256; i++) {
        for (uint32_t c = 0; c < 3; c++) {
            map[c][i] = (uint16_t)(spec->bytes ? tiff_colour(i, c) >> 8 : tiff_colour(i, c));
        }
    }
    if (spec->photometric == PHOTOMETRIC_PALETTE) {
        TIFFSetField(tiff, TIFFTAG_COLORMAP, map[0], map[1], map[2]);
    }
}

uint8_t *tiff_make(const tiff_spec *spec, int pages, uint16_t orientation, size_t *size_out)
{
    const char *path = t_file("made.tif");
    const image_box step = {0, 0, spec->tiles ? 16 : TIFF_WIDTH, spec->tiles ? 32 : 6};
    TIFF *tiff = TIFFOpen(path, spec->big_endian ? "wb" : "wl");
    uint8_t *bytes;
    FILE *file;

    T_TRUE(tiff != NULL);
    TIFFSetWarningHandler(NULL);
    for (int page = 0; page < pages; page++) {
        tiff_write_tags(tiff, spec);
        TIFFSetField(tiff, TIFFTAG_ORIENTATION, orientation);
        for (uint16_t plane = 0; plane < (spec->planes ? spec->samples : 1); plane++) {
            for (uint32_t y = 0; y < TIFF_HEIGHT; y += step.height) {
                for (uint32_t x = 0; x < TIFF_WIDTH; x += step.width) {
                    const image_box part = {x, y, step.width, step.height};

                    write_part(tiff, spec, &part, plane);
                }
            }
        }
        TIFFWriteDirectory(tiff);
    }
    TIFFClose(tiff);
    file = fopen(path, "rb");
    T_TRUE(file != NULL && fseek(file, 0, SEEK_END) == 0);
    *size_out = (size_t)ftell(file);
    rewind(file);
    bytes = malloc(*size_out);
    T_EQ(fread(bytes, 1, *size_out, file), *size_out);
    fclose(file);
    return bytes;
}
