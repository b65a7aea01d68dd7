/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads a JSON file value by value, through a window, so that memory holds the largest value that
 * is kept, not the file. It finds where values begin and end; the caller parses the values that it
 * keeps. In a skipped value only quotes and the number of brackets are checked.
 */
#ifndef SLUICE_JSON_WALK_H
#define SLUICE_JSON_WALK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sluice/status.h>

/* Limit on the bytes of a value that is kept. */
enum { JSON_WALK_MOST = 1 << 20 };

typedef struct json_walk {
    int fd;          /* borrowed */
    uint8_t *window; /* bytes of the file, from offset `base` */
    size_t capacity; /* bytes allocated */
    size_t at;       /* cursor in the window */
    size_t end;      /* bytes in the window */
    uint64_t base;   /* offset of the window in the file */
    size_t counted;  /* offset in the window up to which line breaks are counted */
    uint64_t lines;  /* line breaks before that */
    bool ended;      /* the file has no bytes after the window */
} json_walk;

/* The position of a value in its file. */
typedef struct json_place {
    uint64_t byte; /* offset, from 0 */
    uint64_t line; /* from 1 */
} json_place;

/* Begins to read `fd` at its current position. It must stay open until json_walk_end(), which does
 * not close it. */
void json_walk_begin(int fd, json_walk *walk);
void json_walk_end(json_walk *walk);

/* Returns the position of the cursor. */
json_place json_walk_place(json_walk *walk);

/* Skips blanks, and UTF-8's byte order mark at the beginning. Returns the next character without
 * passing it; 0 at the end of the file. */
sluice_status json_walk_peek(json_walk *walk, char *next_out);

/* Skips blanks, and passes the character `want`. E_CORRUPT: the next character is another one;
 * E_UNSUPPORTED: the file is UTF-16. */
sluice_status json_walk_pass(json_walk *walk, char want);

/*
 * Passes the separator before the next element of a list or object. `first`: the cursor is after
 * the opening bracket. *more_out false: the closing bracket `close` was passed instead.
 */
sluice_status json_walk_next(json_walk *walk, char close, bool first, bool *more_out);

/*
 * Passes a value and returns its text, valid until the next call; the caller may change it.
 * E_CORRUPT: the file ends within the value, or there is no value; E_UNSUPPORTED: it is larger than
 * JSON_WALK_MOST; E_IO; E_NO_MEMORY.
 */
sluice_status json_walk_value(json_walk *walk, char **text_out, size_t *size_out);

/* Passes a value of any size. */
sluice_status json_walk_skip(json_walk *walk);

/* Passes the name of a member and its colon. `key` holds the name, or "" if it is longer than
 * `size` - 1 bytes. */
sluice_status json_walk_key(json_walk *walk, char *key, size_t size);

#endif
