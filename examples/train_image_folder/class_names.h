/* SPDX-License-Identifier: Apache-2.0 */
/* The class names of a picture folder: the names of its subfolders, in label order.
 */
#ifndef CLASS_NAMES_H
#define CLASS_NAMES_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

typedef struct class_names {
    char **names; /* (count), in byte order: the label of a class is its index */
    uint32_t count;
} class_names;

/* Lists the class folders in dir as the stage image_folder does: follows links, skips hidden
 * folders. Returns false after printing an error; the list of names is then empty. Freed by
 * class_names_free().
 */
bool class_names_read(class_names *c, const char *dir);

/* True if both folders have the same classes; false after printing a class that differs. */
bool class_names_agree(const class_names *a, const char *dir_a, const class_names *b,
                       const char *dir_b);

/* Write and read the names, one per line, each terminated by a slash, which names cannot contain.
 * Reading ends at the end of the file. Return false on a file error or out of memory.
 */
bool class_names_write(const class_names *c, FILE *file);
bool class_names_load(class_names *c, FILE *file);

void class_names_free(class_names *c);

/* Prints a name with question marks for control characters and bytes that are not UTF-8. */
void print_name(FILE *file, const char *name);

#endif
