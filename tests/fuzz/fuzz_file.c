/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "fuzz_file.h"

#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fuzz_target.h"

static int fd = -1;

int fuzz_file(const uint8_t *data, size_t size)
{
    if (fd < 0) {
        fd = memfd_create("input", MFD_CLOEXEC);
    }
    if (fd < 0 || ftruncate(fd, 0) != 0 || pwrite(fd, data, size, 0) != (ssize_t)size) {
        fuzz_fail("no file");
    }
    return fd;
}

const char *fuzz_file_path(void)
{
    static char path[64];

    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    return path;
}
