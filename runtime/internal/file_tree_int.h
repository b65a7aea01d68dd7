/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Folders with what is in them: visited, synced, removed. Links are not followed. Functions that
 * return int give 0, or -1 and errno, as the system's do.
 */
#ifndef SLUICE_FILE_TREE_INT_H
#define SLUICE_FILE_TREE_INT_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* Deepest folder that is visited, and longest path within the tree. */
enum { SLI_TREE_DEEPEST = 16, SLI_TREE_PATH_SIZE = 4096 };

typedef struct sli_tree_entry {
    int at_fd;        /* the folder it is in */
    const char *name; /* there */
    const char *path; /* from the tree's root; "" is the root */
    bool is_folder;
    bool is_file; /* neither: a link, a socket, ... */
    off_t bytes;
} sli_tree_entry;

/* What is done to an entry, after what is in it. */
typedef int (*sli_tree_fn)(void *user, const sli_tree_entry *entry);

/* Visits the folder `name` in the folder at_fd and all in it. ELOOP: it is too deep. */
int sli_tree_walk(int at_fd, const char *name, sli_tree_fn visit, void *user);

/* Removes it and all in it; none is fine. */
int sli_tree_remove(int at_fd, const char *name);

/* Makes sure that files' bytes and folders' names outlive the power. What goes away meanwhile is
 * no error: others may be writing there. */
int sli_tree_sync(int at_fd, const char *name);

/* Opens the folder `name` in the folder at_fd; -1 and errno. */
int sli_tree_open(int at_fd, const char *name);

/* Writes a file and syncs it. */
int sli_tree_write_file(int at_fd, const char *name, const char *bytes, size_t size);

/* Reads a file of at most `most` bytes into a new text, freed by sli_free(). EFBIG: it is larger.
 */
int sli_tree_read_file(int at_fd, const char *name, size_t most, char **text_out);

#endif
