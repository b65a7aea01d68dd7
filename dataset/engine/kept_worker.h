/* SPDX-License-Identifier: Apache-2.0 */
/* The state of a worker of a run with filters, pack or bucket; its rows and batches. */
#ifndef SLUICE_KEPT_WORKER_H
#define SLUICE_KEPT_WORKER_H

#include "engine_state.h"

typedef struct kept_worker {
    sli_engine *engine;
    sample_loader *loader;
    sli_layout own; /* layout of the worker's private rows, which hold candidates until they are
                       copied into a batch */
    row_pace pace;
    kept_choice choice; /* with bucket and a stream, choice.held is the worker's private row */
    uint64_t samples[KEPT_MOST]; /* sample of each candidate */
    uint64_t passes[KEPT_MOST];  /* pass that keys its random numbers */
    uint32_t bad;                /* index of the failed candidate; KEPT_MOST: no failure */
    sli_error error;             /* the error of the failed candidate */
    const char *bad_stage;       /* the loader's state at that failure, with the next two members */
    sli_fault bad_fault;
    bool bad_ends_run;
    sli_batch batch; /* batch whose rows are being written; valid if seq is not 0 */
    uint64_t seq;    /* its sequence number; 0: no batch */
    uint32_t done;   /* rows of the batch that are written but not counted yet */
} kept_worker;

/*
 * Finds the sample of candidate i of a claim, and the pass of its random numbers.
 */
void kept_find_candidate(kept_worker *w, const kept_claim *claim, uint32_t i);

/* Finds the memory of one of the worker's private rows. */
void kept_own_row(const kept_worker *w, uint32_t number, sample_row *row_out);

/* Counts the rows that were written; publishes the batch if it is complete. */
void kept_count_rows(kept_worker *w);

/* Switches to the batch of the next rows, and waits for its slot. False: the engine stops. */
bool kept_go_to_batch(kept_worker *w, uint64_t seq);

/* Writes a piece of a document; `document` NULL: of padding. False: the engine stops. */
bool kept_write_piece(kept_worker *w, const packed_piece *piece, const void *document,
                      uint64_t sample);

/* Pads the rest of a window. False: the engine stops. */
bool kept_pad_window(kept_worker *w, uint64_t open_row, uint32_t open_at);

/* Writes a row without a sample. */
void kept_write_empty(kept_worker *w, uint32_t number);

/* Writes or skips the rows of a claim without samples. False: the engine stops. */
bool kept_fill_empty(kept_worker *w, const kept_claim *claim);

/* Sleeps while the engine is paused, unless a rewind abandons the claim. */
void kept_wait_while_paused(sli_engine *engine, const kept_claim *claim);

#endif
