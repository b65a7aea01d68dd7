/* SPDX-License-Identifier: Apache-2.0 */
#include "collected_buckets.h"

#include <string.h>

#include "alloc_int.h"
#include "status_int.h"

struct collected_buckets {
    const sli_plan *plan;
    uint32_t count;      /* number of buckets */
    uint64_t *filled;    /* (count) samples in each bucket, over all ranks */
    bucket_row *waiting; /* (count, batch_size) this rank's candidates in each bucket */
    bucket_row *rows;    /* (capacity) rows of full buckets */
    held_row *free;      /* rows for samples of a stream that are free, and all of them */
    held_row *all;
    size_t capacity; /* number of entries in rows */
    size_t first;    /* the rows to take are [first, end) */
    size_t end;
};

sluice_status collected_buckets_create(const sli_plan *plan, collected_buckets **buckets_out)
{
    const uint32_t count = plan->details->bucket.count;
    collected_buckets *buckets = sli_calloc(1, sizeof(*buckets));

    if (buckets != NULL) {
        buckets->plan = plan;
        buckets->count = count;
        buckets->filled = sli_calloc(count, sizeof(*buckets->filled));
        buckets->waiting = sli_calloc((size_t)count * plan->batch_size, sizeof(*buckets->waiting));
    }
    if (buckets == NULL || buckets->filled == NULL || buckets->waiting == NULL) {
        collected_buckets_destroy(buckets);
        return sli_fail(SLUICE_E_NO_MEMORY, "the buckets of a run");
    }
    *buckets_out = buckets;
    return SLUICE_OK;
}

void collected_buckets_destroy(collected_buckets *buckets)
{
    if (buckets != NULL) {
        while (buckets->all != NULL) {
            held_row *held = buckets->all;

            buckets->all = held->next_all;
            sli_free(held);
        }
        sli_free(buckets->filled);
        sli_free(buckets->waiting);
        sli_free(buckets->rows);
        sli_free(buckets);
    }
}

held_row *collected_buckets_hold(collected_buckets *buckets)
{
    const size_t bytes = buckets->plan->details->dealing.own_row_bytes;
    held_row *held = buckets->free;

    if (held != NULL) {
        buckets->free = held->next;
        return held;
    }
    held = sli_aligned_alloc(64, sizeof(*held) + bytes);
    if (held != NULL) {
        memset(held, 0, sizeof(*held) + bytes);
        atomic_fetch_add_explicit(&buckets->plan->details->dealing.held_memory,
                                  sizeof(*held) + bytes, memory_order_relaxed);
        held->next_all = buckets->all;
        buckets->all = held;
    }
    return held;
}

void collected_buckets_release(collected_buckets *buckets, held_row *held)
{
    if (held != NULL) {
        held->next = buckets->free;
        buckets->free = held;
    }
}

/* The number of this rank's samples in a bucket. */
static uint64_t own_samples(const collected_buckets *buckets, uint32_t bucket)
{
    const sli_run_settings *settings = &buckets->plan->settings;
    const uint64_t filled = buckets->filled[bucket];

    return filled / settings->world + (filled % settings->world > settings->rank);
}

bool collected_buckets_add(collected_buckets *buckets, uint32_t bucket, uint64_t candidate,
                           held_row **held)
{
    const sli_run_settings *settings = &buckets->plan->settings;
    const uint32_t size = buckets->plan->batch_size;
    const uint64_t turn = buckets->filled[bucket]++;

    if (turn % settings->world == settings->rank) {
        buckets->waiting[(size_t)bucket * size + turn / settings->world] =
            (bucket_row){candidate, bucket, *held};
        *held = NULL;
    }
    return turn + 1 == (uint64_t)size * settings->world;
}

bool collected_buckets_next(const collected_buckets *buckets, uint32_t *bucket)
{
    while (*bucket < buckets->count && buckets->filled[*bucket] == 0) {
        ++*bucket;
    }
    return *bucket < buckets->count;
}

sluice_status collected_buckets_emit(collected_buckets *buckets, uint32_t bucket)
{
    const uint32_t size = buckets->plan->batch_size;
    const uint64_t own = own_samples(buckets, bucket);
    bucket_row *rows;

    if (buckets->first == buckets->end) {
        buckets->first = buckets->end = 0;
    }
    rows = sli_grow(buckets->rows, &buckets->capacity, buckets->end + size, sizeof(*rows));
    if (rows == NULL) {
        return sli_fail(SLUICE_E_NO_MEMORY, "the rows of a bucket");
    }
    buckets->rows = rows;
    for (uint64_t i = 0; i < size; i++) {
        rows[buckets->end++] = i < own ? buckets->waiting[(size_t)bucket * size + i]
                                       : (bucket_row){COLLECTED_NO_CANDIDATE, bucket, NULL};
    }
    buckets->filled[bucket] = 0;
    return SLUICE_OK;
}

void collected_buckets_empty(collected_buckets *buckets, uint32_t bucket)
{
    const bucket_row *waiting = &buckets->waiting[(size_t)bucket * buckets->plan->batch_size];
    const uint64_t own = own_samples(buckets, bucket);

    for (uint64_t i = 0; i < own; i++) {
        collected_buckets_release(buckets, waiting[i].held);
    }
    buckets->filled[bucket] = 0;
}

uint64_t collected_buckets_pending(const collected_buckets *buckets)
{
    return buckets->end - buckets->first;
}

void collected_buckets_take(collected_buckets *buckets, uint32_t count, bucket_row *rows_out)
{
    memcpy(rows_out, buckets->rows + buckets->first, count * sizeof(*rows_out));
    buckets->first += count;
}

void collected_buckets_clear(collected_buckets *buckets)
{
    for (uint32_t i = 0; i < buckets->count; i++) {
        collected_buckets_empty(buckets, i);
    }
    for (; buckets->first < buckets->end; buckets->first++) {
        collected_buckets_release(buckets, buckets->rows[buckets->first].held);
    }
}
