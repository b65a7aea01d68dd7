/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes the rows of a run with the stage pack. A row is a window of tokens, to which several
 * workers may write pieces of their documents concurrently. Each row has a counter of written
 * tokens; the worker that writes the last tokens completes the row.
 */
#ifndef SLUICE_PACKED_ROWS_H
#define SLUICE_PACKED_ROWS_H

#include "sample_loader.h"

/* Tokens of a document, or padding, for one row. */
typedef struct packed_piece {
    uint64_t row;      /* row, counted over all batches */
    uint64_t from;     /* index of the first token in the document */
    uint32_t at;       /* where it goes in the row */
    uint32_t count;    /* number of tokens */
    uint32_t document; /* number of the document in the row */
} packed_piece;

typedef struct packed_rows packed_rows;

/* `batches`: maximum number of batches in flight. Returns E_NO_MEMORY on failure. */
sluice_status packed_rows_create(const sli_plan *plan, uint64_t batches, packed_rows **rows_out);
void packed_rows_destroy(packed_rows *rows);

/*
 * A document in the memory of a worker: an aligned block of plan_dealing.own_row_bytes.
 * packed_document_row() returns the row for sample_load_filtered(); packed_document_keep() then
 * copies the loaded document into the block.
 */
void packed_document_row(const sli_plan *plan, void *document, sample_row *row_out);
void packed_document_keep(const sample_loader *loader, void *document);

/* Sets the number of the document's tokens to 0, or returns it. */
void packed_document_clear(void *document);
uint64_t packed_document_length(const void *document);

/*
 * Writes a piece of a document, or of padding if `document` is NULL, to a row. True: the row is
 * complete.
 */
bool packed_rows_write(packed_rows *rows, const packed_piece *piece, const void *document,
                       const sample_row *row);

/* Fills a row without a sample with padding; its counter is not used. */
void packed_rows_pad(const packed_rows *rows, const sample_row *row);

#endif
