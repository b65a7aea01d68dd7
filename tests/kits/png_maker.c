/* SPDX-License-Identifier: Apache-2.0 */
#include "png_maker.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct growing {
    uint8_t *bytes;
    size_t size;
} growing;

static void write_bytes(png_structp png, png_bytep from, size_t count)
{
    growing *file = png_get_io_ptr(png);
    uint8_t *grown = realloc(file->bytes, file->size + count);

    if (grown == NULL) {
        abort();
    }
    memcpy(grown + file->size, from, count);
    file->bytes = grown;
    file->size += count;
}

static void flush(png_structp png)
{
    (void)png;
}

static uint32_t mixed(uint32_t a, uint32_t b, uint32_t c, uint32_t d)
{
    uint32_t h = a * 2654435761U ^ b * 2246822519U ^ c * 3266489917U ^ d * 668265263U;

    h = (h ^ h >> 15) * 2246822519U;
    h = (h ^ h >> 13) * 3266489917U;
    return h ^ h >> 16;
}

static uint32_t colours(const png_recipe *recipe)
{
    uint32_t count = 1U << recipe->depth;

    return count < PNG_MAKER_COLOURS ? count : PNG_MAKER_COLOURS;
}

uint32_t png_sample(const png_recipe *recipe, uint32_t x, uint32_t y, uint32_t c)
{
    uint32_t count =
        recipe->colour == PNG_COLOR_TYPE_PALETTE ? colours(recipe) : 1U << recipe->depth;

    return recipe->flat != 0 ? (recipe->flat == 1 ? 0 : count - 1)
                             : mixed(x, y, c, recipe->seed) % count;
}

void png_palette_entry(const png_recipe *recipe, uint32_t i, uint8_t rgba[4])
{
    uint32_t h = mixed(i, 7, 7, recipe->seed);

    rgba[0] = recipe->flat != 0 ? (uint8_t)(recipe->flat == 1 ? 0 : 255) : (uint8_t)h;
    rgba[1] = recipe->flat != 0 ? rgba[0] : (uint8_t)(h >> 8);
    rgba[2] = recipe->flat != 0 ? rgba[0] : (uint8_t)(h >> 16);
    rgba[3] = recipe->transparent ? (uint8_t)(h >> 24) : 255;
}

static void write_header(png_structp png, png_infop info, const png_recipe *recipe)
{
    png_color palette[PNG_MAKER_COLOURS];
    png_byte alpha[PNG_MAKER_COLOURS];
    png_color_16 hidden = {0};

    png_set_IHDR(png, info, recipe->width, recipe->height, recipe->depth, recipe->colour,
                 recipe->interlaced ? PNG_INTERLACE_ADAM7 : PNG_INTERLACE_NONE, 0, 0);
    if (recipe->colour == PNG_COLOR_TYPE_PALETTE) {
        for (uint32_t i = 0; i < colours(recipe); i++) {
            uint8_t rgba[4];

            png_palette_entry(recipe, i, rgba);
            palette[i] = (png_color){rgba[0], rgba[1], rgba[2]};
            alpha[i] = rgba[3];
        }
        png_set_PLTE(png, info, palette, (int)colours(recipe));
    }
    if (recipe->transparent && recipe->colour == PNG_COLOR_TYPE_PALETTE) {
        png_set_tRNS(png, info, alpha, (int)colours(recipe), NULL);
    } else if (recipe->transparent) {
        hidden.gray = (png_uint_16)png_sample(recipe, 0, 0, 0);
        hidden.red = hidden.gray;
        hidden.green = (png_uint_16)png_sample(recipe, 0, 0, 1);
        hidden.blue = (png_uint_16)png_sample(recipe, 0, 0, 2);
        png_set_tRNS(png, info, NULL, 0, &hidden);
    }
    if (recipe->gamma > 0) {
        png_set_gAMA(png, info, recipe->gamma);
    }
    png_write_info(png, info);
}

/* One line as the file has it: samples of `depth` bits, high bits first. */
static void pack_line(const png_recipe *recipe, uint32_t channels, uint32_t y, uint8_t *line,
                      size_t size)
{
    size_t bit = 0;

    memset(line, 0, size);
    for (uint32_t x = 0; x < recipe->width; x++) {
        for (uint32_t c = 0; c < channels; c++, bit += (size_t)recipe->depth) {
            uint32_t sample = png_sample(recipe, x, y, c);

            if (recipe->depth == 16) {
                line[bit / 8] = (uint8_t)(sample >> 8);
                line[bit / 8 + 1] = (uint8_t)sample;
            } else {
                line[bit / 8] |= (uint8_t)(sample << (8 - recipe->depth - (int)(bit % 8)));
            }
        }
    }
}

uint8_t *png_make(const png_recipe *recipe, size_t *size_out)
{
    png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, NULL, NULL, NULL);
    png_infop info = png_create_info_struct(png);
    growing file = {NULL, 0};
    uint8_t *line;
    size_t size;
    int passes;

    if (setjmp(png_jmpbuf(png)) != 0) {
        fprintf(stderr, "png_make: libpng cannot make this\n");
        exit(2);
    }
    png_set_write_fn(png, &file, write_bytes, flush);
    write_header(png, info, recipe);
    size = png_get_rowbytes(png, info);
    line = malloc(size);
    passes = png_set_interlace_handling(png);
    for (int pass = 0; pass < passes; pass++) {
        for (uint32_t y = 0; y < recipe->height; y++) {
            pack_line(recipe, png_get_channels(png, info), y, line, size);
            png_write_row(png, line);
        }
    }
    png_write_end(png, NULL);
    png_destroy_write_struct(&png, &info);
    free(line);
    *size_out = file.size;
    return file.bytes;
}

static uint32_t big_endian(const uint8_t *bytes)
{
    return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 | bytes[3];
}

/* The CRC-32 of a chunk's name and data. */
static uint32_t checksum(const uint8_t *bytes, size_t size)
{
    uint32_t crc = UINT32_MAX;

    for (size_t i = 0; i < size; i++) {
        crc ^= bytes[i];
        for (int bit = 0; bit < 8; bit++) {
            crc = crc >> 1 ^ (UINT32_C(0xEDB88320) & (0 - (crc & 1)));
        }
    }
    return ~crc;
}

void png_seal(uint8_t *bytes, size_t size)
{
    size_t at = 8;

    while (size >= 12 && at <= size - 12 && big_endian(bytes + at) <= size - at - 12) {
        size_t length = big_endian(bytes + at);
        uint32_t crc = checksum(bytes + at + 4, length + 4);

        for (int i = 0; i < 4; i++) {
            bytes[at + 8 + length + (size_t)i] = (uint8_t)(crc >> (24 - 8 * i));
        }
        at += 12 + length;
    }
}
