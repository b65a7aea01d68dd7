/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writing JPEG files into memory: baseline, one scan, Huffman tables made for the file, and restart
 * markers at even distances, so that a part of the image can be decoded without what lies before
 * it.
 */
#ifndef SLUICE_JPEG_WRITER_H
#define SLUICE_JPEG_WRITER_H

#include "image.h"
#include "jpeg_guard.h"

/* A file in memory; data is freed by sli_free(). */
typedef struct jpeg_bytes {
    uint8_t *data;
    size_t size;
} jpeg_bytes;

/* Where the library puts what it writes; starts zeroed. */
typedef struct jpeg_sink {
    struct jpeg_destination_mgr destination;
    jpeg_bytes bytes;
    size_t capacity;
    size_t most; /* bytes that the file may have */
    bool grew;   /* it would have more */
} jpeg_sink;

/* Directs what info writes into the sink; too many bytes, or no memory, are errors of the guard. */
void jpeg_sink_begin(jpeg_sink *sink, struct jpeg_compress_struct *info, size_t most);

/* The file, cut to its length; the sink is empty again. */
jpeg_bytes jpeg_sink_take(jpeg_sink *sink);
void jpeg_sink_free(jpeg_sink *sink);

/*
 * MCUs from one restart marker to the next: the divisor of the MCUs in a row (of mcu_width pixels
 * each) that is nearest in ratio to `pixels`, the smaller of two as near. 0, none: for 0 pixels, and
 * for an image of at most twice as many each way, of which a crop leaves next to nothing out.
 */
uint32_t jpeg_restart_interval(uint32_t image_width, uint32_t image_height, uint32_t mcu_width,
                               uint32_t pixels);

/* How an image is encoded. */
typedef struct jpeg_encoding {
    uint32_t quality;  /* 1 to 100 */
    bool halve_chroma; /* 4:2:0; else 4:4:4 */
    uint32_t interval; /* pixels between restart markers; 0 none */
} jpeg_encoding;

/*
 * Encodes (height, width, channels) pixels, 1 channel as gray, 3 as YCbCr. E_NO_MEMORY; E_INVALID
 * larger than a JPEG file can be.
 */
sluice_status jpeg_encode(const image_view *image, const jpeg_encoding *encoding,
                          jpeg_bytes *file_out);

#endif
