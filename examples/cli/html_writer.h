/* SPDX-License-Identifier: Apache-2.0 */
/* Texts, figures and bars of an HTML page. The page is well-formed XML: each element is closed. */
#ifndef SLUICE_HTML_WRITER_H
#define SLUICE_HTML_WRITER_H

#include <stdio.h>

/* Writes a text with all characters escaped that HTML interprets; control characters and
 * bytes that are not UTF-8 become U+FFFD, and so do characters that change the direction of text.
 */
void html_text(FILE *out, const char *text);

/* Writes a name from data: html_text() in an element that isolates the direction of its letters. */
void html_name(FILE *out, const char *name);

/* Writes JSON as the contents of a <script>: `<` becomes \u003c, so that nothing ends the element.
 * Strings are the only place of `<` in JSON, so the value stays the same. */
void html_json(FILE *out, const char *json);

/*
 * Writes a bar of the width `share` (0..1) that begins at `from` (0..1). Values beyond are limited
 * to that range; NAN is 0. kind is a class of the style: "cpu", "runqueue", "blocked", ...
 */
void html_bar(FILE *out, const char *kind, double from, double share);

/* The text of a number, "?" if it is NAN. */
typedef struct figure {
    char text[40];
} figure;

figure figure_count(double value);   /* 1,361 */
figure figure_plain(double value);   /* 1361 */
figure figure_rate(double per_s);    /* three digits: 23,953/s, 10.8/s */
figure figure_us(double us);         /* 4.93 us, 1.8 ms, 2.0 s */
figure figure_seconds(double s);     /* the same of seconds */
figure figure_bytes(double bytes);   /* 7.6 MB */
figure figure_share(double share);   /* 96.3 % */
figure figure_number(double number); /* up to 4 digits */

#endif
