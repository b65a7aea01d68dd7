/* SPDX-License-Identifier: Apache-2.0 */
#include "image_extensions.h"

#include <string.h>

const char image_extensions[] = "jpg,jpeg,jpe,jfif,jif," /* JPEG */
#ifdef SLI_HAVE_PNG
                                "png,"
#endif
                                "ppm,pgm,pnm"; /* PPM, PGM, and either */

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c + ('a' - 'A')) : c;
}

/* True if the first `length` bytes are equal, ignoring the case of ASCII letters. Independent of
 * the locale. */
static bool same_letters(const char *a, const char *b, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        if (lower(a[i]) != lower(b[i])) {
            return false;
        }
    }
    return true;
}

bool image_extension_is_in(const char *extension, const char *list)
{
    for (const char *e = list; *e != '\0';) {
        const size_t length = strcspn(e, ",");

        if (strlen(extension) == length && same_letters(extension, e, length)) {
            return true;
        }
        e += length + (e[length] == ',');
    }
    return false;
}

bool image_name_is_in(const char *name, const char *list)
{
    const char *dot = strrchr(name, '.');

    return dot != NULL && name[0] != '.' && image_extension_is_in(dot + 1, list);
}
