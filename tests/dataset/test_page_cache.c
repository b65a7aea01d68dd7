/* SPDX-License-Identifier: Apache-2.0 */
/* What the kernel keeps of files, and what it is asked to; by mincore(). */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cache_kit.h"
#include "page_cache.h"
#include "testing.h"

enum { PAGES = 64 };

static sample_location whole(const char *path)
{
    return (sample_location){.fd = -1, .folder_fd = AT_FDCWD, .path = path};
}

/* Of bytes that are not cached. The kernel, asked whether they are, begins to read them: a thread
 * that is held up meanwhile finds what its question has brought, and asks again. */
static page_answer fetch_cold(const sample_location *location, const char *path, uint64_t most,
                              uint64_t *bytes_out)
{
    page_answer answer = PAGES_CACHED;

    for (int tries = 0; tries < 100 && answer == PAGES_CACHED; tries++) {
        if (take_out_of_cache(path)) {
            answer = page_cache_fetch(location, most, bytes_out);
        }
    }
    return answer;
}

static void cached_bytes_are_said_to_be(void)
{
    const char *path = cached_file(PAGES);
    sample_location location = whole(path);
    uint64_t bytes = 1;

    T_EQ(page_cache_fetch(&location, UINT64_MAX, &bytes), PAGES_CACHED);
    T_EQ(bytes, 0);
    T_EQ(cached_pages(path, 0, PAGES), PAGES);
}

static void bytes_that_are_not_cached_come_to_be(void)
{
    const char *path = cached_file(PAGES);
    sample_location location = whole(path);
    uint64_t bytes = 0;

    CACHE_NEEDS_ANSWER(path);
    T_EQ(fetch_cold(&location, path, UINT64_MAX, &bytes), PAGES_ASKED);
    T_EQ(bytes, PAGES * cache_page());
    await_cached(path, 0, PAGES);
}

static void only_the_bytes_of_a_sample_are_asked_for(void)
{
    const char *path = cached_file(PAGES);
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    const sample_location location = {
        .fd = fd, .offset = 16 * cache_page(), .size = 20 * cache_page()};
    uint64_t bytes = 0;

    T_TRUE(fd >= 0);
    CACHE_NEEDS_ANSWER(path);
    T_EQ(fetch_cold(&location, path, 8 * cache_page(), &bytes), PAGES_ASKED);
    T_EQ(bytes, 8 * cache_page());
    await_cached(path, 16, 8);
    T_EQ(cached_pages(path, 0, 16), 0);
    T_EQ(fcntl(fd, F_GETFD), FD_CLOEXEC); /* an open file stays open */
    close(fd);
}

static void what_is_no_file_is_nothing(void)
{
    const char *path = cached_file(1);
    char fifo[512];
    sample_location location = whole(fifo);
    uint64_t bytes = 1;

    snprintf(fifo, sizeof(fifo), "%s.fifo", path);
    T_EQ(page_cache_fetch(&location, UINT64_MAX, &bytes), PAGES_NONE);
    T_EQ(mkfifo(fifo, 0600), 0);
    T_EQ(page_cache_fetch(&location, UINT64_MAX, &bytes), PAGES_NONE);
    location.path = path;
    location.offset = cache_page();
    T_EQ(page_cache_fetch(&location, UINT64_MAX, &bytes), PAGES_NONE);
    location.path = "/";
    location.offset = 0;
    T_EQ(page_cache_fetch(&location, UINT64_MAX, &bytes), PAGES_NONE);
    T_EQ(bytes, 0);
}

static void dropping_takes_the_pages_that_the_bytes_begin_in(void)
{
    const uint64_t page = cache_page();
    const char *path = cached_file(PAGES);
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    sample_location location = {.fd = fd};

    T_TRUE(fd >= 0);
    CACHE_NEEDS_DROP(path);
    read_into_cache(path);
    location.offset = 4 * page + 100; /* and up to 100 bytes into page 8 */
    location.size = 4 * page;
    page_cache_drop(&location);
    T_EQ(cached_pages(path, 0, 4), 4);
    T_EQ(cached_pages(path, 4, 4), 0);
    T_EQ(cached_pages(path, 8, PAGES - 8), PAGES - 8);
    location.offset = 8 * page + 100; /* within a page: others may want it */
    location.size = 200;
    page_cache_drop(&location);
    T_EQ(cached_pages(path, 8, PAGES - 8), PAGES - 8);
    location = whole(path);
    page_cache_drop(&location);
    T_EQ(cached_pages(path, 0, PAGES), 0);
    location.path = "/nonexistent/file";
    page_cache_drop(&location);
    close(fd);
}

/* Where the kernel keeps pages in larger pieces, only a file of one shows it. */
static void bytes_within_a_page_leave_it_to_others(void)
{
    const char *path = cached_file(1);
    sample_location location = whole(path);

    CACHE_NEEDS_DROP(path);
    read_into_cache(path);
    location.offset = 100;
    location.size = 200;
    page_cache_drop(&location);
    T_EQ(cached_pages(path, 0, 1), 1);
    location.size = cache_page();
    page_cache_drop(&location);
    T_EQ(cached_pages(path, 0, 1), 0);
}

const t_test page_cache_tests[] = {
    T_TEST(cached_bytes_are_said_to_be),
    T_TEST(bytes_that_are_not_cached_come_to_be),
    T_TEST(only_the_bytes_of_a_sample_are_asked_for),
    T_TEST(what_is_no_file_is_nothing),
    T_TEST(dropping_takes_the_pages_that_the_bytes_begin_in),
    T_TEST(bytes_within_a_page_leave_it_to_others),
    T_END,
};
