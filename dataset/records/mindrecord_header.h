/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The header of a MindRecord file, version 3.0. A file begins with its u64 length, followed by a
 * JSON object:
 *
 *     header_size, page_size     page i begins at header_size + i * page_size
 *     schema[0].schema           the type of each column, and the shape of an array
 *     schema[0].blob_fields      columns that are bytes or arrays, in their order in a blob row
 *     schema[0].desc             a text
 *     page                       of rows: RAW_DATA (the other columns) or BLOB_DATA
 *     shard_addresses, shard_id  the names of all files of the dataset, and the number of this one
 *
 * A row group is the rows of one blob page. A raw page has one or more of them, each with its
 * number and its offset in the page. Lengths and integers are little-endian unless said otherwise.
 */
#ifndef SLUICE_MINDRECORD_HEADER_H
#define SLUICE_MINDRECORD_HEADER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sluice/status.h>
#include <sluice/tensor.h>

#define MINDRECORD_VERSION "3.0"

enum {
    MINDRECORD_MOST_COLUMNS = 1024,
    MINDRECORD_MOST_FILES = 4096,
    MINDRECORD_LEAST_HEADER = 1 << 14,
    MINDRECORD_MOST_HEADER = 1 << 27,
    MINDRECORD_LEAST_PAGE = 1 << 15,
    MINDRECORD_MOST_PAGE = 1 << 28
};

/* schema[0].desc of files that Sluice has written begins with this text; fields= of their columns
 * follows. */
#define MINDRECORD_FIELDS "sluice fields="

typedef enum mindrecord_type {
    MINDRECORD_BYTES,
    MINDRECORD_STRING,
    MINDRECORD_INT32,
    MINDRECORD_INT64,
    MINDRECORD_FLOAT32,
    MINDRECORD_FLOAT64,
    MINDRECORD_TYPES
} mindrecord_type;

typedef struct mindrecord_column {
    char *name;
    mindrecord_type type;
    int blob;                        /* index in the blob row; -1: the column is in the raw row */
    uint32_t rank;                   /* of an array; 0: one value */
    uint64_t shape[SLUICE_MAX_RANK]; /* 0: a dimension that varies from row to row; at most one */
} mindrecord_column;

typedef struct mindrecord_page {
    bool is_raw;
    uint64_t size;      /* bytes that are used */
    uint64_t type_id;   /* of a blob page: the number of its row group */
    uint64_t first_row; /* of a blob page: rows [first_row, end_row) of the file */
    uint64_t end_row;
    size_t first_group; /* of a raw page: index of its first row group in header.groups */
    size_t group_count;
} mindrecord_page;

typedef struct mindrecord_group {
    uint64_t id;
    uint64_t offset; /* in its raw page */
} mindrecord_group;

typedef struct mindrecord_header {
    uint64_t header_size;
    uint64_t page_size;
    uint32_t column_count;
    uint32_t blob_count;
    mindrecord_column *columns; /* in the order of the schema */
    char *description;          /* never NULL */
    char **files;               /* names of all files of the dataset */
    uint32_t file_count;
    size_t page_count;
    size_t page_capacity;
    mindrecord_page *pages;
    size_t group_count;
    size_t group_capacity;
    mindrecord_group *groups;
} mindrecord_header;

/* Returns the name of a type in the schema, such as "int32". */
const char *mindrecord_type_name(mindrecord_type type);

/* Bytes of a number; 0 of MINDRECORD_BYTES and MINDRECORD_STRING. */
size_t mindrecord_type_size(mindrecord_type type);

/* The type of the elements of a column of numbers. */
sluice_dtype mindrecord_dtype(mindrecord_type type);

/* True for arrays of integers, which are packed (mindrecord_ints.h). */
static inline bool mindrecord_is_packed(const mindrecord_column *column)
{
    return column->rank > 0 &&
           (column->type == MINDRECORD_INT32 || column->type == MINDRECORD_INT64);
}

/* Offset of a page in the file. */
static inline uint64_t mindrecord_page_offset(const mindrecord_header *header, uint64_t page)
{
    return header->header_size + page * header->page_size;
}

/* Returns the column of this name; NULL: there is none. */
const mindrecord_column *mindrecord_find_column(const mindrecord_header *header, const char *name);

/*
 * Reads the header of an open file of `size` bytes. All pages are within the file. E_CORRUPT: it is
 * not a MindRecord file, or is corrupt or truncated. E_UNSUPPORTED: it is encrypted or of another
 * version, or the build has no jansson. Also returns E_IO and E_NO_MEMORY. Error texts do not name
 * the file.
 */
sluice_status mindrecord_header_read(int fd, uint64_t size, mindrecord_header *header_out);
void mindrecord_header_free(mindrecord_header *header);

#endif
