/* SPDX-License-Identifier: Apache-2.0 */
#include "list_text.h"

#include <string.h>

#include "status_int.h"

/* Skips a line break, LF or CRLF, at the cursor. False: there is no line break. */
static bool take_break(list_cursor *cursor)
{
    const char *at = cursor->at;

    at += at < cursor->end && *at == '\r' ? 1 : 0;
    if (at == cursor->end || *at != '\n') {
        return false;
    }
    cursor->at = at + 1;
    return true;
}

bool list_begin_record(list_cursor *cursor)
{
    while (take_break(cursor)) {
    }
    return cursor->at < cursor->end;
}

/* Reads a quoted field, including the closing quote. */
static sluice_status read_quoted(list_cursor *cursor, list_field *field)
{
    field->text = ++cursor->at;
    field->quoted = true;
    while (cursor->at < cursor->end) {
        if (*cursor->at != '"') {
            cursor->at++;
        } else if (cursor->at + 1 < cursor->end && cursor->at[1] == '"') {
            cursor->at += 2;
        } else {
            field->length = (size_t)(cursor->at++ - field->text);
            return SLUICE_OK;
        }
    }
    return sli_fail(SLUICE_E_CORRUPT, "a quote has no end");
}

static void read_plain(list_cursor *cursor, list_field *field)
{
    field->text = cursor->at;
    field->quoted = false;
    while (cursor->at < cursor->end && *cursor->at != cursor->separator && *cursor->at != '\n') {
        cursor->at++;
    }
    field->length = (size_t)(cursor->at - field->text);
    if (cursor->at < cursor->end && *cursor->at == '\n' && field->length > 0 &&
        cursor->at[-1] == '\r') {
        field->length--;
        cursor->at--;
    }
}

sluice_status list_next_field(list_cursor *cursor, list_field *field_out, bool *last_out)
{
    sluice_status st = SLUICE_OK;

    if (cursor->at < cursor->end && *cursor->at == '"') {
        st = read_quoted(cursor, field_out);
    } else {
        read_plain(cursor, field_out);
    }
    if (st != SLUICE_OK) {
        return st;
    }
    *last_out = cursor->at == cursor->end || take_break(cursor);
    if (!*last_out && *cursor->at++ != cursor->separator) {
        return sli_fail(SLUICE_E_CORRUPT, "text after a closing quote");
    }
    return SLUICE_OK;
}

sluice_status list_copy_field(const list_field *field, char *text, size_t size)
{
    size_t length = 0;

    for (size_t i = 0; i < field->length; i++) {
        i += field->quoted && field->text[i] == '"'; /* skip the first quote of a doubled quote */
        if (length + 1 >= size || field->text[i] == '\0') {
            return sli_fail(SLUICE_E_CORRUPT, field->text[i] == '\0'
                                                  ? "a zero byte"
                                                  : "a field is longer than a path can be");
        }
        text[length++] = field->text[i];
    }
    text[length] = '\0';
    return SLUICE_OK;
}

char *list_trim(char *text)
{
    size_t length;

    text += strspn(text, " \t");
    length = strlen(text);
    while (length > 0 && (text[length - 1] == ' ' || text[length - 1] == '\t')) {
        text[--length] = '\0';
    }
    return text;
}
