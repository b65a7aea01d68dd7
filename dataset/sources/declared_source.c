/* SPDX-License-Identifier: Apache-2.0 */
#include "declared_source.h"

#include <string.h>

#include "alloc_int.h"
#include "box_rows.h"
#include "declared_checks.h"
#include "status_int.h"
#include "tensor_int.h"

/* ---- reading --------------------------------------------------------------------------------- */

static uint8_t *room_of(const declared_source *d, sample_io *io, uint32_t column)
{
    return io->declared.bytes.data + d->columns[column].offset;
}

static image_view view_of(const declared_source *d, sample_io *io, uint32_t column)
{
    const sluice_column *type = &d->columns[column].type;
    image_view view = {.pixels = room_of(d, io, column),
                       .width = (uint32_t)type->shape[SCHEMA_W],
                       .height = (uint32_t)type->shape[SCHEMA_H],
                       .channels = type->rank == 3 ? (uint32_t)type->shape[SCHEMA_C] : 1};

    (void)schema_element(type->dtype, &view.element);
    view.stride = view.width * image_pixel_bytes(&view);
    return view;
}

/* Reads rows without an image, if the source can. */
static sluice_status read_rows(const declared_source *d, uint64_t index, sample_io *io,
                               void *const *rows)
{
    sample_data none = {0};

    return d->of->read_plain != NULL ? d->of->read_plain(d->source, index, io, rows)
                                     : d->of->read(d->source, index, io, rows, &none);
}

/* Reads an image or mask that the original source does not give as a row. */
static sluice_status read_image(const declared_source *d, uint64_t index, uint32_t column,
                                sample_io *io, sample_data *data_out)
{
    void *const nowhere[SLUICE_MAX_COLUMNS] = {NULL};

    *data_out = (sample_data){0};
    return d->columns[column].from == AS_FIRST_IMAGE
               ? d->of->read(d->source, index, io, nowhere, data_out)
               : d->of->read_other(d->source, index, column, io, data_out);
}

/* Writes an image or mask into the row of a plain column. */
static sluice_status copy_image(const declared_source *d, uint64_t index, uint32_t column,
                                sample_io *io, uint8_t *row)
{
    const declared_column *c = &d->columns[column];
    sample_data data;
    size_t line;
    sluice_status st = read_image(d, index, column, io, &data);

    if (st != SLUICE_OK) {
        return st;
    }
    line = data.image.width * image_pixel_bytes(&data.image);
    if (data.bytes != NULL || line * data.image.height != c->bytes) {
        return sli_fail(SLUICE_E_CORRUPT, "%s: it is %ux%ux%u, and the plain column has %zu bytes",
                        c->type.name, data.image.width, data.image.height, data.image.channels,
                        c->bytes);
    }
    for (uint32_t y = 0; y < data.image.height; y++) {
        memcpy(row + y * line, data.image.pixels + y * data.image.stride, line);
    }
    return SLUICE_OK;
}

static sluice_status copy_images(const declared_source *d, uint64_t index, sample_io *io,
                                 void *const *row)
{
    sluice_status st = SLUICE_OK;

    for (uint32_t i = 0; i < d->count && st == SLUICE_OK; i++) {
        if (d->columns[i].from != AS_ROW && d->columns[i].to == AS_ROW && row[i] != NULL) {
            st = copy_image(d, index, i, io, row[i]);
        }
    }
    return st;
}

/* True if boxes, their number or what belongs to them is needed. */
static bool needs_boxes(const declared_source *d, uint32_t boxes, void *const *row)
{
    for (uint32_t i = 0; i < d->schema->column_count; i++) {
        if (row[i] != NULL && (i == boxes || (int)i == d->columns[boxes].length ||
                               box_rows_belong(d->schema, i, boxes))) {
            return true;
        }
    }
    return false;
}

/*
 * Finds where the original source writes its rows: images and masks into memory of the worker, the
 * others into the row, unless they are not needed there but for their check.
 */
static void place_rows(const declared_source *d, sample_io *io, void *const *row, bool with_image,
                       void **rows)
{
    memcpy(rows, row, d->count * sizeof(rows[0]));
    io->declared.columns = 0;
    for (uint32_t i = 0; i < d->count; i++) {
        const declared_column *c = &d->columns[i];
        const bool is_needed = row[i] != NULL || (with_image && (int)i == d->image);

        if (c->from == AS_ROW && c->to != AS_ROW) {
            rows[i] = is_needed ? room_of(d, io, i) : NULL;
            io->declared.columns |= (uint32_t)is_needed << i;
        } else if (c->from != AS_ROW) {
            rows[i] = NULL;
        }
        if (!declared_is_checked(c) || c->length < 0) {
            continue;
        }
        if (rows[i] == NULL && (c->checks == ROLE_BOXES ? needs_boxes(d, i, row)
                                                        : c->counts && row[c->length] != NULL)) {
            rows[i] = room_of(d, io, i);
        }
        if (rows[i] != NULL && !c->counts && row[c->length] == NULL) {
            rows[c->length] = io->declared.bytes.data + c->length_at;
        }
    }
}

/* ---- the operations of a source -------------------------------------------------------------- */

/* Reads a sample. data_out NULL: its plain columns only. */
static sluice_status read_sample(const declared_source *d, uint64_t index, sample_io *io,
                                 void *const *row, sample_data *data_out)
{
    const given_as image = d->image >= 0 ? d->columns[d->image].from : AS_ROW;
    void *rows[SLUICE_MAX_COLUMNS];
    sluice_status st = image_buffer_reserve(&io->declared.bytes, d->room);

    if (st == SLUICE_OK) {
        st = copy_images(d, index, io, row);
    }
    if (st != SLUICE_OK) {
        return st;
    }
    place_rows(d, io, row, data_out != NULL, rows);
    io->declared.index = index;
    io->declared.pass = io->pass;
    st = data_out != NULL && image == AS_FIRST_IMAGE
             ? d->of->read(d->source, index, io, rows, data_out)
             : read_rows(d, index, io, rows);
    if (st == SLUICE_OK) {
        st = declared_check(d, index, io, row, rows);
    }
    if (st != SLUICE_OK) {
        io->declared.columns = 0;
        return st;
    }
    if (data_out != NULL && d->image >= 0 && image == AS_ROW) {
        data_out->image = view_of(d, io, (uint32_t)d->image);
    } else if (data_out != NULL && image == AS_OTHER_IMAGE) {
        st = read_image(d, index, (uint32_t)d->image, io, data_out);
    }
    return st;
}

static sluice_status declared_read(const void *source, uint64_t index, sample_io *io,
                                   void *const *row, sample_data *data_out)
{
    return read_sample(source, index, io, row, data_out);
}

static sluice_status declared_read_plain(const void *source, uint64_t index, sample_io *io,
                                         void *const *row)
{
    return read_sample(source, index, io, row, NULL);
}

/* A mask or further image. One that is a row of the original source is in the worker's memory since
 * read(), unless the sample was found in a cache. */
static sluice_status declared_read_other(const void *source, uint64_t index, uint32_t column,
                                         sample_io *io, sample_data *data_out)
{
    const declared_source *d = source;
    sluice_status st = SLUICE_OK;

    if (d->columns[column].from != AS_ROW) {
        return read_image(d, index, column, io, data_out);
    }
    if ((io->declared.columns >> column & 1) == 0 || io->declared.index != index ||
        io->declared.pass != io->pass) {
        void *rows[SLUICE_MAX_COLUMNS] = {NULL};

        st = image_buffer_reserve(&io->declared.bytes, d->room);
        if (st == SLUICE_OK) {
            rows[column] = room_of(d, io, column);
            io->declared.columns = 0;
            st = read_rows(d, index, io, rows);
        }
    }
    if (st == SLUICE_OK) {
        *data_out = (sample_data){.image = view_of(d, io, column)};
    }
    return st;
}

static void declared_close(void *source)
{
    declared_source *d = source;

    box_tally_end(&d->tally);
    d->of->close(d->source);
    sli_free(d);
}

/* What the original source does. */
#define ORIGINAL(source) ((const declared_source *)(source))->source

static uint64_t declared_count(const void *source)
{
    return ((const declared_source *)source)->of->count(ORIGINAL(source));
}

static void declared_name(const void *source, uint64_t index, char *text, size_t size)
{
    ((const declared_source *)source)->of->name(ORIGINAL(source), index, text, size);
}

static bool declared_windows(const void *source, source_windows *windows_out)
{
    return ((const declared_source *)source)->of->windows(ORIGINAL(source), windows_out);
}

static bool declared_locate(const void *source, uint64_t index, sample_location *location_out)
{
    return ((const declared_source *)source)->of->locate(ORIGINAL(source), index, location_out);
}

static bool declared_drops(const void *source)
{
    return ((const declared_source *)source)->of->drops(ORIGINAL(source));
}

static bool declared_keep_index(const void *source, uint64_t index, const sample_io *io,
                                const sample_data *data)
{
    return ((const declared_source *)source)->of->keep_index(ORIGINAL(source), index, io, data);
}

static sluice_status declared_make_order(const void *source, const source_order_bounds *bounds,
                                         source_order **order_out)
{
    return ((const declared_source *)source)->of->make_order(ORIGINAL(source), bounds, order_out);
}

static uint64_t declared_memory(const void *source)
{
    const declared_source *d = source;

    return sizeof(*d) + box_tally_memory(&d->tally) + d->of->memory(d->source);
}

static bool declared_once(const void *source)
{
    return ((const declared_source *)source)->of->once(ORIGINAL(source));
}

static sluice_status declared_begin(void *source, const stream_start *start, void **pass_out)
{
    declared_source *d = source;

    return d->of->begin(d->source, start, pass_out);
}

static uint64_t declared_largest(const void *source)
{
    return ((const declared_source *)source)->of->largest(ORIGINAL(source));
}

static uint32_t declared_classes(const void *source)
{
    return ((const declared_source *)source)->of->classes(ORIGINAL(source));
}

static void declared_class_name(const void *source, uint32_t label, char *text, size_t size)
{
    ((const declared_source *)source)->of->class_name(ORIGINAL(source), label, text, size);
}

static void declared_changed_boxes(const void *source, uint64_t *clipped, uint64_t *dropped)
{
    const declared_source *d = source;

    box_tally_read(&d->tally, clipped, dropped);
    if (d->of->changed_boxes != NULL) {
        d->of->changed_boxes(d->source, clipped, dropped);
    }
}

static const char *declared_left_out(const void *source)
{
    return ((const declared_source *)source)->of->left_out(ORIGINAL(source));
}

static const struct point_pairs *declared_flip_pairs(const void *source, uint32_t *column_out)
{
    return ((const declared_source *)source)->of->flip_pairs(ORIGINAL(source), column_out);
}

static uint64_t declared_identity(const void *source)
{
    return ((const declared_source *)source)->of->identity(ORIGINAL(source));
}

static void declared_implied(const void *source, const char *argument, sli_text *text)
{
    ((const declared_source *)source)->of->implied(ORIGINAL(source), argument, text);
}

/* Replaces the operations that take the source; those of a pass (next, end) stay. Optional ones
 * that the original does not have stay NULL. */
static source_ops make_ops(const source_ops *of)
{
    source_ops ops = *of;

#define REPLACE(name) ops.name = of->name != NULL ? declared_##name : NULL
    REPLACE(count);
    REPLACE(name);
    REPLACE(read_plain);
    REPLACE(windows);
    REPLACE(locate);
    REPLACE(drops);
    REPLACE(keep_index);
    REPLACE(make_order);
    REPLACE(memory);
    REPLACE(once);
    REPLACE(begin);
    REPLACE(largest);
    REPLACE(classes);
    REPLACE(class_name);
    REPLACE(left_out);
    REPLACE(identity);
    REPLACE(implied);
    REPLACE(flip_pairs);
#undef REPLACE
    ops.open = NULL;
    ops.changed_boxes = declared_changed_boxes;
    ops.close = declared_close;
    ops.read = declared_read;
    ops.read_other = declared_read_other;
    return ops;
}

/* ---- opening --------------------------------------------------------------------------------- */

static given_as find_way(const stage_schema *schema, uint32_t column)
{
    const column_role role = schema->infos[column].role;

    return (int)column == schema->image              ? AS_FIRST_IMAGE
           : role == ROLE_MASK || role == ROLE_IMAGE ? AS_OTHER_IMAGE
                                                     : AS_ROW;
}

/* Returns the number of columns of boxes before column `end`. */
static uint32_t count_boxes(const stage_schema *schema, uint32_t end)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < end; i++) {
        count += schema->infos[i].role == ROLE_BOXES;
    }
    return count;
}

/* Describes a column, and assigns memory in sample_io.declared to it. */
static void describe_column(declared_source *d, const stage_schema *given, const stage_schema *now,
                            uint32_t i)
{
    declared_column *c = &d->columns[i];
    const column_role role = now->infos[i].role;

    c->type = given->columns[i];
    c->from = find_way(given, i);
    c->to = find_way(now, i);
    c->is_declared = given->infos[i].role == ROLE_PLAIN || given->infos[i].role == ROLE_TIED;
    c->checks = role == ROLE_BOXES || (role == ROLE_POINTS && c->is_declared) ? role : ROLE_PLAIN;
    c->boxes = count_boxes(now, i);
    c->length = -1;
    if (c->type.dtype == SLUICE_ENCODED || !sli_column_bytes(&c->type, &c->bytes)) {
        c->bytes = 0;
    }
    if (declared_is_checked(c) && !schema_is_tied(&now->infos[i]) &&
        now->infos[i].length != SCHEMA_NO_LENGTH) {
        c->length = (int)now->infos[i].length;
        c->counts = now->infos[i].length >= given->column_count;
    }
    if ((c->from == AS_ROW && c->to != AS_ROW) || declared_is_checked(c)) {
        c->offset = d->room;
        c->length_at = c->offset + (c->bytes + IMAGE_SLACK + 63) / 64 * 64;
        d->room = c->length_at + 64;
    }
}

sluice_status declared_source_wrap(sluice_dataset *dataset)
{
    const stage_schema *given =
        dataset->given_schema != NULL ? dataset->given_schema : &dataset->source_schema;
    const uint32_t boxes =
        count_boxes(&dataset->source_schema, dataset->source_schema.column_count);
    sluice_status st = SLUICE_OK;
    declared_source *d;

    if ((dataset->given_schema == NULL && boxes == 0) || dataset->ops->close == declared_close) {
        return SLUICE_OK;
    }
    d = sli_calloc(1, sizeof(*d));
    if (d == NULL) {
        return sli_fail(SLUICE_E_NO_MEMORY, "a source with stages column or boxes");
    }
    d->of = dataset->ops;
    d->source = dataset->source;
    d->ops = make_ops(d->of);
    d->count = given->column_count;
    d->schema = &dataset->source_schema;
    d->image = dataset->source_schema.image;
    for (uint32_t i = 0; i < d->count; i++) {
        describe_column(d, given, &dataset->source_schema, i);
    }
    if (boxes > 0) {
        st = box_tally_init(&d->tally, d->of->next == NULL ? d->of->count(d->source) : 0, boxes);
    }
    if (st != SLUICE_OK) {
        sli_free(d);
        return st;
    }
    dataset->ops = &d->ops;
    dataset->source = d;
    return SLUICE_OK;
}
