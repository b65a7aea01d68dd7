/* SPDX-License-Identifier: Apache-2.0 */
#include "file_reader.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "descriptor_int.h"
#include "plain_file.h"
#include "status_int.h"

/* Limit on the size of one sample's file; it bounds memory. */
static const uint64_t MAX_FILE_BYTES = UINT64_C(1) << 30;

sluice_status file_read_most(int folder_fd, const char *path, uint64_t most, sample_io *io,
                             sample_data *data_out)
{
    /* O_NONBLOCK: open() of a FIFO would block the worker. */
    int fd = sli_openat(folder_fd, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK, 0, io->interrupt);
    struct stat info;
    size_t size = 0;
    sluice_status st;

    if (fd < 0) {
        return sli_fail_errno(SLUICE_E_IO, errno, "cannot open");
    }
    if (fstat(fd, &info) != 0) {
        st = sli_fail_errno(SLUICE_E_IO, errno, "cannot stat");
    } else if (!S_ISREG(info.st_mode)) {
        st = sli_fail(SLUICE_E_IO, "this is %s, and must be a regular file",
                      S_ISDIR(info.st_mode) ? "a folder" : "a special file");
    } else if ((uint64_t)info.st_size > most) {
        st = sli_fail(SLUICE_E_IO, "the file has %lld bytes, and must have at most %llu",
                      (long long)info.st_size, (unsigned long long)most);
    } else {
        st = image_buffer_reserve(&io->bytes, (size_t)info.st_size);
        if (st == SLUICE_OK) {
            /* fewer bytes if the file was truncated meanwhile */
            st = plain_file_read(fd, 0, io->bytes.data, (size_t)info.st_size, &size);
        }
    }
    close(fd);
    if (st != SLUICE_OK) {
        return st;
    }
    io->bytes_read += size;
    data_out->bytes = io->bytes.data;
    data_out->size = size;
    data_out->named = image_formats_of_file(path);
    return SLUICE_OK;
}

sluice_status file_read(int folder_fd, const char *path, sample_io *io, sample_data *data_out)
{
    return file_read_most(folder_fd, path, MAX_FILE_BYTES, io, data_out);
}
