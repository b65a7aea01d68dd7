/* SPDX-License-Identifier: Apache-2.0 */
#include "image_formats.h"

#include <string.h>

#include "format_int.h"
#include "image_extensions.h"

const char image_formats_names[] = "jpeg, png, bmp, gif, pnm, webp, tiff, jp2";

static const struct {
    const char *name;
    image_formats format;
    const char *extensions; /* of a format that is opened only if it is asked for; else NULL */
} formats[] = {
    {"jpeg", IMAGE_JPEG, NULL},
    {"png", IMAGE_PNG, NULL},
    {"bmp", IMAGE_BMP, NULL},
    {"gif", IMAGE_GIF, NULL},
    {"pnm", IMAGE_PNM, NULL},
    {"webp", IMAGE_WEBP, NULL},
    {"tiff", IMAGE_TIFF, IMAGE_TIFF_EXTENSIONS},
    {"jp2", IMAGE_JP2, IMAGE_JP2_EXTENSIONS},
};

enum { FORMATS = sizeof(formats) / sizeof(formats[0]) };

bool image_formats_parse(const char *list, image_formats *formats_out)
{
    image_formats found = 0;

    for (bool more = true; more;) {
        const size_t length = strcspn(list, ",");
        size_t i = 0;

        while (i < FORMATS &&
               (strlen(formats[i].name) != length || memcmp(formats[i].name, list, length) != 0)) {
            i++;
        }
        if (i == FORMATS) {
            return false;
        }
        found |= formats[i].format;
        more = list[length] == ',';
        list += length + more;
    }
    *formats_out = found;
    return true;
}

/* Returns the place of a single format in the table. */
static size_t place_of(image_formats format)
{
    size_t i = 0;

    while (i + 1 < FORMATS && formats[i].format != format) {
        i++;
    }
    return i;
}

const char *image_formats_name(image_formats format)
{
    return formats[place_of(format)].name;
}

const char *image_formats_extensions(image_formats format)
{
    return formats[place_of(format)].extensions;
}

image_formats image_formats_of_file(const char *name)
{
    const char *dot = strrchr(name, '.');

    for (size_t i = 0; i < FORMATS && dot != NULL; i++) {
        if (formats[i].extensions != NULL &&
            sli_word_rank(dot + 1, formats[i].extensions) != UINT32_MAX) {
            return formats[i].format;
        }
    }
    return 0;
}
