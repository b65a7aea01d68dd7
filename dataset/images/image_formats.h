/* SPDX-License-Identifier: Apache-2.0 */
/* Sets of image formats, by which a pipeline says what it may open. */
#ifndef SLUICE_IMAGE_FORMATS_H
#define SLUICE_IMAGE_FORMATS_H

#include <stdbool.h>
#include <stdint.h>

typedef uint32_t image_formats;

enum {
    IMAGE_JPEG = 1 << 0,
    IMAGE_PNG = 1 << 1,
    IMAGE_BMP = 1 << 2,
    IMAGE_GIF = 1 << 3,
    IMAGE_PNM = 1 << 4, /* PPM, PGM and PBM */
    IMAGE_WEBP = 1 << 5,
    IMAGE_TIFF = 1 << 6,
    IMAGE_JP2 = 1 << 7, /* JPEG 2000 */
    IMAGE_FORMATS_ALL = (1 << 8) - 1,
    /* Without the formats of large libraries, which a file reaches only if it is named so. */
    IMAGE_FORMATS_USUAL = IMAGE_FORMATS_ALL & ~(IMAGE_TIFF | IMAGE_JP2)
};

/* The names of all formats, for messages: "jpeg, png, ...". */
extern const char image_formats_names[];

/* Reads a list of names with commas. False: a name in it is not that of a format. */
bool image_formats_parse(const char *list, image_formats *formats_out);

/* Returns the name of a single format, as image_formats_parse() takes it. */
const char *image_formats_name(image_formats format);

/* The extensions of a format beyond IMAGE_FORMATS_USUAL, such as "tif,tiff"; NULL: it is usual. */
const char *image_formats_extensions(image_formats format);

/*
 * The formats that are decoded only if they are asked for, by name or by the extension of the file:
 * returns the one of which this file name (or path) has an extension, or 0.
 */
image_formats image_formats_of_file(const char *name);

#endif
