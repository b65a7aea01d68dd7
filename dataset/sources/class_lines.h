/* SPDX-License-Identifier: Apache-2.0 */
/* The names of classes in a text file, one on each line, in the order of the classes. */
#ifndef SLUICE_CLASS_LINES_H
#define SLUICE_CLASS_LINES_H

#include "box_set.h"

/* Limits on the bytes of a name and of a file of names. */
enum { CLASS_NAME_MOST = 1023, CLASS_LINES_MOST = 1 << 20 };

/*
 * Adds the classes of the file root_fd/path to a set. Blanks around names are dropped, and so are
 * empty lines at the end. E_CORRUPT: another line is empty, or a name is too long; E_IO: the file
 * cannot be read, or has more than CLASS_LINES_MOST bytes. Messages have the path and the line.
 */
sluice_status class_lines_read(int root_fd, const char *path, box_set *set);

/*
 * Adds the classes of the first of these files that exists; `paths` ends with NULL. None exists: no
 * class is added.
 */
sluice_status class_lines_find(int root_fd, const char *const *paths, box_set *set);

#endif
