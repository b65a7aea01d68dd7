/* SPDX-License-Identifier: Apache-2.0 */
/* The files of MNIST and its kin, by the names that they are published under. */
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
 * Finds [PREFIX]train-images-idx3-ubyte, or of the test part [PREFIX]t10k-... or [PREFIX]test-...,
 * and the labels with the same prefix, in a folder or in its folder raw; a dot may stand before
 * idx3, and a file may have the suffix of a compression, as .gz, if there is none without it. E_IO:
 * the folder cannot be read; E_INVALID: there are none, or of several prefixes. Errors begin with
 * the folder.
 */
sluice_status mnist_files_find(const char *dir, bool test, mnist_paths *paths_out);

#endif
