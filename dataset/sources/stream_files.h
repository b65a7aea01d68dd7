/* SPDX-License-Identifier: Apache-2.0 */
/* The files of a source that reads them in sequence: in which order a pass reads them, and whether
 * there can be a second pass. */
#ifndef SLUICE_STREAM_FILES_H
#define SLUICE_STREAM_FILES_H

#include <stdatomic.h>

#include "file_list.h"
#include "source.h"

typedef struct stream_files {
    file_list list;
    bool once; /* one of them is a pipe */
    atomic_bool begun;
} stream_files;

/*
 * Expands the list of files, and checks those of packs (pack_files.h). Returns the errors of
 * file_list_make() and pack_files_check(); the caller closes the files, also after an error.
 */
sluice_status stream_files_open(const char *text, const file_list_kind *kind, stream_files *files);
void stream_files_close(stream_files *files);
uint64_t stream_files_memory(const stream_files *files);

/* The order of the files in a pass. */
typedef struct stream_turn {
    bool mixed;
    uint64_t key;
} stream_turn;

/* Begins a pass. E_UNSUPPORTED: a pipe was read already. */
sluice_status stream_files_begin(stream_files *files, const stream_start *start,
                                 stream_turn *turn_out);

/* Returns the path of the file at a position of the order. */
const char *stream_files_path(const stream_files *files, const stream_turn *turn, size_t position);

/* The name of a sample before it is read: source_ops.name. */
void stream_sample_name(const void *source, uint64_t index, char *text, size_t size);

#endif
