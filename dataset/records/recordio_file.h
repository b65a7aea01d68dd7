/* SPDX-License-Identifier: Apache-2.0 */
/*
 * RecordIO files of MXNet (dmlc-core, recordio.h). A record is one part or several, each padded to
 * a multiple of 4 bytes, little-endian:
 *
 *     u32 0xced7230a, u32 flag << 29 | length, `length` bytes, padding
 *
 * The flag is 0 for a whole record. If the bytes of a record contain the magic number at a multiple
 * of 4, the writer splits the record there and leaves out the magic number: the flag of the first
 * part is 1, of the last part 3, and of the parts between them 2.
 *
 * An image record (mxnet.recordio.pack) has
 *
 *     u32 count of labels, f32 label, u64 id, u64 second id, the labels (f32), the file of the
 * image
 *
 * If the count is 0, the label of the header is the only one; otherwise it has no meaning.
 */
#ifndef SLUICE_RECORDIO_FILE_H
#define SLUICE_RECORDIO_FILE_H

#include <stddef.h>
#include <stdint.h>

#include <sluice/status.h>

enum {
    RECORDIO_HEAD = 8,       /* bytes before the bytes of a part */
    RECORDIO_IDS = 8,        /* offset of the ids in an image record */
    RECORDIO_IMAGE_HEAD = 24 /* bytes before the labels of an image record */
};

/* Is called with the range of each record, which includes the heads of its parts and the padding.
 * An error ends the scan. */
typedef sluice_status recordio_visit(void *arg, uint64_t offset, uint64_t size);

/*
 * Finds the records of a file of `size` bytes by the heads of their parts. E_CORRUPT: a record is
 * invalid or extends beyond the file; the message has the offset. Also returns E_IO and the errors
 * of `visit`.
 */
sluice_status recordio_scan(int fd, uint64_t size, recordio_visit *visit, void *arg);

/* Finds the size of the record at an offset within the file. Returns the errors of
 * recordio_scan(). */
sluice_status recordio_find_size(int fd, uint64_t size, uint64_t offset, uint64_t *size_out);

/* The parts of a record. */
typedef struct recordio_layout {
    uint32_t parts;
    size_t size; /* bytes of the record once its parts are joined */
} recordio_layout;

/* Checks the parts of one record. E_CORRUPT: they are invalid, or do not have `size` bytes. */
sluice_status recordio_measure(const uint8_t *bytes, size_t size, recordio_layout *layout_out);

/* Joins the parts of a record that recordio_measure() has accepted; `to` has layout.size bytes, and
 * may be `bytes`. A record of one part is at bytes + RECORDIO_HEAD already. */
void recordio_join(const uint8_t *bytes, const recordio_layout *layout, uint8_t *to);

/* An image record; pointers are into its bytes. */
typedef struct recordio_image {
    uint64_t id;
    uint64_t id2;
    const uint8_t *labels; /* f32, little-endian, not aligned */
    uint32_t label_count;  /* at least 1 */
    const uint8_t *image;
    size_t image_size;
} recordio_image;

/* Parses the joined bytes of an image record. E_CORRUPT: they end within its header or labels. */
sluice_status recordio_image_parse(const uint8_t *bytes, size_t size, recordio_image *image_out);

/* Returns label `i` of an image record. */
float recordio_label(const recordio_image *image, uint32_t i);

#endif
