/* SPDX-License-Identifier: Apache-2.0 */
#include "record_source.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "alloc_int.h"
#include "status_int.h"
#include "webdataset_args.h"

void record_source_close(void *source)
{
    record_set_close(source);
    sli_free(source);
}

sluice_status record_source_open(const record_format *format, const void *args, void **source_out)
{
    record_set *set = sli_calloc(1, sizeof(*set));
    sluice_status st;

    if (set == NULL) {
        return sli_fail(SLUICE_E_NO_MEMORY, "%s", format->files.source);
    }
    st = record_set_open(set, format, args);
    if (st != SLUICE_OK) {
        record_source_close(set);
        return st;
    }
    *source_out = set;
    return SLUICE_OK;
}

/* ---- samples --------------------------------------------------------------------------------- */

uint64_t record_source_count(const void *source)
{
    return ((const record_set *)source)->count;
}

uint64_t record_source_memory(const void *source)
{
    return record_set_memory(source);
}

/* The name of a file, with its folder if all files of the format have one name. */
static const char *name_of_file(const record_set *set, const char *path)
{
    const char *name = web_base_of(path);

    if (strcmp(name, set->format->files.extension) == 0 && name > path) {
        name--;
        while (name > path && name[-1] != '/') {
            name--;
        }
    }
    return name;
}

void record_source_name(const void *source, uint64_t index, char *text, size_t size)
{
    const record_file *file = record_set_file(source, &index);

    snprintf(text, size, "%s:%llu", name_of_file(source, file->file.path),
             (unsigned long long)index);
}

static void free_reader(void *state)
{
    record_reader_free(state);
    sli_free(state);
}

record_reader *record_source_reader(sample_io *io)
{
    if (io->state == NULL) {
        io->state = sli_calloc(1, sizeof(record_reader));
        io->state_free = free_reader;
        if (io->state == NULL) {
            io->ends_run = true;
            sli_fail(SLUICE_E_NO_MEMORY, "a reader of records");
        }
    }
    return io->state;
}

/* Reads a record into the worker's reader. */
static sluice_status read_record(const record_set *set, uint64_t index, sample_io *io)
{
    record_reader *reader = record_source_reader(io);

    return reader != NULL ? record_set_read(set, index, io, reader) : SLUICE_E_NO_MEMORY;
}

/* Converts an image or mask that the record has as numbers to pixels. */
static sluice_status read_pixels(const record_fields *fields, uint32_t field, record_reader *reader,
                                 sample_data *data_out)
{
    const list_column *column = &fields->columns.fields[field];
    const sluice_column *type = &fields->columns.schema.columns[column->column];
    image_view view = {.width = (uint32_t)type->shape[SCHEMA_W],
                       .height = (uint32_t)type->shape[SCHEMA_H],
                       .channels = type->rank == 3 ? (uint32_t)type->shape[SCHEMA_C] : 1,
                       .element = IMAGE_U8};
    sluice_status st = image_buffer_reserve(&reader->pixels, column->row);

    if (st == SLUICE_OK) {
        st = record_fields_pixels(fields, field, reader->values, reader->pixels.data);
    }
    view.pixels = reader->pixels.data;
    view.stride = (size_t)view.width * view.channels;
    data_out->image = view;
    return st;
}

sluice_status record_source_image(const record_fields *fields, uint32_t column,
                                  record_reader *reader, sample_data *data_out)
{
    const uint32_t field = record_fields_find(fields, column);

    return fields->columns.fields[field].kind == LIST_PIXELS
               ? read_pixels(fields, field, reader, data_out)
               : record_fields_encoded(fields, field, reader->values, &data_out->bytes,
                                       &data_out->size);
}

sluice_status record_source_read(const void *source, uint64_t index, sample_io *io,
                                 void *const *row, sample_data *data_out)
{
    const int image = ((const record_set *)source)->fields.columns.schema.image;
    const sluice_status st = record_source_read_plain(source, index, io, row);

    return st == SLUICE_OK && image >= 0
               ? record_source_read_other(source, index, (uint32_t)image, io, data_out)
               : st;
}

sluice_status record_source_read_plain(const void *source, uint64_t index, sample_io *io,
                                       void *const *row)
{
    const record_set *set = source;
    const sluice_status st = read_record(set, index, io);

    return st == SLUICE_OK
               ? record_fields_write(&set->fields, ((record_reader *)io->state)->values, row)
               : st;
}

sluice_status record_source_read_other(const void *source, uint64_t index, uint32_t column,
                                       sample_io *io, sample_data *data_out)
{
    const record_set *set = source;
    const sluice_status st = read_record(set, index, io);

    return st == SLUICE_OK ? record_source_image(&set->fields, column, io->state, data_out) : st;
}

/* The largest range of a record: others are of its numbers. */
bool record_source_locate(const void *source, uint64_t index, sample_location *location_out)
{
    record_file *file = record_set_file(source, &index);
    const uint32_t count = file->index.per_record;
    const record_range *range = &file->index.ranges[index * count];

    for (uint32_t i = 1; i < count; i++) {
        range = file->index.ranges[index * count + i].size > range->size
                    ? &file->index.ranges[index * count + i]
                    : range;
    }
    location_out->fd = -1;
    location_out->held = &file->file.held;
    location_out->folder_fd = AT_FDCWD;
    location_out->path = file->file.path;
    location_out->offset = range->offset;
    location_out->size = range->size;
    location_out->in_parts = false;
    return range->size > 0;
}

bool record_source_drops(const void *source)
{
    return ((const record_set *)source)->drops;
}

uint32_t record_source_classes(const void *source)
{
    return ((const record_set *)source)->class_names.count;
}

void record_source_class_name(const void *source, uint32_t label, char *text, size_t size)
{
    snprintf(text, size, "%s", ((const record_set *)source)->class_names.names[label]);
}

/* ---- columns --------------------------------------------------------------------------------- */

void record_source_implied(const void *source, const char *argument, sli_text *text)
{
    const record_set *set = source;

    if (strcmp(argument, "fields") == 0 && set->chosen != NULL) {
        sli_text_add(text, "%s", set->chosen);
    }
}

sluice_status record_source_schema(const void *source, stage_schema *schema)
{
    record_fields_schema(&((const record_set *)source)->fields, schema);
    return SLUICE_OK;
}

/* ---- the stage ------------------------------------------------------------------------------- */

bool record_source_opens_early(const void *args)
{
    return ((const record_args *)args)->fields[0] == '\0';
}

sluice_status record_source_infer(const char *stage, const void *args, stage_schema *schema)
{
    record_fields *fields;
    sluice_status st;

    if (record_source_opens_early(args)) {
        return SLUICE_OK;
    }
    fields = sli_calloc(1, sizeof(*fields));
    if (fields == NULL) {
        return sli_fail(SLUICE_E_NO_MEMORY, "the columns of %s", stage);
    }
    st = record_fields_parse(((const record_args *)args)->fields, stage, fields);
    if (st == SLUICE_OK) {
        record_fields_schema(fields, schema);
    }
    list_columns_free(&fields->columns);
    sli_free(fields);
    return st;
}
