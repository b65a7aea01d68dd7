/* SPDX-License-Identifier: Apache-2.0 */
#include "weight_table.h"

#include "alloc_int.h"
#include "rng_int.h"
#include "status_int.h"

/* The share of an entry whose weight is the mean weight. */
static const uint64_t FULL = UINT64_C(1) << 32;

/*
 * The shares of all entries, and the entries that are not done yet: those with small shares from
 * the front of the array, those with large shares from the back.
 */
typedef struct share_work {
    uint64_t *shares;
    uint32_t *waiting;
    uint64_t small;
    uint64_t large;
    uint64_t n;
    uint32_t heaviest;
} share_work;

static void let_wait(share_work *work, uint32_t entry)
{
    if (work->shares[entry] < FULL) {
        work->waiting[work->small++] = entry;
    } else {
        work->waiting[work->n - ++work->large] = entry;
    }
}

/*
 * Computes shares; their mean is FULL. Although this is in floating point, the result is the same
 * on every machine: all operations are correctly rounded and have a fixed order.
 */
static sluice_status make_shares(const double *weights, share_work *work)
{
    double most = 0;
    double total = 0;

    for (uint64_t i = 0; i < work->n; i++) {
        if (weights[i] > most) {
            most = weights[i];
            work->heaviest = (uint32_t)i;
        }
    }
    if (!(most > 0)) {
        return sli_fail(SLUICE_E_INVALID, "all weights are 0: no sample can be drawn");
    }
    for (uint64_t i = 0; i < work->n; i++) {
        total += weights[i] / most;
    }
    for (uint64_t i = 0; i < work->n; i++) {
        const double share = weights[i] / most / total * (double)work->n * (double)FULL;

        work->shares[i] = weights[i] > 0 && share < 1 ? 1 : (uint64_t)share;
        let_wait(work, (uint32_t)i);
    }
    return SLUICE_OK;
}

/* Fills up each entry that has a small share with part of a large share. */
static void make_entries(share_work *work, weight_entry *entries)
{
    while (work->small > 0 && work->large > 0) {
        const uint32_t small = work->waiting[--work->small];
        const uint32_t large = work->waiting[work->n - work->large--];

        entries[small] = (weight_entry){(uint32_t)work->shares[small], large};
        work->shares[large] -= FULL - work->shares[small];
        let_wait(work, large);
    }
    /* The remaining entries differ from FULL only by rounding errors. */
    while (work->large > 0) {
        const uint32_t large = work->waiting[work->n - work->large--];

        entries[large] = (weight_entry){UINT32_MAX, large};
    }
    while (work->small > 0) {
        const uint32_t small = work->waiting[--work->small];

        entries[small] = (weight_entry){(uint32_t)work->shares[small], work->heaviest};
    }
}

sluice_status weight_table_make(const double *weights, uint64_t n, weight_table **table_out)
{
    const size_t bytes = sizeof(weight_table) + (size_t)n * sizeof(weight_entry);
    weight_table *table = sli_calloc(1, bytes);
    share_work work = {.n = n};
    sluice_status st;

    work.shares = sli_calloc((size_t)n, sizeof(*work.shares));
    work.waiting = sli_calloc((size_t)n, sizeof(*work.waiting));
    if (table == NULL || work.shares == NULL || work.waiting == NULL) {
        st = sli_fail(SLUICE_E_NO_MEMORY, "a table of %llu weights", (unsigned long long)n);
    } else {
        st = make_shares(weights, &work);
    }
    if (st == SLUICE_OK) {
        make_entries(&work, table->entries);
        table->n = n;
        table->bytes = bytes;
        *table_out = table;
    } else {
        sli_free(table);
    }
    sli_free(work.shares);
    sli_free(work.waiting);
    return st;
}

uint64_t weight_table_draw(const weight_table *table, uint64_t key, uint64_t pass,
                           uint64_t position)
{
    uint32_t bits[4];
    uint64_t i;

    sli_philox(key, position, pass, bits);
    i = (bits[0] * table->n + (bits[1] * table->n >> 32)) >> 32; /* from 64 random bits: the bias is
                                                                    negligible */
    return bits[2] < table->entries[i].threshold ? i : table->entries[i].alias;
}
