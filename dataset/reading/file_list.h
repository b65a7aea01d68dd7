/* SPDX-License-Identifier: Apache-2.0 */
/* Expands a list of files into paths. */
#ifndef SLUICE_FILE_LIST_H
#define SLUICE_FILE_LIST_H

#include <stdbool.h>
#include <stddef.h>

#include <sluice/status.h>

/* What a source reads. */
typedef struct file_list_kind {
    const char *source;    /* its name, which errors begin with */
    const char *extension; /* of the files that are taken from a folder, with the dot */
    bool takes_pipes;      /* an entry may be a FIFO, or "-", standard input */
} file_list_kind;

typedef struct file_list {
    const file_list_kind *kind;
    char **paths;
    size_t count;
    size_t capacity;
} file_list;

/*
 * Expands a comma-separated list. An entry is a file; a folder, which means all files in it with
 * the extension; a pattern with ranges in braces, {000000..000123}, and the shell's wildcards
 * * ? [ ]; or a pipe. An existing path is never interpreted as a pattern. Files of a folder or a
 * wildcard are sorted by bytes. `kind` must outlive the list. E_INVALID: a bad range, or no match;
 * E_UNSUPPORTED: another type of file; E_IO, E_NO_MEMORY.
 */
sluice_status file_list_make(const char *text, const file_list_kind *kind, file_list *list_out);
void file_list_free(file_list *list);

#endif
