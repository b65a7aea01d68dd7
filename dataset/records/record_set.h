/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The open files of a source of record files, in any format (record_format.h): their indexes and
 * columns, and the reading of a record.
 */
#ifndef SLUICE_RECORD_SET_H
#define SLUICE_RECORD_SET_H

#include "pack_class_names.h"
#include "record_fields.h"
#include "record_format.h"
#include "web_shard_file.h"

/* The arguments of such a source. */
typedef struct record_args {
    const char *files;
    const char *fields; /* "": those that the format chooses */
    const char *index;  /* where indexes are kept: record_index_find() */
    uint32_t cache;
    uint64_t max_sample; /* bytes of a record that is read in sequence; of tfrecord alone */
} record_args;

typedef struct record_file {
    web_shard_file file;
    record_input input; /* its descriptor is valid only while the set is opened */
    record_index index;
} record_file;

typedef struct record_set {
    const record_format *format;
    file_list list;
    record_file *files;
    size_t file_count;
    uint64_t count; /* of records */
    char *chosen;   /* the columns in the syntax of fields=, if the format chose them; else NULL */
    record_fields fields;
    uint32_t needed;              /* ranges of a record that are read, bit i for range i */
    pack_class_names class_names; /* of a conversion whose columns were chosen */
    bool drops;
} record_set;

/*
 * Opens and indexes all files, and determines the columns. The caller closes the set, also after an
 * error. E_INVALID: arguments are wrong, there is no record, or a value of fields= is in none of
 * the first records. Also returns the errors of pack_files_check() and of the format.
 */
sluice_status record_set_open(record_set *set, const record_format *format,
                              const record_args *args);
void record_set_close(record_set *set);

/* The file of a record; *index becomes its number in the file. */
record_file *record_set_file(const record_set *set, uint64_t *index);
uint64_t record_set_memory(const record_set *set);

/* A record that a worker has read, and its memory. Zeroed: none was read. */
typedef struct record_reader {
    image_buffer bytes;
    image_buffer scratch;
    image_buffer pixels; /* for the user of the values */
    const record_set *set;
    uint64_t index; /* of the record, if `set` is not NULL */
    record_value values[SLUICE_MAX_COLUMNS];
} record_reader;

void record_reader_free(record_reader *reader);

/*
 * Reads a record, unless the reader has it already: reader->values[i] is that of
 * fields.names.names[i]. Of `io`, `interrupt` is used, and bytes_read counts. E_CORRUPT: the record
 * is bad; errors name the file and the offset. Also returns E_UNSUPPORTED, E_IO and E_NO_MEMORY.
 */
sluice_status record_set_read(const record_set *set, uint64_t index, sample_io *io,
                              record_reader *reader);

#endif
