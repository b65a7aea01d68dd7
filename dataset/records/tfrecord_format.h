/* SPDX-License-Identifier: Apache-2.0 */
/*
 * TFRecord files (tensorflow/core/lib/io/record_writer.h). A record is
 *
 *     u64 length of the data, u32 masked CRC-32C of these 8 bytes, the data,
 *     u32 masked CRC-32C of the data
 *
 * and the data are a tf.train.Example or SequenceExample (example_values.h).
 */
#ifndef SLUICE_TFRECORD_FORMAT_H
#define SLUICE_TFRECORD_FORMAT_H

#include "record_format.h"

/* Bytes of a record before and after its data. */
enum { TFRECORD_HEAD = 12, TFRECORD_TAIL = 4 };

/* The CRC-32C of bytes as it is stored, which is masked: that of data with CRCs in them is not
 * computed over CRCs. */
uint32_t tfrecord_crc(const void *bytes, size_t size);

/* True if the checksum of a length is right; `head` has TFRECORD_HEAD bytes. */
bool tfrecord_head_is_good(const uint8_t *head);

extern const record_format record_tfrecord;

#endif
