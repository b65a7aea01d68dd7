/* SPDX-License-Identifier: Apache-2.0 */
#include "row_claims.h"

/*
 * Released rows are packed into one word: the index of the first one, shifted, and their number in
 * the low bits.
 */
enum { COUNT_BITS = 8 };

static const uint64_t COUNT_MASK = (1 << COUNT_BITS) - 1;

_Static_assert(ROW_RUN_MOST < 1 << COUNT_BITS, "a run fits the word of rows that are given back");

void row_claims_init(row_claims *claims, uint64_t batches, uint32_t batch_size)
{
    claims->batches = batches;
    claims->batch_size = batch_size;
    atomic_store_explicit(&claims->next, 0, memory_order_relaxed);
    atomic_store_explicit(&claims->spare, 0, memory_order_relaxed);
}

static row_run run_at(const row_claims *claims, uint64_t row, uint32_t count)
{
    return (row_run){row / claims->batch_size + 1, (uint32_t)(row % claims->batch_size), count};
}

/* True if the run is after END. END takes one row after the last batch. */
static bool is_past_end(const row_claims *claims, const row_run *run)
{
    return run->seq > claims->batches && (run->seq - claims->batches > 1 || run->first > 0);
}

/* Claims the first released row. False: no released rows. */
static bool take_spare(row_claims *claims, row_run *run_out)
{
    uint64_t spare = atomic_load_explicit(&claims->spare, memory_order_relaxed);

    while (spare != 0) {
        const uint64_t row = spare >> COUNT_BITS;
        const uint64_t count = spare & COUNT_MASK;
        const uint64_t rest = count > 1 ? (row + 1) << COUNT_BITS | (count - 1) : 0;

        /*
         * Relaxed: nothing but the word itself is passed between workers. No value except 0 occurs
         * twice, since a row is released at most once; so there is no ABA problem.
         */
        if (atomic_compare_exchange_weak_explicit(&claims->spare, &spare, rest,
                                                  memory_order_relaxed, memory_order_relaxed)) {
            *run_out = run_at(claims, row, 1);
            return true;
        }
    }
    return false;
}

row_claim row_claims_take(row_claims *claims, uint64_t room, uint32_t most, row_run *run_out)
{
    uint64_t next = atomic_load_explicit(&claims->next, memory_order_relaxed);

    if (take_spare(claims, run_out)) {
        return ROW_CLAIM_RUN;
    }
    for (;;) {
        row_run run = run_at(claims, next, most < ROW_RUN_MOST ? most : ROW_RUN_MOST);

        if (is_past_end(claims, &run)) {
            return ROW_CLAIM_NOTHING;
        }
        if (run.seq > room) {
            return ROW_CLAIM_NO_ROOM;
        }
        if (run.seq > claims->batches) {
            run.count = 1; /* END */
        } else if (run.count > claims->batch_size - run.first) {
            run.count = claims->batch_size - run.first;
        }
        if (atomic_compare_exchange_weak_explicit(&claims->next, &next, next + run.count,
                                                  memory_order_relaxed, memory_order_relaxed)) {
            *run_out = run;
            return ROW_CLAIM_RUN;
        }
    }
}

bool row_claims_give_back(row_claims *claims, const row_run *run)
{
    const uint64_t row = (run->seq - 1) * claims->batch_size + run->first;
    uint64_t none = 0;

    return atomic_compare_exchange_strong_explicit(&claims->spare, &none,
                                                   row << COUNT_BITS | run->count,
                                                   memory_order_relaxed, memory_order_relaxed);
}

uint64_t row_claims_next_batch(const row_claims *claims)
{
    return atomic_load_explicit(&claims->next, memory_order_relaxed) / claims->batch_size + 1;
}

bool row_claims_need_no_room(const row_claims *claims)
{
    const row_run next =
        run_at(claims, atomic_load_explicit(&claims->next, memory_order_relaxed), 1);

    return atomic_load_explicit(&claims->spare, memory_order_relaxed) != 0 ||
           is_past_end(claims, &next);
}

uint64_t row_claims_left(const row_claims *claims, uint64_t room)
{
    const uint64_t last = room < claims->batches ? room : claims->batches;
    const uint64_t next = atomic_load_explicit(&claims->next, memory_order_relaxed);

    return last * claims->batch_size > next ? last * claims->batch_size - next : 0;
}

uint32_t row_pace_rows(const row_pace *pace, uint64_t run_ticks)
{
    const uint64_t rows = pace->row_ticks > 0 ? run_ticks / pace->row_ticks : 1;

    return rows > ROW_RUN_MOST ? ROW_RUN_MOST : rows > 1 ? (uint32_t)rows : 1;
}

void row_pace_note(row_pace *pace, uint64_t ticks, uint32_t rows)
{
    const uint64_t row_ticks = ticks / rows + 1;

    pace->row_ticks = row_ticks > pace->row_ticks
                          ? row_ticks
                          : pace->row_ticks - (pace->row_ticks - row_ticks) / 4;
}
