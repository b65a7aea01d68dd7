/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the first records of a file, by which a format chooses columns: 100 of them, and 64 MiB. */
#ifndef SLUICE_FIRST_RECORDS_H
#define SLUICE_FIRST_RECORDS_H

#include "record_format.h"

/* The record that was read last. Set `file` and `index`, and zero the rest. */
typedef struct first_records {
    const record_input *file;
    const record_index *index;
    uint64_t next; /* number of the next record */
    uint64_t read; /* bytes so far */
    image_buffer bytes;
    record_part parts[RECORD_MOST_RANGES]; /* of the record, as parse() takes them */
} first_records;

/*
 * Reads the next record. END_OF_DATA: there are no more, or they have more bytes. E_UNSUPPORTED: so
 * has the first one. Also returns E_IO and E_NO_MEMORY.
 */
sluice_status first_records_next(first_records *first);

/* True if another record follows, so that the last one need not be good. */
bool first_records_has_more(const first_records *first);

void first_records_free(first_records *first);

#endif
