/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The interface of a format of record files: how the records of a file are found, and what they
 * hold. record_set.h does all else. A format is one constant struct.
 */
#ifndef SLUICE_RECORD_FORMAT_H
#define SLUICE_RECORD_FORMAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sluice/status.h>

#include "file_list.h"
#include "image.h"
#include "record_values.h"
#include "text_int.h"

/* Limit on the ranges of a record. */
enum { RECORD_MOST_RANGES = 2 };

/* A range of a file. */
typedef struct record_range {
    uint64_t offset;
    uint64_t size;
} record_range;

/* The places of all records of a file. */
typedef struct record_index {
    uint32_t per_record;  /* number of ranges of each record: record_format.ranges */
    uint64_t count;       /* number of records */
    record_range *ranges; /* (count, per_record) */
    size_t capacity;
} record_index;

/* Appends a record: `per_record` ranges. E_NO_MEMORY. */
sluice_status record_index_add(record_index *index, const record_range *ranges);
void record_index_free(record_index *index);

/* An open file. */
typedef struct record_input {
    const char *path;
    int fd;
    uint64_t size;
    void *state; /* what open() of its format made of it; NULL: nothing */
} record_input;

/* The bytes of one range of a record. */
typedef struct record_part {
    const uint8_t *bytes;
    size_t size;
} record_part;

/*
 * E_CORRUPT: the file or the record is bad; E_UNSUPPORTED: it needs what this reader lacks. Error
 * texts name offsets in the file, and not its path, which the caller adds. No function trusts the
 * file, and none uses memory beyond some multiple of the bytes that it has read.
 */
typedef struct record_format {
    file_list_kind files; /* `source` is the name of its stage */
    uint32_t ranges;      /* ranges of a record, 1 to RECORD_MOST_RANGES */

    /* Optional: replaces the files of the list by all files that belong to them. Its errors name
     * the source and the file. Also returns E_IO and E_NO_MEMORY. */
    sluice_status (*complete)(file_list *list);

    /* Optional, both: reads what holds for the whole file, such as its schema. The file is the same
     * for all calls, but its descriptor is not. Also returns E_IO and E_NO_MEMORY. */
    sluice_status (*open)(record_input *file);
    void (*close)(void *state);

    /*
     * Appends the ranges of all records, in the order of the file. Every range is within the file.
     * Also returns E_IO and E_NO_MEMORY.
     */
    sluice_status (*scan)(const record_input *file, record_index *index);

    /*
     * Optional: does the same by an index that another tool has written beside the file. It is a
     * hint: parse() must find what is not at its place. END_OF_DATA: there is no such index.
     * E_CORRUPT: it does not fit the file, which is then scanned.
     */
    sluice_status (*read_index)(const record_input *file, record_index *index);

    /*
     * Writes columns in the syntax of fields= (record_fields.h) for a user who has given none:
     * by the schema of the file, or by some of its records. `index` is that of the file and is not
     * empty. *guessed_out: it went by some of the records, which may not be like the others. Also
     * returns E_IO and E_NO_MEMORY.
     */
    sluice_status (*choose)(const record_input *file, const record_index *index, sli_text *fields,
                            bool *guessed_out);

    /* Optional: checks before parse() what the bytes of a record say about their place. */
    sluice_status (*check)(const void *state, const record_range *ranges, const record_part *parts);

    /*
     * Finds values of a record in its ranges: values_out[i] has the name wanted->names[i]. Values
     * that must be unpacked go to `scratch`, which is reserved at most once. Callable from any
     * thread. Also returns E_NO_MEMORY.
     */
    sluice_status (*parse)(const void *state, const record_part *parts, const record_names *wanted,
                           image_buffer *scratch, record_value *values_out);
} record_format;

#endif
