/* SPDX-License-Identifier: Apache-2.0 */
#include "cache_kit.h"

#include <fcntl.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "testing.h"

uint64_t cache_page(void)
{
    return (uint64_t)sysconf(_SC_PAGESIZE);
}

static int open_file(const char *path)
{
    const int fd = open(path, O_RDONLY | O_CLOEXEC);

    if (fd < 0) {
        T_FAIL_("cannot open %s", path);
    }
    return fd;
}

uint64_t cached_pages(const char *path, uint64_t first, uint64_t count)
{
    const uint64_t page = cache_page();
    const int fd = open_file(path);
    unsigned char *resident;
    uint64_t pages = 0;
    struct stat info;
    void *map;

    T_EQ(fstat(fd, &info), 0);
    count = count > 0 ? count : ((uint64_t)info.st_size + page - 1) / page - first;
    map = mmap(NULL, count * page, PROT_READ, MAP_SHARED, fd, (off_t)(first * page));
    resident = malloc(count);
    T_TRUE(map != MAP_FAILED && resident != NULL);
    T_EQ(mincore(map, count * page, resident), 0);
    for (uint64_t i = 0; i < count; i++) {
        pages += resident[i] & 1;
    }
    free(resident);
    munmap(map, count * page);
    close(fd);
    return pages;
}

void await_cached(const char *path, uint64_t first, uint64_t count)
{
    while (cached_pages(path, first, count) < count) {
        sched_yield();
    }
}

void read_into_cache(const char *path)
{
    const int fd = open_file(path);
    char bytes[4096];

    while (read(fd, bytes, sizeof(bytes)) > 0) {
    }
    close(fd);
}

bool take_out_of_cache(const char *path)
{
    const int fd = open_file(path);

    T_EQ(fsync(fd), 0);
    T_EQ(posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED), 0);
    close(fd);
    return cached_pages(path, 0, 0) == 0;
}

bool kernel_says_what_is_cached(const char *path)
{
    enum { TRIES = 20 };
    const int fd = open_file(path);
    int told = 0;
    char byte;

    for (int i = 0; i < TRIES; i++) {
        const struct iovec iov = {&byte, 1};

        T_TRUE(take_out_of_cache(path));
        told += preadv2(fd, &iov, 1, (off_t)(20 * cache_page()), RWF_NOWAIT) != 1;
    }
    close(fd);
    T_TRUE(take_out_of_cache(path));
    return told > TRIES / 2;
}

const char *cached_file(uint64_t pages)
{
    static char path[512];
    const uint64_t page = cache_page();
    char *bytes = calloc(1, page);
    int fd;

    snprintf(path, sizeof(path), "%s/file", t_folder());
    fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    T_TRUE(fd >= 0 && bytes != NULL);
    for (uint64_t i = 0; i < pages; i++) {
        bytes[0] = (char)i;
        T_EQ(write(fd, bytes, page), page);
    }
    close(fd);
    free(bytes);
    return path;
}
