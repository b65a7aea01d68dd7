/* SPDX-License-Identifier: Apache-2.0 */
/* Writes records as tf.train.Example, alone or as records of a TFRecord file. */
#ifndef SLUICE_EXAMPLE_WRITER_H
#define SLUICE_EXAMPLE_WRITER_H

#include <sluice/status.h>

#include "record_values.h"

/* Bytes that grow; begins as zeros, and is freed by record_bytes_free(). */
typedef struct record_bytes {
    uint8_t *data;
    size_t size;
    size_t capacity;
} record_bytes;

void record_bytes_free(record_bytes *bytes);

/*
 * Appends a tf.train.Example with a feature for each value, in their order; a missing one has none.
 * Integers are an Int64List, f32 a FloatList, a byte string a BytesList. Numbers of other types are
 * a byte string of their elements, little-endian, since a list would change them: f16, bf16, f64
 * and u64. The same values are the same bytes on every machine. E_INVALID: a value has several byte
 * strings. E_NO_MEMORY.
 */
sluice_status example_append(const record_names *names, const record_value *values,
                             record_bytes *bytes);

/* The same, with the lengths and checksums of a record of a TFRecord file around it. */
sluice_status tfrecord_append(const record_names *names, const record_value *values,
                              record_bytes *bytes);

#endif
