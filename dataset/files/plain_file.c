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
    size_t got = 0;

    while (got < size) {
        const ssize_t more = pread(fd, (uint8_t *)bytes + got, size - got, (off_t)(offset + got));

        if (more < 0 && errno == EINTR) {
            continue;
        }
        if (more < 0) {
            return sli_fail_errno(SLUICE_E_IO, errno, "cannot read");
        }
        if (more == 0) {
            break;
        }
        got += (size_t)more;
    }
    *got_out = got;
    return SLUICE_OK;
}
