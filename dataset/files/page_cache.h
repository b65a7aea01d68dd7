/* SPDX-License-Identifier: Apache-2.0 */
/* Page-cache advice to the kernel. No call here fails; errors surface when the bytes are read. */
#ifndef SLUICE_PAGE_CACHE_H
#define SLUICE_PAGE_CACHE_H

#include "source.h"

typedef enum page_answer {
    PAGES_NONE,   /* the location has no bytes, or is not in a regular file */
    PAGES_CACHED, /* the bytes are resident */
    PAGES_ASKED   /* the bytes were not resident; the kernel was requested to read them */
} page_answer;

/*
 * Requests that the kernel reads up to `most` bytes of a location, if they are not resident. Waits
 * for the file to be opened, but not for the bytes. *bytes_out: number of bytes requested, or 0.
 */
page_answer page_cache_fetch(const sample_location *location, uint64_t most, uint64_t *bytes_out);

/*
 * Drops a location's bytes from the page cache. A page shared by several locations is dropped with
 * the last location that begins in it, so sequential reads never read a page twice.
 */
void page_cache_drop(const sample_location *location);

/* Disables the kernel's readahead for an open file, so only requested bytes are read. */
void page_cache_read_alone(int fd);

/* The values of the stage argument `cache`, and their numbers. */
extern const char *const page_cache_choices[];
enum { PAGE_CACHE_KEEP = 0, PAGE_CACHE_DROP = 1 };

#endif
