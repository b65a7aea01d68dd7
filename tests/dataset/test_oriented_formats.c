/* SPDX-License-Identifier: Apache-2.0 */
/* WebP and TIFF files with an Exif orientation, in pipelines: the bits of PPM files of their
 * pixels, turned upright. test_decode_orient.c does it for JPEG files. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dataset_kit.h"
#include "exif_maker.h"
#include "list_kit.h"
#include "log_kit.h"
#include "picture_kit.h"
#include "testing.h"
#include "upright_kit.h"
#if defined(SLI_HAVE_TIFF)
#include "tiff_maker.h"
#endif

#if defined(SLI_HAVE_WEBP) || defined(SLI_HAVE_TIFF)
enum { ROOM = 3 * 64 * 64 };

static const char *const pipelines[] = {
    "| decode | crop 7,5 3 2 | batch 1",
    "| decode | resize 9,11 | batch 1",
    "| decode | random_horizontal_flip 1 | center_crop 6,8 | batch 1",
    "| decode mode=gray | resize 6,7 filter=area | batch 1",
    "| decode | cache 1M | random_crop 6 | batch 1",
};

/* Compares sample 0 of a file with that of b.ppm. */
static void check_file(const char *folder, const char *file)
{
    for (size_t i = 0; i < sizeof(pipelines) / sizeof(pipelines[0]); i++) {
        uint8_t want[ROOM] = {0};
        uint8_t got[ROOM] = {0};

        T_OK(list_row(folder, "b.ppm", pipelines[i], want));
        T_OK(list_row(folder, file, pipelines[i], got));
        T_TRUE(memcmp(got, want, ROOM) == 0);
    }
}
#endif

#if defined(SLI_HAVE_WEBP)
static void put_number(uint8_t *to, uint32_t value, int bytes)
{
    for (int i = 0; i < bytes; i++) {
        to[i] = (uint8_t)(value >> 8 * i);
    }
}

/* Writes lossless.webp, of one chunk with pixels, with Exif data. */
static void write_webp(const char *folder, uint32_t width, uint32_t height, uint32_t orientation)
{
    enum { HEAD = 12, CHUNK = 8, CANVAS = 10 };
    static uint8_t bytes[4000];
    char path[500];
    uint8_t *to = bytes + HEAD + CHUNK + CANVAS;
    FILE *file;

    snprintf(path, sizeof(path), "%s/formats/lossless.webp", SLUICE_TEST_DATA);
    file = fopen(path, "rb");
    T_TRUE(file != NULL && fread(bytes, 1, HEAD, file) == HEAD);
    memcpy(bytes + HEAD, "VP8X\12\0\0\0\10\0\0", CHUNK + 4);
    put_number(bytes + HEAD + CHUNK + 4, width - 1, 3);
    put_number(bytes + HEAD + CHUNK + 7, height - 1, 3);
    to += fread(to, 1, sizeof(bytes) / 2, file);
    fclose(file);
    memcpy(to, "EXIF", 4);
    put_number(to + 4, EXIF_MADE, 4);
    exif_make(orientation, orientation % 2 == 0, to + CHUNK);
    to += CHUNK + EXIF_MADE;
    put_number(bytes + 4, (uint32_t)(to - bytes) - 8, 4);
    t_write_file(t_path(folder, "a.webp"), bytes, (size_t)(to - bytes));
}
#endif

static void webp_files_are_upright(void)
{
#if defined(SLI_HAVE_WEBP)
    const picture p = picture_read("formats", "lossless.ppm");
    const image_view stored = {p.pixels, (size_t)p.width * 3, p.width, p.height, 3, IMAGE_U8};
    const char *folder = t_folder();

    kit_log_start(NULL, NULL);
    for (uint32_t o = 1; o <= 8; o++) {
        write_webp(folder, p.width, p.height, o);
        write_upright_image(folder, "b.ppm", &stored, o);
        check_file(folder, "a.webp");
    }
    kit_log_stop();
    free(p.pixels);
#else
    T_SKIP("the library has no WebP");
#endif
}

static void tiff_files_are_upright(void)
{
#if defined(SLI_HAVE_TIFF)
    static const tiff_spec spec = {COMPRESSION_LZW, PHOTOMETRIC_RGB, 8, 3, .tiles = true};
    static uint8_t pixels[TIFF_WIDTH * TIFF_HEIGHT * 3];
    const image_view stored = {pixels, TIFF_WIDTH * 3, TIFF_WIDTH, TIFF_HEIGHT, 3, IMAGE_U8};
    const char *folder = t_folder();

    for (uint32_t i = 0; i < sizeof(pixels); i++) {
        pixels[i] = (uint8_t)tiff_stored(&spec, i / 3 % TIFF_WIDTH, i / 3 / TIFF_WIDTH, i % 3);
    }
    kit_log_start(NULL, NULL);
    for (uint16_t o = 1; o <= 8; o++) {
        size_t size;
        uint8_t *bytes = tiff_make(&spec, 1, o, &size);

        t_write_file(t_path(folder, "a.tif"), bytes, size);
        free(bytes);
        write_upright_image(folder, "b.ppm", &stored, o);
        check_file(folder, "a.tif");
    }
    kit_log_stop();
#else
    T_SKIP("the library has no TIFF");
#endif
}

const t_test oriented_formats_tests[] = {
    T_TEST(webp_files_are_upright),
    T_TEST(tiff_files_are_upright),
    T_END,
};
