/* SPDX-License-Identifier: Apache-2.0 */
#include "web_shard_file.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "descriptor_int.h"
#include "page_cache.h"
#include "shard_index.h"
#include "status_int.h"

sluice_status web_shard_open(const char *path, const sli_interrupt *interrupt, int *fd_out,
                             struct stat *info_out)
{
    struct stat info;
    /* O_NONBLOCK, since opening a FIFO would otherwise wait for a writer. */
    int fd = sli_openat(AT_FDCWD, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK, 0, interrupt);

    if (fd < 0) {
        return sli_fail_errno(SLUICE_E_IO, errno, "cannot open the file %s", path);
    }
    if (fstat(fd, &info) != 0) {
        const int error = errno;

        close(fd);
        return sli_fail_errno(SLUICE_E_IO, error, "cannot stat the file %s", path);
    }
    if (!S_ISREG(info.st_mode)) {
        close(fd);
        return sli_fail(SLUICE_E_IO, "the file %s must be a regular file, not a folder or a device",
                        path);
    }
    *fd_out = fd;
    *info_out = info;
    return SLUICE_OK;
}

/* With cache=drop, turns off kernel readahead. It would leave pages between samples in the page
 * cache, and large folios that span several samples and cannot be dropped sample by sample.
 */
static void prepare_shard(int fd, bool drops)
{
    if (drops) {
        page_cache_read_alone(fd);
    }
}

/*
 * The version of an open file. Its inode is left out: some network file systems give a file another
 * number whenever it is opened.
 */
static uint64_t version_of(const struct stat *info)
{
    struct stat without = *info;

    without.st_ino = 0;
    return shard_stamp(&without);
}

void web_shard_hold(web_shard_file *file, const char *path, int fd, const struct stat *info,
                    bool drops)
{
    if (drops) { /* drops the pages that indexing, or the writer of the shard, left in the cache */
        page_cache_drop(&(sample_location){.fd = fd});
    }
    prepare_shard(fd, drops);
    file->path = path;
    file->version = version_of(info);
    file->drops = drops;
    sli_held_file_put(&file->held, fd);
}

void *web_shard_find(void *files, size_t count, size_t size, uint64_t *index)
{
    uint8_t *bytes = files;
    size_t low = 0;
    size_t high = count;

    while (high - low > 1) {
        const size_t middle = (low + high) / 2;
        const web_shard_file *file = (const void *)(bytes + middle * size);

        *(file->first <= *index ? &low : &high) = middle;
    }
    *index -= ((const web_shard_file *)(const void *)(bytes + low * size))->first;
    return bytes + low * size;
}

sluice_status web_shard_borrow(web_shard_file *file, const sample_io *io, bool *lent_out,
                               int *fd_out)
{
    struct stat info;
    sluice_status st;

    *fd_out = sli_held_file_borrow(&file->held);
    *lent_out = *fd_out >= 0;
    if (*lent_out) {
        return SLUICE_OK;
    }
    st = web_shard_open(file->path, io->interrupt, fd_out, &info);
    if (st == SLUICE_OK && version_of(&info) != file->version) {
        close(*fd_out);
        return sli_fail(
            SLUICE_E_IO,
            "the file %s was changed or replaced since the dataset was opened: its size, "
            "time of modification or time of change differs; start the run again",
            file->path);
    }
    if (st == SLUICE_OK) {
        prepare_shard(*fd_out, file->drops);
    }
    return st;
}

void web_shard_give_back(web_shard_file *file, bool lent, int fd)
{
    if (lent) {
        sli_held_file_give_back(&file->held);
    } else {
        close(fd);
    }
}

sluice_status web_shard_read(const web_shard_file *file, int fd, uint64_t offset, void *to,
                             size_t size)
{
    const ssize_t got = sli_pread(fd, to, size, offset);

    if (got < 0) {
        return sli_fail_errno(SLUICE_E_IO, errno, "cannot read the file %s at %llu", file->path,
                              (unsigned long long)offset);
    }
    return (size_t)got == size
               ? SLUICE_OK
               : sli_fail(SLUICE_E_IO,
                          "the file %s ends at %llu, within the sample: it was truncated since it "
                          "was opened",
                          file->path, (unsigned long long)offset + (size_t)got);
}
