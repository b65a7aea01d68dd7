/* SPDX-License-Identifier: Apache-2.0 */
#include "json_lines.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "alloc_int.h"
#include "error_int.h"
#include "status_int.h"
#include "text_int.h"

/* ---- one line -------------------------------------------------------------------------------- */

static bool is_blank(const char *text, size_t size)
{
    while (size > 0 && (*text == ' ' || *text == '\t' || *text == '\r')) {
        text++;
        size--;
    }
    return size == 0;
}

/* ---- all lines ------------------------------------------------------------------------------- */

/* Writes the reason why a line is bad, as a record. */
static void write_bad(sli_text *text, sluice_status status)
{
    sli_error error;

    sli_error_take(status, &error);
    for (char *at = error.text; *at != '\0'; at++) {
        *at = (char)(*at == '\n' || *at == '\t' || *at == '\r' ? ' ' : *at);
    }
    sli_text_add(text, "%c%.700s", JSON_LINES_BAD, error.text);
}

/* Adds a line as a record. */
static sluice_status convert_line(const char *line, size_t size, const list_columns *columns,
                                  const json_paths *paths, sli_text *text)
{
    sli_text fields = {0};
    char *record = NULL;
    sluice_status st = json_fields_convert(line, size, "the line", columns, paths, &fields);

    if (st == SLUICE_OK) {
        st = sli_text_take(&fields, &record);
        sli_text_add(text, "%s\n", st == SLUICE_OK ? record : "");
        sluice_string_free(record);
        return st;
    }
    sli_text_free(&fields);
    write_bad(text, st);
    sli_text_add(text, "\n");
    return SLUICE_OK;
}

/* Returns the next line that is not blank, without its break; NULL: there is none. *number_io: its
 * number. */
static const char *next_line(const char **at, const char *end, size_t *size_out,
                             uint64_t *number_io)
{
    while (*at < end) {
        const char *line = *at;
        const char *stop = memchr(line, '\n', (size_t)(end - line));

        *size_out = (size_t)((stop != NULL ? stop : end) - line);
        *at = stop != NULL ? stop + 1 : end;
        ++*number_io;
        if (!is_blank(line, *size_out)) {
            return line;
        }
    }
    return NULL;
}

static const char *after_mark(const char *text, size_t size)
{
    return text + (size >= 3 && memcmp(text, "\xEF\xBB\xBF", 3) == 0 ? 3 : 0);
}

sluice_status json_lines_convert(const char *text, size_t size, const list_columns *columns,
                                 const json_paths *paths, json_records *records)
{
    const char *at = after_mark(text, size);
    const char *line;
    sli_text converted = {0};
    uint64_t number = 0;
    size_t length = 0;
    sluice_status st = SLUICE_OK;

    while (st == SLUICE_OK && (line = next_line(&at, text + size, &length, &number)) != NULL) {
        uint64_t *grown = sli_grow(records->lines, &records->lines_capacity,
                                   (size_t)records->count + 1, sizeof(*grown));

        if (grown == NULL) {
            st = sli_fail(SLUICE_E_NO_MEMORY, "a list of %llu samples",
                          (unsigned long long)records->count);
            break;
        }
        records->lines = grown;
        grown[records->count++] = number;
        st = convert_line(line, length, columns, paths, &converted);
    }
    records->size = converted.length;
    if (st != SLUICE_OK) {
        sli_text_free(&converted);
        return st;
    }
    return sli_text_take(&converted, &records->text);
}

/* ---- columns --------------------------------------------------------------------------------- */

/* Adds the columns of fields=. */
static sluice_status add_declared(const char *fields, list_columns *columns, json_paths *paths)
{
    sluice_status st = SLUICE_OK;

    while (st == SLUICE_OK && fields != NULL) {
        const size_t length = strcspn(fields, ",");
        char text[JSON_PATH_SIZE];
        char *path;

        if (length == 0 || length >= sizeof(text)) {
            return sli_fail(SLUICE_E_INVALID,
                            "fields=%.100s: a field must be image, label, or NAME:KIND, with =KEY "
                            "or =KEY.KEY if the key is another one; such as "
                            "image=file_name,label:class,caption:text[300]",
                            fields);
        }
        memcpy(text, fields, length);
        text[length] = '\0';
        path = strchr(text, '=');
        if (path != NULL) {
            *path++ = '\0';
        }
        st = json_fields_add_column(columns, text, path, paths);
        fields = fields[length] == ',' ? fields + length + 1 : NULL;
    }
    return st;
}

/* Adds image and label, as far as an object has them. */
static sluice_status add_usual(const json_t *object, list_columns *columns, json_paths *paths,
                               char *others, size_t size)
{
    sluice_status st = SLUICE_OK;
    const char *key;
    const json_t *value;
    size_t used = 0;

    st = json_object_get(object, "image") != NULL
             ? json_fields_add_column(columns, "image", NULL, paths)
             : st;
    st = st == SLUICE_OK && json_object_get(object, "label") != NULL
             ? json_fields_add_column(columns, "label", NULL, paths)
             : st;
    json_object_foreach((json_t *)(uintptr_t)object, key, value)
    {
        if (strcmp(key, "image") != 0 && strcmp(key, "label") != 0 && used < size) {
            used +=
                (size_t)snprintf(others + used, size - used, "%s%.40s", used > 0 ? ", " : "", key);
        }
    }
    return st == SLUICE_OK && columns->count == 0
               ? sli_fail(SLUICE_E_INVALID,
                          "the first line has neither image nor label; fields= must declare the "
                          "columns, such as image=file_name,label:class; its keys are %s",
                          others)
               : st;
}

sluice_status json_lines_columns(const char *fields, const char *text, size_t size,
                                 list_columns *columns, json_paths *paths_out, char *others,
                                 size_t others_size)
{
    const char *at = after_mark(text, size);
    uint64_t number = 0;
    size_t length = 0;
    json_t *object = NULL;
    const char *line;
    sluice_status st;

    others[0] = '\0';
    if (fields[0] != '\0') {
        return add_declared(fields, columns, paths_out);
    }
    line = next_line(&at, text + size, &length, &number);
    st = line != NULL
             ? json_fields_parse(line, length, "the line", &object)
             : sli_fail(SLUICE_E_INVALID, "no valid data in the dataset: the list is empty");
    st = st == SLUICE_OK ? add_usual(object, columns, paths_out, others, others_size) : st;
    json_decref(object);
    return st;
}
