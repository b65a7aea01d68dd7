/* SPDX-License-Identifier: Apache-2.0 */
/* The columns of a sample as values of a record, for formats of record files (record_fields.h). */
#ifndef SLUICE_KEPT_RECORDS_H
#define SLUICE_KEPT_RECORDS_H

#include "record_values.h"
#include "sample_writer.h"

/* Returns why fields= of records has no kind for column i; NULL: it has one. */
const char *kept_records_obstacle(const kept_columns *kept, uint32_t i);

/* Writes the argument fields= that reads the columns back: the values have their names. */
void kept_records_print(const kept_columns *kept, sli_text *text);

/* The names of the values of a record; borrowed from the columns. */
void kept_records_names(const kept_columns *kept, record_names *names_out);

/* The values of a record. Texts and files are byte strings, and so are pixels of 8 bits. */
void kept_records_values(const kept_columns *kept, const kept_value *values,
                         record_value *values_out);

#endif
