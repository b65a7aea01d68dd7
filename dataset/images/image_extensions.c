/* SPDX-License-Identifier: Apache-2.0 */
#include "image_extensions.h"

#include <string.h>

#include "format_int.h"

const char image_extensions[] = "jpg,jpeg,jpe,jfif,jif," /* JPEG */
#ifdef SLI_HAVE_PNG
                                "png,"
#endif
                                "bmp,gif,webp," IMAGE_TIFF_EXTENSIONS ","
                                "ppm,pgm,pbm,pnm"; /* PPM, PGM, PBM, and any of them */

bool image_extension_is_in(const char *extension, const char *list)
{
    return sli_word_rank(extension, list) != UINT32_MAX;
}

bool image_name_is_in(const char *name, const char *list)
{
    const char *dot = strrchr(name, '.');

    return dot != NULL && name[0] != '.' && image_extension_is_in(dot + 1, list);
}
