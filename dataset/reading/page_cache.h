/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the kernel is asked to keep of files in its page cache. Nothing here fails: who reads the
 * bytes finds out.
 */
#ifndef SLUICE_PAGE_CACHE_H
#define SLUICE_PAGE_CACHE_H

#include "stage.h"

typedef enum page_answer {
    PAGES_NONE,   /* no such bytes, or no plain file */
    PAGES_CACHED, /* they are there */
    PAGES_ASKED   /* they were not: the kernel is reading them */
} page_answer;

/*
 * Makes the kernel read the bytes, at most `most` of them, if they are not in the page cache; does
 * not wait for them, only for the file to be opened. *bytes_out: so many were asked for, or 0.
 */
page_answer page_cache_fetch(const sample_location *location, uint64_t most, uint64_t *bytes_out);

/*
 * Makes the kernel forget the bytes. A page that other bytes share goes with the bytes that begin
 * in it last, so that what is read in order is not read twice.
 */
void page_cache_drop(const sample_location *location);

/* Makes the kernel read from an open file what it is asked for, and nothing behind it. */
void page_cache_read_alone(int fd);

/* The stages' argument `cache`, and what a source's own of it says. */
extern const char *const page_cache_choices[];
enum { PAGE_CACHE_KEEP = 0, PAGE_CACHE_DROP = 1 };

#endif
