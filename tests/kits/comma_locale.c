/* SPDX-License-Identifier: Apache-2.0 */
#include "comma_locale.h"

#include <locale.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "testing.h"

enum { FIELDS = 6, HEAD = 8 + 4 * FIELDS };

/*
 * glibc's file of LC_NUMERIC: magic, number of fields, their offsets; then decimal point, thousands
 * separator, grouping, the two separators as wide characters, and the name of the charset.
 */
static void write_numeric(const char *path)
{
    static const uint32_t head[2 + FIELDS] = {0x20031115 ^ 1, FIELDS,   HEAD,     HEAD + 2,
                                              HEAD + 3,       HEAD + 4, HEAD + 8, HEAD + 12};
    static const char charset[] = "UTF-8";
    const uint32_t comma = ',';
    uint8_t bytes[HEAD + 12 + sizeof(charset)] = {0};

    memcpy(bytes, head, sizeof(head));
    bytes[HEAD] = ',';
    memcpy(bytes + HEAD + 4, &comma, sizeof(comma));
    memcpy(bytes + HEAD + 12, charset, sizeof(charset));
    t_write_file(path, bytes, sizeof(bytes));
}

bool kit_comma_begin(void)
{
    const char *folder = t_folder();

    write_numeric(t_path(folder, "comma/LC_NUMERIC"));
    setenv("LOCPATH", folder, 1);
    if (setlocale(LC_NUMERIC, "comma") != NULL && localeconv()->decimal_point[0] == ',') {
        return true;
    }
    kit_comma_end();
    return false;
}

void kit_comma_end(void)
{
    setlocale(LC_NUMERIC, "C");
    unsetenv("LOCPATH");
}
