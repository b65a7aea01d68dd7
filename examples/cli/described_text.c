/* SPDX-License-Identifier: Apache-2.0 */
#include "described_text.h"

#include <string.h>

const char *text_next_stage(const char *text, size_t *length_out)
{
    char quote = '\0';
    unsigned depth = 0;
    const char *c = text;

    while (*c != '\0' && (quote != '\0' || depth > 0 || strncmp(c, " | ", 3) != 0)) {
        if (quote != '\0') {
            quote = *c == quote ? '\0' : quote;
        } else if (*c == '\'' || *c == '"') {
            quote = *c;
        } else {
            depth += *c == '(';
            depth -= *c == ')' && depth > 0;
        }
        c++;
    }
    *length_out = (size_t)(c - text);
    return *c != '\0' ? c + 3 : NULL;
}

bool text_stage_is(const char *stage, const char *name)
{
    return strcspn(stage, " ") == strlen(name) && strncmp(stage, name, strlen(name)) == 0;
}

const char *text_stage_value(const char *stage, size_t length, const char *key)
{
    const size_t key_length = strlen(key);

    for (const char *c = stage; c + key_length + 1 < stage + length; c++) {
        if (*c == ' ' && strncmp(c + 1, key, key_length) == 0 && c[key_length + 1] == '=') {
            return c + key_length + 2;
        }
    }
    return NULL;
}
