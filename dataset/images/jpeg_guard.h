/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What stands between libjpeg and files that may be hostile: errors that come back instead of
 * ending the program, bytes that end, bounds on scans and memory.
 */
#ifndef SLUICE_JPEG_GUARD_H
#define SLUICE_JPEG_GUARD_H

#include <setjmp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* jpeglib.h wants stdio.h before it. */
#include <jpeglib.h>

#include <jerror.h>

#include <sluice/status.h>

typedef struct jpeg_guard {
    struct jpeg_error_mgr errors;
    struct jpeg_source_mgr source;
    struct jpeg_progress_mgr progress;
    jmp_buf give_up;      /* set by setjmp() before each call of the library */
    sluice_status status; /* why it was given up, and its words */
    int code;             /* the library's number of it; 0: there were too many scans */
    char text[JMSG_LENGTH_MAX];
    bool exhausted; /* the library wanted more bytes than there are */
    bool strict;    /* gives up at any warning, not only at those that mean wrong pixels */
    uint64_t max_pixels;
    uint64_t pixels; /* of the image, once its header is read */
} jpeg_guard;

/* Starts zeroed. */
void jpeg_guard_init(jpeg_guard *guard);

/*
 * Makes the library's object (zeroed before its first use) anew for a file: one that is only
 * aborted keeps its tables, and a file that lacks some would be decoded with those of the file
 * before it.
 */
void jpeg_guard_begin(jpeg_guard *guard, struct jpeg_decompress_struct *info, const uint8_t *bytes,
                      size_t size);

/* Puts an object that compresses under the guard, before it is made. */
void jpeg_guard_compress(jpeg_guard *guard, struct jpeg_compress_struct *info);

/* The failure that longjmp left, as this thread's error; info is destroyed. */
sluice_status jpeg_guard_failed(const jpeg_guard *guard, struct jpeg_decompress_struct *info);

/* Did every scan come that the pixels are made of? For files of several, all of which were read. */
bool jpeg_has_all_scans(const struct jpeg_decompress_struct *info);

#endif
