/* SPDX-License-Identifier: Apache-2.0 */
/* A source's record files, of any format (record_format.h): opens them, finds their records and
 * columns, and reads records. */
#ifndef SLUICE_RECORD_SET_H
#define SLUICE_RECORD_SET_H

#include "pack_class_names.h"
#include "record_fields.h"
#include "record_format.h"
#include "web_shard_file.h"

/* The arguments of such a source. */
typedef struct record_args {
    const char *files;
    const char *fields; /* "": the format chooses the columns */
    const char *index;  /* where indexes are stored: record_index_find() */
    uint32_t cache;
    uint64_t max_sample; /* only of tfrecord: limit on the bytes of a record in a stream */
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
    uint64_t count; /* number of records */
    char *chosen;   /* the columns in the syntax of fields= if the format or a pack.json chose them;
                       NULL: the argument names them */
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

/* The record that a worker has read last, and its memory. Zero-initialise. */
typedef struct record_reader {
    image_buffer bytes;
    image_buffer scratch;
    image_buffer pixels;   /* memory for the caller */
    const record_set *set; /* NULL: no record was read */
    uint64_t index;
    record_value values[SLUICE_MAX_COLUMNS];
} record_reader;

void record_reader_free(record_reader *reader);

/*
 * Reads a record, unless the reader has it already. reader->values[i] becomes the value of the name
 * fields.names.names[i]. io->interrupt ends a wait for a file descriptor; the bytes are added to
 * io->bytes_read. E_CORRUPT: the record is bad; the message has the file and the offset. Also
 * returns E_UNSUPPORTED, E_IO and E_NO_MEMORY.
 */
sluice_status record_set_read(const record_set *set, uint64_t index, sample_io *io,
                              record_reader *reader);

#endif
