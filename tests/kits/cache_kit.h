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

/* A new file of so many pages in a folder of the test's own. Good until the next call. */
const char *cached_file(uint64_t pages);

/* A test that needs dropping ends here where it does nothing. */
#define CACHE_NEEDS_DROP(path)                                                                     \
    do {                                                                                           \
        if (!take_out_of_cache(path)) {                                                            \
            T_SKIP("the file system of TMPDIR keeps files in memory");                             \
        }                                                                                          \
    } while (0)

#endif
