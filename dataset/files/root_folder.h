/* SPDX-License-Identifier: Apache-2.0 */
/* The folder to which the relative paths of a list belong. */
#ifndef SLUICE_ROOT_FOLDER_H
#define SLUICE_ROOT_FOLDER_H

#include <sluice/status.h>

/*
 * Opens the folder `root`, or the folder of the file `list` if root is "". The caller closes the
 * descriptor. Returns E_IO on failure.
 */
sluice_status root_folder_open(const char *list, const char *root, int *fd_out);

#endif
