/* SPDX-License-Identifier: Apache-2.0 */
/* A file that gets its name only once it is complete. */
#ifndef SLUICE_SAFE_FILE_H
#define SLUICE_SAFE_FILE_H

#include <stdbool.h>
#include <stdio.h>

/* A file that has a temporary name in the same folder until safe_file_publish(). A zeroed struct is
 * empty. Functions that return false have set errno.
 */
typedef struct safe_file {
    char *path;
    char *temporary; /* FOLDER/.NAME.PID */
    FILE *file;      /* NULL: closed */
} safe_file;

/* Creates the temporary file. Refuses a path that exists and is not a regular file. */
bool safe_file_create(safe_file *file, const char *path);

/* Closes the temporary file. Returns false if any byte could not be written. */
bool safe_file_close(safe_file *file);

/* Renames a closed file to its final name; replaces an older file. */
bool safe_file_publish(safe_file *file);

/* Frees the names, and deletes a file that is not published. */
void safe_file_discard(safe_file *file);

#endif
