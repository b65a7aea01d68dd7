/* SPDX-License-Identifier: Apache-2.0 */
/* TFRecord files whose record n has n in each of its values: an image of 2 pixels, its mask, a
 * label, n % 4 floats and a text of n % 9 bytes. */
#ifndef SLUICE_TFRECORD_KIT_H
#define SLUICE_TFRECORD_KIT_H

#include "record_kit.h"

/* All values as columns. */
#define TFRECORD_ALL                                                                               \
    "fields=image:image/encoded@image,seg:seg@mask,label:image/class/label@i32,v:v@f32[3],"        \
    "caption:text@text[8]"

/* The columns of the files that TensorFlow has written, in tests/data/tfrecord. */
#define TFRECORD_OF_TENSORFLOW                                                                     \
    "fields=image:image/encoded@image,label:image/class/label@i32,w:weights@f32x2,big:big@i64x3,"  \
    "boxes:image/object/bbox@boxes[2],caption:caption@text[8]"

/* Appends record n to a file in memory. */
void tfrecord_add(record_bytes *file, uint32_t n);

/* Writes a file of records first to first + count - 1. The path is good until the next call. */
const char *tfrecord_write(const char *folder, const char *name, uint32_t first, uint32_t count);

/* Flips a bit of a file. */
void change_byte(const char *path, long at);

#endif
