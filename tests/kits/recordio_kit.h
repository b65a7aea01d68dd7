/* SPDX-License-Identifier: Apache-2.0 */
/* RecordIO files for tests, written as dmlc-core does. */
#ifndef SLUICE_RECORDIO_KIT_H
#define SLUICE_RECORDIO_KIT_H

#include <stddef.h>
#include <stdint.h>

#define RECORDIO_MAGIC UINT32_C(0xced7230a)

/* Bytes in memory; `data` must be large enough for what is added. */
typedef struct recordio_bytes {
    uint8_t *data;
    size_t size;
} recordio_bytes;

/* Adds one part with a flag. */
void recordio_add_part(recordio_bytes *to, uint32_t flag, const void *data, uint32_t size);

/* Adds a record: several parts if its bytes have the magic number. Returns its offset. */
size_t recordio_add(recordio_bytes *to, const void *data, size_t size);

/* Writes the bytes of an image record; count 0: the label is in its header. Returns their size. */
size_t recordio_image_bytes(uint8_t *to, uint64_t id, const float *labels, uint32_t count,
                            const void *image, size_t size);

#endif
