/* SPDX-License-Identifier: Apache-2.0 */
#include "pipeline_values.h"

#include <math.h>
#include <string.h>

#include "pipeline_words.h"
#include "status_int.h"

/* Where in a stage the next character is. */
typedef enum stage_place {
    PLACE_BEFORE_NAME, /* after the beginning, '|' or '(' */
    PLACE_IN_NAME,
    PLACE_IN_ARGUMENTS
} stage_place;

/* The text that is read, and what was read of it. */
typedef struct value_scan {
    text_words words;
    stage_place place;
    char quote;      /* the quote that is open; 0: none */
    bool is_comment; /* up to the end of the line */
    size_t taken;    /* values so far */
    sli_text *out;
} value_scan;

static bool ends_argument(char c)
{
    return c == '\0' || c == '|' || c == ')' || c == '(' || word_is_blank(c);
}

/* Adds one character of the text, and notes what it begins or ends. */
static void pass_character(value_scan *scan)
{
    const size_t at = scan->words.at++;
    const char c = scan->words.text[at];

    sli_text_add(scan->out, "%c", c);
    if (scan->is_comment) {
        scan->is_comment = c != '\n';
    } else if (scan->quote != 0) {
        scan->quote = c == scan->quote ? '\0' : scan->quote;
    } else if (c == '#' && (at == 0 || ends_argument(scan->words.text[at - 1]))) {
        scan->is_comment = true;
    } else if (c == '|' || c == '(') {
        scan->place = PLACE_BEFORE_NAME;
    } else if (word_is_blank(c)) {
        scan->place = scan->place == PLACE_IN_NAME ? PLACE_IN_ARGUMENTS : scan->place;
    } else {
        scan->quote = c == '\'' || c == '"' ? c : '\0';
        scan->place = scan->place == PLACE_BEFORE_NAME ? PLACE_IN_NAME : scan->place;
    }
}

/* Adds a text as a word in single quotes, in which nothing has a meaning but a single quote. */
static void add_quoted_text(sli_text *out, const char *text)
{
    sli_text_add(out, "'");
    for (const char *quote; (quote = strchr(text, '\'')) != NULL; text = quote + 1) {
        sli_text_add(out, "%.*s'\"'\"'", (int)(quote - text), text);
    }
    sli_text_add(out, "%s'", text);
}

/* A text of `length` characters at the current position stands for a value of any kind. */
static sluice_status check_place(const value_scan *scan, size_t length)
{
    if (scan->quote != 0 || scan->is_comment) {
        return error_at(&scan->words, scan->words.at,
                        "value %zu (%.*s) must not be in %s: values are never parsed and need no "
                        "quotes",
                        scan->taken, (int)length, scan->words.text + scan->words.at,
                        scan->is_comment ? "a comment" : "quotes");
    }
    return SLUICE_OK;
}

/* A text is an argument of a stage, or what comes after the '=' of one. */
static sluice_status check_whole(const value_scan *scan, size_t length)
{
    const char *text = scan->words.text;
    const size_t at = scan->words.at;
    const bool begins = at > 0 && (text[at - 1] == '=' || word_is_blank(text[at - 1]));

    if (scan->place == PLACE_IN_ARGUMENTS && begins && ends_argument(text[at + length])) {
        return SLUICE_OK;
    }
    return error_at(&scan->words, at,
                    "value %zu (%.*s) must be a whole argument, as in \"image_folder %.*s\": a "
                    "text is neither a stage nor a part of a word",
                    scan->taken, (int)length, text + at, (int)length, text + at);
}

/* Adds a value in place of the `length` characters at the current position. */
static sluice_status put_value(value_scan *scan, const sluice_value *value, size_t length)
{
    sluice_status st;

    scan->taken++;
    st = check_place(scan, length);
    if (st != SLUICE_OK) {
        return st;
    }
    switch (value->type) {
    case SLUICE_VALUE_INT:
        sli_text_add(scan->out, "%lld", (long long)value->number);
        break;
    case SLUICE_VALUE_UINT:
        sli_text_add(scan->out, "%llu", (unsigned long long)value->count);
        break;
    case SLUICE_VALUE_REAL:
        if (!isfinite(value->real)) {
            return error_at(&scan->words, scan->words.at, "value %zu is %g; it must be finite",
                            scan->taken, value->real);
        }
        sli_text_add_real(scan->out, value->real);
        break;
    case SLUICE_VALUE_TEXT:
        if (value->text == NULL) {
            return error_at(&scan->words, scan->words.at, "value %zu is NULL; it must be a text",
                            scan->taken);
        }
        st = check_whole(scan, length);
        if (st == SLUICE_OK) {
            add_quoted_text(scan->out, value->text);
        }
        break;
    default:
        return error_at(&scan->words, scan->words.at,
                        "value %zu has the type %d, which must be a sluice_value_type", scan->taken,
                        (int)value->type);
    }
    scan->words.at += length;
    if (scan->place == PLACE_BEFORE_NAME) {
        scan->place = PLACE_IN_NAME;
    }
    return st;
}

/* The result of a scan whose last status is `st`. */
static sluice_status end_scan(const value_scan *scan, sluice_status st)
{
    return st == SLUICE_OK && scan->out->failed ? sli_fail(SLUICE_E_NO_MEMORY, "a pipeline text")
                                                : st;
}

sluice_status pipeline_put_values(const char *text, const sluice_value *values, size_t count,
                                  sli_text *out)
{
    value_scan scan = {.words = {.text = text}, .out = out};
    sluice_status st = SLUICE_OK;

    while (st == SLUICE_OK && text[scan.words.at] != '\0') {
        if (strncmp(text + scan.words.at, "{}", 2) != 0) {
            pass_character(&scan);
        } else if (scan.taken == count) {
            st = error_at(&scan.words, scan.words.at, "the text has more {} than values (%zu)",
                          count);
        } else {
            st = put_value(&scan, &values[scan.taken], 2);
        }
    }
    if (st == SLUICE_OK && scan.taken < count) {
        st = error_at(&scan.words, scan.words.at, "the text has %zu {} for %zu values", scan.taken,
                      count);
    }
    return end_scan(&scan, st);
}

/* ---- printf's conversions -------------------------------------------------------------------- */

typedef enum conversion {
    CONVERSION_D,
    CONVERSION_U,
    CONVERSION_LD,
    CONVERSION_LU,
    CONVERSION_LLD,
    CONVERSION_LLU,
    CONVERSION_ZU,
    CONVERSION_G,
    CONVERSION_S,
    CONVERSIONS
} conversion;

static const char *const conversions[CONVERSIONS] = {"d",   "u",  "ld", "lu", "lld",
                                                     "llu", "zu", "g",  "s"};

/* The conversion behind a percent sign, or CONVERSIONS. */
static conversion find_conversion(const char *text)
{
    conversion found = CONVERSION_D;

    while (found < CONVERSIONS &&
           strncmp(text, conversions[found], strlen(conversions[found])) != 0) {
        found++;
    }
    return found;
}

static sluice_value value_of_int(long long number)
{
    return (sluice_value){.type = SLUICE_VALUE_INT, .number = number};
}

static sluice_value value_of_uint(unsigned long long count)
{
    return (sluice_value){.type = SLUICE_VALUE_UINT, .count = count};
}

/* A va_list that functions can advance for their caller. */
typedef struct argument_list {
    va_list args;
} argument_list;

static sluice_value next_argument(argument_list *list, conversion type)
{
    switch (type) {
    case CONVERSION_D:
        return value_of_int(va_arg(list->args, int));
    case CONVERSION_LD:
        return value_of_int(va_arg(list->args, long));
    case CONVERSION_LLD:
        return value_of_int(va_arg(list->args, long long));
    case CONVERSION_U:
        return value_of_uint(va_arg(list->args, unsigned));
    case CONVERSION_LU:
        return value_of_uint(va_arg(list->args, unsigned long));
    case CONVERSION_LLU:
        return value_of_uint(va_arg(list->args, unsigned long long));
    case CONVERSION_ZU:
        return value_of_uint(va_arg(list->args, size_t));
    case CONVERSION_G:
        return (sluice_value){.type = SLUICE_VALUE_REAL, .real = va_arg(list->args, double)};
    default:
        return (sluice_value){.type = SLUICE_VALUE_TEXT, .text = va_arg(list->args, const char *)};
    }
}

/* Replaces the conversion at the current position, a percent sign, by the next argument. */
static sluice_status put_conversion(value_scan *scan, argument_list *list)
{
    const char *text = scan->words.text + scan->words.at + 1;
    const conversion type = find_conversion(text);
    sluice_value value;

    if (*text == '%') {
        scan->words.at++;
        pass_character(scan);
        return SLUICE_OK;
    }
    if (type == CONVERSIONS) {
        return error_at(&scan->words, scan->words.at,
                        "a conversion must be %%d, %%u, %%ld, %%lu, %%lld, %%llu, %%zu, %%g or "
                        "%%s; a percent sign is %%%%");
    }
    value = next_argument(list, type);
    return put_value(scan, &value, 1 + strlen(conversions[type]));
}

sluice_status pipeline_put_args(const char *format, va_list args, sli_text *out)
{
    value_scan scan = {.words = {.text = format}, .out = out};
    argument_list list;
    sluice_status st = SLUICE_OK;

    va_copy(list.args, args);
    while (st == SLUICE_OK && format[scan.words.at] != '\0') {
        if (format[scan.words.at] == '%') {
            st = put_conversion(&scan, &list);
        } else {
            pass_character(&scan);
        }
    }
    va_end(list.args);
    return end_scan(&scan, st);
}
