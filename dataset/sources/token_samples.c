/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads windows of tokens by pread(): each once, then it is copied from the buffer to both columns.
 */
#include "token_samples.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "output_int.h"
#include "status_int.h"

enum { COLUMN_INPUTS, COLUMN_TARGETS };

/*
 * Limits on the bytes, and on the number of windows, that a worker reads at once if it reads
 * consecutive windows.
 */
enum { AHEAD_BYTES = 32768, AHEAD_MOST = 1024 };

uint64_t token_samples_count(const void *source)
{
    return ((const token_shards *)source)->windows;
}

uint64_t token_samples_memory(const void *source)
{
    return token_shards_memory(source);
}

void token_samples_name(const void *source, uint64_t index, char *text, size_t size)
{
    const token_shards *shards = source;
    const token_window window = token_shards_find(shards, index);
    const char *slash = strrchr(window.shard->path, '/');

    snprintf(text, size, "%s:%llu+%llu", slash != NULL ? slash + 1 : window.shard->path,
             (unsigned long long)window.at, (unsigned long long)shards->seq);
}

bool token_samples_locate(const void *source, uint64_t index, sample_location *location_out)
{
    const token_shards *shards = source;
    const token_window window = token_shards_find(shards, index);

    location_out->fd = -1;
    location_out->held = &window.shard->file;
    location_out->folder_fd = AT_FDCWD;
    location_out->path = window.shard->path;
    location_out->offset = window.shard->data_at + window.at * shards->token_bytes;
    location_out->size = token_window_bytes(shards);
    location_out->in_parts = false;
    return true;
}

/* ---- reading -----------------------------------------------------------------------------------
 */

static sluice_status check_tokens(const token_shards *shards, const token_window *window,
                                  const uint32_t *tokens)
{
    uint32_t bits = 0;

    for (uint64_t i = 0; i <= shards->seq; i++) {
        bits |= tokens[i];
    }
    return bits <= INT32_MAX ? SLUICE_OK
                             : sli_fail(SLUICE_E_CORRUPT,
                                        "%s has a token above %d in this window: is it a file of "
                                        "32-bit tokens?",
                                        window->shard->path, INT32_MAX);
}

static sluice_dtype stored_type(const token_shards *shards)
{
    return shards->token_bytes == 2 ? SLUICE_U16 : SLUICE_U32;
}

/* Writes seq tokens, beginning at `first`, as i32. */
static void write_column(const token_shards *shards, const uint8_t *first, void *column)
{
    if (column != NULL) {
        sli_widen(stored_type(shards), first, SLUICE_I32, column, (size_t)shards->seq);
    }
}

/*
 * Reads a window into io->bytes, unless it is there already. If a worker reads consecutive windows,
 * each read covers twice as many windows as the one before, up to AHEAD_BYTES.
 */
static sluice_status read_ahead(const token_shards *shards, const token_window *window,
                                sample_io *io)
{
    const size_t bytes = token_window_bytes(shards);
    const uint64_t step = shards->stride * shards->token_bytes;
    const uint64_t begin = window->at * shards->token_bytes;
    const uint64_t left = window->shard->tokens * shards->token_bytes - begin;
    const bool follows = io->ahead.file == window->shard && begin == io->ahead.next;
    uint64_t most = bytes;
    size_t got = 0;
    sluice_status st;

    if (io->ahead.file == window->shard && begin >= io->ahead.begin &&
        begin + bytes <= io->ahead.end) {
        io->ahead.next = begin + step;
        return SLUICE_OK;
    }
    io->ahead.samples = !follows                             ? 1
                        : io->ahead.samples < AHEAD_MOST / 2 ? io->ahead.samples * 2
                                                             : AHEAD_MOST;
    if (follows && step < AHEAD_BYTES && bytes < AHEAD_BYTES) {
        most += (io->ahead.samples - 1) * step;
        most = most > AHEAD_BYTES ? AHEAD_BYTES : most;
        most = most > left ? left : most;
    }
    io->ahead.file = NULL;
    st = image_buffer_reserve(&io->bytes, (size_t)most);
    if (st == SLUICE_OK) {
        st = token_shards_read(shards, window, io->interrupt, io->bytes.data, (size_t)most, &got);
    }
    if (st != SLUICE_OK) {
        return st;
    }
    io->bytes_read += got;
    io->ahead.file = window->shard;
    io->ahead.begin = begin;
    io->ahead.end = begin + got;
    io->ahead.next = begin + step;
    return SLUICE_OK;
}

sluice_status token_samples_read(const void *source, uint64_t index, sample_io *io,
                                 void *const *row, sample_data *data_out)
{
    const token_shards *shards = source;
    const token_window window = token_shards_find(shards, index);
    sluice_status st = read_ahead(shards, &window, io);
    const uint8_t *tokens;

    (void)data_out;
    if (st != SLUICE_OK) {
        return st;
    }
    tokens = io->bytes.data + (window.at * shards->token_bytes - io->ahead.begin);
    if (shards->token_bytes == 4) {
        st = check_tokens(shards, &window, (const uint32_t *)(const void *)tokens);
    }
    if (st == SLUICE_OK) {
        if (io->stored != NULL) {
            memcpy(io->stored, tokens, token_window_bytes(shards));
        }
        write_column(shards, tokens, row[COLUMN_INPUTS]);
        write_column(shards, tokens + shards->token_bytes, row[COLUMN_TARGETS]);
    }
    return st;
}

void token_samples_windows(const void *source, uint32_t offload, source_windows *windows_out)
{
    const token_shards *shards = source;

    for (uint32_t i = 0; i < SLUICE_MAX_COLUMNS; i++) {
        windows_out->offsets[i] = SOURCE_NO_WINDOW;
    }
    windows_out->offsets[COLUMN_INPUTS] = 0;
    windows_out->offsets[COLUMN_TARGETS] = 1;
    windows_out->offload = offload;
    windows_out->stored = (sluice_column){
        .name = "tokens", .dtype = stored_type(shards), .rank = 1, .shape = {shards->seq + 1}};
}

void token_samples_schema(uint64_t seq, stage_schema *schema)
{
    schema->column_count = 2;
    schema->columns[COLUMN_INPUTS] =
        (sluice_column){.name = "inputs", .dtype = SLUICE_I32, .rank = 1, .shape = {seq}};
    schema->columns[COLUMN_TARGETS] =
        (sluice_column){.name = "targets", .dtype = SLUICE_I32, .rank = 1, .shape = {seq}};
    schema->image = -1;
}
