/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Token files, and the windows in them. A window is seq + 1 tokens. Windows begin every `stride`
 * tokens of a file, as long as they end within the file. A window takes no memory; a file takes a
 * few dozen bytes.
 */
#ifndef SLUICE_TOKEN_SHARDS_H
#define SLUICE_TOKEN_SHARDS_H

#include "descriptor_int.h"
#include "file_list.h"
#include "token_header.h"

/* The files to open, and the windows in them. */
typedef struct token_request {
    const char *files;        /* a list as accepted by file_list_make(); NULL: use paths */
    const char *const *paths; /* (path_count) files, copied; used if files is NULL */
    size_t path_count;
    uint64_t seq;    /* 1 to TOKEN_MOST_SEQ */
    uint64_t stride; /* at least 1 */
    token_type type;
} token_request;

enum { TOKEN_MOST_SEQ = 1 << 24 };

typedef struct token_shard {
    const char *path;   /* borrowed from the list */
    sli_held_file file; /* kept open unless descriptors are scarce; then opened for each window */
    uint64_t data_at;
    uint64_t tokens;
    uint64_t first; /* number of its first window, counted through all files */
} token_shard;

typedef struct token_shards {
    file_list list;
    token_shard *shards;
    size_t count;
    uint32_t token_bytes; /* the same for all files */
    uint64_t seq;
    uint64_t stride;
    uint64_t windows;
} token_shards;

/* A window of a shard, beginning at token `at`. */
typedef struct token_window {
    token_shard *shard;
    uint64_t at;
} token_window;

/*
 * Opens all files and reads their headers. A file without a window stays in the list, with a
 * warning. Returns the errors of token_header_parse(), with the file's name in the message;
 * E_INVALID: files of different types, or no window in any file; errors of file_list_make(); E_IO;
 * E_NO_MEMORY. The struct must not be moved afterwards.
 */
sluice_status token_shards_open(const token_request *request, token_shards *shards_out);
void token_shards_close(token_shards *shards);

/* Returns the window with this number, which must be below shards->windows. */
token_window token_shards_find(const token_shards *shards, uint64_t number);

/*
 * Reads a window's tokens as stored, and the bytes after it in the file, up to `most` bytes; `most`
 * is at least the size of the window. *got_out: number of bytes read. The interrupt may be NULL.
 * Returns E_CORRUPT or E_IO on failure; the message names the file. Callable from any thread.
 */
sluice_status token_shards_read(const token_shards *shards, const token_window *window,
                                const sli_interrupt *interrupt, void *tokens, size_t most,
                                size_t *got_out);

uint64_t token_shards_memory(const token_shards *shards);

static inline size_t token_window_bytes(const token_shards *shards)
{
    return (size_t)(shards->seq + 1) * shards->token_bytes;
}

#endif
