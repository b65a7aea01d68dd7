/* SPDX-License-Identifier: Apache-2.0 */
/*
 * LMDB files (lmdb_pages.h) as record files: a record is a value of the main database, in the order
 * of the keys. What it holds:
 *
 *     value       all of its bytes, such as the file of an image
 *     key         the bytes of its key
 *
 * and, of a Datum of Caffe (datum.h):
 *
 *     image       the file of the image; else its pixels, u8 (height, width, channels), in RGB: of
 *                 three channels or four, Caffe stores BGR
 *     pixels      the same, but channels stay in the order in which they are stored
 *     data        the bytes of the image as they are stored
 *     label, channels, height, width, encoded   i32
 *     float_data  f32
 */
#ifndef SLUICE_LMDB_FORMAT_H
#define SLUICE_LMDB_FORMAT_H

#include "record_format.h"

extern const record_format record_lmdb;

#endif
