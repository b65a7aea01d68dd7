/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Protects from hostile files in calls of libjpeg: errors return instead of ending the process,
 * input is bounded, and so are scans and memory.
 */
#ifndef SLUICE_JPEG_GUARD_H
#define SLUICE_JPEG_GUARD_H

#include <setjmp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* jpeglib.h needs stdio.h before it. */
#include <jpeglib.h>

#include <jerror.h>

#include <sluice/status.h>

typedef struct jpeg_guard {
    struct jpeg_error_mgr errors;
    struct jpeg_source_mgr source;
    struct jpeg_progress_mgr progress;
    jmp_buf give_up;      /* set by setjmp() before each call of the library */
    sluice_status status; /* of the failure, with its text below */
    int code;             /* the library's message code; 0: too many scans; JTRC_MISC_MARKER: a
                             segment that it does not save */
    char text[JMSG_LENGTH_MAX];
    bool exhausted; /* the library needed more bytes than there are */
    bool strict;    /* fails at any warning, not only at those that mean wrong pixels, and at
                       segments that the library does not save */
    uint64_t max_pixels;
    uint64_t pixels; /* of the image, once its header was read */
} jpeg_guard;

/* The guard must be zero-initialised. */
void jpeg_guard_init(jpeg_guard *guard);

/*
 * Creates the library's object (zeroed before its first use) anew for a file: an object that is
 * only aborted keeps its Huffman and quantisation tables, and a file without tables would be
 * decoded with those of an earlier file.
 */
void jpeg_guard_begin(jpeg_guard *guard, struct jpeg_decompress_struct *info, const uint8_t *bytes,
                      size_t size);

/* Puts a compression object under the guard, before it is created. */
void jpeg_guard_compress(jpeg_guard *guard, struct jpeg_compress_struct *info);

/* Sets the failure that longjmp() left as this thread's last error; info is destroyed. */
sluice_status jpeg_guard_failed(const jpeg_guard *guard, struct jpeg_decompress_struct *info);

/* Completeness of a file's scans. */
typedef enum jpeg_scans {
    JPEG_SCANS_WHOLE,
    JPEG_SCANS_COARSE, /* progressive: some coefficient bits are in no scan */
    JPEG_SCANS_MISSING /* no scan has one of the components */
} jpeg_scans;

/* For a file of several scans, all of which were read. */
jpeg_scans jpeg_scans_of(const struct jpeg_decompress_struct *info);

#endif
