/* SPDX-License-Identifier: Apache-2.0 */
#include "html_writer.h"

#include <math.h>
#include <string.h>

#include "cli.h"

/* True for U+200E, U+200F, U+202A to U+202E and U+2066 to U+2069, which change the direction of the
 * text around them: with them "gpj.exe" can look like "exe.jpg". */
static bool turns_text(const unsigned char *c, int length)
{
    return length == 3 && c[0] == 0xE2 &&
           ((c[1] == 0x80 && (c[2] == 0x8E || c[2] == 0x8F || (c[2] >= 0xAA && c[2] <= 0xAE))) ||
            (c[1] == 0x81 && c[2] >= 0xA6 && c[2] <= 0xA9));
}

/* What replaces a character in HTML; NULL: it stays. */
static const char *escape_of(const unsigned char *c, int length)
{
    switch (*c) {
    case '<':
        return "&lt;";
    case '>':
        return "&gt;";
    case '&':
        return "&amp;";
    case '"':
        return "&quot;";
    case '\'':
        return "&#39;";
    case '\n':
    case '\t':
        return NULL;
    default:
        return length == 0 || cli_is_control(c, length) || turns_text(c, length) ? "&#65533;"
                                                                                 : NULL;
    }
}

/* Writes a text; lines may also break after the characters of `breaks`. */
static void write_text(FILE *out, const char *text, const char *breaks)
{
    const unsigned char *c = (const unsigned char *)text;

    while (*c != '\0') {
        const int length = cli_utf8_length(c);
        const char *escape = escape_of(c, length);

        if (escape != NULL) {
            fputs(escape, out);
        } else {
            fwrite(c, 1, (size_t)length, out);
        }
        if (strchr(breaks, *c) != NULL) {
            fputs("<wbr/>", out);
        }
        c += length > 0 ? length : 1;
    }
}

void html_text(FILE *out, const char *text)
{
    write_text(out, text, "");
}

void html_name(FILE *out, const char *name)
{
    fputs("<bdi>", out);
    write_text(out, name, "+_/");
    fputs("</bdi>", out);
}

void html_json(FILE *out, const char *json)
{
    for (; *json != '\0'; json++) {
        if (*json == '<') {
            fputs("\\u003c", out);
        } else {
            fputc(*json, out);
        }
    }
}

static double limited(double share, double most)
{
    return share > 0 ? fmin(share, most) : 0;
}

void html_bar(FILE *out, const char *kind, double from, double share)
{
    const double begin = limited(from, 1);

    fprintf(out, "<i class=\"%s\" style=\"left:%.2f%%;width:%.2f%%\"></i>", kind, 100 * begin,
            100 * limited(share, 1 - begin));
}

/* Formats a number, not negative, with three digits or all digits before its point. */
static void format_digits(char *text, size_t size, double value)
{
    const int decimals = value >= 99.95 || value == 0 ? 0 : value >= 9.995 ? 1 : 2;

    snprintf(text, size, "%.*f", decimals, value);
}

/* Inserts a comma between thousands of a whole number. */
static figure grouped(const char *digits)
{
    const size_t length = strlen(digits);
    figure shown;
    size_t at = 0;

    for (size_t i = 0; i < length && at + 2 < sizeof(shown.text); i++) {
        if (i > 0 && (length - i) % 3 == 0 && digits[i - 1] != '-') {
            shown.text[at++] = ',';
        }
        shown.text[at++] = digits[i];
    }
    shown.text[at] = '\0';
    return shown;
}

static figure unknown(void)
{
    return (figure){"?"};
}

figure figure_plain(double value)
{
    figure shown = unknown();

    if (isfinite(value)) {
        snprintf(shown.text, sizeof(shown.text), fabs(value) < 1e18 ? "%.0f" : "%.3e", value);
    }
    return shown;
}

figure figure_count(double value)
{
    return fabs(value) < 1e18 ? grouped(figure_plain(value).text) : figure_plain(value);
}

figure figure_number(double number)
{
    figure shown;

    if (!isfinite(number)) {
        return unknown();
    }
    if (fabs(number) >= 1e4 && fabs(number) < 1e18) {
        return figure_count(number);
    }
    snprintf(shown.text, sizeof(shown.text), "%.4g", number);
    return shown;
}

figure figure_rate(double per_s)
{
    char digits[32];
    figure shown;

    if (!isfinite(per_s) || per_s < 0) {
        return unknown();
    }
    if (per_s >= 999.5) {
        shown = figure_count(per_s);
        strncat(shown.text, "/s", sizeof(shown.text) - strlen(shown.text) - 1);
        return shown;
    }
    format_digits(digits, sizeof(digits), per_s);
    snprintf(shown.text, sizeof(shown.text), "%s/s", digits);
    return shown;
}

/* A value in the largest of the units, of which it is at least one. */
static figure in_units(double value, double step, const char *const *units, int count)
{
    char digits[32];
    figure shown;
    int unit = 0;

    if (!isfinite(value) || value < 0 || value > 1e18) {
        return isfinite(value) ? figure_number(value) : unknown();
    }
    while (unit + 1 < count && value >= 0.9995 * step) {
        value /= step;
        unit++;
    }
    format_digits(digits, sizeof(digits), value);
    snprintf(shown.text, sizeof(shown.text), "%s %s", digits, units[unit]);
    return shown;
}

figure figure_us(double us)
{
    static const char *const units[] = {"us", "ms", "s"};

    return in_units(us, 1000, units, 3);
}

figure figure_seconds(double s)
{
    return figure_us(s * 1e6);
}

figure figure_bytes(double bytes)
{
    static const char *const units[] = {"B", "kB", "MB", "GB", "TB"};

    return in_units(bytes, 1000, units, 5);
}

figure figure_share(double share)
{
    figure shown;

    if (!isfinite(share)) {
        return unknown();
    }
    snprintf(shown.text, sizeof(shown.text), "%.1f %%", 100 * share);
    return shown;
}
