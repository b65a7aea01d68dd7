/* SPDX-License-Identifier: Apache-2.0 */
/*
 * webdataset with fields=: members of samples as columns (web_fields.h), and values in JSON
 * members. The contents of members are read when their sample is read.
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "alloc_int.h"
#include "page_cache.h"
#include "shard_index.h"
#include "status_int.h"
#include "web_array.h"
#include "web_set.h"
#include "zero_padding_int.h"

/* The size limit of a member that holds a number, in bytes. */
enum { MOST_NUMBER = 64 };

static void fields_close(void *set)
{
    web_set_close(set);
    sli_free(set);
}

static sluice_status fields_open(const void *opaque, void **source_out)
{
    const web_args *args = opaque;
    web_set *set = sli_calloc(1, sizeof(*set));
    sluice_status st;

    if (set == NULL) {
        return sli_fail(SLUICE_E_NO_MEMORY, "webdataset %s", args->shards);
    }
    set->drops = args->cache == PAGE_CACHE_DROP;
    st = web_set_open(set, args);
    if (st != SLUICE_OK) {
        fields_close(set);
        return st;
    }
    *source_out = set;
    return SLUICE_OK;
}

/* ---- samples --------------------------------------------------------------------------------- */

static uint64_t fields_count(const void *source)
{
    return ((const web_set *)source)->count;
}

static uint64_t fields_memory(const void *set)
{
    return web_set_memory(set);
}

static void fields_name(const void *source, uint64_t index, char *text, size_t size)
{
    const fields_shard *shard = web_set_shard(source, &index);

    snprintf(text, size, "%s/%s", web_base_of(shard->file.path), shard->text + shard->names[index]);
}

/* The formats that the extensions of a field name. */
static image_formats named_formats(const web_field *field)
{
    char name[sizeof(field->field) + sizeof(field->others)];
    image_formats named;

    snprintf(name, sizeof(name), ".%s", field->field);
    named = image_formats_of_file(name);
    for (const char *at = field->others; *at != '\0'; at += strspn(at, ",")) {
        const int length = (int)strcspn(at, ",");

        snprintf(name, sizeof(name), ".%.*s", length, at);
        named |= image_formats_of_file(name);
        at += length;
    }
    return named;
}

/* Reads the pixels of an array into io. */
static sluice_status read_pixels(const web_set *set, const fields_shard *shard, int fd, uint32_t i,
                                 const member_place *place, sample_io *io, sample_data *data_out)
{
    const sluice_column *type = &set->types[i];
    image_view image = {.width = (uint32_t)type->shape[SCHEMA_W],
                        .height = (uint32_t)type->shape[SCHEMA_H],
                        .channels = type->rank == 3 ? (uint32_t)type->shape[SCHEMA_C] : 1};
    sluice_status st;

    (void)schema_element(type->dtype, &image.element);
    image.stride = image.width * image_pixel_bytes(&image);
    st = image_buffer_reserve(&io->bytes, image.stride * image.height);
    if (st == SLUICE_OK) {
        st = web_array_read(shard, fd, place, type, 0, io, io->bytes.data, NULL);
    }
    image.pixels = io->bytes.data;
    data_out->image = image;
    return st;
}

/* Reads an encoded image or mask into io. */
static sluice_status read_encoded(const fields_shard *shard, int fd, const web_field *field,
                                  const member_place *place, sample_io *io, sample_data *data_out)
{
    sluice_status st = SLUICE_OK;

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
    data_out->named = named_formats(field);
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
        sli_zero_padding(to + place->size, most - (size_t)place->size);
    }
    if (length != NULL) {
        *length = (int32_t)place->size;
    }
    return st;
}

/* True if read() has something to read of a field. has_to: one of its columns has a pointer. */
static bool is_needed(const web_field *field, void *const *row, bool has_to, bool has_image)
{
    switch (field->kind) {
    case WEB_MASK:
    case WEB_FURTHER:
        return false;
    case WEB_IMAGE:
        return has_image;
    case WEB_JSON:
        return web_json_is_in(field->json, row);
    case WEB_ARRAY:
        return web_role_is_pixels(field->role)
                   ? has_image && field->role == WEB_PIXELS && !field->is_further
                   : has_to;
    default:
        return field->kind == WEB_BYTES || has_to;
    }
}

/* Reads one field into those of its columns whose pointers are not NULL. The first image is read
 * into io unless data_out is NULL; further images and masks are skipped. */
static sluice_status read_field(const web_set *set, const fields_shard *shard, int fd, uint32_t i,
                                const member_place *places, sample_io *io, void *const *row,
                                sample_data *data_out)
{
    const web_field *field = &set->fields.fields[i];
    const member_place *place = &places[i];
    sluice_status st = SLUICE_OK;
    void *to = row[field->column];
    int32_t *length = web_field_has_length(field) ? row[field->column + 1] : NULL;

    if (place->offset == MEMBER_TWICE) {
        return sli_fail(SLUICE_E_CORRUPT, "it appears twice");
    }
    if (!is_needed(field, row, to != NULL || length != NULL, data_out != NULL)) {
        return SLUICE_OK;
    }
    io->bytes_read += place->size;
    if (web_role_is_pixels(field->role)) {
        return read_pixels(set, shard, fd, i, place, io, data_out);
    }
    switch (field->kind) {
    case WEB_IMAGE:
        return read_encoded(shard, fd, field, place, io, data_out);
    case WEB_NUMBER:
        return read_number(shard, fd, place, to);
    case WEB_ARRAY:
        if (field->rows_of >= 0) {
            st = web_array_check_rows(shard, fd, place, &places[field->rows_of],
                                      set->fields.fields[field->rows_of].name, io);
        }
        return st == SLUICE_OK
                   ? web_array_read(shard, fd, place, &set->types[i], field->most, io, to, length)
                   : st;
    case WEB_JSON:
        st = web_member_object(shard, fd, place, io);
        return st == SLUICE_OK ? web_json_write(field->json, (const char *)io->item.bytes.data,
                                                (size_t)place->size, row)
                               : st;
    default:
        return read_text(shard, fd, place, field->most, to, length);
    }
}

/* Reads all fields of a sample except masks and further images; data_out NULL: also except the
 * first image. */
static sluice_status read_fields(const web_set *set, uint64_t index, sample_io *io,
                                 void *const *row, sample_data *data_out)
{
    fields_shard *shard = web_set_shard(set, &index);
    const member_place *places = &shard->places[index * set->fields.count];
    bool lent = false;
    int fd = -1;
    sluice_status st = web_shard_borrow(&shard->file, io, &lent, &fd);

    if (st != SLUICE_OK) {
        return st;
    }
    for (uint32_t i = 0; i < set->fields.count && st == SLUICE_OK; i++) {
        st = read_field(set, shard, fd, i, places, io, row, data_out);
        if (st != SLUICE_OK) {
            st = web_member_error(shard, &set->fields.fields[i], st);
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
    const web_set *set = source;
    fields_shard *shard = web_set_shard(set, &index);
    uint32_t i = 0;
    const member_place *place;
    bool lent = false;
    int fd = -1;
    sluice_status st = web_shard_borrow(&shard->file, io, &lent, &fd);

    if (st != SLUICE_OK) {
        return st;
    }
    while (i + 1 < set->fields.count && set->fields.fields[i].column != column) {
        i++;
    }
    place = &shard->places[index * set->fields.count + i];
    io->bytes_read += place->size;
    st = web_role_is_pixels(set->fields.fields[i].role)
             ? read_pixels(set, shard, fd, i, place, io, data_out)
             : read_encoded(shard, fd, &set->fields.fields[i], place, io, data_out);
    web_shard_give_back(&shard->file, lent, fd);
    return st == SLUICE_OK ? st : web_member_error(shard, &set->fields.fields[i], st);
}

/* The members of a sample are adjacent: the range extends from the first to the end of the last. */
static bool fields_locate(const void *source, uint64_t index, sample_location *location_out)
{
    const web_set *set = source;
    fields_shard *shard = web_set_shard(set, &index);
    const member_place *places = &shard->places[index * set->fields.count];
    uint64_t begin = UINT64_MAX;
    uint64_t end = 0;

    for (uint32_t i = 0; i < set->fields.count; i++) {
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
    return ((const web_set *)source)->drops;
}

/* ---- classes --------------------------------------------------------------------------------- */

static uint32_t fields_classes(const void *source)
{
    return web_set_classes(source);
}

static void fields_class_name(const void *source, uint32_t label, char *text, size_t size)
{
    snprintf(text, size, "%s", web_set_class(source, label));
}

static uint64_t fields_identity(const void *set)
{
    return web_set_identity(set);
}

/* The pairs of the first points that belong to boxes. */
static const point_pairs *fields_flip_pairs(const void *source, uint32_t *column_out)
{
    const web_fields *fields = &((const web_set *)source)->fields;

    for (uint32_t i = 0; i < fields->count; i++) {
        if (web_role_is_points(fields->fields[i].role) && fields->fields[i].rows_of >= 0) {
            *column_out = fields->fields[i].column;
            return &fields->fields[i].pairs;
        }
    }
    return NULL;
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
    .classes = fields_classes,
    .class_name = fields_class_name,
    .identity = fields_identity,
    .flip_pairs = fields_flip_pairs,
};

sluice_status web_source_schema(const void *source, stage_schema *schema)
{
    const web_set *set = source;

    return web_fields_schema(&set->fields, set->types, schema);
}
