/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes JPEG files into memory: baseline, one scan, optimised Huffman tables, and restart markers
 * at regular intervals, so that a part of the image can be decoded without the data before it.
 */
#ifndef SLUICE_JPEG_WRITER_H
#define SLUICE_JPEG_WRITER_H

#include "image.h"
#include "jpeg_guard.h"

/* A JPEG file in memory; data is freed by sli_free(). */
typedef struct jpeg_bytes {
    uint8_t *data;
    size_t size;
} jpeg_bytes;

/* Receives the output of libjpeg; must be zero-initialised. */
typedef struct jpeg_sink {
    struct jpeg_destination_mgr destination;
    jpeg_bytes bytes;
    size_t capacity;
    size_t most; /* largest permitted size of the file */
    bool grew;   /* the file exceeded `most` */
} jpeg_sink;

/*
 * Directs the output of `info` to the sink. A file that exceeds `most`, and out of memory, are
 * reported through the guard.
 */
void jpeg_sink_begin(jpeg_sink *sink, struct jpeg_compress_struct *info, size_t most);

/* Returns the file, shrunk to its size. Ownership is transferred, and the sink is empty again. */
jpeg_bytes jpeg_sink_take(jpeg_sink *sink);
void jpeg_sink_free(jpeg_sink *sink);

/*
 * Returns the number of MCUs between restart markers. It is the divisor of the number of MCUs in a
 * row (each mcu_width pixels wide) whose width is nearest to `pixels`, as a ratio; of two equally
 * near, the smaller. It is 0 (no markers) if pixels is 0, and for an image of up to twice `pixels`
 * in width and height, where a crop saves almost nothing.
 */
uint32_t jpeg_restart_interval(uint32_t image_width, uint32_t image_height, uint32_t mcu_width,
                               uint32_t pixels);

/* Encoding options. */
typedef struct jpeg_encoding {
    uint32_t quality;     /* 1 to 100 */
    bool halve_chroma;    /* true: 4:2:0 chroma subsampling; false: 4:4:4 */
    uint32_t interval;    /* pixels between restart markers; 0: no markers */
    uint32_t orientation; /* of its Exif data (exif.h); 1: it has none */
} jpeg_encoding;

/*
 * Encodes (height, width, channels) pixels: 1 channel as gray, 3 channels as YCbCr. E_INVALID: the
 * image is too large for a JPEG file. CLOSED: the thread was interrupted. Also returns E_NO_MEMORY.
 */
sluice_status jpeg_encode(const image_view *image, const jpeg_encoding *encoding,
                          jpeg_bytes *file_out);

#endif
