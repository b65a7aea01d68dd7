/* SPDX-License-Identifier: Apache-2.0 */
/* Which rows are claimed, in which runs. */
#include <pthread.h>
#include <stdlib.h>

#include "random_kit.h"
#include "row_claims.h"
#include "testing.h"

static const uint64_t ROOM = UINT64_MAX;

static void check_run(const row_run *run, uint64_t seq, uint32_t first, uint32_t count)
{
    T_EQ(run->seq, seq);
    T_EQ(run->first, first);
    T_EQ(run->count, count);
}

static void take(row_claims *claims, uint64_t room, uint32_t most, uint64_t seq, uint32_t first,
                 uint32_t count)
{
    row_run run = {0, 0, 0};

    T_EQ(row_claims_take(claims, room, most, &run), ROW_CLAIM_RUN);
    check_run(&run, seq, first, count);
}

static void runs_follow_each_other_and_end_with_their_batch(void)
{
    row_claims claims;
    row_run run;

    row_claims_init(&claims, 3, 5);
    take(&claims, ROOM, 1, 1, 0, 1);
    take(&claims, ROOM, 3, 1, 1, 3);
    take(&claims, ROOM, 3, 1, 4, 1);
    take(&claims, ROOM, 1000, 2, 0, 5);
    take(&claims, ROOM, 4, 3, 0, 4);
    take(&claims, ROOM, 4, 3, 4, 1);
    take(&claims, ROOM, 4, 4, 0, 1); /* END */
    T_EQ(row_claims_take(&claims, ROOM, 4, &run), ROW_CLAIM_NOTHING);
    T_EQ(row_claims_take(&claims, 0, 4, &run), ROW_CLAIM_NOTHING);
    T_TRUE(row_claims_need_no_room(&claims));
    row_claims_init(&claims, UINT64_MAX, 1000);
    take(&claims, ROOM, 1000, 1, 0, ROW_RUN_MOST);
    row_claims_init(&claims, 1, 1);
    take(&claims, ROOM, 9, 1, 0, 1);
    T_TRUE(!row_claims_need_no_room(&claims)); /* END is left, which needs room */
    take(&claims, ROOM, 9, 2, 0, 1);
    T_EQ(row_claims_take(&claims, ROOM, 9, &run), ROW_CLAIM_NOTHING);
    T_TRUE(row_claims_need_no_room(&claims));
}

static void no_row_is_claimed_before_its_batch_has_room(void)
{
    row_claims claims;
    row_run run;

    row_claims_init(&claims, 3, 4);
    T_EQ(row_claims_take(&claims, 0, 4, &run), ROW_CLAIM_NO_ROOM);
    T_EQ(row_claims_left(&claims, 0), 0);
    T_EQ(row_claims_left(&claims, 2), 8);
    take(&claims, 1, 3, 1, 0, 3);
    T_EQ(row_claims_next_batch(&claims), 1);
    T_EQ(row_claims_left(&claims, 1), 1);
    take(&claims, 1, 3, 1, 3, 1);
    T_EQ(row_claims_next_batch(&claims), 2);
    T_EQ(row_claims_take(&claims, 1, 4, &run), ROW_CLAIM_NO_ROOM);
    T_EQ(row_claims_left(&claims, 1), 0);
    T_EQ(row_claims_left(&claims, 100), 8); /* END counts for nothing */
    T_TRUE(!row_claims_need_no_room(&claims));
    take(&claims, 3, 4, 2, 0, 4);
    take(&claims, 3, 4, 3, 0, 4);
    T_EQ(row_claims_take(&claims, 3, 4, &run), ROW_CLAIM_NO_ROOM);
    take(&claims, 4, 4, 4, 0, 1);
}

static void rows_that_were_given_back_come_first_and_one_by_one(void)
{
    row_claims claims;
    row_run run;

    row_claims_init(&claims, 9, 64);
    take(&claims, ROOM, 10, 1, 0, 10);
    take(&claims, ROOM, 10, 1, 10, 10);
    T_TRUE(!row_claims_need_no_room(&claims));
    T_TRUE(row_claims_give_back(&claims, &(row_run){1, 7, 3}));
    T_TRUE(row_claims_need_no_room(&claims));
    T_TRUE(!row_claims_give_back(&claims, &(row_run){1, 15, 5})); /* its worker keeps them */
    take(&claims, 0, 10, 1, 7, 1);                                /* their batch has room */
    take(&claims, ROOM, 10, 1, 8, 1);
    take(&claims, ROOM, 10, 1, 9, 1);
    T_TRUE(!row_claims_need_no_room(&claims));
    T_TRUE(row_claims_give_back(&claims, &(row_run){1, 16, 4}));
    take(&claims, ROOM, 10, 1, 16, 1);
    for (uint32_t row = 17; row < 20; row++) {
        take(&claims, ROOM, 10, 1, row, 1);
    }
    take(&claims, ROOM, 10, 1, 20, 10);
    row_claims_init(&claims, 1, 1); /* the first row of all */
    take(&claims, ROOM, 1, 1, 0, 1);
    T_TRUE(row_claims_give_back(&claims, &(row_run){1, 0, 1}));
    take(&claims, ROOM, 1, 1, 0, 1);
    take(&claims, ROOM, 1, 2, 0, 1);
    T_EQ(row_claims_take(&claims, ROOM, 1, &run), ROW_CLAIM_NOTHING);
}

/* ---- threads --------------------------------------------------------------------------------- */

enum { THREADS = 4, BATCHES = 3000, BATCH = 24 };

static row_claims shared;
static _Atomic uint32_t filled[BATCHES * BATCH];
static _Atomic uint32_t ends;

/* Claims until nothing is left, giving back parts of runs as it likes. */
static void *claim_all(void *arg)
{
    uint32_t random = 1 + (uint32_t)(uintptr_t)arg;
    row_run run;

    while (row_claims_take(&shared, ROOM, 1 + test_below(&random, 12), &run) == ROW_CLAIM_RUN) {
        if (run.seq > BATCHES) {
            atomic_fetch_add(&ends, 1);
            continue;
        }
        for (uint32_t row = 0; row < run.count; row++) {
            const row_run rest = {run.seq, run.first + row + 1, run.count - row - 1};

            atomic_fetch_add(&filled[(run.seq - 1) * BATCH + run.first + row], 1);
            if (rest.count > 0 && test_below(&random, 4) == 0 &&
                row_claims_give_back(&shared, &rest)) {
                break;
            }
        }
    }
    return NULL;
}

static void threads_fill_each_row_once(void)
{
    pthread_t threads[THREADS];

    row_claims_init(&shared, BATCHES, BATCH);
    for (uintptr_t i = 0; i < THREADS; i++) {
        T_EQ(pthread_create(&threads[i], NULL, claim_all, (void *)i), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
    }
    for (size_t row = 0; row < BATCHES * BATCH; row++) {
        T_EQ(atomic_load(&filled[row]), 1);
    }
    T_EQ(atomic_load(&ends), 1);
}

/* ---- how many rows --------------------------------------------------------------------------- */

static void runs_are_as_long_as_samples_are_small(void)
{
    row_pace pace = {0};

    T_EQ(row_pace_rows(&pace, 30000), 1); /* not known */
    row_pace_note(&pace, 999, 1);
    T_EQ(row_pace_rows(&pace, 30000), 30);
    T_EQ(row_pace_rows(&pace, 0), 1); /* the time of a run is not known */
    T_EQ(row_pace_rows(&pace, 1000000), ROW_RUN_MOST);
    row_pace_note(&pace, 30 * 9999, 30);
    T_EQ(row_pace_rows(&pace, 30000), 3); /* at once */
    row_pace_note(&pace, 29999, 1);
    T_EQ(row_pace_rows(&pace, 30000), 1);
    row_pace_note(&pace, UINT64_MAX / 2, 1);
    T_EQ(row_pace_rows(&pace, 30000), 1);
}

/* A worker that was interrupted for 10 ms soon claims runs again. */
static void a_pause_of_a_worker_is_soon_forgotten(void)
{
    row_pace pace = {0};
    uint32_t rows = 0;

    for (int i = 0; i < 10; i++) {
        row_pace_note(&pace, 900, 1);
    }
    row_pace_note(&pace, 30000000, 1);
    for (uint32_t run = 0; rows < 30; run++) {
        T_TRUE(run < 60);
        rows = row_pace_rows(&pace, 30000);
        row_pace_note(&pace, 900 * rows, rows);
    }
}

const t_test row_claims_tests[] = {
    T_TEST(runs_follow_each_other_and_end_with_their_batch),
    T_TEST(no_row_is_claimed_before_its_batch_has_room),
    T_TEST(rows_that_were_given_back_come_first_and_one_by_one),
    T_TEST(threads_fill_each_row_once),
    T_TEST(runs_are_as_long_as_samples_are_small),
    T_TEST(a_pause_of_a_worker_is_soon_forgotten),
    T_END,
};
