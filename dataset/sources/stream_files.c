/* SPDX-License-Identifier: Apache-2.0 */
#include "stream_files.h"

#include <stdio.h>

#include "byte_feed.h"
#include "pack_files.h"
#include "permutation.h"
#include "status_int.h"

sluice_status stream_files_open(const char *text, const file_list_kind *kind, stream_files *files)
{
    pack_totals totals;
    sluice_status st = file_list_make(text, kind, &files->list);

    for (size_t i = 0; i < files->list.count; i++) {
        files->once = files->once || byte_feed_is_once(files->list.paths[i]);
    }
    return st == SLUICE_OK ? pack_files_check(&files->list, &totals) : st;
}

void stream_files_close(stream_files *files)
{
    file_list_free(&files->list);
}

uint64_t stream_files_memory(const stream_files *files)
{
    return files->list.capacity * sizeof(*files->list.paths);
}

sluice_status stream_files_begin(stream_files *files, const stream_start *start,
                                 stream_turn *turn_out)
{
    if (atomic_exchange_explicit(&files->begun, true, memory_order_relaxed) && files->once) {
        return sli_fail(SLUICE_E_UNSUPPORTED,
                        "%s: a pipe can be read only once, and was read already",
                        files->list.kind->source);
    }
    turn_out->mixed = start->key != NULL && !files->once; /* with a pipe the order is fixed */
    turn_out->key = turn_out->mixed ? *start->key : 0;
    return SLUICE_OK;
}

const char *stream_files_path(const stream_files *files, const stream_turn *turn, size_t position)
{
    const index_permutation order = permutation_of(files->list.count);

    return files->list.paths[turn->mixed ? permutation_at(&order, turn->key, position) : position];
}

void stream_sample_name(const void *source, uint64_t index, char *text, size_t size)
{
    (void)source;
    snprintf(text, size, "number %llu of the stream", (unsigned long long)index);
}
