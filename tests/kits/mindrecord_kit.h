/* SPDX-License-Identifier: Apache-2.0 */
/* MindRecord files of tests: tests/data/mindrecord, and others. */
#ifndef SLUICE_MINDRECORD_KIT_H
#define SLUICE_MINDRECORD_KIT_H

#include "mindrecord_rows.h"

typedef struct mindrecord_file {
    int fd;
    uint64_t size;
    mindrecord_header header;
    record_index index;
    image_buffer bytes; /* the row that was read last */
    image_buffer scratch;
} mindrecord_file;

/* The path of a file of tests/data/mindrecord; good until the next call. */
const char *mindrecord_fixture(const char *name);

/* Opens and scans a file. After an error it is closed. */
sluice_status mindrecord_file_open(const char *path, mindrecord_file *file);
void mindrecord_file_close(mindrecord_file *file);

/* Reads columns of a row, separated by spaces; `values` are good until the next call. */
sluice_status mindrecord_file_read(mindrecord_file *file, uint64_t row, const char *columns,
                                   record_value *values);

#endif
