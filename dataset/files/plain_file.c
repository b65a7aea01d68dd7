/* SPDX-License-Identifier: Apache-2.0 */
#include "plain_file.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "status_int.h"

sluice_status plain_file_open(const char *path, const sli_interrupt *interrupt, int *fd_out,
                              uint64_t *size_out)
{
    /* O_NONBLOCK: open() of a FIFO would block. */
    const int fd = sli_openat(AT_FDCWD, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK, 0, interrupt);
    struct stat info;
    sluice_status st;

    if (fd < 0) {
        return sli_fail_errno(SLUICE_E_IO, errno, "cannot open");
    }
    if (fstat(fd, &info) != 0) {
        st = sli_fail_errno(SLUICE_E_IO, errno, "cannot stat");
    } else if (!S_ISREG(info.st_mode)) {
        st = sli_fail(SLUICE_E_UNSUPPORTED, "this must be a regular file");
    } else {
        *fd_out = fd;
        *size_out = (uint64_t)info.st_size;
        return SLUICE_OK;
    }
    close(fd);
    return st;
}

sluice_status plain_file_read(int fd, uint64_t offset, void *bytes, size_t size, size_t *got_out)
{
    const ssize_t got = sli_pread(fd, bytes, size, offset);

    if (got < 0) {
        return sli_fail_errno(SLUICE_E_IO, errno, "cannot read");
    }
    *got_out = (size_t)got;
    return SLUICE_OK;
}
