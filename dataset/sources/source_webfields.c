/* SPDX-License-Identifier: Apache-2.0 */
/*
 * webdataset with fields=: members of samples as columns (web_fields.h). Opening reads the headers
 * of all shards, and stores the offset and size of each member, 16 bytes, in memory; it writes no
 * index file. The contents of members are read when their sample is read.
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "alloc_int.h"
#include "error_int.h"
#include "log_int.h"
#include "npy_header.h"
#include "page_cache.h"
#include "shard_index.h"
#include "status_int.h"
#include "web_fields.h"
#include "web_fields_shard.h"
#include "web_packs.h"
#include "webdataset_args.h"

/* The size limit of a member that holds a number, in bytes. */
enum { MOST_NUMBER = 64 };

typedef struct webfields {
    web_fields fields;
    sluice_column types[SLUICE_MAX_COLUMNS]; /* types[i]: dtype and shape of field i, an array */
    file_list list;
    fields_shard *shards;
    size_t shard_count;
    uint64_t count;
    fields_skipped skipped;
    bool drops;
} webfields;

static void fields_close(void *source)
{
    webfields *web = source;

    for (size_t i = 0; i < web->shard_count; i++) {
        fields_shard_close(&web->shards[i]);
    }
    sli_free(web->shards);
    file_list_free(&web->list);
    sli_free(web);
}

/* ---- opening --------------------------------------------------------------------------------- */

static sluice_status open_shard(webfields *web, const char *path)
{
    fields_shard *shard = &web->shards[web->shard_count];
    struct stat info;
    int fd = -1;
    sluice_status st = web_shard_open(path, NULL, &fd, &info);

    if (st != SLUICE_OK) {
        return st;
    }
    shard->first = web->count;
    web->shard_count++;
    st = fields_shard_walk(&web->fields, path, fd, (uint64_t)info.st_size, shard, &web->skipped);
    web_shard_hold(&shard->file, path, fd, &info, web->drops);
    web->count += shard->count;
    return st;
}

static fields_shard *shard_of(const webfields *web, uint64_t *index)
{
    size_t low = 0;
    size_t high = web->shard_count;

    while (high - low > 1) {
        const size_t middle = (low + high) / 2;

        *(web->shards[middle].first <= *index ? &low : &high) = middle;
    }
    *index -= web->shards[low].first;
    return &web->shards[low];
}

/* Adds the member's field and its shard to the text of an error. */
static sluice_status member_error(const fields_shard *shard, const web_field *field,
                                  sluice_status status)
{
    sli_error error;

    sli_error_take(status, &error);
    return sli_fail(status, "member .%s in the shard %s: %.600s", field->field, shard->file.path,
                    error.text);
}

/* Reads the header of an array. Fails unless header and data fill the member exactly. */
static sluice_status read_npy_header(const fields_shard *shard, int fd, const member_place *place,
                                     sample_io *io, npy_header *header)
{
    const size_t head = place->size < NPY_HEAD ? (size_t)place->size : NPY_HEAD;
    /* io->item.bytes is otherwise used by streams only; io->bytes holds the image. */
    sluice_status st = image_buffer_reserve(&io->item.bytes, NPY_HEAD);

    if (st == SLUICE_OK) {
        st = web_shard_read(&shard->file, fd, place->offset, io->item.bytes.data, head);
    }
    if (st == SLUICE_OK) {
        st = npy_header_parse(io->item.bytes.data, head, header);
    }
    if (st == SLUICE_OK && header->data_at + header->data_bytes != place->size) {
        st = sli_fail(SLUICE_E_CORRUPT, "it has %llu bytes, and %llu by its header",
                      (unsigned long long)place->size,
                      (unsigned long long)(header->data_at + header->data_bytes));
    }
    return st;
}

/* Checks the array of the first sample, which determines dtype and shape of its column. */
static sluice_status check_type(const npy_header *header, uint32_t most)
{
    if (header->rank > SLUICE_MAX_RANK) {
        return sli_fail(SLUICE_E_UNSUPPORTED, "it has %u dimensions, more than %d", header->rank,
                        SLUICE_MAX_RANK);
    }
    if (most > 0 && header->rank == 0) {
        return sli_fail(SLUICE_E_UNSUPPORTED, "it is a single number, without rows; leave [%u] out",
                        most);
    }
    if (header->row_bytes == 0 || (most == 0 && header->data_bytes == 0)) {
        return sli_fail(SLUICE_E_UNSUPPORTED,
                        "it has no elements, so a column of its shape has none; NAME:FIELD[N] "
                        "reads arrays of 0 to N rows");
    }
    if (most > 0 && header->row_bytes > WEB_MOST_ROW) {
        return sli_fail(SLUICE_E_UNSUPPORTED,
                        "a row of it has %llu bytes, and must have at most %d",
                        (unsigned long long)header->row_bytes, WEB_MOST_ROW);
    }
    return most * header->row_bytes <= WEB_MOST_ROW
               ? SLUICE_OK
               : sli_fail(SLUICE_E_UNSUPPORTED,
                          "%u rows of %llu bytes are more than %d bytes; [N] must be at most %llu",
                          most, (unsigned long long)header->row_bytes, WEB_MOST_ROW,
                          (unsigned long long)(WEB_MOST_ROW / header->row_bytes));
}

/* Sets the dtype and shape of an array field to those of the first sample. */
static sluice_status find_type(webfields *web, uint32_t i, sample_io *io)
{
    uint64_t index = 0;
    fields_shard *shard = shard_of(web, &index);
    const member_place *place = &shard->places[i];
    sluice_column *type = &web->types[i];
    npy_header header;
    bool lent = false;
    int fd = -1;
    sluice_status st = web_shard_borrow(&shard->file, io, &lent, &fd);

    if (st != SLUICE_OK) {
        return st;
    }
    st = place->offset == MEMBER_TWICE ? sli_fail(SLUICE_E_CORRUPT, "it appears twice")
                                       : read_npy_header(shard, fd, place, io, &header);
    web_shard_give_back(&shard->file, lent, fd);
    if (st == SLUICE_OK) {
        st = check_type(&header, web->fields.fields[i].most);
    }
    if (st != SLUICE_OK) {
        return member_error(shard, &web->fields.fields[i], st);
    }
    *type = (sluice_column){.dtype = header.dtype, .rank = header.rank};
    memcpy(type->shape, header.shape, header.rank * sizeof(header.shape[0]));
    return SLUICE_OK;
}

/* Sets the dtypes and shapes of all array fields from sample 0. shard_of() finds it in the first
 * shard that has samples. */
static sluice_status find_types(webfields *web)
{
    sample_io io = {.bytes_read = 0};
    sluice_status st = SLUICE_OK;

    for (uint32_t i = 0; i < web->fields.count && st == SLUICE_OK; i++) {
        if (web->fields.fields[i].kind == WEB_ARRAY) {
            st = find_type(web, i, &io);
        }
    }
    sample_io_free(&io);
    return st;
}

static sluice_status check_samples(const webfields *web, const web_args *args)
{
    if (web->count == 0) {
        return sli_fail(SLUICE_E_INVALID,
                        "no valid data in the dataset: webdataset %.200s: none of %llu samples in "
                        "%zu shards has all of fields=%.200s%s%s; tar --sort=name puts the members "
                        "of a sample together",
                        args->shards, (unsigned long long)web->skipped.count, web->shard_count,
                        args->fields, web->skipped.count > 0 ? ", first " : "", web->skipped.first);
    }
    if (web->skipped.count > 0) {
        sli_log(SLUICE_LOG_WARN,
                "webdataset %.200s: %llu samples without all fields are skipped, first %s",
                args->shards, (unsigned long long)web->skipped.count, web->skipped.first);
    }
    return SLUICE_OK;
}

static sluice_status open_shards(webfields *web, const web_args *args)
{
    web_packs packs = {.marks.shard = NULL};
    sluice_status st = web_fields_parse(args->fields, &web->fields);

    if (st == SLUICE_OK) {
        st = file_list_make(args->shards, &web_list_kind, &web->list);
    }
    if (st == SLUICE_OK) {
        st = web_packs_add_all(&packs, &web->list);
    }
    if (st != SLUICE_OK) {
        return st;
    }
    web->shards = sli_calloc(web->list.count, sizeof(*web->shards));
    if (web->shards == NULL) {
        return sli_fail(SLUICE_E_NO_MEMORY, "%zu shards", web->list.count);
    }
    for (size_t i = 0; st == SLUICE_OK && i < web->list.count; i++) {
        st = open_shard(web, web->list.paths[i]);
    }
    if (st == SLUICE_OK) {
        st = check_samples(web, args);
    }
    if (st == SLUICE_OK) {
        web_packs_warn(&packs, args);
    }
    return st == SLUICE_OK ? find_types(web) : st;
}

static sluice_status fields_open(const void *opaque, void **source_out)
{
    const web_args *args = opaque;
    webfields *web = sli_calloc(1, sizeof(*web));
    sluice_status st;

    if (web == NULL) {
        return sli_fail(SLUICE_E_NO_MEMORY, "webdataset %s", args->shards);
    }
    web->drops = args->cache == PAGE_CACHE_DROP;
    st = open_shards(web, args);
    if (st != SLUICE_OK) {
        fields_close(web);
        return st;
    }
    *source_out = web;
    return SLUICE_OK;
}

/* ---- samples --------------------------------------------------------------------------------- */

static uint64_t fields_count(const void *source)
{
    return ((const webfields *)source)->count;
}

static uint64_t fields_memory(const void *source)
{
    const webfields *web = source;
    uint64_t bytes = sizeof(*web) + web->list.capacity * sizeof(*web->list.paths) +
                     web->shard_count * sizeof(*web->shards);

    for (size_t i = 0; i < web->shard_count; i++) {
        const fields_shard *shard = &web->shards[i];

        bytes += shard->capacity * sizeof(*shard->places) +
                 shard->names_capacity * sizeof(*shard->names) + shard->text_capacity;
    }
    return bytes;
}

static void fields_name(const void *source, uint64_t index, char *text, size_t size)
{
    const fields_shard *shard = shard_of(source, &index);

    snprintf(text, size, "%s/%s", web_base_of(shard->file.path), shard->text + shard->names[index]);
}

/* Reads an image or a mask into io. */
static sluice_status read_encoded(const fields_shard *shard, int fd, const web_field *field,
                                  const member_place *place, sample_io *io, sample_data *data_out)
{
    char name[sizeof(field->field) + 1];
    sluice_status st = SLUICE_OK;

    snprintf(name, sizeof(name), ".%s", field->field);
    if (place->size > WEB_MOST_BYTES) {
        return sli_fail(SLUICE_E_IO, "the image has %llu bytes, and must have at most %llu",
                        (unsigned long long)place->size, (unsigned long long)WEB_MOST_BYTES);
    }
    st = image_buffer_reserve(&io->bytes, (size_t)place->size);
    if (st == SLUICE_OK) {
        st = web_shard_read(&shard->file, fd, place->offset, io->bytes.data, (size_t)place->size);
    }
    data_out->bytes = io->bytes.data;
    data_out->size = (size_t)place->size;
    data_out->named = image_formats_of_file(name);
    return st;
}

static sluice_status read_number(const fields_shard *shard, int fd, const member_place *place,
                                 int32_t *to)
{
    char text[MOST_NUMBER];
    sluice_status st = SLUICE_OK;

    if (place->size <= sizeof(text)) {
        st = web_shard_read(&shard->file, fd, place->offset, text, (size_t)place->size);
    }
    if (st == SLUICE_OK &&
        (place->size > sizeof(text) || !shard_parse_label(text, (size_t)place->size, to))) {
        st = sli_fail(SLUICE_E_CORRUPT,
                      "the label must be a whole number of 32 bits, such as 7, in digits");
    }
    return st;
}

/* Writes a type and a shape as "f32 (2, 3)", for messages. `most` > 0: the first length varies. */
static void write_type(sluice_dtype dtype, uint32_t rank, const uint64_t *shape, uint32_t most,
                       char *text, size_t size)
{
    size_t at = (size_t)snprintf(text, size, "%s (", sluice_dtype_name(dtype));

    for (uint32_t i = 0; i < rank && at < size; i++) {
        at += (size_t)(i == 0 && most > 0
                           ? snprintf(text + at, size - at, "0 to %u", most)
                           : snprintf(text + at, size - at, "%s%llu", i > 0 ? ", " : "",
                                      (unsigned long long)shape[i]));
    }
    if (at < size) {
        snprintf(text + at, size - at, ")");
    }
}

/* Fails unless the array has the type and shape of its column. */
static sluice_status check_array(const npy_header *header, const sluice_column *type, uint32_t most)
{
    const uint32_t fixed = most > 0 ? 1 : 0; /* the first dimension whose length is fixed */
    char is[200];
    char must_be[200];

    if (header->dtype == type->dtype && header->rank == type->rank &&
        memcmp(&header->shape[fixed], &type->shape[fixed],
               (type->rank - fixed) * sizeof(header->shape[0])) == 0 &&
        (most == 0 || header->shape[0] <= most)) {
        return SLUICE_OK;
    }
    write_type(header->dtype, header->rank, header->shape, 0, is, sizeof(is));
    write_type(type->dtype, type->rank, type->shape, most, must_be, sizeof(must_be));
    return sli_fail(SLUICE_E_CORRUPT, "the array is %s, and must be %s%s", is, must_be,
                    most > 0 ? " by [N] and the array of the first sample"
                             : ", as that of the first sample; NAME:FIELD[N] reads arrays of 0 "
                               "to N rows");
}

/* Reads an array into `to`, zero-padded, and the number of its rows into *length. Both may be
 * NULL. */
static sluice_status read_array(const fields_shard *shard, int fd, const member_place *place,
                                const sluice_column *type, uint32_t most, sample_io *io,
                                uint8_t *to, int32_t *length)
{
    npy_header header;
    uint8_t *elements = to;
    sluice_status st = read_npy_header(shard, fd, place, io, &header);

    if (st == SLUICE_OK) {
        st = check_array(&header, type, most);
    }
    if (st == SLUICE_OK && length != NULL) {
        *length = (int32_t)header.shape[0];
    }
    if (st != SLUICE_OK || to == NULL) {
        return st;
    }
    if (header.is_fortran) {
        st = image_buffer_reserve(&io->item.bytes, (size_t)header.data_bytes);
        elements = io->item.bytes.data;
    }
    if (st == SLUICE_OK) {
        st = web_shard_read(&shard->file, fd, place->offset + header.data_at, elements,
                            (size_t)header.data_bytes);
    }
    if (st == SLUICE_OK && header.is_fortran) {
        npy_to_c_order(&header, elements, to);
    }
    if (st == SLUICE_OK) {
        npy_swap(&header, to, header.data_bytes);
    }
    if (most > 0) {
        memset(to + header.data_bytes, 0, (size_t)(most * header.row_bytes - header.data_bytes));
    }
    return st;
}

/* Reads a member of up to `most` bytes into `to`, zero-padded, and its size into *length. Both may
 * be NULL. */
static sluice_status read_text(const fields_shard *shard, int fd, const member_place *place,
                               uint32_t most, uint8_t *to, int32_t *length)
{
    sluice_status st = SLUICE_OK;

    if (place->size > most) {
        return sli_fail(SLUICE_E_CORRUPT, "it has %llu bytes, and must have at most %u",
                        (unsigned long long)place->size, most);
    }
    if (to != NULL) {
        st = web_shard_read(&shard->file, fd, place->offset, to, (size_t)place->size);
        memset(to + place->size, 0, most - (size_t)place->size);
    }
    if (length != NULL) {
        *length = (int32_t)place->size;
    }
    return st;
}

/* Fails unless the array has as many rows as that of the field `rows_of`. */
static sluice_status check_rows(const webfields *web, const fields_shard *shard, int fd, uint32_t i,
                                const member_place *places, sample_io *io)
{
    const int rows_of = web->fields.fields[i].rows_of;
    npy_header own;
    npy_header other;
    sluice_status st = read_npy_header(shard, fd, &places[i], io, &own);

    if (st == SLUICE_OK) {
        st = read_npy_header(shard, fd, &places[rows_of], io, &other);
    }
    return st != SLUICE_OK || own.shape[0] == other.shape[0]
               ? st
               : sli_fail(SLUICE_E_CORRUPT, "it has %llu rows and must have %llu, as %s has",
                          (unsigned long long)own.shape[0], (unsigned long long)other.shape[0],
                          web->fields.fields[rows_of].name);
}

/* Reads one field into those of its columns whose pointers are not NULL. The first image is read
 * into io unless data_out is NULL; further images and masks are skipped. */
static sluice_status read_field(const webfields *web, const fields_shard *shard, int fd, uint32_t i,
                                const member_place *places, sample_io *io, void *const *row,
                                sample_data *data_out)
{
    const web_field *field = &web->fields.fields[i];
    const member_place *place = &places[i];
    sluice_status st = SLUICE_OK;
    void *to = row[field->column];
    int32_t *length = web_field_has_length(field) ? row[field->column + 1] : NULL;

    if (place->offset == MEMBER_TWICE) {
        return sli_fail(SLUICE_E_CORRUPT, "it appears twice");
    }
    if (field->kind == WEB_MASK || field->kind == WEB_FURTHER ||
        (field->kind == WEB_IMAGE && data_out == NULL) ||
        (field->kind != WEB_IMAGE && field->kind != WEB_BYTES && to == NULL && length == NULL)) {
        return SLUICE_OK;
    }
    io->bytes_read += place->size;
    switch (field->kind) {
    case WEB_IMAGE:
        return read_encoded(shard, fd, field, place, io, data_out);
    case WEB_NUMBER:
        return read_number(shard, fd, place, to);
    case WEB_ARRAY:
        if (field->rows_of >= 0) {
            st = check_rows(web, shard, fd, i, places, io);
        }
        return st == SLUICE_OK
                   ? read_array(shard, fd, place, &web->types[i], field->most, io, to, length)
                   : st;
    default:
        return read_text(shard, fd, place, field->most, to, length);
    }
}

/* Reads all fields of a sample except masks and further images; data_out NULL: also except the
 * first image. */
static sluice_status read_fields(const webfields *web, uint64_t index, sample_io *io,
                                 void *const *row, sample_data *data_out)
{
    fields_shard *shard = shard_of(web, &index);
    const member_place *places = &shard->places[index * web->fields.count];
    bool lent = false;
    int fd = -1;
    sluice_status st = web_shard_borrow(&shard->file, io, &lent, &fd);

    if (st != SLUICE_OK) {
        return st;
    }
    for (uint32_t i = 0; i < web->fields.count && st == SLUICE_OK; i++) {
        st = read_field(web, shard, fd, i, places, io, row, data_out);
        if (st != SLUICE_OK) {
            st = member_error(shard, &web->fields.fields[i], st);
        }
    }
    web_shard_give_back(&shard->file, lent, fd);
    return st;
}

static sluice_status fields_read(const void *source, uint64_t index, sample_io *io,
                                 void *const *row, sample_data *data_out)
{
    return read_fields(source, index, io, row, data_out);
}

static sluice_status fields_read_plain(const void *source, uint64_t index, sample_io *io,
                                       void *const *row)
{
    return read_fields(source, index, io, row, NULL);
}

static sluice_status fields_read_other(const void *source, uint64_t index, uint32_t column,
                                       sample_io *io, sample_data *data_out)
{
    const webfields *web = source;
    fields_shard *shard = shard_of(web, &index);
    uint32_t i = 0;
    const member_place *place;
    bool lent = false;
    int fd = -1;
    sluice_status st = web_shard_borrow(&shard->file, io, &lent, &fd);

    if (st != SLUICE_OK) {
        return st;
    }
    while (i + 1 < web->fields.count && web->fields.fields[i].column != column) {
        i++;
    }
    place = &shard->places[index * web->fields.count + i];
    io->bytes_read += place->size;
    st = read_encoded(shard, fd, &web->fields.fields[i], place, io, data_out);
    web_shard_give_back(&shard->file, lent, fd);
    return st == SLUICE_OK ? st : member_error(shard, &web->fields.fields[i], st);
}

/* The members of a sample are adjacent: the range extends from the first to the end of the last. */
static bool fields_locate(const void *source, uint64_t index, sample_location *location_out)
{
    const webfields *web = source;
    fields_shard *shard = shard_of(web, &index);
    const member_place *places = &shard->places[index * web->fields.count];
    uint64_t begin = UINT64_MAX;
    uint64_t end = 0;

    for (uint32_t i = 0; i < web->fields.count; i++) {
        const member_place *place = &places[i];

        if (place->offset != MEMBER_TWICE) {
            begin = place->offset < begin ? place->offset : begin;
            end = place->offset + place->size > end ? place->offset + place->size : end;
        }
    }
    if (end <= begin) {
        return false;
    }
    location_out->fd = -1;
    location_out->held = &shard->file.held;
    location_out->folder_fd = AT_FDCWD;
    location_out->path = shard->file.path;
    location_out->offset = begin;
    location_out->size = end - begin;
    location_out->in_parts = false;
    return true;
}

static bool fields_drops(const void *source)
{
    return ((const webfields *)source)->drops;
}

const source_ops web_fields_ops = {
    .open = fields_open,
    .close = fields_close,
    .count = fields_count,
    .name = fields_name,
    .read = fields_read,
    .read_plain = fields_read_plain,
    .read_other = fields_read_other,
    .locate = fields_locate,
    .drops = fields_drops,
    .memory = fields_memory,
};

sluice_status web_source_schema(const void *source, stage_schema *schema)
{
    const webfields *web = source;

    return web_fields_schema(&web->fields, web->types, schema);
}
