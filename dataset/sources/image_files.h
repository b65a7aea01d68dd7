/* SPDX-License-Identifier: Apache-2.0 */
/* The image files of a folder and of the folders in it; or those with other extensions. */
#ifndef SLUICE_IMAGE_FILES_H
#define SLUICE_IMAGE_FILES_H

#include <stddef.h>
#include <stdint.h>

#include <sluice/status.h>

#include "left_out.h"

/* It begins as zeros. */
typedef struct image_files {
    char *names; /* paths, each zero-terminated */
    size_t names_size;
    size_t names_capacity;
    size_t *files; /* offset of each path in `names` */
    size_t count;
    size_t capacity;
    left_out left_out; /* files and links to folders that are not read */
} image_files;

/*
 * Adds the files with these extensions in the folder root_fd/folder, at any depth, sorted by path
 * in byte order. Paths begin with `folder`; "": they are relative to root_fd. Links to files are
 * followed, links to folders within the folder are left out. E_IO: a folder cannot be read, or the
 * folders are deeper than 16. E_NO_MEMORY.
 */
sluice_status image_files_find(image_files *files, int root_fd, const char *folder,
                               const char *extensions);

/* Adds a path. E_NO_MEMORY. */
sluice_status image_files_add(image_files *files, const char *path, size_t length);

void image_files_free(image_files *files);

#endif
