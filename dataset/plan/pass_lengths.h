/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The lengths of the passes of a run of a stream, or with filters, pack or bucket; a length is
 * known only once its pass has ended. Consecutive passes of equal length share one entry.
 */
#ifndef SLUICE_PASS_LENGTHS_H
#define SLUICE_PASS_LENGTHS_H

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

#include <sluice/status.h>

/* A pass that has ended, or the first pass that has not. */
typedef struct kept_pass {
    uint64_t number;      /* number of the pass in the run, from 0 */
    uint64_t first_batch; /* number of its first batch in the run, from 0 */
    uint64_t samples;     /* samples kept over all ranks; UINT64_MAX: the pass has not ended */
} kept_pass;

typedef struct pass_run pass_run;

typedef struct pass_lengths {
    pthread_mutex_t lock; /* guards the fields below */
    pass_run *runs;
    size_t count;
    size_t capacity;
} pass_lengths;

void pass_lengths_init(pass_lengths *lengths);
void pass_lengths_free(pass_lengths *lengths);

/*
 * Records the length of pass `number` of the run when it ends. Passes must end in order. Returns
 * E_CORRUPT if the pass had another length before a rewind, E_NO_MEMORY if out of memory.
 */
sluice_status pass_lengths_add(pass_lengths *lengths, uint64_t number, uint64_t samples,
                               uint64_t batches);

/*
 * Finds the pass of a batch, which is numbered in the run from 0. Callable from any thread.
 */
kept_pass pass_lengths_find(pass_lengths *lengths, uint64_t batch);

/*
 * Returns the number of batches of the run up to the end of pass `number`, and the samples of that
 * pass; UINT64_MAX: the pass has not ended. Callable from any thread.
 */
uint64_t pass_lengths_end(pass_lengths *lengths, uint64_t number, uint64_t *samples_out);

#endif
