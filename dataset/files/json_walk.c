/* SPDX-License-Identifier: Apache-2.0 */
#include "json_walk.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "alloc_int.h"
#include "status_int.h"

/* Bytes by which the window grows, when less than half of that is free. */
enum { WINDOW_BYTES = 256 * 1024 };

void json_walk_begin(int fd, json_walk *walk)
{
    *walk = (json_walk){.fd = fd};
}

void json_walk_end(json_walk *walk)
{
    sli_free(walk->window);
    *walk = (json_walk){.fd = -1};
}

/* Counts the line breaks before an offset of the window. */
static void count_lines(json_walk *walk, size_t to)
{
    for (; walk->counted < to; walk->counted++) {
        walk->lines += walk->window[walk->counted] == '\n';
    }
}

json_place json_walk_place(json_walk *walk)
{
    count_lines(walk, walk->at);
    return (json_place){walk->base + walk->at, walk->lines + 1};
}

/* ---- the window ------------------------------------------------------------------------------ */

/* Drops the bytes before offset `keep` from the window. */
static void drop_before(json_walk *walk, size_t keep)
{
    if (keep == 0) {
        return;
    }
    count_lines(walk, keep);
    memmove(walk->window, walk->window + keep, walk->end - keep);
    walk->base += keep;
    walk->counted -= keep;
    walk->at -= keep;
    walk->end -= keep;
}

/* Makes room for more bytes after those in the window. */
static sluice_status make_room(json_walk *walk)
{
    uint8_t *grown;

    if (walk->capacity - walk->end >= WINDOW_BYTES / 2) {
        return SLUICE_OK;
    }
    if (walk->end >= JSON_WALK_MOST) {
        return sli_fail(SLUICE_E_UNSUPPORTED, "a value of more than %d MiB", JSON_WALK_MOST >> 20);
    }
    grown = sli_grow(walk->window, &walk->capacity, walk->end + WINDOW_BYTES, 1);
    if (grown == NULL) {
        return sli_fail(SLUICE_E_NO_MEMORY, "%zu bytes of JSON", walk->end);
    }
    walk->window = grown;
    return SLUICE_OK;
}

/* Reads more of the file. Drops the bytes before offset `keep`, which becomes offset 0. */
static sluice_status read_more(json_walk *walk, size_t keep)
{
    sluice_status st;
    ssize_t got;

    drop_before(walk, keep);
    st = make_room(walk);
    if (st != SLUICE_OK) {
        return st;
    }
    do {
        got = read(walk->fd, walk->window + walk->end, walk->capacity - walk->end);
    } while (got < 0 && errno == EINTR);
    if (got < 0) {
        return sli_fail_errno(SLUICE_E_IO, errno, "cannot read");
    }
    walk->ended = got == 0;
    walk->end += (size_t)got;
    return SLUICE_OK;
}

/* ---- characters ------------------------------------------------------------------------------ */

static bool is_blank(uint8_t c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

/* Passes UTF-8's byte order mark if the cursor is at the beginning of the file. */
static void pass_mark(json_walk *walk)
{
    if (walk->base + walk->at == 0 && walk->end >= 3 &&
        memcmp(walk->window, "\xEF\xBB\xBF", 3) == 0) {
        walk->at = 3;
    }
}

sluice_status json_walk_peek(json_walk *walk, char *next_out)
{
    for (;;) {
        pass_mark(walk);
        while (walk->at < walk->end && is_blank(walk->window[walk->at])) {
            walk->at++;
        }
        if (walk->at < walk->end || walk->ended) {
            *next_out = walk->at < walk->end ? (char)walk->window[walk->at] : '\0';
            return SLUICE_OK;
        }

        const sluice_status st = read_more(walk, walk->at);

        if (st != SLUICE_OK) {
            return st;
        }
    }
}

/* Fails because of the next character. */
static sluice_status fail_unexpected(const json_walk *walk, const char *must_be)
{
    const uint8_t next = walk->at < walk->end ? walk->window[walk->at] : 0;

    if (walk->at == walk->end) {
        return sli_fail(SLUICE_E_CORRUPT, "the file ends; %s must follow", must_be);
    }
    if (walk->base + walk->at == 0 && (next == 0xFE || next == 0xFF)) {
        return sli_fail(SLUICE_E_UNSUPPORTED, "the text is UTF-16 and must be UTF-8");
    }
    return next > ' ' && next < 0x7F
               ? sli_fail(SLUICE_E_CORRUPT, "'%c' must be %s", next, must_be)
               : sli_fail(SLUICE_E_CORRUPT, "byte 0x%02x must be %s", next, must_be);
}

sluice_status json_walk_pass(json_walk *walk, char want)
{
    const char text[] = {'\'', want, '\'', '\0'};
    char next = '\0';
    const sluice_status st = json_walk_peek(walk, &next);

    if (st != SLUICE_OK) {
        return st;
    }
    if (next != want || walk->at == walk->end) {
        return fail_unexpected(walk, text);
    }
    walk->at++;
    return SLUICE_OK;
}

sluice_status json_walk_next(json_walk *walk, char close, bool first, bool *more_out)
{
    char next = '\0';
    sluice_status st = json_walk_peek(walk, &next);

    if (st == SLUICE_OK && next == close) {
        walk->at++;
        *more_out = false;
        return SLUICE_OK;
    }
    if (st == SLUICE_OK && !first) {
        st = next == ',' ? json_walk_pass(walk, ',')
                         : fail_unexpected(walk, close == '}' ? "',' or '}'" : "',' or ']'");
    }
    if (st == SLUICE_OK) {
        *more_out = true;
    }
    return st;
}

/* ---- values ---------------------------------------------------------------------------------- */

/* The state of a search for the end of a value. */
typedef struct value_scan {
    uint64_t depth; /* open brackets */
    bool in_text;
    bool escaped;
    bool scalar; /* a number or a word, which ends before the next separator */
    bool done;
} value_scan;

/* Passes the bytes of a value up to its end, or to the end of the window. */
static void scan_window(json_walk *walk, value_scan *scan)
{
    while (walk->at < walk->end && !scan->done) {
        const uint8_t c = walk->window[walk->at];

        if (scan->in_text) {
            scan->in_text = scan->escaped || c != '"';
            scan->escaped = !scan->escaped && c == '\\';
            scan->done = !scan->in_text && scan->depth == 0;
        } else if (scan->scalar) {
            scan->done = is_blank(c) || c == ',' || c == ']' || c == '}';
            if (scan->done) {
                return; /* the separator is not part of the value */
            }
        } else if (c == '"') {
            scan->in_text = true;
        } else if (c == '{' || c == '[') {
            scan->depth++;
        } else if (c == '}' || c == ']') {
            scan->depth--;
            scan->done = scan->depth == 0;
        } else {
            scan->scalar = scan->depth == 0;
        }
        walk->at++;
    }
}

/* Passes a value. If it is kept, its text begins at the window's offset *begin_out. */
static sluice_status pass_value(json_walk *walk, bool keep, size_t *begin_out)
{
    value_scan scan = {.depth = 0};
    char next = '\0';
    size_t begin;
    sluice_status st = json_walk_peek(walk, &next);

    if (st != SLUICE_OK) {
        return st;
    }
    if (walk->at == walk->end || next == ',' || next == ':' || next == ']' || next == '}') {
        return fail_unexpected(walk, "a value");
    }
    begin = walk->at;
    for (;;) {
        scan_window(walk, &scan);
        if (scan.done || (walk->ended && scan.scalar)) {
            *begin_out = begin;
            return SLUICE_OK;
        }
        if (walk->ended) {
            return sli_fail(SLUICE_E_CORRUPT, "the file ends within a value: it is truncated");
        }
        st = read_more(walk, keep ? begin : walk->at);
        if (st != SLUICE_OK) {
            return st;
        }
        begin = 0;
    }
}

sluice_status json_walk_value(json_walk *walk, char **text_out, size_t *size_out)
{
    size_t begin = 0;
    const sluice_status st = pass_value(walk, true, &begin);

    if (st == SLUICE_OK) {
        *text_out = (char *)walk->window + begin;
        *size_out = walk->at - begin;
    }
    return st;
}

sluice_status json_walk_skip(json_walk *walk)
{
    size_t begin;

    return pass_value(walk, false, &begin);
}

sluice_status json_walk_key(json_walk *walk, char *key, size_t size)
{
    char *text = NULL;
    size_t length = 0;
    char next = '\0';
    sluice_status st = json_walk_peek(walk, &next);

    if (st == SLUICE_OK && next != '"') {
        st = json_walk_pass(walk, '"');
    }
    if (st == SLUICE_OK) {
        st = json_walk_value(walk, &text, &length);
    }
    if (st != SLUICE_OK) {
        return st;
    }
    length = length - 2 < size ? length - 2 : 0;
    memcpy(key, text + 1, length);
    key[length] = '\0';
    return json_walk_pass(walk, ':');
}
