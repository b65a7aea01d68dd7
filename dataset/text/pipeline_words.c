/* SPDX-License-Identifier: Apache-2.0 */
#include "pipeline_words.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "format_int.h"
#include "status_int.h"

static bool ends_word(char c)
{
    return c == '\0' || c == '|' || c == '(' || c == ')' || word_is_blank(c);
}

/* True if the byte is a UTF-8 continuation byte. */
static bool continues_character(char c)
{
    return ((unsigned char)c & 0xC0) == 0x80;
}

enum { SHOWN = 100 };

/*
 * Finds the part of the line around `at` that a message shows, and the indentation of the caret:
 * one blank for each character, except that tabs are kept. Returns the length of the part.
 */
static size_t show_context(const text_words *w, size_t at, const char **line, char indent[SHOWN])
{
    size_t start = at;
    size_t length;
    size_t blanks = 0;

    while (start > 0 && w->text[start - 1] != '\n' &&
           (at - start < SHOWN / 2 ||
            (at - start < SHOWN - 1 && continues_character(w->text[start])))) {
        start--;
    }
    length = strcspn(w->text + start, "\n");
    if (length > SHOWN) {
        length = SHOWN;
        while (length > at - start && continues_character(w->text[start + length])) {
            length--;
        }
    }
    for (size_t i = start; i < at; i++) {
        if (!continues_character(w->text[i])) {
            indent[blanks++] = w->text[i] == '\t' ? '\t' : ' ';
        }
    }
    indent[blanks] = '\0';
    *line = w->text + start;
    return length;
}

/*
 * Writes the position "FILE:LINE:COLUMN: ", as compilers do; columns count characters. Writes "" if
 * the text is not from a file.
 */
static void write_position(const text_words *w, size_t at, char *text, size_t size)
{
    unsigned line = 1;
    unsigned column = 1;

    text[0] = '\0';
    if (w->file == NULL) {
        return;
    }
    for (size_t i = 0; i < at; i++) {
        if (w->text[i] == '\n') {
            line++;
            column = 1;
        } else {
            column += !continues_character(w->text[i]);
        }
    }
    snprintf(text, size, "%.255s:%u:%u: ", w->file, line, column);
}

sluice_status error_at(const text_words *w, size_t at, const char *format, ...)
{
    char message[600];
    char indent[SHOWN];
    char where[300];
    const char *line;
    size_t length;
    va_list args;

    va_start(args, format);
    sli_print_args(message, sizeof(message), format, args);
    va_end(args);
    if (w->text[at] == '\0') {
        while (at > 0 && word_is_blank(w->text[at - 1])) {
            at--; /* the end of the text is missing: the caret points at the last word */
        }
    }
    length = show_context(w, at, &line, indent);
    write_position(w, at, where, sizeof(where));
    return sli_fail(SLUICE_E_INVALID, "%s%s%s\n    %.*s\n    %s^", where, message,
                    w->may_be_split_path ? "; quote a path with spaces" : "", (int)length, line,
                    indent);
}

static sluice_status add_char(text_words *w, char c)
{
    if (w->word.length + 1 >= WORD_SIZE) {
        return error_at(w, w->word.at, "a word of more than %d bytes", WORD_SIZE - 1);
    }
    w->word.text[w->word.length++] = c;
    w->word.text[w->word.length] = '\0';
    return SLUICE_OK;
}

static sluice_status add_bytes(text_words *w, const char *bytes, size_t length)
{
    sluice_status st = SLUICE_OK;

    for (size_t i = 0; i < length && st == SLUICE_OK; i++) {
        st = add_char(w, bytes[i]);
    }
    return st;
}

/* Parses "${NAME}" at w->at and adds the variable's value, which is not parsed, to the word. */
static sluice_status add_variable(text_words *w)
{
    text_variable variable;
    const char *wrong = pipeline_variable_read(w->text + w->at, &variable);
    const char *value;
    sluice_status st;

    if (wrong != NULL) {
        return error_at(w, w->at, "%s", wrong);
    }
    value = pipeline_args_value(w->args, variable.name);
    if (variable.fallback != NULL && (value == NULL || value[0] == '\0')) {
        st = add_bytes(w, variable.fallback, variable.fallback_length);
    } else if (value != NULL) {
        st = add_bytes(w, value, strlen(value));
    } else {
        return error_at(w, w->at,
                        "${%s} has no value; give it as an argument (--arg %s VALUE, "
                        "sluice_dataset_parse_args()), set the environment variable %s, or write "
                        "${%s:-DEFAULT}",
                        variable.name, variable.name, variable.name, variable.name);
    }
    w->at += variable.length;
    return st;
}

static sluice_status add_quoted(text_words *w)
{
    const size_t start = w->at;
    const char quote = w->text[w->at++];

    while (w->text[w->at] != quote) {
        sluice_status st;

        if (w->text[w->at] == '\0') {
            return error_at(w, start, "this quote has no end");
        }
        st =
            quote == '"' && w->text[w->at] == '$' ? add_variable(w) : add_char(w, w->text[w->at++]);
        if (st != SLUICE_OK) {
            return st;
        }
    }
    w->at++;
    return SLUICE_OK;
}

void words_skip_blanks(text_words *w)
{
    for (;;) {
        while (word_is_blank(w->text[w->at])) {
            w->at++;
        }
        if (w->text[w->at] != '#') {
            return;
        }
        w->at += strcspn(w->text + w->at, "\n");
    }
}

sluice_status words_read(text_words *w)
{
    sluice_status st = SLUICE_OK;

    w->word.at = w->at;
    w->word.length = 0;
    w->word.key = 0;
    w->word.text[0] = '\0';
    while (st == SLUICE_OK && !ends_word(w->text[w->at])) {
        char c = w->text[w->at];

        if (c == '\'' || c == '"') {
            st = add_quoted(w);
        } else if (c == '$') {
            st = add_variable(w);
        } else {
            if (c == '=' && w->word.key == 0 && w->word.length > 0) {
                w->word.key = w->word.length;
            }
            st = add_char(w, c);
            w->at++;
        }
    }
    return st;
}
