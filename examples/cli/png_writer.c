/* SPDX-License-Identifier: Apache-2.0 */
#include "png_writer.h"

#include <errno.h>

#ifdef SLUICE_TOOL_PNG
#include <setjmp.h>

#include <png.h>

bool png_is_built(void)
{
    return true;
}

/* The caller reports the error by errno. */
static void on_error(png_structp png, png_const_charp message)
{
    (void)message;
    png_longjmp(png, 1);
}

static void on_warning(png_structp png, png_const_charp message)
{
    (void)png;
    (void)message;
}

bool png_write(FILE *file, const uint8_t *pixels, uint32_t width, uint32_t height)
{
    png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, NULL, on_error, on_warning);
    png_infop info = png != NULL ? png_create_info_struct(png) : NULL;

    errno = 0;
    if (info == NULL || setjmp(png_jmpbuf(png)) != 0) {
        const int error = errno != 0 ? errno : ENOMEM;

        png_destroy_write_struct(&png, &info);
        errno = error;
        return false;
    }
    png_init_io(png, file);
    png_set_user_limits(png, 0x7FFFFFFF, 0x7FFFFFFF);
    png_set_IHDR(png, info, width, height, 8, PNG_COLOR_TYPE_RGB, PNG_INTERLACE_NONE,
                 PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
    png_set_compression_level(png, 3);
    png_write_info(png, info);
    for (uint32_t y = 0; y < height; y++) {
        png_write_row(png, pixels + (size_t)y * width * 3);
    }
    png_write_end(png, NULL);
    png_destroy_write_struct(&png, &info);
    return true;
}

#else

bool png_is_built(void)
{
    return false;
}

bool png_write(FILE *file, const uint8_t *pixels, uint32_t width, uint32_t height)
{
    (void)file;
    (void)pixels;
    (void)width;
    (void)height;
    errno = ENOTSUP;
    return false;
}

#endif
