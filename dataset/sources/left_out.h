/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files and folders that a source of files does not read, counted by extension, so that nothing is
 * left out without a word. Hidden files and what other programs put beside images are not counted:
 * names that begin with a dot, Thumbs.db, desktop.ini, and Sluice's own indexes, *.sluice.
 */
#ifndef SLUICE_LEFT_OUT_H
#define SLUICE_LEFT_OUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { LEFT_OUT_KINDS = 12, LEFT_OUT_EXTENSION = 16, LEFT_OUT_TEXT = 600 };

typedef struct left_out_kind {
    char extension[LEFT_OUT_EXTENSION]; /* lower case; "": the name has none */
    uint64_t count;
} left_out_kind;

/* It begins as zeros. */
typedef struct left_out {
    left_out_kind kinds[LEFT_OUT_KINDS];
    uint32_t kind_count;
    uint64_t others; /* files with further extensions */
    uint64_t folders;
    char first_file[280];
    char first_folder[280];
} left_out;

/* Counts a file that is not read. `folder` is where it is, for the example; "": at the top. */
void left_out_file(left_out *files, const char *folder, const char *name);

/* Counts a folder that is not searched. */
void left_out_folder(left_out *files, const char *folder, const char *name);

/* Writes "3 .webp, 1 without an extension (first a/b.webp), 2 folders (first a/old)". Returns false
 * if nothing was left out. */
bool left_out_print(const left_out *files, char *text, size_t size);

#endif
