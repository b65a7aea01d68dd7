/* SPDX-License-Identifier: Apache-2.0 */
#include "picture_kit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "image.h"
#include "jpeg_maker.h"

size_t picture_size(const picture *p)
{
    return (size_t)p->width * p->height * p->channels;
}

picture picture_empty(uint32_t width, uint32_t height, uint32_t channels)
{
    picture p = {NULL, width, height, channels};

    p.pixels = malloc(picture_size(&p) + IMAGE_SLACK);
    memset(p.pixels, 0xAA, picture_size(&p) + IMAGE_SLACK);
    return p;
}

picture picture_zero(uint32_t width, uint32_t height, uint32_t channels)
{
    picture p = {NULL, width, height, channels};

    p.pixels = calloc(1, picture_size(&p) + IMAGE_SLACK);
    return p;
}

picture picture_make(uint32_t width, uint32_t height, uint32_t channels, uint32_t seed)
{
    picture p = picture_empty(width, height, channels);
    uint8_t *to = p.pixels;

    for (uint32_t y = 0; y < height; y++) {
        for (uint32_t x = 0; x < width; x++) {
            for (uint32_t c = 0; c < channels; c++) {
                *to++ = picture_sample(seed, x, y, c);
            }
        }
    }
    return p;
}

picture picture_read(const char *folder, const char *name)
{
    char path[512];
    unsigned width = 0;
    unsigned height = 0;
    char kind = '\0';
    picture p = {0};
    FILE *file;

    snprintf(path, sizeof(path), "%s/%s/%s", SLUICE_TEST_DATA, folder, name);
    file = fopen(path, "rb");
    if (file != NULL && fscanf(file, "P%c %u %u 255", &kind, &width, &height) == 3 &&
        fgetc(file) == '\n') {
        p = picture_empty(width, height, kind == '6' ? 3 : 1);
    }
    if (p.pixels == NULL || fread(p.pixels, 1, picture_size(&p), file) != picture_size(&p)) {
        fprintf(stderr, "cannot read %s\n", path);
        exit(2);
    }
    fclose(file);
    return p;
}
