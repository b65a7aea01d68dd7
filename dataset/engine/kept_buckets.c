/* SPDX-License-Identifier: Apache-2.0 */
#include "kept_buckets.h"

#include <string.h>

#include "alloc_int.h"
#include "status_int.h"

struct kept_buckets {
    const sli_plan *plan;
    uint32_t count;    /* number of buckets */
    uint64_t *filled;  /* (count) samples in each bucket, over all ranks */
    uint64_t *waiting; /* (count, batch_size) this rank's candidates in each bucket */
    bucket_row *rows;  /* (capacity) rows of full buckets */
    size_t capacity;   /* number of entries in rows */
    size_t first;      /* the rows to take are [first, end) */
    size_t end;
};

sluice_status kept_buckets_create(const sli_plan *plan, kept_buckets **buckets_out)
{
    const uint32_t count = plan->details->bucket.count;
    kept_buckets *buckets = sli_calloc(1, sizeof(*buckets));

    if (buckets != NULL) {
        buckets->plan = plan;
        buckets->count = count;
        buckets->filled = sli_calloc(count, sizeof(*buckets->filled));
        buckets->waiting = sli_calloc((size_t)count * plan->batch_size, sizeof(*buckets->waiting));
    }
    if (buckets == NULL || buckets->filled == NULL || buckets->waiting == NULL) {
        kept_buckets_destroy(buckets);
        return sli_fail(SLUICE_E_NO_MEMORY, "the buckets of a run");
    }
    *buckets_out = buckets;
    return SLUICE_OK;
}

void kept_buckets_destroy(kept_buckets *buckets)
{
    if (buckets != NULL) {
        sli_free(buckets->filled);
        sli_free(buckets->waiting);
        sli_free(buckets->rows);
        sli_free(buckets);
    }
}

bool kept_buckets_add(kept_buckets *buckets, uint32_t bucket, uint64_t candidate)
{
    const sli_run_settings *settings = &buckets->plan->settings;
    const uint32_t size = buckets->plan->batch_size;
    const uint64_t turn = buckets->filled[bucket]++;

    if (turn % settings->world == settings->rank) {
        buckets->waiting[(size_t)bucket * size + turn / settings->world] = candidate;
    }
    return turn + 1 == (uint64_t)size * settings->world;
}

bool kept_buckets_next(const kept_buckets *buckets, uint32_t *bucket)
{
    while (*bucket < buckets->count && buckets->filled[*bucket] == 0) {
        ++*bucket;
    }
    return *bucket < buckets->count;
}

sluice_status kept_buckets_emit(kept_buckets *buckets, uint32_t bucket)
{
    const sli_run_settings *settings = &buckets->plan->settings;
    const uint32_t size = buckets->plan->batch_size;
    const uint64_t filled = buckets->filled[bucket];
    const uint64_t own = filled / settings->world + (filled % settings->world > settings->rank);
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
        rows[buckets->end++] = (bucket_row){
            i < own ? buckets->waiting[(size_t)bucket * size + i] : KEPT_NO_CANDIDATE, bucket};
    }
    kept_buckets_empty(buckets, bucket);
    return SLUICE_OK;
}

void kept_buckets_empty(kept_buckets *buckets, uint32_t bucket)
{
    buckets->filled[bucket] = 0;
}

uint64_t kept_buckets_pending(const kept_buckets *buckets)
{
    return buckets->end - buckets->first;
}

void kept_buckets_take(kept_buckets *buckets, uint32_t count, bucket_row *rows_out)
{
    memcpy(rows_out, buckets->rows + buckets->first, count * sizeof(*rows_out));
    buckets->first += count;
}

void kept_buckets_clear(kept_buckets *buckets)
{
    memset(buckets->filled, 0, buckets->count * sizeof(*buckets->filled));
    buckets->first = buckets->end;
}
