/* SPDX-License-Identifier: Apache-2.0 */
#include "coco_shape.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "status_int.h"
#include "text_int.h"

/* Bytes of a number or a key; brackets within brackets; characters of one run in a text. */
enum { MOST_WORD = 64, MOST_DEPTH = 16, MOST_GROUPS = 12 };

/* The text of a segmentation, and what is not read yet. */
typedef struct shape_text {
    const char *at;
    const char *end;
    object_raster *raster;
} shape_text;

/* The members of an object that are read. NULL: not there. */
typedef struct shape_members {
    const char *counts;
    const char *size;
} shape_members;

/* Returns the next character after blanks, without passing it; 0 at the end. */
static char peek(shape_text *text)
{
    while (text->at < text->end && strchr(" \t\r\n", *text->at) != NULL && *text->at != '\0') {
        text->at++;
    }
    return text->at < text->end ? *text->at : '\0';
}

static sluice_status pass(shape_text *text, char want)
{
    const char next = peek(text);

    if (next != want) {
        return sli_fail(SLUICE_E_CORRUPT, "there must be '%c' before '%.*s'", want,
                        text->end - text->at < 20 ? (int)(text->end - text->at) : 20, text->at);
    }
    text->at++;
    return SLUICE_OK;
}

/* Passes the comma before the next element, or the closing bracket. */
static sluice_status pass_next(shape_text *text, char close, bool first, bool *more_out)
{
    *more_out = peek(text) != close;
    if (!*more_out) {
        text->at++;
        return SLUICE_OK;
    }
    return first ? SLUICE_OK : pass(text, ',');
}

static sluice_status take_number(shape_text *text, double *number_out)
{
    char word[MOST_WORD] = "";
    size_t length = 0;

    (void)peek(text);
    while (text->at < text->end && length + 1 < sizeof(word) && *text->at != '\0' &&
           strchr("+-.0123456789eE", *text->at) != NULL) {
        word[length++] = *text->at++;
    }
    word[length] = '\0';
    return sli_parse_real(word, number_out)
               ? SLUICE_OK
               : sli_fail(SLUICE_E_CORRUPT, "'%s%.*s' must be a number", word,
                          text->end - text->at < 20 ? (int)(text->end - text->at) : 20, text->at);
}

/* Takes a whole number of at most 2^53. */
static sluice_status take_whole(shape_text *text, int64_t *number_out)
{
    double number = 0;
    const sluice_status st = take_number(text, &number);

    if (st == SLUICE_OK && !(fabs(number) <= 9007199254740992.0 && floor(number) == number)) {
        return sli_fail(SLUICE_E_CORRUPT, "%.9g must be a whole number", number);
    }
    *number_out = (int64_t)number;
    return st;
}

/* Passes a text, up to its closing quote. */
static sluice_status skip_text(shape_text *text)
{
    sluice_status st = pass(text, '"');

    while (st == SLUICE_OK && text->at < text->end && *text->at != '"') {
        text->at += *text->at == '\\' && text->end - text->at > 1 ? 2 : 1;
    }
    return st == SLUICE_OK ? pass(text, '"') : st;
}

/* Passes a value: a text, or everything up to the next comma or bracket outside of it. */
static sluice_status skip_value(shape_text *text)
{
    uint32_t depth = 0;
    sluice_status st = SLUICE_OK;

    while (st == SLUICE_OK) {
        const char next = peek(text);

        if (next == '"') {
            st = skip_text(text);
        } else if (next == '[' || next == '{') {
            st = depth++ < MOST_DEPTH
                     ? SLUICE_OK
                     : sli_fail(SLUICE_E_CORRUPT, "there are more than %d brackets", MOST_DEPTH);
            text->at++;
        } else if (next == '\0' || (depth == 0 && (next == ',' || next == '}' || next == ']'))) {
            return SLUICE_OK;
        } else {
            depth -= next == ']' || next == '}';
            text->at++;
        }
    }
    return st;
}

/* ---- polygons -------------------------------------------------------------------------------- */

static sluice_status add_polygon(shape_text *text)
{
    bool more = true;
    double x = 0;
    sluice_status st = pass(text, '[');

    for (uint64_t i = 0; st == SLUICE_OK; i++) {
        double number = 0;

        st = pass_next(text, ']', i == 0, &more);
        if (st == SLUICE_OK && !more) {
            return i % 2 == 0 ? raster_end_polygon(text->raster)
                              : sli_fail(SLUICE_E_CORRUPT,
                                         "a polygon has %llu numbers, and must have an even number",
                                         (unsigned long long)i);
        }
        st = st == SLUICE_OK ? take_number(text, &number) : st;
        if (st == SLUICE_OK && i % 2 == 1) {
            st = raster_add_point(text->raster, x, number);
        }
        x = number;
    }
    return st;
}

static sluice_status add_polygons(shape_text *text)
{
    bool more = true;
    sluice_status st = pass(text, '[');

    for (uint64_t i = 0; st == SLUICE_OK; i++) {
        st = pass_next(text, ']', i == 0, &more);
        if (st == SLUICE_OK && !more) {
            return i > 0 ? SLUICE_OK
                         : sli_fail(SLUICE_E_CORRUPT, "it has no polygon, and must have one");
        }
        st = st == SLUICE_OK ? add_polygon(text) : st;
    }
    return st;
}

/* ---- runs ------------------------------------------------------------------------------------ */

static sluice_status check_size(shape_text *text)
{
    const object_raster *raster = text->raster;
    int64_t height = 0;
    int64_t width = 0;
    sluice_status st = pass(text, '[');

    st = st == SLUICE_OK ? take_whole(text, &height) : st;
    st = st == SLUICE_OK ? pass(text, ',') : st;
    st = st == SLUICE_OK ? take_whole(text, &width) : st;
    st = st == SLUICE_OK ? pass(text, ']') : st;
    if (st == SLUICE_OK && (height != raster->height || width != raster->width)) {
        return sli_fail(SLUICE_E_CORRUPT,
                        "its size is [%lld, %lld], and must be [height, width] of the image, "
                        "[%u, %u]",
                        (long long)height, (long long)width, raster->height, raster->width);
    }
    return st;
}

/* Runs as a list of numbers. */
static sluice_status add_counts(shape_text *text)
{
    bool more = true;
    sluice_status st = pass(text, '[');

    for (bool first = true; st == SLUICE_OK; first = false) {
        int64_t count = 0;

        st = pass_next(text, ']', first, &more);
        if (st == SLUICE_OK && !more) {
            return raster_end_runs(text->raster);
        }
        st = st == SLUICE_OK ? take_whole(text, &count) : st;
        st = st == SLUICE_OK ? raster_add_run(text->raster, count) : st;
    }
    return st;
}

/* True at the two characters that are a backslash in JSON. */
static bool is_escape(const shape_text *text)
{
    return text->end - text->at > 1 && text->at[1] == '\\';
}

/*
 * Takes a run of a text: groups of 5 bits, the lowest first, in characters from '0' on. Bit 5 says
 * that another group follows, and bit 4 of the last one is the sign.
 */
static sluice_status take_run(shape_text *text, int64_t *run_out)
{
    uint64_t bits = 0;

    for (uint32_t k = 0; k < MOST_GROUPS; k++) {
        const uint32_t group = text->at < text->end ? (uint32_t)(uint8_t)*text->at - '0' : 64;

        if (group > 63 || (group == '\\' - '0' && !is_escape(text))) {
            return sli_fail(SLUICE_E_CORRUPT, "'%.*s' must be the runs of COCO's compressed form",
                            text->end - text->at < 20 ? (int)(text->end - text->at) : 20, text->at);
        }
        text->at += group == '\\' - '0' ? 2 : 1;
        bits |= (uint64_t)(group & 31) << (5 * k);
        if ((group & 32) == 0) {
            bits |= (group & 16) != 0 ? UINT64_MAX << (5 * (k + 1)) : 0;
            memcpy(run_out, &bits, sizeof(bits));
            return SLUICE_OK;
        }
    }
    return sli_fail(SLUICE_E_CORRUPT, "a run of the compressed form has more than %d characters",
                    MOST_GROUPS);
}

/* Runs as a text: from the fourth on a run is the difference to the one before the last. */
static sluice_status add_packed_counts(shape_text *text)
{
    int64_t before[2] = {0, 0}; /* the last run, and the one before it */
    sluice_status st = pass(text, '"');

    for (uint64_t i = 0; st == SLUICE_OK && text->at < text->end && *text->at != '"'; i++) {
        int64_t run = 0;

        st = take_run(text, &run);
        run += i > 2 ? before[1] : 0;
        st = st == SLUICE_OK ? raster_add_run(text->raster, run) : st;
        before[1] = before[0];
        before[0] = run;
    }
    st = st == SLUICE_OK ? pass(text, '"') : st;
    return st == SLUICE_OK ? raster_end_runs(text->raster) : st;
}

static sluice_status add_runs(const shape_text *text, const shape_members *members)
{
    shape_text part = *text;
    sluice_status st;

    if (members->counts == NULL || members->size == NULL) {
        return sli_fail(SLUICE_E_CORRUPT, "it has no %s, and must have counts and size",
                        members->counts == NULL ? "counts" : "size");
    }
    part.at = members->size;
    st = check_size(&part);
    part.at = members->counts;
    if (st != SLUICE_OK) {
        return st;
    }
    return peek(&part) == '"' ? add_packed_counts(&part) : add_counts(&part);
}

/* Takes the name of a member and its colon; "" if it is longer than any that is read. */
static sluice_status take_key(shape_text *text, char *key, size_t size)
{
    const char *begin;
    sluice_status st;

    (void)peek(text);
    begin = text->at + 1;
    st = skip_text(text);
    snprintf(key, size, "%.*s",
             st == SLUICE_OK && text->at - 1 - begin < (ptrdiff_t)size ? (int)(text->at - 1 - begin)
                                                                       : 0,
             begin);
    return st == SLUICE_OK ? pass(text, ':') : st;
}

static sluice_status read_object(shape_text *text, shape_members *members)
{
    bool more = true;
    sluice_status st = pass(text, '{');

    for (bool first = true; st == SLUICE_OK; first = false) {
        char key[MOST_WORD];
        const char **found;

        st = pass_next(text, '}', first, &more);
        if (st != SLUICE_OK || !more) {
            break;
        }
        st = take_key(text, key, sizeof(key));
        if (st != SLUICE_OK) {
            break;
        }
        found = strcmp(key, "counts") == 0 ? &members->counts
                : strcmp(key, "size") == 0 ? &members->size
                                           : NULL;
        if (found != NULL && *found != NULL) {
            return sli_fail(SLUICE_E_CORRUPT, "a second %s", key);
        }
        if (found != NULL) {
            *found = text->at;
        }
        st = skip_value(text);
    }
    return st;
}

sluice_status coco_shape_add(object_raster *raster, const char *text, size_t size)
{
    shape_text whole = {text, text + size, raster};
    shape_members members = {NULL, NULL};
    const char next = peek(&whole);
    sluice_status st;

    if (next != '[' && next != '{') {
        return sli_fail(SLUICE_E_CORRUPT, "it must be polygons, [[x, y, x, y, ...]], or runs, "
                                          "{\"counts\": ..., \"size\": [height, width]}");
    }
    if (next == '[') {
        st = add_polygons(&whole);
    } else {
        st = read_object(&whole, &members);
        st = st == SLUICE_OK ? add_runs(&whole, &members) : st;
    }
    if (st == SLUICE_OK && peek(&whole) != '\0') {
        st = sli_fail(SLUICE_E_CORRUPT, "something follows it");
    }
    return st;
}
