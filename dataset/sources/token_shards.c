/* SPDX-License-Identifier: Apache-2.0 */
#include "token_shards.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "alloc_int.h"
#include "compressed_file.h"
#include "error_int.h"
#include "log_int.h"
#include "plain_file.h"
#include "status_int.h"

static const file_list_kind token_list_kind = {"tokens", ".bin", false};

/* Limit on windows, so that sums and products with ranks and passes fit in 64 bits. */
static const uint64_t MOST_WINDOWS = UINT64_C(1) << 61;

static sluice_status read_header(int fd, uint64_t file_bytes, token_type type, token_header *header)
{
    uint8_t head[TOKEN_HEAD];
    size_t got = 0;
    sluice_status st = plain_file_read(fd, 0, head, sizeof(head), &got);

    return st == SLUICE_OK ? token_header_parse(head, got, file_bytes, type, header) : st;
}

/* Prepends the file's name to the last error. */
static sluice_status name_file(const char *path, sluice_status status)
{
    sli_error error;
    char text[SLI_ERROR_SIZE];

    sli_error_take(status, &error);
    snprintf(text, sizeof(text), "tokens: %s: %.700s", path, error.text);
    memcpy(error.text, text, sizeof(text));
    return sli_error_raise(&error); /* keeps the errno, by which faults are classified */
}

/* The number of windows in a file. */
static uint64_t windows_of(const token_shards *shards, uint64_t tokens)
{
    return tokens > shards->seq ? (tokens - shards->seq - 1) / shards->stride + 1 : 0;
}

static sluice_status add_shard(token_shards *shards, const char *path, token_type type)
{
    token_shard *shard = &shards->shards[shards->count];
    token_header header;
    uint64_t file_bytes = 0;
    int fd = -1;
    sluice_status st = plain_file_open(path, NULL, &fd, &file_bytes);

    if (st == SLUICE_OK) {
        st = compressed_file_refuse(fd, path); /* by the name, too: tokens may be any bytes */
    }
    if (st == SLUICE_OK) {
        st = read_header(fd, file_bytes, type, &header);
    }
    if (st == SLUICE_OK && shards->count > 0 && header.token_bytes != shards->token_bytes) {
        st = sli_fail(SLUICE_E_INVALID,
                      "its tokens have %u bytes, and those of %s have %u; all files of a dataset "
                      "must be of one type",
                      header.token_bytes, shards->shards[0].path, shards->token_bytes);
    }
    if (st != SLUICE_OK) {
        if (fd >= 0) {
            close(fd);
        }
        return name_file(path, st);
    }
    sli_held_file_put(&shard->file, fd);
    shard->path = path;
    shard->data_at = header.data_at;
    shard->tokens = header.count;
    shard->first = shards->windows;
    shards->token_bytes = header.token_bytes;
    shards->count++;
    if (__builtin_add_overflow(shards->windows, windows_of(shards, header.count),
                               &shards->windows) ||
        shards->windows > MOST_WINDOWS) {
        return sli_fail(SLUICE_E_UNSUPPORTED, "tokens: more windows than can be counted");
    }
    return SLUICE_OK;
}

/* Warns of files that are shorter than a window. E_INVALID: all of them are. */
static sluice_status check_windows(const token_shards *shards)
{
    const token_shard *shortest = NULL;
    uint64_t most = 0;
    size_t without = 0;

    for (size_t i = 0; i < shards->count; i++) {
        const token_shard *shard = &shards->shards[i];

        most = shard->tokens > most ? shard->tokens : most;
        if (shard->tokens <= shards->seq) {
            shortest = shard;
            without++;
        }
    }
    if (shards->windows == 0) {
        return sli_fail(SLUICE_E_INVALID,
                        "no valid data in the dataset: tokens: a window of seq=%llu takes %llu "
                        "tokens, and the longest of %zu files, such as %s, has %llu",
                        (unsigned long long)shards->seq, (unsigned long long)shards->seq + 1,
                        shards->count, shortest->path, (unsigned long long)most);
    }
    if (without > 0) {
        sli_log(SLUICE_LOG_WARN,
                "tokens: %zu of %zu files have no window of %llu tokens and are not read, such as "
                "%s",
                without, shards->count, (unsigned long long)shards->seq + 1, shortest->path);
    }
    return SLUICE_OK;
}

static sluice_status copy_paths(const token_request *request, file_list *list)
{
    list->kind = &token_list_kind;
    list->paths = sli_calloc(request->path_count, sizeof(*list->paths));
    if (list->paths == NULL) {
        return sli_fail(SLUICE_E_NO_MEMORY, "tokens: %zu files", request->path_count);
    }
    list->capacity = request->path_count;
    for (size_t i = 0; i < request->path_count; i++) {
        list->paths[i] = sli_strdup(request->paths[i]);
        if (list->paths[i] == NULL) {
            return sli_fail(SLUICE_E_NO_MEMORY, "tokens: %zu files", request->path_count);
        }
        list->count++;
    }
    return SLUICE_OK;
}

sluice_status token_shards_open(const token_request *request, token_shards *shards)
{
    sluice_status st;

    *shards = (token_shards){.seq = request->seq, .stride = request->stride};
    st = request->files != NULL ? file_list_make(request->files, &token_list_kind, &shards->list)
                                : copy_paths(request, &shards->list);
    if (st == SLUICE_OK) {
        shards->shards = sli_calloc(shards->list.count, sizeof(*shards->shards));
        st = shards->shards != NULL
                 ? st
                 : sli_fail(SLUICE_E_NO_MEMORY, "tokens: %zu files", shards->list.count);
    }
    for (size_t i = 0; st == SLUICE_OK && i < shards->list.count; i++) {
        st = add_shard(shards, shards->list.paths[i], request->type);
    }
    if (st == SLUICE_OK) {
        st = check_windows(shards);
    }
    if (st != SLUICE_OK) {
        token_shards_close(shards);
    }
    return st;
}

void token_shards_close(token_shards *shards)
{
    for (size_t i = 0; i < shards->count; i++) {
        sli_held_file_close(&shards->shards[i].file);
    }
    sli_free(shards->shards);
    file_list_free(&shards->list);
    shards->shards = NULL;
    shards->count = 0;
}

token_window token_shards_find(const token_shards *shards, uint64_t number)
{
    size_t low = 0;
    size_t high = shards->count;

    /* Find the last shard whose first window is at or before the number. A shard without windows
     * has the same `first` as the next shard, so it is never found. */
    while (high - low > 1) {
        const size_t middle = low + (high - low) / 2;

        *(shards->shards[middle].first <= number ? &low : &high) = middle;
    }
    return (token_window){&shards->shards[low],
                          (number - shards->shards[low].first) * shards->stride};
}

/* Returns a descriptor of the file: borrowed if one is held open, else opened for this window. */
static sluice_status file_of(token_shard *shard, uint32_t token_bytes,
                             const sli_interrupt *interrupt, bool *lent_out, int *fd_out)
{
    const uint64_t end = shard->data_at + shard->tokens * token_bytes;
    uint64_t bytes = 0;
    sluice_status st;

    *fd_out = sli_held_file_borrow(&shard->file);
    *lent_out = *fd_out >= 0;
    if (*lent_out) {
        return SLUICE_OK;
    }
    st = plain_file_open(shard->path, interrupt, fd_out, &bytes);
    if (st == SLUICE_OK && bytes != end) {
        close(*fd_out);
        st = sli_fail(SLUICE_E_IO, "it has changed: it has %llu bytes, and had %llu",
                      (unsigned long long)bytes, (unsigned long long)end);
    }
    return st;
}

sluice_status token_shards_read(const token_shards *shards, const token_window *window,
                                const sli_interrupt *interrupt, void *tokens, size_t most,
                                size_t *got_out)
{
    token_shard *shard = window->shard;
    bool lent = false;
    int fd = -1;
    sluice_status st = file_of(shard, shards->token_bytes, interrupt, &lent, &fd);

    if (st == SLUICE_OK) {
        st = plain_file_read(fd, shard->data_at + window->at * shards->token_bytes, tokens, most,
                             got_out);
        if (st == SLUICE_OK && *got_out < token_window_bytes(shards)) {
            st = sli_fail(SLUICE_E_CORRUPT,
                          "it ends within the window: it was truncated while in use");
        }
        if (lent) {
            sli_held_file_give_back(&shard->file);
        } else {
            close(fd);
        }
    }
    return st == SLUICE_OK ? st : name_file(shard->path, st);
}

uint64_t token_shards_memory(const token_shards *shards)
{
    uint64_t bytes = sizeof(*shards) + shards->list.capacity * sizeof(*shards->list.paths) +
                     shards->count * sizeof(*shards->shards);

    for (size_t i = 0; i < shards->count; i++) {
        bytes += strlen(shards->shards[i].path) + 1;
    }
    return bytes;
}
