/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The lengths of the passes of a run of a stream, or with filters, pack or bucket; a length is
 * known only once its pass has ended. Consecutive passes of equal length share one entry.
 *
 * A run begins at a position in its first pass, or after a number of batches. In the latter case
 * passes are read until one has more batches than are left to skip; those before it have the length
 * 0 here.
 */
#ifndef SLUICE_PASS_LENGTHS_H
#define SLUICE_PASS_LENGTHS_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sluice/status.h>

/* A pass that has ended, or the first pass that has not. */
typedef struct collected_pass {
    uint64_t number;      /* number of the pass in the run, from 0 */
    uint64_t first_batch; /* number of its first batch in the run, from 0 */
    uint64_t samples;     /* samples kept over all ranks; UINT64_MAX: the pass has not ended */
    uint64_t done;        /* samples of the pass before the run */
} collected_pass;

typedef struct pass_run pass_run;

typedef struct pass_lengths {
    pthread_mutex_t lock; /* guards the fields below */
    pass_run *runs;
    size_t count;
    size_t capacity;
    uint64_t first; /* pass in which the run begins, as far as known */
    uint64_t done;  /* samples of that pass before the run */
    bool counts;    /* the run begins after a number of batches; set before the run */
} pass_lengths;

void pass_lengths_init(pass_lengths *lengths);
void pass_lengths_free(pass_lengths *lengths);

/* Sets where the run begins: after `done` samples of its first pass, or, with `counts`, of as many
 * passes as have them. */
void pass_lengths_begin(pass_lengths *lengths, uint64_t done, bool counts);

/* The run begins after pass `number - 1`, and after `done` samples of pass `number`. */
void pass_lengths_skip(pass_lengths *lengths, uint64_t number, uint64_t done);

/* Returns the samples of pass `number` before the run. Callable from any thread. */
uint64_t pass_lengths_done(pass_lengths *lengths, uint64_t number);

/*
 * Records the length of pass `number` of the run when it ends. Passes must end in order. Returns
 * E_CORRUPT if the pass had another length before a rewind, E_NO_MEMORY if out of memory.
 */
sluice_status pass_lengths_add(pass_lengths *lengths, uint64_t number, uint64_t samples,
                               uint64_t batches);

/*
 * Finds the pass of a batch, which is numbered in the run from 0. Callable from any thread.
 */
collected_pass pass_lengths_find(pass_lengths *lengths, uint64_t batch);

/*
 * Returns the number of batches of the run up to the end of pass `number`, and the samples of that
 * pass; UINT64_MAX: the pass has not ended. Callable from any thread.
 */
uint64_t pass_lengths_end(pass_lengths *lengths, uint64_t number, uint64_t *samples_out);

#endif
