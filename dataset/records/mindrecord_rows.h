/* SPDX-License-Identifier: Apache-2.0 */
/* The rows of a MindRecord file: their positions, and the values in their bytes. */
#ifndef SLUICE_MINDRECORD_ROWS_H
#define SLUICE_MINDRECORD_ROWS_H

#include "image.h"
#include "mindrecord_header.h"
#include "record_format.h"

/* The ranges of a record. */
enum { MINDRECORD_RAW, MINDRECORD_BLOB, MINDRECORD_RANGES };

/*
 * Appends the ranges of all rows by their lengths in the pages: that of the raw row and that of the
 * blob row. E_CORRUPT: the pages do not hold the rows that the header announces. Also returns E_IO
 * and E_NO_MEMORY.
 */
sluice_status mindrecord_scan(int fd, const mindrecord_header *header, record_index *index);

/* Finds values of a row in its ranges; see parse() of record_format. */
sluice_status mindrecord_parse(const mindrecord_header *header, const record_part *parts,
                               const record_names *wanted, image_buffer *scratch,
                               record_value *values_out);

#endif
