/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the files of MNIST and similar datasets by the names under which they are published. */
#ifndef SLUICE_MNIST_FILES_H
#define SLUICE_MNIST_FILES_H

#include <limits.h>
#include <stdbool.h>

#include <sluice/status.h>

typedef struct mnist_paths {
    char images[PATH_MAX];
    char labels[PATH_MAX];
} mnist_paths;

/*
 * Finds the image file [PREFIX]train-images-idx3-ubyte, or for the test part [PREFIX]t10k-... or
 * [PREFIX]test-..., and the label file with the same prefix, in a folder or in its subfolder raw. A
 * dot may replace the hyphen before idx3. A file may be compressed, with a suffix such as .gz; one
 * without a suffix is preferred. E_IO: the folder cannot be read; E_INVALID: there are no such
 * files, or files with several prefixes. Errors begin with the folder.
 */
sluice_status mnist_files_find(const char *dir, bool test, mnist_paths *paths_out);

#endif
