/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes libjpeg calls safe for hostile files: errors return instead of ending the process, and
 * input, scans and memory are bounded.
 */
#ifndef SLUICE_JPEG_GUARD_H
#define SLUICE_JPEG_GUARD_H

#include <setjmp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* jpeglib.h requires that stdio.h is included first. */
#include <jpeglib.h>

#include <jerror.h>

#include <sluice/status.h>

typedef struct jpeg_guard {
    struct jpeg_error_mgr errors;
    struct jpeg_source_mgr source;
    struct jpeg_progress_mgr progress;
    struct jpeg_progress_mgr writing; /* of a compression object */
    jmp_buf give_up;                  /* set by setjmp() before each call of libjpeg */
    sluice_status status;             /* status of the failure; its message is in text */
    int code; /* libjpeg's message code; 0: too many scans; JTRC_MISC_MARKER: the file has a segment
                 that libjpeg does not save */
    char text[JMSG_LENGTH_MAX];
    bool exhausted; /* libjpeg read past the end of the bytes */
    bool strict;    /* fail at every warning, not only at those that mean wrong pixels, and at every
                       segment that libjpeg does not save */
    uint64_t max_pixels;
    uint64_t pixels; /* number of pixels of the image; valid once its header was read */
} jpeg_guard;

/* Initialises a guard, which must be zeroed. */
void jpeg_guard_init(jpeg_guard *guard);

/*
 * Creates libjpeg's decompression object from scratch for a file; `info` must be zeroed before its
 * first use. An object that is merely aborted keeps its Huffman and quantisation tables, and a file
 * without tables would be decoded with those of an earlier file.
 */
void jpeg_guard_begin(jpeg_guard *guard, struct jpeg_decompress_struct *info, const uint8_t *bytes,
                      size_t size);

/* Creates libjpeg's compression object with the guard's error handling. */
void jpeg_guard_compress(jpeg_guard *guard, struct jpeg_compress_struct *info);

/* Destroys info and sets the failure that led to the longjmp() as this thread's last error. */
sluice_status jpeg_guard_failed(const jpeg_guard *guard, struct jpeg_decompress_struct *info);

/* Completeness of a file's scans. */
typedef enum jpeg_scans {
    JPEG_SCANS_WHOLE,
    JPEG_SCANS_COARSE, /* progressive: some coefficient bits are in no scan */
    JPEG_SCANS_MISSING /* one of the components is in no scan */
} jpeg_scans;

/*
 * Determines the completeness of the scans; requires a file with several scans, all of which were
 * read.
 */
jpeg_scans jpeg_scans_of(const struct jpeg_decompress_struct *info);

#endif
