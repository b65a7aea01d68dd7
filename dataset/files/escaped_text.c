/* SPDX-License-Identifier: Apache-2.0 */
#include "escaped_text.h"

#include <string.h>

#include "alloc_int.h"
#include "status_int.h"

void escaped_text_add(sli_text *text, const char *name)
{
    while (*name != '\0') {
        const size_t plain = strcspn(name, "\t\n\r\\");

        sli_text_add(text, "%.*s", (int)plain, name);
        name += plain;
        if (*name != '\0') {
            sli_text_add(text, "\\%c",
                         *name == '\t'   ? 't'
                         : *name == '\n' ? 'n'
                         : *name == '\r' ? 'r'
                                         : '\\');
            name++;
        }
    }
}

void escaped_text_undo(char *name, const char *end)
{
    char *to = name;

    for (const char *from = name; from < end; from++) {
        if (*from == '\\' && from + 1 < end) {
            from++;
            *to++ = *from == 't' ? '\t' : *from == 'n' ? '\n' : *from == 'r' ? '\r' : *from;
        } else {
            *to++ = *from;
        }
    }
    *to = '\0';
}

/* Fails if the text has a zero byte, which would end a name before its end. */
static sluice_status check_zeros(const char *text, size_t size)
{
    const char *zero = memchr(text, '\0', size);
    uint32_t line = 1;

    for (const char *at = text; zero != NULL && at < zero; at++) {
        line += *at == '\n';
    }
    return zero == NULL ? SLUICE_OK
                        : sli_fail(SLUICE_E_CORRUPT,
                                   "line %u has a zero byte, which no name may have", line);
}

sluice_status escaped_text_lines(char *text, size_t size, char ***names_out, uint32_t *count_out)
{
    char *const end = text + size;
    char **names;
    uint32_t lines = 0;
    const sluice_status st = check_zeros(text, size);

    if (st != SLUICE_OK) {
        return st;
    }
    for (const char *at = text; at < end; at++) {
        lines += *at == '\n' || at + 1 == end;
    }
    names = sli_calloc((size_t)lines + 1, sizeof(*names));
    if (names == NULL) {
        return sli_fail(SLUICE_E_NO_MEMORY, "the names of classes of a pack");
    }
    for (uint32_t i = 0; i < lines; i++) {
        char *stop = memchr(text, '\n', (size_t)(end - text));

        stop = stop != NULL ? stop : end;
        escaped_text_undo(text, stop);
        names[i] = text;
        text = stop + 1;
    }
    *names_out = names;
    *count_out = lines;
    return SLUICE_OK;
}
