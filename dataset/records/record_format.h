/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The interface of a format of record files: it finds the records of a file, and the values in the
 * bytes of a record. record_set.h does all else. A format is one constant struct.
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
enum { RECORD_MOST_RANGES = 3 };

/* A range of a file. */
typedef struct record_range {
    uint64_t offset;
    uint64_t size;
} record_range;

/* The positions of all records of a file. */
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
    void *state; /* set by record_format.open(); else NULL */
} record_input;

/* The bytes of one range of a record. */
typedef struct record_part {
    const uint8_t *bytes;
    size_t size;
} record_part;

/*
 * E_CORRUPT: the file or the record is corrupt. E_UNSUPPORTED: it uses a feature that this reader
 * or this build does not support. Error messages have offsets in the file; the caller adds the
 * path. Every function checks the lengths and offsets of the file before it uses them, and
 * allocates memory in proportion to the bytes that it has read.
 */
typedef struct record_format {
    file_list_kind files; /* `source` is the name of its stage */
    uint32_t ranges;      /* ranges of a record, 1 to RECORD_MOST_RANGES */

    /* Optional: replaces each file of the list by all files of its dataset. Its error messages have
     * the source and the path. Also returns E_IO and E_NO_MEMORY. */
    sluice_status (*complete)(file_list *list);

    /* Optional, both: reads what holds for the whole file, such as its schema. Later calls get the
     * same file by another descriptor. Also returns E_IO and E_NO_MEMORY. */
    sluice_status (*open)(record_input *file);
    void (*close)(void *state);

    /*
     * Appends the ranges of all records, in the order of the file. Every range is within the file.
     * Also returns E_IO and E_NO_MEMORY.
     */
    sluice_status (*scan)(const record_input *file, record_index *index);

    /*
     * Optional, both: reads the text that another tool writes beside a file as its index.
     * index_path() writes the path number i that it may have, and returns false if there are fewer.
     * parse_index() appends the ranges of all records. E_CORRUPT: the text is not an index of the
     * file. The caller checks that the ranges cover the whole file; only parse() finds out whether
     * a record begins at its offset. Also returns E_IO and E_NO_MEMORY.
     */
    bool (*index_path)(const char *file, int i, char *path, size_t size);
    sluice_status (*parse_index)(const record_input *file, const char *text, record_index *index);

    /*
     * Chooses the columns if the user has not given fields=, and writes them in that syntax
     * (record_fields.h). `index` is that of the file and is not empty. *guessed_out: the columns
     * are those of the first records; later ones may not fit. false: the file has a list of them.
     * Also returns E_IO and E_NO_MEMORY.
     */
    sluice_status (*choose)(const record_input *file, const record_index *index, sli_text *fields,
                            bool *guessed_out);

    /* Optional: returns the ranges that parse() needs for these values, bit i for range i; it gets
     * no bytes of the others. */
    uint32_t (*needs)(const record_names *wanted);

    /* Optional: checks before parse() that the bytes are those of the record at these ranges. */
    sluice_status (*check)(const void *state, const record_range *ranges, const record_part *parts);

    /*
     * Finds values of a record in its ranges: values_out[i] becomes the value named
     * wanted->names[i]. Values that must be converted are written to `scratch`, which is reserved
     * at most once. Callable from any thread. Also returns E_NO_MEMORY.
     */
    sluice_status (*parse)(const void *state, const record_part *parts, const record_names *wanted,
                           image_buffer *scratch, record_value *values_out);
} record_format;

#endif
