/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "page_cache.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "clock_int.h"

/*
 * Heuristic for file systems on which the kernel does not report residency: if opening the file
 * takes longer than this, its bytes count as not cached.
 */
static const int64_t CACHED_NS = 20000;

static bool is_cached(int fd, uint64_t offset, int64_t start_ns)
{
    char byte;
    const struct iovec iov = {&byte, 1};

    if (preadv2(fd, &iov, 1, (off_t)offset, RWF_NOWAIT) == 1) {
        return true;
    }
    return errno != EAGAIN && sli_now_ns() - start_ns < CACHED_NS;
}

static page_answer fetch_pages(int fd, const sample_location *location, uint64_t most,
                               int64_t start_ns, uint64_t *bytes_out)
{
    uint64_t size = location->size;
    struct stat info;
    bool cached;

    if (size == 0) {
        if (fstat(fd, &info) != 0 || !S_ISREG(info.st_mode) ||
            (uint64_t)info.st_size <= location->offset) {
            return PAGES_NONE;
        }
        size = (uint64_t)info.st_size - location->offset;
    }
    size = size < most ? size : most;
    /*
     * Checks a page in the middle: the first or last page may have been read along with a
     * neighbouring sample.
     */
    cached = is_cached(fd, location->offset + size / 2, start_ns);
    if (cached) {
        return PAGES_CACHED;
    }
    (void)posix_fadvise(fd, (off_t)location->offset, (off_t)size, POSIX_FADV_WILLNEED);
    *bytes_out = size;
    return PAGES_ASKED;
}

/* The open file of a location; its descriptor was borrowed or opened. */
typedef struct location_file {
    int fd;              /* -1: the file could not be opened */
    sli_held_file *lent; /* the owner of a borrowed descriptor; NULL: not borrowed */
    bool opened;
} location_file;

static location_file open_at(const sample_location *location)
{
    location_file file = {.fd = location->fd};

    if (file.fd < 0 && location->held != NULL) {
        file.fd = sli_held_file_borrow(location->held);
        file.lent = file.fd >= 0 ? location->held : NULL;
    }
    if (file.fd < 0) {
        /* O_NONBLOCK: open() of a FIFO would block. */
        file.fd = openat(location->folder_fd, location->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
        file.opened = file.fd >= 0;
    }
    return file;
}

static void close_at(const location_file *file)
{
    if (file->lent != NULL) {
        sli_held_file_give_back(file->lent);
    } else if (file->opened) {
        close(file->fd);
    }
}

page_answer page_cache_fetch(const sample_location *location, uint64_t most, uint64_t *bytes_out)
{
    const int64_t start_ns = sli_now_ns();
    const location_file file = open_at(location);
    page_answer answer;

    *bytes_out = 0;
    if (file.fd < 0) {
        return PAGES_NONE;
    }
    answer = fetch_pages(file.fd, location, most, start_ns, bytes_out);
    close_at(&file);
    return answer;
}

void page_cache_drop(const sample_location *location)
{
    const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    const uint64_t first = location->offset / page * page;
    const uint64_t end = (location->offset + location->size) / page * page;
    location_file file;

    if (location->size > 0 && end == first) {
        return;
    }
    file = open_at(location);
    if (file.fd >= 0) {
        /* A length of 0 means up to the end of the file. */
        (void)posix_fadvise(file.fd, (off_t)first, location->size > 0 ? (off_t)(end - first) : 0,
                            POSIX_FADV_DONTNEED);
        close_at(&file);
    }
}

void page_cache_read_alone(int fd)
{
    (void)posix_fadvise(fd, 0, 0, POSIX_FADV_RANDOM);
}

const char *const page_cache_choices[] = {"keep", "drop", NULL};
