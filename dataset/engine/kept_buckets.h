/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The buckets of a run with the stage bucket, and the rows of full buckets, which workers take in
 * order. Buckets store numbers of candidates, not their data; but a sample of a stream, which
 * cannot be read again, waits as a loaded row (held_row). Not thread-safe: kept_rows.c calls it
 * under its lock.
 */
#ifndef SLUICE_KEPT_BUCKETS_H
#define SLUICE_KEPT_BUCKETS_H

#include "plan.h"

/* Marks a row without a sample. */
#define KEPT_NO_CANDIDATE UINT64_MAX

/* A loaded sample of a stream. */
typedef struct held_row {
    struct held_row *next;     /* in the list of free rows */
    struct held_row *next_all; /* in the list of all rows */
    uint64_t sample;
    _Alignas(64) uint8_t bytes[]; /* (plan_details.own_row_bytes) as a private row of a worker */
} held_row;

/* A row to fill. */
typedef struct bucket_row {
    uint64_t candidate; /* KEPT_NO_CANDIDATE: padding */
    uint32_t bucket;
    held_row *held; /* the sample; NULL: padding, or the source is not a stream */
} bucket_row;

typedef struct kept_buckets kept_buckets;

sluice_status kept_buckets_create(const sli_plan *plan, kept_buckets **buckets_out);
void kept_buckets_destroy(kept_buckets *buckets);

/*
 * Adds a candidate. *held: with a stream its row; NULL afterwards if the bucket has taken the row.
 * True: its bucket has a batch for each rank; the caller emits or empties it.
 */
bool kept_buckets_add(kept_buckets *buckets, uint32_t bucket, uint64_t candidate, held_row **held);

/* Finds the next bucket that is not empty, from *bucket on. False: there is none. */
bool kept_buckets_next(const kept_buckets *buckets, uint32_t *bucket);

/*
 * Appends this rank's candidates in a bucket, padded to a batch, to the rows to take, and empties
 * the bucket. Returns E_NO_MEMORY on failure.
 */
sluice_status kept_buckets_emit(kept_buckets *buckets, uint32_t bucket);

/* Empties a bucket; its rows become free. */
void kept_buckets_empty(kept_buckets *buckets, uint32_t bucket);

/* Returns the number of rows to take. */
uint64_t kept_buckets_pending(const kept_buckets *buckets);

/* Takes the next `count` rows, at most kept_buckets_pending(). */
void kept_buckets_take(kept_buckets *buckets, uint32_t count, bucket_row *rows_out);

/* Empties all buckets, and abandons the rows to take. */
void kept_buckets_clear(kept_buckets *buckets);

/* Takes a free row, or allocates one. NULL: out of memory, without an error text. */
held_row *kept_buckets_hold(kept_buckets *buckets);

/* Makes a row free again. Accepts NULL. */
void kept_buckets_release(kept_buckets *buckets, held_row *held);

#endif
