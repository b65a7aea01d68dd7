/* SPDX-License-Identifier: Apache-2.0 */
/* Records of tests: their values by name, and files of them. */
#ifndef SLUICE_RECORD_KIT_H
#define SLUICE_RECORD_KIT_H

#include "example_writer.h"

/* A record that is being made. Texts and numbers are borrowed until it is written. */
typedef struct record_maker {
    record_names names;
    record_value values[SLUICE_MAX_COLUMNS];
} record_maker;

void maker_bytes(record_maker *maker, const char *name, const void *bytes, size_t size);
void maker_text(record_maker *maker, const char *name, const char *text);
void maker_numbers(record_maker *maker, const char *name, sluice_dtype dtype, const void *numbers,
                   uint64_t count);

/* Appends the record to a TFRecord file in memory, and forgets it. */
void maker_end(record_maker *maker, record_bytes *file);

/* Writes a file, and frees its bytes. */
void write_records(record_bytes *file, const char *path);

#endif
