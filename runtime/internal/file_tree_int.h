/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Directory trees: walk, fsync, remove. Symbolic links are not followed. Functions that return int
 * return 0, or -1 with errno, like system calls.
 */
#ifndef SLUICE_FILE_TREE_INT_H
#define SLUICE_FILE_TREE_INT_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* Maximum depth of folders; size of the longest path within the tree, in bytes. */
enum { SLI_TREE_DEEPEST = 16, SLI_TREE_PATH_SIZE = 4096 };

typedef struct sli_tree_entry {
    int at_fd;        /* descriptor of the entry's folder */
    const char *name; /* name in that folder */
    const char *path; /* path from the root of the tree; "" is the root */
    bool is_folder;
    bool is_file; /* false for a folder, a symbolic link, a socket, ... */
    off_t bytes;
} sli_tree_entry;

/* Called for each entry in post-order. A result other than 0 ends the walk, which returns it. */
typedef int (*sli_tree_fn)(void *user, const sli_tree_entry *entry);

/* Walks the folder `name` in the folder at_fd. Fails with ELOOP if the tree is deeper than
 * SLI_TREE_DEEPEST. */
int sli_tree_walk(int at_fd, const char *name, sli_tree_fn visit, void *user);

/* Removes the tree; a missing tree is not an error. */
int sli_tree_remove(int at_fd, const char *name);

/*
 * fsync() of all files and folders. An entry that disappears meanwhile is not an error: other
 * processes may write there.
 */
int sli_tree_sync(int at_fd, const char *name);

/* Opens the folder `name` in the folder at_fd. Returns a descriptor, or -1 with errno. */
int sli_tree_open(int at_fd, const char *name);

/* Writes a file and syncs it. */
int sli_tree_write_file(int at_fd, const char *name, const char *bytes, size_t size);

/* Reads a file of up to `most` bytes into a new string, freed by sli_free(). A string that is
 * shorter than *size_out has a zero byte in it. Fails with EFBIG if the file is larger. */
int sli_tree_read_file(int at_fd, const char *name, size_t most, char **text_out, size_t *size_out);

#endif
