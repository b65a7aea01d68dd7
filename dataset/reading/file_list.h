/* SPDX-License-Identifier: Apache-2.0 */
/* Expands a list of files into paths. */
#ifndef SLUICE_FILE_LIST_H
#define SLUICE_FILE_LIST_H

#include <stdbool.h>
#include <stddef.h>

#include <sluice/status.h>

/* The kind of files that a source reads. */
typedef struct file_list_kind {
    const char *source;    /* the source's name, with which error messages begin */
    const char *extension; /* files in a folder need this extension, which includes the dot */
    bool takes_pipes;      /* an entry may be a FIFO, or "-", standard input */
} file_list_kind;

typedef struct file_list {
    const file_list_kind *kind;
    char **paths;
    size_t count;
    size_t capacity;
} file_list;

/*
 * Expands a comma-separated list. An entry is one of: a file; a folder, which stands for all files
 * in it with the extension; a pattern with ranges in braces, {000000..000123}, and the shell's
 * wildcards * ? [ ]; or a pipe.
 *
 * An existing path is never interpreted as a pattern. Files of a folder or a wildcard are sorted by
 * bytes. `kind` must outlive the list. E_INVALID: a bad range, or no match; E_UNSUPPORTED: neither
 * a file nor a folder; E_IO, E_NO_MEMORY.
 */
sluice_status file_list_make(const char *text, const file_list_kind *kind, file_list *list_out);
void file_list_free(file_list *list);

#endif
