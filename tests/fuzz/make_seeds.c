/* SPDX-License-Identifier: Apache-2.0 */
/* make_seeds FOLDER: writes the seeds FOLDER/jpeg/seed-* and, with libpng, FOLDER/png/seed-*. */
#include <stdlib.h>
#include <string.h>

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

    for (unsigned i = 0; i < sizeof(recipes) / sizeof(recipes[0]); i++) {
        jpeg_recipe recipe = recipes[i];
        size_t size = 0;
        uint8_t *bytes;

        recipe.width = 19 + i * 5 % 17;
        recipe.height = 17 + i * 7 % 23;
        recipe.quality = 40;
        recipe.seed = i;
        bytes = jpeg_make(&recipe, &size);
        if (bytes != NULL) {
            write_seed(folder, "jpeg", i, bytes, size);
        }
        free(bytes);
    }
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
#ifdef SLI_HAVE_PNG
    make_pngs(argv[1]);
#endif
    return 0;
}
