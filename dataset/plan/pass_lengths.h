/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The passes of a run whose lengths are known only once they have ended: what filters keep. Passes
 * of one length in sequence are stored once.
 */
#ifndef SLUICE_PASS_LENGTHS_H
#define SLUICE_PASS_LENGTHS_H

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

#include <sluice/status.h>

/* A pass that has ended, or the one behind them all. */
typedef struct kept_pass {
    uint64_t number;      /* in the run, from 0 */
    uint64_t first_batch; /* in the run */
    uint64_t samples;     /* over all ranks; UINT64_MAX: it has not ended */
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
 * Notes that pass `number` of the run has ended, after those before it. E_CORRUPT: it had another
 * length before a rewind; E_NO_MEMORY.
 */
sluice_status pass_lengths_add(pass_lengths *lengths, uint64_t number, uint64_t samples,
                               uint64_t batches);

/* The pass of a batch of the run. Any thread. */
kept_pass pass_lengths_find(pass_lengths *lengths, uint64_t batch);

#endif
