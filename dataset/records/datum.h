/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Caffe's Datum, a protobuf message (caffe.proto): one image with a label.
 *
 *     1 channels, 2 height, 3 width: int32     4 data: bytes, (channels, height, width)
 *     5 label: int32                           6 float_data: repeated float, packed or not
 *     7 encoded: bool; data are a file, such as a JPEG
 *
 * Other fields are skipped. Of a number that appears twice the last one counts.
 */
#ifndef SLUICE_DATUM_H
#define SLUICE_DATUM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sluice/status.h>

typedef struct datum {
    int32_t channels;
    int32_t height;
    int32_t width;
    int32_t label;
    bool has_label;
    int32_t encoded;     /* 1: data are a file of an image */
    const uint8_t *data; /* into the message; NULL: there are none */
    size_t data_size;
    size_t float_count; /* numbers of float_data */
} datum;

/* Parses a message. E_CORRUPT: it is not valid. */
sluice_status datum_parse(const uint8_t *bytes, size_t size, datum *datum_out);

/* Copies the float_data of a message that datum_parse() has accepted: datum.float_count numbers,
 * little-endian. */
void datum_floats(const uint8_t *bytes, size_t size, uint8_t *to);

/* Checks that the data are the pixels of an image of 1, 3 or 4 channels. E_CORRUPT: their number is
 * another; E_UNSUPPORTED: there are other channels. */
sluice_status datum_check_pixels(const datum *image);

/*
 * Writes the pixels of an image that datum_check_pixels() has accepted as (height, width,
 * channels). `swaps`: of 3 or 4 channels, the first and the third are exchanged, as Caffe stores
 * BGR.
 */
void datum_pixels(const datum *image, bool swaps, uint8_t *to);

#endif
