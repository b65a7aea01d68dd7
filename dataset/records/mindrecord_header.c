/* SPDX-License-Identifier: Apache-2.0 */
#include "mindrecord_header.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <string.h>
#include <unistd.h>

#include "alloc_int.h"
#include "bytes_int.h"
#include "descriptor_int.h"
#include "error_int.h"
#include "json_walk.h"
#include "mindrecord_member.h"
#include "status_int.h"

/* The end of an encrypted file: u32 0, 7 bytes that name the cipher, 7 bytes. */
static const char encrypted[] = "ENCRYPT";
enum { CIPHER_BYTES = 7, END_BYTES = 4 + CIPHER_BYTES + 7 };

/* Reading of the header's members. */
typedef struct header_reader {
    json_walk walk;
    mindrecord_header *header;
    uint32_t seen;  /* bit i: member i of the table */
    uint64_t shard; /* number of this file in the dataset */
} header_reader;

/* ---- the schema ------------------------------------------------------------------------------ */

/* Reads the shape of an array. */
static sluice_status read_shape(const json_t *list, mindrecord_column *column)
{
    uint32_t varying = 0;

    if (!json_is_array(list) || json_array_size(list) == 0 ||
        json_array_size(list) > SLUICE_MAX_RANK) {
        return sli_fail(SLUICE_E_UNSUPPORTED, "its shape must be a list of 1 to %d numbers",
                        SLUICE_MAX_RANK);
    }
    column->rank = (uint32_t)json_array_size(list);
    for (uint32_t i = 0; i < column->rank; i++) {
        const json_t *size = json_array_get(list, i);
        const json_int_t number = json_integer_value(size);

        if (!json_is_integer(size) || number == 0 || number < -1 || number > UINT32_MAX) {
            return sli_fail(SLUICE_E_CORRUPT,
                            "a dimension of its shape must be -1 or from 1 to 4294967295");
        }
        varying += number == -1;
        column->shape[i] = number == -1 ? 0 : (uint64_t)number;
    }
    return varying <= 1
               ? SLUICE_OK
               : sli_fail(SLUICE_E_CORRUPT, "at most one dimension of its shape may be -1");
}

static sluice_status read_type(const json_t *field, mindrecord_column *column)
{
    const char *name = json_string_value(json_object_get(field, "type"));
    const json_t *shape = json_object_get(field, "shape");
    int type = 0;

    while (name != NULL && type < MINDRECORD_TYPES &&
           strcmp(name, mindrecord_type_name((mindrecord_type)type)) != 0) {
        type++;
    }
    if (name == NULL || type == MINDRECORD_TYPES) {
        return sli_fail(SLUICE_E_UNSUPPORTED,
                        "its type is %.40s, and must be bytes, string, int32, int64, float32 or "
                        "float64",
                        name != NULL ? name : "missing");
    }
    column->type = (mindrecord_type)type;
    column->blob = -1;
    if (shape == NULL) {
        return SLUICE_OK;
    }
    return mindrecord_type_size(column->type) > 0
               ? read_shape(shape, column)
               : sli_fail(SLUICE_E_UNSUPPORTED, "a column of type %s must have no shape", name);
}

static sluice_status read_columns(json_t *fields, mindrecord_header *header)
{
    const size_t count = json_object_size(fields);
    const char *name;
    json_t *field;

    if (count == 0 || count > MINDRECORD_MOST_COLUMNS) {
        return sli_fail(count == 0 ? SLUICE_E_CORRUPT : SLUICE_E_UNSUPPORTED,
                        "the schema has %zu columns, and must have 1 to %d", count,
                        MINDRECORD_MOST_COLUMNS);
    }
    header->columns = sli_calloc(count, sizeof(*header->columns));
    if (header->columns == NULL) {
        return sli_fail(SLUICE_E_NO_MEMORY, "a schema of %zu columns", count);
    }
    json_object_foreach(fields, name, field)
    {
        mindrecord_column *column = &header->columns[header->column_count];
        sluice_status st = read_type(field, column);

        if (st != SLUICE_OK) {
            return sli_fail_quoting(st, "the column %.60s: %.600s", name, sluice_last_error());
        }
        column->name = sli_strdup(name);
        if (column->name == NULL) {
            return sli_fail(SLUICE_E_NO_MEMORY, "a schema of %zu columns", count);
        }
        header->column_count++;
    }
    return SLUICE_OK;
}

static mindrecord_column *find_column(mindrecord_header *header, const char *name)
{
    const mindrecord_column *found = mindrecord_find_column(header, name);

    return found != NULL ? &header->columns[found - header->columns] : NULL;
}

/* Columns that are bytes or arrays are blobs, and no others. */
static sluice_status read_blobs(const json_t *names, mindrecord_header *header)
{
    for (size_t i = 0; i < json_array_size(names); i++) {
        const char *name = json_string_value(json_array_get(names, i));
        mindrecord_column *column = name != NULL ? find_column(header, name) : NULL;

        if (column == NULL || column->blob >= 0 ||
            (column->type != MINDRECORD_BYTES && column->rank == 0)) {
            return sli_fail(SLUICE_E_CORRUPT,
                            "blob_fields has %.60s, and must have each column of bytes and each "
                            "array once",
                            name != NULL ? name : "a value of another type");
        }
        column->blob = (int)i;
        header->blob_count++;
    }
    for (uint32_t i = 0; i < header->column_count; i++) {
        const mindrecord_column *column = &header->columns[i];

        if (column->blob < 0 && (column->type == MINDRECORD_BYTES || column->rank > 0)) {
            return sli_fail(SLUICE_E_CORRUPT, "blob_fields lacks the column %.60s", column->name);
        }
    }
    return SLUICE_OK;
}

static sluice_status read_schema(header_reader *reader, const json_t *list)
{
    const json_t *schema = json_array_get(list, 0);
    const char *text = json_string_value(json_object_get(schema, "desc"));
    mindrecord_header *header = reader->header;
    sluice_status st;

    if (json_array_size(list) != 1) {
        return sli_fail(SLUICE_E_UNSUPPORTED, "it has %zu schemas, and must have one",
                        json_array_size(list));
    }
    header->description = sli_strdup(text != NULL ? text : "");
    if (header->description == NULL) {
        return sli_fail(SLUICE_E_NO_MEMORY, "a schema");
    }
    st = read_columns(json_object_get(schema, "schema"), header);
    return st == SLUICE_OK ? read_blobs(json_object_get(schema, "blob_fields"), header) : st;
}

/* ---- the other members ----------------------------------------------------------------------- */

static sluice_status read_version(header_reader *reader, const json_t *value)
{
    const char *version = json_string_value(value);

    (void)reader;
    return version != NULL && strcmp(version, MINDRECORD_VERSION) == 0
               ? SLUICE_OK
               : sli_fail(SLUICE_E_UNSUPPORTED,
                          "it is of version %.20s, and must be of version " MINDRECORD_VERSION,
                          version != NULL ? version : "?");
}

static sluice_status read_header_size(header_reader *reader, const json_t *value)
{
    return mindrecord_get_number(value, "header_size", MINDRECORD_MOST_HEADER,
                                 &reader->header->header_size);
}

static sluice_status read_page_size(header_reader *reader, const json_t *value)
{
    return mindrecord_get_number(value, "page_size", MINDRECORD_MOST_PAGE,
                                 &reader->header->page_size);
}

static sluice_status read_shard(header_reader *reader, const json_t *value)
{
    return mindrecord_get_number(value, "shard_id", MINDRECORD_MOST_FILES - 1, &reader->shard);
}

/* A name of a file must not lead elsewhere. */
static bool is_file_name(const char *name)
{
    return name != NULL && name[0] != '\0' && strchr(name, '/') == NULL && strcmp(name, ".") != 0 &&
           strcmp(name, "..") != 0;
}

static sluice_status read_files(header_reader *reader, const json_t *list)
{
    mindrecord_header *header = reader->header;
    const size_t count = json_array_size(list);

    if (count == 0 || count > MINDRECORD_MOST_FILES) {
        return sli_fail(SLUICE_E_CORRUPT, "shard_addresses must be a list of 1 to %d names",
                        MINDRECORD_MOST_FILES);
    }
    header->files = sli_calloc(count, sizeof(*header->files));
    if (header->files == NULL) {
        return sli_fail(SLUICE_E_NO_MEMORY, "the names of %zu files", count);
    }
    for (size_t i = 0; i < count; i++) {
        const char *name = json_string_value(json_array_get(list, i));

        if (!is_file_name(name)) {
            return sli_fail(SLUICE_E_CORRUPT,
                            "shard_addresses has %.60s, and must have names of files",
                            name != NULL ? name : "a value of another type");
        }
        header->files[i] = sli_strdup(name);
        if (header->files[i] == NULL) {
            return sli_fail(SLUICE_E_NO_MEMORY, "the names of %zu files", count);
        }
        header->file_count++;
    }
    return SLUICE_OK;
}

static const struct header_member {
    const char *key;
    sluice_status (*read)(header_reader *reader, const json_t *value);
} members[] = {
    {"version", read_version},
    {"header_size", read_header_size},
    {"page_size", read_page_size},
    {"schema", read_schema},
    {"shard_id", read_shard},
    {"shard_addresses", read_files},
    {"page", NULL},
};

enum { MEMBERS = sizeof(members) / sizeof(members[0]) };

/* Parses the next value. */
static sluice_status parse_value(json_walk *walk, json_t **value_out)
{
    char *text = NULL;
    size_t size = 0;
    json_error_t error;
    const sluice_status st = json_walk_value(walk, &text, &size);

    if (st != SLUICE_OK) {
        return st;
    }
    *value_out = json_loadb(text, size, JSON_DECODE_ANY | JSON_REJECT_DUPLICATES, &error);
    if (*value_out == NULL && json_error_code(&error) == json_error_out_of_memory) {
        return sli_fail(SLUICE_E_NO_MEMORY, "%zu bytes of JSON", size);
    }
    return *value_out != NULL ? SLUICE_OK
                              : sli_fail(SLUICE_E_CORRUPT, "this is not JSON: %s", error.text);
}

/* Reads the list of pages, one at a time; null stands for an empty one. */
static sluice_status read_pages(header_reader *reader)
{
    bool more = true;
    char next = '\0';
    json_t *page = NULL;
    sluice_status st = json_walk_peek(&reader->walk, &next);

    if (st == SLUICE_OK && next == 'n') {
        return json_walk_skip(&reader->walk);
    }
    st = st == SLUICE_OK ? json_walk_pass(&reader->walk, '[') : st;
    for (bool first = true; st == SLUICE_OK; first = false) {
        st = json_walk_next(&reader->walk, ']', first, &more);
        if (st != SLUICE_OK || !more) {
            break;
        }
        st = parse_value(&reader->walk, &page);
        if (st == SLUICE_OK) {
            st = mindrecord_page_add(reader->header, page);
            json_decref(page);
        }
    }
    return st;
}

static sluice_status read_member(header_reader *reader)
{
    char key[32];
    uint32_t i = 0;
    json_t *value = NULL;
    sluice_status st = json_walk_key(&reader->walk, key, sizeof(key));

    if (st != SLUICE_OK) {
        return st;
    }
    while (i < MEMBERS && strcmp(key, members[i].key) != 0) {
        i++;
    }
    if (i == MEMBERS) {
        return json_walk_skip(&reader->walk);
    }
    if (reader->seen >> i & 1) {
        return sli_fail(SLUICE_E_CORRUPT, "a second %s", key);
    }
    reader->seen |= UINT32_C(1) << i;
    if (members[i].read == NULL) {
        return read_pages(reader);
    }
    st = parse_value(&reader->walk, &value);
    if (st == SLUICE_OK) {
        st = members[i].read(reader, value);
        json_decref(value);
    }
    return st;
}

static sluice_status read_members(header_reader *reader)
{
    bool more = true;
    sluice_status st = json_walk_pass(&reader->walk, '{');

    for (bool first = true; st == SLUICE_OK; first = false) {
        st = json_walk_next(&reader->walk, '}', first, &more);
        if (st != SLUICE_OK || !more) {
            break;
        }
        st = read_member(reader);
    }
    for (uint32_t i = 0; i < MEMBERS && st == SLUICE_OK; i++) {
        if ((reader->seen >> i & 1) == 0) {
            st = sli_fail(SLUICE_E_CORRUPT, "there is no %s", members[i].key);
        }
    }
    return st;
}

/* ---- the file -------------------------------------------------------------------------------- */

static sluice_status read_at(int fd, uint8_t *to, size_t size, uint64_t offset)
{
    const ssize_t got = sli_pread(fd, to, size, offset);

    if (got < 0) {
        return sli_fail_errno(SLUICE_E_IO, errno, "cannot read at byte %" PRIu64, offset);
    }
    return (size_t)got == size
               ? SLUICE_OK
               : sli_fail(SLUICE_E_CORRUPT, "the file ends at byte %" PRIu64, offset + (size_t)got);
}

/* Gets the length of the header, and refuses files that are none of MindRecord. */
static sluice_status read_length(int fd, uint64_t size, uint64_t *length_out)
{
    uint8_t begin[9];
    uint8_t end[END_BYTES];
    sluice_status st;

    if (size < sizeof(begin)) {
        return sli_fail(SLUICE_E_CORRUPT, "not a MindRecord file: it has %" PRIu64 " bytes", size);
    }
    st = read_at(fd, begin, sizeof(begin), 0);
    if (st == SLUICE_OK && size >= END_BYTES) {
        st = read_at(fd, end, END_BYTES, size - END_BYTES);
    }
    if (st != SLUICE_OK) {
        return st;
    }
    if (size >= END_BYTES && memcmp(end, "\0\0\0", 4) == 0 &&
        memcmp(end + 4 + CIPHER_BYTES, encrypted, 7) == 0) {
        return sli_fail(SLUICE_E_UNSUPPORTED,
                        "it is encrypted; decrypt it first: read it by MindSpore with its key, "
                        "and write it without one");
    }
    if (memcmp(begin, "SQLite fo", sizeof(begin)) == 0) {
        return sli_fail(SLUICE_E_UNSUPPORTED,
                        "it is the index of a MindRecord file; name that file, without .db");
    }
    *length_out = sli_get_u64(begin);
    if (begin[8] != '{' || *length_out > MINDRECORD_MOST_HEADER) {
        return sli_fail(SLUICE_E_CORRUPT,
                        "not a MindRecord file: it does not begin with the length of a header");
    }
    return *length_out <= size - 8 ? SLUICE_OK
                                   : sli_fail(SLUICE_E_CORRUPT,
                                              "truncated: the header ends at byte %" PRIu64
                                              ", and the file has %" PRIu64,
                                              *length_out + 8, size);
}

/* Checks what members say of each other. */
static sluice_status check_header(const header_reader *reader, uint64_t size, uint64_t length)
{
    const mindrecord_header *header = reader->header;

    if (header->header_size < length + 8 || header->page_size == 0) {
        return sli_fail(SLUICE_E_CORRUPT,
                        "header_size is %" PRIu64 " and page_size %" PRIu64
                        "; the header has %" PRIu64 " bytes",
                        header->header_size, header->page_size, length + 8);
    }
    if (reader->shard >= header->file_count) {
        return sli_fail(SLUICE_E_CORRUPT, "shard_id is %" PRIu64 " of %u files", reader->shard,
                        header->file_count);
    }
    return mindrecord_pages_check(header, size);
}

sluice_status mindrecord_header_read(int fd, uint64_t size, mindrecord_header *header_out)
{
    header_reader reader = {.header = header_out};
    uint64_t length = 0;
    uint64_t read;
    sluice_status st;

    *header_out = (mindrecord_header){0};
    st = read_length(fd, size, &length);
    if (st == SLUICE_OK && lseek(fd, 8, SEEK_SET) != 8) {
        st = sli_fail_errno(SLUICE_E_IO, errno, "cannot read");
    }
    if (st != SLUICE_OK) {
        return st;
    }
    json_walk_begin(fd, &reader.walk);
    st = read_members(&reader);
    read = json_walk_place(&reader.walk).byte;
    json_walk_end(&reader.walk);
    if (st == SLUICE_OK && read > length) {
        st = sli_fail(SLUICE_E_CORRUPT, "it ends at byte %" PRIu64 ", after its length", read + 8);
    }
    st = st == SLUICE_OK ? check_header(&reader, size, length) : st;
    if (st != SLUICE_OK) {
        sli_error error;

        sli_error_take(st, &error);
        mindrecord_header_free(header_out);
        return st == SLUICE_E_CORRUPT ? sli_fail_with(st, error.error_number,
                                                      "the header, near byte %" PRIu64 ": %.700s",
                                                      read + 8, error.text)
                                      : sli_error_raise(&error);
    }
    return SLUICE_OK;
}
