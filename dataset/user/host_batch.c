/* SPDX-License-Identifier: Apache-2.0 */
/* The batch that is passed to a map of batches. */
#include <string.h>

#include "alloc_int.h"
#include "custom_batch.h"
#include "custom_sample.h"
#include "layout_int.h"
#include "serial_lock.h"
#include "status_int.h"
#include "tensor_int.h"

/* Number of guard bytes before and after a column, and their value. */
enum { GUARD = 64, GUARD_BYTE = 0xA7 };

/* ---- the state of a worker ------------------------------------------------------------------- */

static sluice_status make_column(const custom_batch *map, uint32_t i, const sluice_column *type,
                                 uint32_t rows, host_column *column)
{
    size_t bytes;

    if (!sli_column_bytes(type, &bytes) || bytes > (SIZE_MAX - 2 * (size_t)GUARD) / rows) {
        return sli_fail(SLUICE_E_INVALID, "%s: column %s of a batch is larger than memory",
                        map->name, type->name);
    }
    column->view.dtype = type->dtype;
    column->view.rank = type->rank;
    memcpy(column->view.shape, type->shape, sizeof(column->view.shape));
    column->view.row_bytes = bytes;
    if (map->guards && map->columns[i].access != BATCH_READS) {
        column->buffer = sli_aligned_alloc(64, bytes * rows + 2 * (size_t)GUARD);
        if (column->buffer == NULL) {
            return sli_fail(SLUICE_E_NO_MEMORY, "%s: column %s with guard bytes", map->name,
                            type->name);
        }
    }
    return SLUICE_OK;
}

static void free_memory(sluice_host_batch *batch)
{
    for (uint32_t i = 0; i < SLUICE_MAX_COLUMNS; i++) {
        sli_free(batch->columns[i].buffer);
    }
    sli_free(batch->samples);
    memset(batch, 0, sizeof(*batch));
}

sluice_status host_batch_begin(custom_batch *map, const sluice_column *types,
                               const row_padding *paddings, uint32_t rows, sluice_host_batch *batch)
{
    sluice_status st = SLUICE_OK;

    memset(batch, 0, sizeof(*batch));
    batch->rows = rows;
    batch->samples = sli_calloc(rows, sizeof(*batch->samples));
    if (batch->samples == NULL) {
        st = sli_fail(SLUICE_E_NO_MEMORY, "a worker of %s", map->name);
    }
    for (uint32_t i = 0; i < map->column_count && st == SLUICE_OK; i++) {
        batch->columns[i].padding = paddings[i];
        st = make_column(map, i, &types[i], rows, &batch->columns[i]);
    }
    if (st == SLUICE_OK && map->of.begin != NULL) {
        const uint64_t before = sli_fail_count();

        st = custom_status(map->name, "begin", before, map->of.begin(map->of.user, &batch->worker));
    }
    if (st != SLUICE_OK) {
        free_memory(batch);
        return st;
    }
    batch->map = map;
    return SLUICE_OK;
}

void host_batch_end(sluice_host_batch *batch)
{
    if (batch->map == NULL) {
        return;
    }
    if (batch->map->of.end != NULL) {
        batch->map->of.end(batch->worker, batch->map->of.user);
    }
    free_memory(batch);
}

/* ---- a call ---------------------------------------------------------------------------------- */

static uint64_t hash_bytes(const uint8_t *bytes, size_t size)
{
    uint64_t hash = 14695981039346656037U; /* FNV-1a, 64 bits */

    for (size_t i = 0; i < size; i++) {
        hash = (hash ^ bytes[i]) * 1099511628211U;
    }
    return hash;
}

static size_t column_bytes(const sluice_host_batch *batch, const host_column *column)
{
    return column->view.row_bytes * batch->rows;
}

static void begin_column(sluice_host_batch *batch, uint32_t i, uint8_t *slot)
{
    host_column *column = &batch->columns[i];
    const size_t bytes = column_bytes(batch, column);
    const batch_access access = batch->map->columns[i].access;

    column->slot = slot;
    column->view.data = slot;
    if (access == BATCH_ADDS) {
        memset(slot, 0, bytes);
    }
    if (column->buffer != NULL) {
        memset(column->buffer, GUARD_BYTE, GUARD);
        memcpy(column->buffer + GUARD, slot, bytes);
        memset(column->buffer + GUARD + bytes, GUARD_BYTE, GUARD);
        column->view.data = column->buffer + GUARD;
    } else if (batch->map->guards) {
        column->hash = hash_bytes(slot, bytes);
    }
}

static bool is_intact(const uint8_t *guard)
{
    for (uint32_t i = 0; i < GUARD; i++) {
        if (guard[i] != GUARD_BYTE) {
            return false;
        }
    }
    return true;
}

/* With guards: checks the guard bytes of a written column and copies the column into the batch, or
 * checks the hash of an input. */
static sluice_status end_column(const sluice_host_batch *batch, uint32_t i)
{
    const host_column *column = &batch->columns[i];
    const size_t bytes = column_bytes(batch, column);
    const char *name = batch->map->columns[i].name;

    if (column->buffer != NULL) {
        if (!is_intact(column->buffer) || !is_intact(column->buffer + GUARD + bytes)) {
            return sli_fail(SLUICE_E_CALLBACK,
                            "%s: map() wrote outside column %s, which has %zu bytes",
                            batch->map->name, name, bytes);
        }
        memcpy(column->slot, column->buffer + GUARD, bytes);
    } else if (batch->map->guards && column->hash != hash_bytes(column->slot, bytes)) {
        return sli_fail(SLUICE_E_CALLBACK,
                        "%s: map() wrote to %s, which is an input; list it in changes",
                        batch->map->name, name);
    }
    return SLUICE_OK;
}

static void pad_row(const row_padding *padding, uint8_t *row, size_t bytes)
{
    if (padding->bytes == 0) {
        memset(row, 0, bytes);
        return;
    }
    for (size_t at = 0; at < bytes; at += padding->bytes) {
        memcpy(row + at, padding->value, padding->bytes);
    }
}

/* Pads the rows without a sample in the columns that the map writes. */
static void pad_rows(const sluice_host_batch *batch, const uint8_t *flags)
{
    for (uint32_t i = 0; i < batch->map->column_count; i++) {
        const host_column *column = &batch->columns[i];

        for (uint32_t row = 0; batch->map->columns[i].access != BATCH_READS && row < batch->rows;
             row++) {
            if ((flags[row] & SLI_ROW_ZERO) != 0) {
                pad_row(&column->padding, column->slot + row * column->view.row_bytes,
                        column->view.row_bytes);
            }
        }
    }
}

/* Calls the function, under the map's lock if it is serial. */
static sluice_status call_function(sluice_host_batch *batch)
{
    custom_batch *map = batch->map;
    const uint64_t before = sli_fail_count();
    sluice_status st;

    if (map->of.serial != 0) {
        serial_lock(&map->lock, batch->counters);
    }
    st = map->of.map(batch, map->of.user);
    if (map->of.serial != 0) {
        pthread_mutex_unlock(&map->lock);
    }
    return custom_status(map->name, "map", before, st);
}

sluice_status host_batch_call(sluice_host_batch *batch, uint8_t *const *columns,
                              const uint8_t *flags, const uint64_t *samples, uint32_t valid_rows,
                              const sli_draws *draws)
{
    sluice_status st;

    batch->valid_rows = valid_rows;
    batch->draws = *draws;
    for (uint32_t row = 0; row < batch->rows; row++) {
        batch->samples[row] = (flags[row] & SLI_ROW_ZERO) != 0 ? UINT64_MAX : samples[row];
    }
    for (uint32_t i = 0; i < batch->map->column_count; i++) {
        begin_column(batch, i, columns[i]);
    }
    st = call_function(batch);
    for (uint32_t i = 0; i < batch->map->column_count; i++) {
        const sluice_status checked = end_column(batch, i);

        st = checked != SLUICE_OK ? checked : st;
    }
    pad_rows(batch, flags);
    return st;
}

/* ---- what the function sees ------------------------------------------------------------------ */

uint32_t sluice_host_batch_rows(const sluice_host_batch *batch)
{
    return batch != NULL ? batch->rows : 0;
}

uint32_t sluice_host_batch_valid_rows(const sluice_host_batch *batch)
{
    return batch != NULL ? batch->valid_rows : 0;
}

const uint64_t *sluice_host_batch_samples(const sluice_host_batch *batch)
{
    return batch != NULL ? batch->samples : NULL;
}

void *sluice_host_batch_worker(const sluice_host_batch *batch)
{
    return batch != NULL ? batch->worker : NULL;
}

uint64_t sluice_host_batch_random(const sluice_host_batch *batch, uint32_t n)
{
    uint32_t bits[4];

    if (batch == NULL) {
        return 0;
    }
    sli_draw(&batch->draws, n / 2, bits);
    return (uint64_t)bits[n % 2 * 2] << 32 | bits[n % 2 * 2 + 1];
}

static sluice_status no_column(const sluice_host_batch *batch, const char *name)
{
    char known[SLUICE_MAX_COLUMNS * (SLUICE_NAME_SIZE + 2)] = "";

    for (uint32_t i = 0; i < batch->map->column_count; i++) {
        strcat(known, i > 0 ? ", " : "");
        strcat(known, batch->map->columns[i].name);
    }
    return sli_fail(SLUICE_E_INVALID, "%s: %.100s is not a column of the map; it lists: %s",
                    batch->map->name, name, known);
}

sluice_status sluice_host_batch_column(const sluice_host_batch *batch, const char *name,
                                       sluice_host_column *column_out)
{
    if (batch == NULL || name == NULL || column_out == NULL) {
        return sli_fail(SLUICE_E_INVALID, "sluice_host_batch_column: an argument is NULL");
    }
    for (uint32_t i = 0; i < batch->map->column_count; i++) {
        if (strcmp(batch->map->columns[i].name, name) == 0) {
            *column_out = batch->columns[i].view;
            return SLUICE_OK;
        }
    }
    return no_column(batch, name);
}
