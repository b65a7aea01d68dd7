/* SPDX-License-Identifier: Apache-2.0 */
/* Files in the page cache, and files that are not in it. What cannot be made fails the test. */
#ifndef SLUICE_CACHE_KIT_H
#define SLUICE_CACHE_KIT_H

#include <stdbool.h>
#include <stdint.h>

uint64_t cache_page(void);

/* How many of these pages of a file are cached; count 0: all of it. */
uint64_t cached_pages(const char *path, uint64_t first, uint64_t count);

/* Until all these pages are cached. */
void await_cached(const char *path, uint64_t first, uint64_t count);

void read_into_cache(const char *path);

/* Takes a file out of the cache, once it is on the disk. False where the file system keeps it, as
 * tmpfs does. */
bool take_out_of_cache(const char *path);

/* False where the question whether bytes are cached (preadv2() with RWF_NOWAIT) mostly reads them
 * first, on fast disks of some virtual machines. Takes the file out of the cache. */
bool kernel_says_what_is_cached(const char *path);

/* A new file of so many pages in a folder of the test's own. Good until the next call. */
const char *cached_file(uint64_t pages);

/* A test that needs dropping ends here where it does nothing. */
#define CACHE_NEEDS_DROP(path)                                                                     \
    do {                                                                                           \
        if (!take_out_of_cache(path)) {                                                            \
            T_SKIP("the file system of TMPDIR keeps files in memory");                             \
        }                                                                                          \
    } while (0)

/* A test that asks for what is not cached ends here where nobody can tell. */
#define CACHE_NEEDS_ANSWER(path)                                                                   \
    do {                                                                                           \
        CACHE_NEEDS_DROP(path);                                                                    \
        if (!kernel_says_what_is_cached(path)) {                                                   \
            T_SKIP("the kernel reads bytes before it says whether they were cached");              \
        }                                                                                          \
    } while (0)

#endif
