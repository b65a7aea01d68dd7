/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The buckets of a run with the stage bucket, and the rows of full buckets, which workers take in
 * order. Buckets store numbers of candidates, not their data; but a sample of a stream, which
 * cannot be read again, waits as a loaded row (held_row). Not thread-safe: collected_rows.c calls
 * it under its lock.
 */
#ifndef SLUICE_COLLECTED_BUCKETS_H
#define SLUICE_COLLECTED_BUCKETS_H

#include "plan.h"

/* Marks a row without a sample. */
#define COLLECTED_NO_CANDIDATE UINT64_MAX

/* A loaded sample of a stream. */
typedef struct held_row {
    struct held_row *next;     /* in the list of free rows */
    struct held_row *next_all; /* in the list of all rows */
    uint64_t sample;
    _Alignas(64) uint8_t bytes[]; /* (plan_dealing.own_row_bytes) as a private row of a worker */
} held_row;

/* A row to fill. */
typedef struct bucket_row {
    uint64_t candidate; /* COLLECTED_NO_CANDIDATE: padding */
    uint32_t bucket;
    held_row *held; /* the sample; NULL: padding, or the source is not a stream */
} bucket_row;

typedef struct collected_buckets collected_buckets;

sluice_status collected_buckets_create(const sli_plan *plan, collected_buckets **buckets_out);
void collected_buckets_destroy(collected_buckets *buckets);

/*
 * Adds a candidate. *held: with a stream its row; NULL afterwards if the bucket has taken the row.
 * True: its bucket has a batch for each rank; the caller emits or empties it.
 */
bool collected_buckets_add(collected_buckets *buckets, uint32_t bucket, uint64_t candidate,
                           held_row **held);

/* Finds the next bucket that is not empty, from *bucket on. False: there is none. */
bool collected_buckets_next(const collected_buckets *buckets, uint32_t *bucket);

/*
 * Appends this rank's candidates in a bucket, padded to a batch, to the rows to take, and empties
 * the bucket. Returns E_NO_MEMORY on failure.
 */
sluice_status collected_buckets_emit(collected_buckets *buckets, uint32_t bucket);

/* Empties a bucket; its rows become free. */
void collected_buckets_empty(collected_buckets *buckets, uint32_t bucket);

/* Returns the number of rows to take. */
uint64_t collected_buckets_pending(const collected_buckets *buckets);

/* Takes the next `count` rows, at most collected_buckets_pending(). */
void collected_buckets_take(collected_buckets *buckets, uint32_t count, bucket_row *rows_out);

/* Empties all buckets, and abandons the rows to take. */
void collected_buckets_clear(collected_buckets *buckets);

/* Takes a free row, or allocates one. NULL: out of memory, without an error text. */
held_row *collected_buckets_hold(collected_buckets *buckets);

/* Makes a row free again. Accepts NULL. */
void collected_buckets_release(collected_buckets *buckets, held_row *held);

#endif
