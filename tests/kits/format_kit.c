/* SPDX-License-Identifier: Apache-2.0 */
#include "format_kit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "image_kit.h"
#include "testing.h"

format_file format_file_read(const char *name, const char *extension)
{
    char path[500];
    format_file file;
    FILE *stream;
    long size;

    snprintf(path, sizeof(path), "%s/formats/%s%s", SLUICE_TEST_DATA, name, extension);
    stream = fopen(path, "rb");
    T_TRUE(stream != NULL && fseek(stream, 0, SEEK_END) == 0);
    size = ftell(stream);
    rewind(stream);
    file.size = (size_t)size;
    file.bytes = malloc(file.size);
    T_EQ(fread(file.bytes, 1, file.size, stream), file.size);
    fclose(stream);
    snprintf(path, sizeof(path), "%s.ppm", name);
    file.want = picture_read("formats", path);
    return file;
}

void format_file_free(format_file *file)
{
    free(file->bytes);
    free(file->want.pixels);
}

void format_file_check(image_decoder *decoder, const format_file *file, bool gray,
                       const image_box *box)
{
    const uint32_t channels = gray ? 1 : 3;
    image_view region;

    T_OK(decode_box(decoder, file->bytes, file->size, gray, box, &region));
    T_TRUE(region.width == box->width && region.height == box->height &&
           region.channels == channels);
    for (uint32_t y = 0; y < box->height; y++) {
        const uint8_t *want =
            file->want.pixels + ((size_t)(box->y + y) * file->want.width + box->x) * 3;
        const uint8_t *got = region.pixels + y * region.stride;

        for (uint32_t x = 0; x < box->width && gray; x++) {
            T_EQ(got[x], image_luma(want[3 * x], want[3 * x + 1], want[3 * x + 2]));
        }
        T_TRUE(gray || memcmp(got, want, (size_t)box->width * 3) == 0);
    }
}
