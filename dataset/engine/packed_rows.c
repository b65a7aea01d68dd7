/* SPDX-License-Identifier: Apache-2.0 */
#include "packed_rows.h"

#include <string.h>

#include "alloc_int.h"

struct packed_rows {
    const sli_plan *plan;
    uint64_t count;            /* number of counters: one for each row of the batches in flight */
    _Atomic uint32_t *written; /* (count) tokens written in each row; 0 once it is complete */
};

/* The beginning of a document's block; the tokens are PLAN_DOCUMENT_HEAD bytes after it. */
typedef struct document_head {
    uint64_t length;
    uint8_t flags; /* written by the loader, unused */
    uint8_t mask;
} document_head;

_Static_assert(sizeof(document_head) <= PLAN_DOCUMENT_HEAD, "the tokens come after the head");

sluice_status packed_rows_create(const sli_plan *plan, uint64_t batches, packed_rows **rows_out)
{
    packed_rows *rows = sli_calloc(1, sizeof(*rows));

    if (rows != NULL) {
        rows->plan = plan;
        rows->count = batches * plan->batch_size;
        rows->written = sli_calloc(rows->count, sizeof(*rows->written));
    }
    if (rows == NULL || rows->written == NULL) {
        packed_rows_destroy(rows);
        return sli_fail(SLUICE_E_NO_MEMORY, "the rows of pack");
    }
    *rows_out = rows;
    return SLUICE_OK;
}

void packed_rows_destroy(packed_rows *rows)
{
    if (rows != NULL) {
        sli_free(rows->written);
        sli_free(rows);
    }
}

/* ---- documents ------------------------------------------------------------------------------- */

void packed_document_row(const sli_plan *plan, void *document, sample_row *row_out)
{
    document_head *head = document;

    memset(row_out, 0, sizeof(*row_out)); /* the sample's columns are in scratch memory */
    row_out->flags = &head->flags;
    if (plan->mask_column >= 0) {
        row_out->columns[plan->mask_column] = &head->mask;
    }
}

void packed_document_keep(const sample_loader *loader, void *document)
{
    const struct plan_details *details = loader->plan->details;
    document_head *head = document;

    head->length = loader->last.document_length;
    memcpy((uint8_t *)document + PLAN_DOCUMENT_HEAD,
           loader->scratch + details->memory.buffers[details->pack.document].offset,
           head->length * details->pack.element_bytes);
}

void packed_document_clear(void *document)
{
    ((document_head *)document)->length = 0;
}

uint64_t packed_document_length(const void *document)
{
    return ((const document_head *)document)->length;
}

/* ---- rows ------------------------------------------------------------------------------------ */

static void fill_i32(void *column, uint32_t at, uint32_t count, int32_t first, int32_t step)
{
    int32_t *values = (int32_t *)column + at;

    for (uint32_t i = 0; i < count; i++) {
        values[i] = first + (int32_t)i * step;
    }
}

/* Writes padding to tokens [at, at + count) of a row. */
static void write_padding(const sli_plan *plan, const sample_row *row, uint32_t at, uint32_t count)
{
    const plan_pack *pack = &plan->details->pack;

    for (uint32_t i = at; i < at + count && pack->tokens >= 0; i++) {
        memcpy((uint8_t *)row->columns[pack->tokens] + i * pack->element_bytes, pack->pad,
               pack->element_bytes);
    }
    if (pack->positions >= 0) {
        fill_i32(row->columns[pack->positions], at, count, 0, 0);
    }
    if (pack->documents >= 0) {
        fill_i32(row->columns[pack->documents], at, count, -1, 0);
    }
}

static void write_tokens(const sli_plan *plan, const packed_piece *piece, const void *document,
                         const sample_row *row)
{
    const plan_pack *pack = &plan->details->pack;
    const size_t bytes = pack->element_bytes;

    if (pack->tokens >= 0) {
        memcpy((uint8_t *)row->columns[pack->tokens] + piece->at * bytes,
               (const uint8_t *)document + PLAN_DOCUMENT_HEAD + piece->from * bytes,
               piece->count * bytes);
    }
    if (pack->positions >= 0) {
        fill_i32(row->columns[pack->positions], piece->at, piece->count, (int32_t)piece->from, 1);
    }
    if (pack->documents >= 0) {
        fill_i32(row->columns[pack->documents], piece->at, piece->count, (int32_t)piece->document,
                 0);
    }
    if (piece->at == 0) {
        *row->flags = 0;
        if (plan->mask_column >= 0) {
            *(uint8_t *)row->columns[plan->mask_column] = 1;
        }
    }
}

bool packed_rows_write(packed_rows *rows, const packed_piece *piece, const void *document,
                       const sample_row *row)
{
    const uint32_t seq = rows->plan->details->pack.seq;
    _Atomic uint32_t *written = &rows->written[piece->row % rows->count];

    if (document != NULL) {
        write_tokens(rows->plan, piece, document, row);
    } else {
        write_padding(rows->plan, row, piece->at, piece->count);
    }
    /* Release of this piece; acquire of the others' pieces, by the worker that completes the row,
     * which publishes them with the batch. Both pair with this operation in other workers. */
    if (atomic_fetch_add_explicit(written, piece->count, memory_order_acq_rel) + piece->count <
        seq) {
        return false;
    }
    /* Relaxed: this batch is published before another batch uses the counter. */
    atomic_store_explicit(written, 0, memory_order_relaxed);
    return true;
}

void packed_rows_pad(const packed_rows *rows, const sample_row *row)
{
    write_padding(rows->plan, row, 0, rows->plan->details->pack.seq);
    *row->flags = SLI_ROW_ZERO;
    if (rows->plan->mask_column >= 0) {
        *(uint8_t *)row->columns[rows->plan->mask_column] = 0;
    }
}
