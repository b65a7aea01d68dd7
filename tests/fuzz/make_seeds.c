/* SPDX-License-Identifier: Apache-2.0 */
/*
 * make_seeds FOLDER: writes the seeds FOLDER/jpeg/seed-*, FOLDER/jpeg_index/seed-* and, with
 * libpng, FOLDER/png/seed-*.
 */
#include <stdlib.h>
#include <string.h>

#include "exif_maker.h"
#include "image_decoder.h"
#include "jpeg_maker.h"
#ifdef SLI_HAVE_PNG
#include "png_maker.h"
#endif

static void write_seed(const char *folder, const char *format, unsigned number,
                       const uint8_t *bytes, size_t size)
{
    char path[4096];
    FILE *file;

    snprintf(path, sizeof(path), "%s/%s/seed-%02u", folder, format, number);
    file = fopen(path, "wb");
    if (file == NULL || fwrite(bytes, 1, size, file) != size || fclose(file) != 0) {
        fprintf(stderr, "cannot write %s\n", path);
        exit(2);
    }
}

/* A file of a recipe that says no size: a small one, another for each number. */
static uint8_t *make_small(jpeg_recipe recipe, unsigned number, size_t *size_out)
{
    recipe.width = 19 + number * 5 % 17;
    recipe.height = 17 + number * 7 % 23;
    recipe.quality = 40;
    recipe.seed = number;
    return jpeg_make(&recipe, size_out);
}

/* Files with restart markers: where cutting takes them as they are, and where it cannot. */
static unsigned make_restarts(const char *folder, unsigned number)
{
    static const jpeg_recipe recipes[] = {
        {.sampling = {0x11}, .restart = 1},
        {.sampling = {0x22}, .restart = 1},
        {.sampling = {0x22}, .restart = 3, .optimised = true}, /* beside the rows' ends */
        {.sampling = {0x12}, .restart = 6},                    /* two rows */
        {.sampling = {0x41}, .restart = 1},
        {.space = JCS_GRAYSCALE, .restart = 5},
        {.space = JCS_GRAYSCALE, .progressive = true, .restart = 1},
        {.sampling = {0x22}, .progressive = true, .restart = 1},
        {.sampling = {0x22}, .arithmetic = true, .restart = 2},
    };
    const unsigned count = sizeof(recipes) / sizeof(recipes[0]);

    for (unsigned i = 0; i < count; i++, number++) {
        size_t size = 0;
        uint8_t *bytes = make_small(recipes[i], number, &size);

        if (bytes != NULL) {
            write_seed(folder, "jpeg", number, bytes, size);
        }
        free(bytes);
    }
    return number;
}

/* The same, ended within a restart marker; and one whose markers' own header is cut off. */
static void make_cut_off(const char *folder, unsigned number)
{
    const jpeg_recipe recipe = {.sampling = {0x21}, .restart = 1};
    size_t size = 0;
    uint8_t *bytes = make_small(recipe, number, &size);
    size_t marker = size - 2;
    size_t interval = 0;

    while (marker > 0 && (bytes[marker] != 0xFF || (bytes[marker + 1] & 0xF8) != 0xD0)) {
        marker--;
    }
    while (interval + 6 < size && (bytes[interval] != 0xFF || bytes[interval + 1] != 0xDD)) {
        interval++;
    }
    write_seed(folder, "jpeg", number, bytes, marker + 1);
    write_seed(folder, "jpeg", number + 1, bytes, marker);
    write_seed(folder, "jpeg", number + 2, bytes, interval + 5);
    free(bytes);
}

/* Files with Exif data: whole ones in both orders of bytes, and with a directory beyond its end. */
static void make_exif(const char *folder, unsigned number)
{
    for (unsigned i = 0; i < 3; i++) {
        uint8_t exif[EXIF_MADE];
        size_t size = 0;
        uint8_t *plain = make_small((jpeg_recipe){.sampling = {0x11}}, number + i, &size);
        uint8_t *bytes;

        exif_make(6 + i, i == 1, exif);
        if (i == 2) {
            exif[4] = EXIF_MADE - 1;
        }
        bytes = exif_in_jpeg(plain, size, exif, sizeof(exif), &size);
        write_seed(folder, "jpeg", number + i, bytes, size);
        free(plain);
        free(bytes);
    }
}

static void make_jpegs(const char *folder)
{
    static const jpeg_recipe recipes[] = {
        {.sampling = {0x11}},
        {.sampling = {0x22}},
        {.sampling = {0x21}, .restart = 1},
        {.sampling = {0x12}, .optimised = true},
        {.sampling = {0x41}},
        {.sampling = {0x22, 0x12, 0x12}},
        {.sampling = {0x11, 0x22, 0x22}},
        {.sampling = {0x22}, .progressive = true},
        {.sampling = {0x11}, .progressive = true, .restart = 2},
        {.sampling = {0x22}, .arithmetic = true},
        {.sampling = {0x21}, .arithmetic = true, .progressive = true},
        {.space = JCS_GRAYSCALE, .sampling = {0x22}},
        {.space = JCS_RGB},
        {.space = JCS_CMYK, .no_adobe = true},
        {.space = JCS_YCCK, .sampling = {0x22, 0x11, 0x11, 0x22}},
    };
    const unsigned count = sizeof(recipes) / sizeof(recipes[0]);
    unsigned number;

    for (unsigned i = 0; i < count; i++) {
        size_t size = 0;
        uint8_t *bytes = make_small(recipes[i], i, &size);

        if (bytes != NULL) {
            write_seed(folder, "jpeg", i, bytes, size);
        }
        free(bytes);
    }
    number = make_restarts(folder, count);
    make_cut_off(folder, number);
    make_exif(folder, number + 3);
}

/* The file's own index. */
static image_index index_of(const uint8_t *bytes, size_t size)
{
    image_index index = {.wanted = true};
    image_decoder *decoder = NULL;
    image_box box = {0, 0, 0, 0};
    image_view region;

    if (image_decoder_create(&decoder) != SLUICE_OK ||
        image_decoder_open(decoder, bytes, size, 1 << 20, false, &box.width, &box.height) !=
            SLUICE_OK) {
        fprintf(stderr, "cannot decode a seed\n");
        exit(2);
    }
    image_decoder_use_index(decoder, &index);
    if (image_decoder_region(decoder, &box, &region) != SLUICE_OK || index.size == 0) {
        fprintf(stderr, "cannot make an index\n");
        exit(2);
    }
    image_decoder_destroy(decoder);
    return index;
}

/* An input of fuzz_jpeg_index; the index is that of the file, or changes of it. */
static void write_indexed(const char *folder, unsigned number, uint8_t options,
                          const image_index *index, const uint8_t *bytes, size_t size)
{
    uint8_t *input = malloc(3 + index->size + size);

    input[0] = options;
    input[1] = (uint8_t)index->size;
    input[2] = (uint8_t)(index->size >> 8);
    memcpy(input + 3, index->bytes.data, index->size);
    memcpy(input + 3 + index->size, bytes, size);
    write_seed(folder, "jpeg_index", number, input, 3 + index->size + size);
    free(input);
}

/* Files that can have no index, with one that is none, and a file with one that is too short. */
static void make_not_indexed(const char *folder, unsigned number)
{
    static const jpeg_recipe recipes[] = {
        {.width = 150, .height = 40, .sampling = {0x22}, .quality = 10, .restart = 2},
        {.width = 140, .height = 20, .sampling = {0x21}, .quality = 10, .progressive = true},
        {.width = 70, .height = 20, .space = JCS_CMYK, .quality = 10},
        {.width = 150, .height = 22, .quality = 10},
    };
    static const size_t sizes[] = {8 + 10 * 7, 8 + 10 * 21, 8 + 10 * 21, 8 + 10};

    for (unsigned i = 0; i < sizeof(recipes) / sizeof(recipes[0]); i++) {
        uint8_t none[8 + 10 * 21] = {1, 0, 0, 0, 8};
        image_index index = {.bytes.data = none, .size = sizes[i]};
        size_t size = 0;
        uint8_t *bytes = jpeg_make(&recipes[i], &size);

        write_indexed(folder, number + i, 0, &index, bytes, size);
        free(bytes);
    }
}

/* Files of several cells across and down, each with its index, with a change of it and without any,
 * which is no change. */
static void make_indexed(const char *folder)
{
    static const jpeg_recipe recipes[] = {
        {.width = 150, .height = 22, .sampling = {0x11}, .quality = 10},
        {.width = 141, .height = 40, .sampling = {0x21}, .quality = 15, .optimised = true},
        {.width = 131, .height = 50, .sampling = {0x22}, .quality = 15},
        {.width = 75, .height = 35, .sampling = {0x12}, .quality = 20},
        {.width = 200, .height = 30, .space = JCS_GRAYSCALE, .quality = 20},
        {.width = 70, .height = 17, .space = JCS_RGB, .quality = 15, .optimised = true},
        {.width = 300, .height = 60, .flat = 100, .optimised = true},
    };

    const unsigned count = sizeof(recipes) / sizeof(recipes[0]);

    for (unsigned i = 0; i < count; i++) {
        uint8_t change[40] = {0};
        image_index changes = {.bytes.data = change, .size = sizeof(change)};
        const image_index none = {.bytes.data = change};
        jpeg_recipe recipe = recipes[i];
        image_index index;
        size_t size = 0;
        uint8_t *bytes;

        recipe.seed = i;
        bytes = jpeg_make(&recipe, &size);
        index = index_of(bytes, size);
        change[8 + i * 5 % 32] = (uint8_t)(1U << i % 8);
        write_indexed(folder, 3 * i, (uint8_t)(i % 2 + i % 4 * 2), &index, bytes, size);
        write_indexed(folder, 3 * i + 1, (uint8_t)(8 + i % 3 % 2), &changes, bytes, size);
        write_indexed(folder, 3 * i + 2, 8, &none, bytes, size);
        image_buffer_free(&index.bytes);
        free(bytes);
    }
    make_not_indexed(folder, 3 * count);
}

#ifdef SLI_HAVE_PNG
static void make_pngs(const char *folder)
{
    static const int colours[] = {PNG_COLOR_TYPE_GRAY, PNG_COLOR_TYPE_PALETTE, PNG_COLOR_TYPE_RGB,
                                  PNG_COLOR_TYPE_GRAY_ALPHA, PNG_COLOR_TYPE_RGB_ALPHA};
    unsigned number = 0;

    for (unsigned i = 0; i < 5 * 5 * 2; i++) {
        const int depth = 1 << i / 5 % 5;
        const png_recipe recipe = {.width = 7 + i % 6,
                                   .height = 5 + i % 7,
                                   .colour = colours[i % 5],
                                   .depth = depth,
                                   .interlaced = i >= 25,
                                   .transparent = i % 5 < 3 && i % 2 == 0,
                                   .seed = i};

        if (depth >= 8 ? depth == 8 || i % 5 != 1 : i % 5 < 2) {
            size_t size = 0;
            uint8_t *bytes = png_make(&recipe, &size);

            write_seed(folder, "png", number++, bytes, size);
            free(bytes);
        }
    }
}
#endif

int main(int argc, char **argv)
{
    if (argc != 2) {
        fprintf(stderr, "make_seeds FOLDER\n");
        return 2;
    }
    make_jpegs(argv[1]);
    make_indexed(argv[1]);
#ifdef SLI_HAVE_PNG
    make_pngs(argv[1]);
#endif
    return 0;
}
