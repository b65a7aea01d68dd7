/* SPDX-License-Identifier: Apache-2.0 */
#include "root_folder.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "descriptor_int.h"
#include "status_int.h"

sluice_status root_folder_open(const char *list, const char *root, int *fd_out)
{
    const char *slash = strrchr(list, '/');
    char folder[PATH_MAX];
    int fd;

    if (root[0] != '\0') {
        snprintf(folder, sizeof(folder), "%s", root);
    } else {
        snprintf(folder, sizeof(folder), "%.*s", slash != NULL ? (int)(slash - list) + 1 : 1,
                 slash != NULL ? list : ".");
    }
    fd = sli_openat(AT_FDCWD, folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0, NULL);
    if (fd < 0) {
        return sli_fail_errno(SLUICE_E_IO, errno, "cannot open the folder %s", folder);
    }
    *fd_out = fd;
    return SLUICE_OK;
}
