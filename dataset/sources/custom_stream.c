/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A source of user code as a stream: next() makes one sample after another. It is called by one
 * thread at a time, under the lock of the stream. Its columns are kept in the item's bytes, which
 * the worker that has the item copies into the batch's row:
 *
 *     custom_slot slots[column_count]; columns of fixed size; then those whose size varies
 *
 * next() writes columns of fixed size directly into the item.
 */
#include <poll.h>
#include <string.h>

#include "alloc_int.h"
#include "custom_source.h"
#include "status_int.h"
#include "zero_padding_int.h"

/* Alignment of a column in an item. */
enum { SLOT_ALIGN = 64 };

/* The default of sluice_source.max_sample. */
static const uint64_t DEFAULT_MAX_SAMPLE = UINT64_C(64) << 20;

/* This many errors of next() in sequence end the run: the generator is broken. */
enum { ERRORS_MOST = 1000 };

/* A column in an item. */
typedef struct custom_slot {
    size_t offset; /* from the beginning of the item's bytes */
    size_t size;
    uint64_t shape[SLUICE_MAX_RANK];
} custom_slot;

typedef struct custom_pass {
    custom_source *source;
    sluice_sample sample;
    sli_draws draws;
    size_t offsets[SLUICE_MAX_COLUMNS]; /* of the columns of fixed size; 0: the size varies */
    size_t head;                        /* bytes of the slots and of all columns of fixed size */
    uint32_t errors;                    /* errors of next() since the last sample */
} custom_pass;

/* ---- the source ------------------------------------------------------------------------------ */

static size_t aligned(size_t bytes)
{
    return (bytes + SLOT_ALIGN - 1) / SLOT_ALIGN * SLOT_ALIGN;
}

/* True if next() may write the column into the item before the sizes of the others are known. */
static bool is_fixed(const custom_column *column)
{
    return column->bytes > 0 && !column->ragged;
}

static uint64_t most_varying(const custom_source *custom)
{
    return custom->of.max_sample > 0 ? custom->of.max_sample : DEFAULT_MAX_SAMPLE;
}

/* Lays out the columns of fixed size. Returns the bytes of the slots and of these columns. */
static size_t lay_out(const custom_source *custom, size_t *offsets)
{
    const custom_columns *columns = &custom->columns;
    size_t head = aligned(columns->count * sizeof(custom_slot));

    for (uint32_t i = 0; i < columns->count; i++) {
        offsets[i] = 0;
        if (is_fixed(&columns->columns[i])) {
            offsets[i] = head;
            head += aligned(columns->columns[i].bytes);
        }
    }
    return head;
}

static uint64_t stream_largest(const void *source)
{
    const custom_source *custom = source;
    size_t offsets[SLUICE_MAX_COLUMNS];
    uint64_t bytes = lay_out(custom, offsets);
    bool varies = false;

    for (uint32_t i = 0; i < custom->columns.count; i++) {
        const custom_column *column = &custom->columns.columns[i];

        bytes += offsets[i] == 0 ? aligned(column->bytes) : 0;
        varies = varies || column->bytes == 0;
    }
    return bytes + (varies ? most_varying(custom) : 0);
}

static bool stream_once(const void *source)
{
    return ((const custom_source *)source)->of.open_pass == NULL;
}

/* ---- a pass ---------------------------------------------------------------------------------- */

static void pass_end(void *opaque)
{
    custom_pass *pass = opaque;
    const sluice_source *of = &pass->source->of;

    if (of->close_pass != NULL) {
        of->close_pass(pass->sample.worker, of->user);
    }
    custom_sample_fini(&pass->sample);
    sli_free(pass);
}

static sluice_status open_pass(custom_pass *pass, uint64_t number)
{
    custom_source *custom = pass->source;
    const uint64_t before = sli_fail_count();

    if (custom->of.open_pass == NULL) {
        return atomic_exchange_explicit(&custom->begun, true, memory_order_relaxed)
                   ? sli_fail(SLUICE_E_UNSUPPORTED,
                              "%s: next() was called for one pass already, and without open_pass() "
                              "a stream has no other; set open_pass",
                              custom->name)
                   : SLUICE_OK;
    }
    return custom_status(custom->name, "open_pass", before,
                         custom->of.open_pass(number, custom->of.user, &pass->sample.worker));
}

static sluice_status pass_begin(void *source, const stream_start *start, void **pass_out)
{
    custom_source *custom = source;
    custom_pass *pass = sli_calloc(1, sizeof(*pass));
    sluice_status st;

    if (pass == NULL) {
        return sli_fail(SLUICE_E_NO_MEMORY, "a pass of %s", custom->name);
    }
    pass->source = custom;
    pass->draws = (sli_draws){.key = start->draws_key, .pass = start->pass};
    pass->head = lay_out(custom, pass->offsets);
    custom_sample_init(&pass->sample, custom->name, &custom->columns, custom->guards);
    pass->sample.stop_fd = start->stop_fd;
    st = open_pass(pass, start->pass);
    if (st != SLUICE_OK) {
        custom_sample_fini(&pass->sample);
        sli_free(pass);
        return st;
    }
    *pass_out = pass;
    return SLUICE_OK;
}

/* ---- items ----------------------------------------------------------------------------------- */

/* Enlarges an item to `bytes` bytes, and keeps the first pass->head of them. */
static sluice_status grow_item(const custom_pass *pass, stream_item *item, size_t bytes)
{
    image_buffer larger = {NULL, 0};
    sluice_status st;

    if (bytes + IMAGE_SLACK <= item->bytes.capacity) {
        memset(item->bytes.data + bytes, 0, IMAGE_SLACK);
        return SLUICE_OK;
    }
    st = image_buffer_reserve(&larger, bytes);
    if (st == SLUICE_OK) {
        memcpy(larger.data, item->bytes.data, pass->head);
        image_buffer_free(&item->bytes);
        item->bytes = larger;
    }
    return st;
}

/* Checks the bytes of the columns whose size varies: most_varying() bounds their sum. */
static sluice_status check_varying(const custom_pass *pass)
{
    const custom_source *custom = pass->source;
    uint64_t bytes = 0;

    for (uint32_t i = 0; i < custom->columns.count; i++) {
        bytes += custom->columns.columns[i].bytes == 0 ? pass->sample.outputs[i].size : 0;
    }
    return bytes <= most_varying(custom)
               ? SLUICE_OK
               : sli_fail(SLUICE_E_CORRUPT,
                          "%s: %llu bytes of images are more than the sample of a stream may have, "
                          "%llu; set max_sample",
                          custom->name, (unsigned long long)bytes,
                          (unsigned long long)most_varying(custom));
}

/* Moves the columns that next() has provided into the item. */
static sluice_status fill_item(const custom_pass *pass, stream_item *item)
{
    const custom_columns *columns = &pass->source->columns;
    const custom_output *outputs = pass->sample.outputs;
    custom_slot slots[SLUICE_MAX_COLUMNS];
    size_t size = pass->head;
    sluice_status st = check_varying(pass);

    for (uint32_t i = 0; i < columns->count && st == SLUICE_OK; i++) {
        slots[i].offset = pass->offsets[i] != 0 ? pass->offsets[i] : size;
        slots[i].size = outputs[i].size;
        memcpy(slots[i].shape, outputs[i].shape, sizeof(slots[i].shape));
        size += pass->offsets[i] != 0 ? 0 : aligned(outputs[i].size);
    }
    if (st == SLUICE_OK) {
        st = grow_item(pass, item, size);
    }
    if (st != SLUICE_OK) {
        return st;
    }
    for (uint32_t i = 0; i < columns->count; i++) {
        if (pass->offsets[i] == 0) {
            memcpy(item->bytes.data + slots[i].offset, outputs[i].bytes, outputs[i].size);
        }
    }
    memcpy(item->bytes.data, slots, columns->count * sizeof(slots[0]));
    item->held = size;
    item->size = size - pass->head;
    return SLUICE_OK;
}

static bool is_stopped(const custom_pass *pass)
{
    struct pollfd stop = {.fd = pass->sample.stop_fd, .events = POLLIN};

    return poll(&stop, 1, 0) > 0 && (stop.revents & POLLIN) != 0;
}

/* Handles an error of next(): the item becomes a bad sample, which custom_stream_read() reports, or
 * the run ends. */
static sluice_status keep_error(custom_pass *pass, stream_item *item, sluice_status status)
{
    const char *text = sluice_last_error();
    const size_t size = strlen(text) + 1;
    sluice_status st;

    if (pass->sample.overran || status == SLUICE_E_NO_MEMORY) {
        return status;
    }
    if (is_stopped(pass)) {
        return SLUICE_CLOSED;
    }
    if (++pass->errors == ERRORS_MOST) {
        return sli_fail_quoting(status,
                                "next() has failed %d times without a sample; the last: %.700s",
                                ERRORS_MOST, text);
    }
    st = image_buffer_reserve(&item->bytes, size);
    if (st != SLUICE_OK) {
        return st;
    }
    memcpy(item->bytes.data, text, size);
    item->status = status;
    item->held = size;
    item->size = 0;
    return SLUICE_OK;
}

/* Calls next(). *ended_out: it returned END_OF_DATA. */
static sluice_status call_next(custom_pass *pass, stream_item *item, bool *ended_out)
{
    const custom_source *custom = pass->source;
    sluice_sample *sample = &pass->sample;
    sluice_status returned;
    uint64_t before;

    pass->draws.sample = item->number;
    custom_sample_begin(sample, item->number, &pass->draws);
    for (uint32_t i = 0; i < custom->columns.count; i++) {
        sample->outputs[i].row = pass->offsets[i] != 0 ? item->bytes.data + pass->offsets[i] : NULL;
    }
    before = sli_fail_count();
    returned = custom->of.next(sample, sample->worker, custom->of.user);
    *ended_out = returned == SLUICE_END_OF_DATA;
    return *ended_out ? custom_sample_guarded(sample, "next")
                      : custom_sample_end(sample, "next", before, returned);
}

static sluice_status pass_next(void *opaque, stream_item *item)
{
    custom_pass *pass = opaque;
    bool ended = false;
    sluice_status st = image_buffer_reserve(&item->bytes, pass->head);

    if (st != SLUICE_OK) {
        return st;
    }
    item->status = SLUICE_OK;
    item->name[0] = '\0';
    st = call_next(pass, item, &ended);
    if (st == SLUICE_OK && ended) {
        return SLUICE_END_OF_DATA;
    }
    if (st == SLUICE_OK) {
        st = fill_item(pass, item);
    }
    if (st != SLUICE_OK) {
        return keep_error(pass, item, st);
    }
    pass->errors = 0;
    return SLUICE_OK;
}

/* ---- samples --------------------------------------------------------------------------------- */

static void find_slot(const sample_io *io, uint32_t column, custom_slot *slot_out)
{
    memcpy(slot_out, io->item.bytes.data + column * sizeof(*slot_out), sizeof(*slot_out));
}

/* Returns the image or mask in declared column i of the item. */
static void find_image(const custom_source *custom, const sample_io *io, uint32_t i,
                       sample_data *data_out)
{
    const custom_column *column = &custom->columns.columns[i];
    custom_slot slot;

    find_slot(io, i, &slot);
    if (column->spec.dtype == SLUICE_ENCODED) {
        data_out->bytes = io->item.bytes.data + slot.offset;
        data_out->size = slot.size;
    } else {
        const uint32_t channels = column->spec.rank == 3 ? (uint32_t)slot.shape[SCHEMA_C] : 1;

        data_out->image = (image_view){io->item.bytes.data + slot.offset,
                                       (size_t)slot.shape[SCHEMA_W] * channels,
                                       (uint32_t)slot.shape[SCHEMA_W],
                                       (uint32_t)slot.shape[SCHEMA_H],
                                       channels,
                                       IMAGE_U8};
    }
}

/* Copies a column of the item into the batch's row. */
static void copy_column(const custom_column *column, const sample_io *io, uint32_t i,
                        void *const *row)
{
    void *to = row[column->column];
    custom_slot slot;

    find_slot(io, i, &slot);
    if (to != NULL) {
        memcpy(to, io->item.bytes.data + slot.offset, slot.size);
        sli_zero_padding((uint8_t *)to + slot.size, column->bytes - slot.size);
    }
    if (column->length >= 0 && row[column->length] != NULL) {
        *(int32_t *)row[column->length] = (int32_t)slot.shape[0];
    }
}

static sluice_status custom_stream_read(const void *source, uint64_t index, sample_io *io,
                                        void *const *row, sample_data *data_out)
{
    const custom_source *custom = source;
    const custom_columns *columns = &custom->columns;

    (void)index;
    if (io->item.status != SLUICE_OK) {
        return sli_fail(io->item.status, "%s", (const char *)io->item.bytes.data);
    }
    for (uint32_t i = 0; i < columns->count; i++) {
        const custom_column *column = &columns->columns[i];

        if (column->role != SLUICE_ROLE_IMAGE && column->role != SLUICE_ROLE_MASK) {
            copy_column(column, io, i, row);
        }
    }
    io->bytes_read += io->item.held;
    if (custom->image >= 0) {
        find_image(custom, io, (uint32_t)custom->image, data_out);
    }
    return SLUICE_OK;
}

static sluice_status custom_stream_read_other(const void *source, uint64_t index, uint32_t column,
                                              sample_io *io, sample_data *data_out)
{
    const custom_source *custom = source;
    uint32_t i = 0;

    (void)index;
    while (custom->columns.columns[i].column != column) {
        i++;
    }
    find_image(custom, io, i, data_out);
    return SLUICE_OK;
}

const source_ops custom_stream_ops = {
    .open = custom_source_open,
    .close = custom_source_close,
    .name = custom_source_name,
    .read = custom_stream_read,
    .read_other = custom_stream_read_other,
    .memory = custom_source_memory,
    .once = stream_once,
    .begin = pass_begin,
    .next = pass_next,
    .end = pass_end,
    .largest = stream_largest,
    .passes_vary = true,
    .instead = "give the source count and read() in place of next()",
};
