/* SPDX-License-Identifier: Apache-2.0 */
/* The state of a worker of a run with filters, pack or bucket; its rows and batches. */
#ifndef SLUICE_COLLECTED_WORKER_H
#define SLUICE_COLLECTED_WORKER_H

#include "engine_state.h"

/* Limit on the choices of a worker that wait to be made. With claims of about 100 us a sample may
 * take 1.6 ms before the other workers wait for it. */
enum { COLLECTED_PARTS_MOST = 16 };

/* Candidates whose filters a worker has called, and whose rows it has not written yet. */
typedef struct collected_part {
    collected_choice choice;
    uint64_t samples[COLLECTED_MOST]; /* sample of each candidate */
    uint64_t passes[COLLECTED_MOST];  /* pass that keys its random numbers */
    uint32_t bad;     /* index of the failed candidate; COLLECTED_MOST: no failure */
    uint32_t own_row; /* number of the first candidate's private row */
} collected_part;

struct collected_worker {
    sli_engine *engine;
    sample_loader *loader;
    sli_layout own; /* layout of the worker's private rows, which hold candidates until they are
                       copied into a batch */
    row_pace pace;
    collected_claim claim;                      /* candidates whose filters are not called yet */
    collected_part parts[COLLECTED_PARTS_MOST]; /* a ring, in the order of the candidates */
    uint32_t first_part;
    uint32_t part_count;
    uint32_t own_rows;     /* private rows that belong to parts */
    bool has_error;        /* the last part has an error, so it is written before others begin */
    sli_error error;       /* that error */
    const char *bad_stage; /* the loader's state at the failure of a candidate, with the next two
                              members */
    sli_fault bad_fault;
    bool bad_ends_run;
    bucket_row bucket_rows[COLLECTED_ROWS_MOST]; /* of a COLLECTED_ROWS claim */
    held_row *held;  /* with bucket and a stream, the worker's private row; NULL: none */
    sli_batch batch; /* batch whose rows are being written; valid if seq is not 0 */
    uint64_t seq;    /* its sequence number; 0: no batch */
    uint32_t done;   /* rows of the batch that are written but not counted yet */
};

/*
 * The workers of an engine with filters, pack or bucket. They exist as long as its collected_rows,
 * which may have their choices when they return. E_NO_MEMORY.
 */
sluice_status collected_workers_create(const sli_engine *engine, collected_worker **workers_out);
void collected_workers_destroy(collected_worker *workers, uint32_t count);

/* The first of the worker's parts; NULL: it has none. */
collected_part *collected_first_part(collected_worker *w);

/* Finds the sample of candidate i of a part, and the pass of its random numbers. */
void collected_find_candidate(const collected_worker *w, collected_part *part, uint32_t i);

/* Returns the number of the private row of candidate i of a part. */
uint32_t collected_own_number(const collected_worker *w, const collected_part *part, uint32_t i);

/* Finds the memory of one of the worker's private rows. */
void collected_own_row(const collected_worker *w, uint32_t number, sample_row *row_out);

/* Counts the rows that were written; publishes the batch if it is complete. */
void collected_count_rows(collected_worker *w);

/* Switches to the batch of the next rows, and waits for its slot. False: the engine stops. */
bool collected_go_to_batch(collected_worker *w, uint64_t seq);

/* Writes a piece of a document; `document` NULL: of padding. False: the engine stops. */
bool collected_write_piece(collected_worker *w, const packed_piece *piece, const void *document,
                           uint64_t sample);

/* Pads the rest of a window. False: the engine stops. */
bool collected_pad_window(collected_worker *w, uint64_t open_row, uint32_t open_at);

/* Writes a row without a sample. */
void collected_write_empty(collected_worker *w, uint32_t number);

/* Writes or skips the rows of a claim without samples. False: the engine stops. */
bool collected_fill_empty(collected_worker *w, const collected_claim *claim);

/* Sleeps while the engine is paused, unless a rewind abandons the claim. */
void collected_wait_while_paused(sli_engine *engine, const collected_claim *claim);

/* ---- the rows of buckets (collected_bucket_rows.c) ------------------------------------------- */

/* Loads the candidate of a part of a stream, and finds its bucket. A bad sample is a zeroed row of
 * the first bucket, or an error that ends the run (part->choice.error). */
void collected_load_held(collected_worker *w, collected_part *part);

/* Fills the rows of a COLLECTED_ROWS claim. False: the engine stops. */
bool collected_write_bucket_rows(collected_worker *w, const collected_claim *claim);

/* ---- documents (collected_documents.c) ------------------------------------------------------- */

/*
 * Loads the documents of a part, up to and including the first one that ends the run. Returns the
 * number of candidates processed.
 */
uint32_t collected_load_documents(collected_worker *w, collected_part *part);

/* Writes a document into the windows that it was assigned to. False: the engine stops. */
bool collected_place_document(collected_worker *w, const collected_part *part, uint32_t i);

#endif
