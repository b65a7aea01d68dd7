/* SPDX-License-Identifier: Apache-2.0 */
/* Prints file names and the library's texts, for terminals and as JSON. */
#include <stdio.h>
#include <string.h>

#include "cli.h"

enum { COLUMNS = 80 };

int cli_utf8_length(const unsigned char *s)
{
    const int length = s[0] < 0x80                    ? 1
                       : s[0] >= 0xC2 && s[0] <= 0xDF ? 2
                       : (s[0] & 0xF0) == 0xE0        ? 3
                       : s[0] >= 0xF0 && s[0] <= 0xF4 ? 4
                                                      : 0;

    for (int i = 1; i < length; i++) {
        if ((s[i] & 0xC0) != 0x80) {
            return 0;
        }
    }
    if ((s[0] == 0xE0 && s[1] < 0xA0) || (s[0] == 0xED && s[1] >= 0xA0) ||
        (s[0] == 0xF0 && s[1] < 0x90) || (s[0] == 0xF4 && s[1] >= 0x90)) {
        return 0; /* overlong, a surrogate, or beyond Unicode */
    }
    return length;
}

bool cli_is_control(const unsigned char *s, int length)
{
    return (length == 1 && (s[0] < 0x20 || s[0] == 0x7F)) ||
           (length == 2 && s[0] == 0xC2 && s[1] < 0xA0);
}

void cli_json_string(const char *text)
{
    const unsigned char *c = (const unsigned char *)text;

    putchar('"');
    while (*c != '\0') {
        const int length = cli_utf8_length(c);

        if (*c == '"' || *c == '\\') {
            printf("\\%c", *c);
        } else if (length == 0) {
            printf("\\ufffd");
        } else if (cli_is_control(c, length)) {
            printf("\\u%04x", c[length - 1]); /* C1: 0xC2 and the character's number */
        } else {
            printf("%.*s", length, (const char *)c);
        }
        c += length > 0 ? length : 1;
    }
    putchar('"');
}

/* Writes one character or its escape sequence; returns the length of the character in bytes. */
static int print_character(FILE *file, const unsigned char *c)
{
    const int length = cli_utf8_length(c);

    if (length > 0 && !cli_is_control(c, length)) {
        fprintf(file, "%.*s", length, (const char *)c);
    } else if (*c == '\n') {
        fprintf(file, "\\n");
    } else if (length == 2) {
        fprintf(file, "\\u%04x", c[1]);
    } else {
        fprintf(file, "\\x%02x", c[0]);
    }
    return length > 0 ? length : 1;
}

void cli_print_name(const char *name)
{
    const unsigned char *c = (const unsigned char *)name;

    while (*c != '\0') {
        c += print_character(stdout, c);
    }
}

void cli_print_message(FILE *file, const char *text)
{
    const unsigned char *c = (const unsigned char *)text;

    while (*c != '\0') {
        if (*c == '\t' || (*c == '\n' && strncmp((const char *)c + 1, "    ", 4) == 0)) {
            fputc(*c++, file);
        } else {
            c += print_character(file, c);
        }
    }
}

/* Width of a text on a terminal, assuming one column per character. */
static int count_columns(const char *bytes, size_t length)
{
    int columns = 0;

    for (size_t i = 0; i < length; i++) {
        columns += ((unsigned char)bytes[i] & 0xC0) != 0x80;
    }
    return columns;
}

/* Prints one line of `length` bytes, wrapped. */
static void print_wrapped_line(FILE *file, const char *line, size_t length, int indent)
{
    const char *const end = line + length;
    int column = 0;

    while (line < end) {
        const int blanks = (int)strspn(line, " ");
        const char *word = line + blanks;
        const size_t bytes = strcspn(word, " \n");
        const int columns = count_columns(word, bytes);

        if (column > 0 && column + blanks + columns > COLUMNS) {
            fprintf(file, "\n%*s", indent, "");
            column = indent;
        } else {
            fprintf(file, "%*s", blanks, "");
            column += blanks;
        }
        column += columns;
        for (line = word; line < word + bytes;) {
            line += print_character(file, (const unsigned char *)line);
        }
    }
    fputc('\n', file);
}

void cli_print_wrapped(FILE *file, const char *text, int indent)
{
    while (*text != '\0') {
        const size_t length = strcspn(text, "\n");

        print_wrapped_line(file, text, length, indent);
        text += length + (text[length] == '\n');
    }
}
