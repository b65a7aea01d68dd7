/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The class folders of a dataset, DIR/CLASS/FILE, and their files: listed once, each file in the
 * bytes of its name plus 8 bytes of memory. The files of a class are consecutive samples, so a
 * binary search finds the class of a sample.
 */
#ifndef SLUICE_CLASS_FOLDERS_H
#define SLUICE_CLASS_FOLDERS_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sluice/status.h>

#include "left_out.h"

/* Room for a path CLASS/FILE. */
enum { CLASS_PATH_SIZE = 2 * NAME_MAX + 8 };

/* What is listed. */
typedef struct class_folders_args {
    const char *dir;
    const char *extensions; /* of files that are samples */
    bool recursive;         /* files in any folder below a class folder, too */
} class_folders_args;

typedef struct folder_class {
    char *name;
    uint64_t first; /* number of its first sample */
} folder_class;

typedef struct class_folders {
    int fd;                /* descriptor of dir */
    bool whole_paths;      /* names are paths below dir, CLASS/.../FILE */
    folder_class *classes; /* sorted by name, in byte order */
    size_t class_count;
    size_t classes_capacity;
    char *names; /* file names, each zero-terminated */
    size_t names_length;
    size_t names_capacity;
    uint64_t *files; /* offset in names of each sample's file */
    size_t count;
    size_t files_capacity;
    uint64_t loose_images; /* images directly in dir, outside of class folders */
    left_out left_out;     /* files and folders that are not read */
} class_folders;

/*
 * Lists the class folders in dir and their files, sorted by name. With `recursive` the files of a
 * class are sorted by folder, then by name, as torchvision's ImageFolder sorts them, and links to
 * folders are followed. E_INVALID: a link leads to a folder above it, or folders are nested too
 * deeply. Also returns E_IO and E_NO_MEMORY. The caller calls class_folders_free() in any case.
 */
sluice_status class_folders_list(class_folders *folders, const class_folders_args *args);
void class_folders_free(class_folders *folders);

uint64_t class_folders_memory(const class_folders *folders);

/* Finds the class of a sample: the last class whose first sample is at or before it. */
size_t class_folders_class(const class_folders *folders, uint64_t index);

/* Returns a sample's path below dir: borrowed, or written to `path`, of CLASS_PATH_SIZE. */
const char *class_folders_path(const class_folders *folders, uint64_t index, char *path);

#endif
