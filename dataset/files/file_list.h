/* SPDX-License-Identifier: Apache-2.0 */
/* Expands a comma-separated list of files, folders and patterns into paths. */
#ifndef SLUICE_FILE_LIST_H
#define SLUICE_FILE_LIST_H

#include <stdbool.h>
#include <stddef.h>

#include <sluice/status.h>

/* The kind of files that a source reads. */
typedef struct file_list_kind {
    const char *source;    /* the source's name, with which error messages begin */
    const char *extension; /* only files with this extension, which includes the dot, are taken from
                              a folder */
    bool takes_pipes;      /* an entry may be a FIFO, or "-" for standard input */
} file_list_kind;

typedef struct file_list {
    const file_list_kind *kind;
    char **paths;
    size_t count;
    size_t capacity;
    char **folders; /* those whose files the list has because an entry names the folder */
    size_t folder_count;
    size_t folder_capacity;
} file_list;

/*
 * Expands a comma-separated list. An entry is one of: a file; a folder, which means all files in it
 * with the extension; a pattern with ranges in braces, {000000..000123}, and the shell's wildcards
 * * ? [ ]; or a pipe.
 *
 * An existing path is never interpreted as a pattern. Files of a folder or a wildcard are sorted
 * bytewise. `kind` must outlive the list. E_INVALID: a range is invalid, or nothing matches;
 * E_UNSUPPORTED: a path is neither a file nor a folder. Also returns E_IO and E_NO_MEMORY.
 */
sluice_status file_list_make(const char *text, const file_list_kind *kind, file_list *list_out);
void file_list_free(file_list *list);

/* Appends a path, which is copied. E_INVALID: there are too many. Also returns E_NO_MEMORY. */
sluice_status file_list_add(file_list *list, const char *path);

#endif
