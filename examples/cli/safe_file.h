/* SPDX-License-Identifier: Apache-2.0 */
/* A file that gets its name only once it is complete. */
#ifndef SLUICE_SAFE_FILE_H
#define SLUICE_SAFE_FILE_H

#include <stdbool.h>
#include <stdio.h>

/*
 * A file, written under a temporary name in the same folder until safe_file_publish(). Empty if
 * zeroed. Calls that return false have set errno.
 */
typedef struct safe_file {
    char *path;
    char *temporary; /* FOLDER/.NAME.PID */
    FILE *file;      /* NULL: closed */
} safe_file;

/* Creates the temporary file. Refuses a path that exists and is not a regular file. */
bool safe_file_create(safe_file *file, const char *path);

/* Closes the temporary file: false if any byte of it was not written. */
bool safe_file_close(safe_file *file);

/* Renames a closed file to its final name; replaces an older file. */
bool safe_file_publish(safe_file *file);

/* Frees the names, and deletes a file that is not published. */
void safe_file_discard(safe_file *file);

#endif
