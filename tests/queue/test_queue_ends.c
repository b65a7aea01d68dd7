/* SPDX-License-Identifier: Apache-2.0 */
/* The end of the data, errors, closing, and who is woken by what. */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#include "queue_kit.h"
#include "testing.h"

static void the_end_comes_after_the_last_batch(void)
{
    for (int i = 0; i < BACKENDS; i++) {
        sli_batch batch;
        fixture f;

        open_queue(&f, backends[i], false);
        acquire(&f, 1, &batch);
        produce_end(&f, 2); /* before the batch in front of it is complete */
        T_STATUS(sli_queue_wait(f.queue, 1, 0, false), SLUICE_TIMEOUT);
        complete(&f, 1, &batch);
        consume(&f, 1);
        T_STATUS(sli_queue_wait(f.queue, 2, -1, false), SLUICE_END_OF_DATA);
        T_STATUS(sli_queue_wait(f.queue, 2, 0, true), SLUICE_END_OF_DATA); /* and again */
        T_STATUS(sli_queue_wait(f.queue, 3, 0, false), SLUICE_TIMEOUT);
        close_queue(&f);
    }
}

/* Batches before the error are good; the error has the text of the batch's first bad row. */
static void an_error_arrives_in_order_with_the_text_of_the_lowest_row(void)
{
    for (int i = 0; i < BACKENDS; i++) {
        sli_batch batch;
        fixture f;

        open_queue(&f, backends[i], false);
        produce(&f, 1);
        acquire(&f, 2, &batch);
        sli_queue_row_failed(f.queue, 2, 3, SLUICE_E_IO, "row three");
        sli_queue_row_failed(f.queue, 2, 1, SLUICE_E_CORRUPT, "row one");
        sli_queue_row_failed(f.queue, 2, 2, SLUICE_E_IO, "row two");
        complete(&f, 2, &batch);
        produce(&f, 3);
        consume(&f, 1);
        sli_fail(SLUICE_E_INVALID, "something else");
        T_STATUS(sli_queue_wait(f.queue, 2, -1, false), SLUICE_E_CORRUPT);
        T_STR(sluice_last_error(), "row one");
        close_queue(&f);
    }
}

/* Batch 2 is done first and fails, then batch 1 fails: the consumer meets batch 1. */
static void of_several_errors_the_one_that_is_met_counts(void)
{
    for (int i = 0; i < BACKENDS; i++) {
        sli_batch first;
        sli_batch second;
        fixture f;

        open_queue(&f, backends[i], false);
        acquire(&f, 1, &first);
        acquire(&f, 2, &second);
        sli_queue_row_failed(f.queue, 2, 0, SLUICE_E_IO, "batch two");
        complete(&f, 2, &second);
        sli_queue_row_failed(f.queue, 1, 3, SLUICE_E_CORRUPT, "batch one");
        complete(&f, 1, &first);
        T_STATUS(sli_queue_wait(f.queue, 1, -1, false), SLUICE_E_CORRUPT);
        T_STR(sluice_last_error(), "batch one");
        close_queue(&f);
    }
}

static void a_failed_copy_arrives_after_the_good_batches(void)
{
    for (int i = 0; i < 2; i++) {
        fixture f;

        open_queue(&f, "host:0,copy=1,fail_after=2", i != 0);
        produce(&f, 1);
        produce(&f, 2);
        produce(&f, 3);
        consume(&f, 1);
        consume(&f, 2);
        T_STATUS(sli_queue_wait(f.queue, 3, -1, false), SLUICE_E_DEVICE);
        T_CONTAINS(sluice_last_error(), "fail_after");
        T_STATUS(sli_queue_wait(f.queue, 3, 0, true), SLUICE_E_DEVICE); /* it stays */
        T_STATUS(sli_queue_wait(f.queue, 4, 0, false), SLUICE_TIMEOUT);
        close_queue(&f);
    }
}

static void a_closed_queue_gives_nothing_more(void)
{
    for (int i = 0; i < BACKENDS; i++) {
        sli_batch batch = {.data = NULL};
        fixture f;

        open_queue(&f, backends[i], false);
        produce(&f, 1);
        T_OK(sli_queue_wait(f.queue, 1, -1, false));
        sli_queue_close(f.queue);
        T_STATUS(sli_queue_wait(f.queue, 1, -1, false), SLUICE_CLOSED);
        T_STATUS(sli_queue_wait(f.queue, 2, -1, true), SLUICE_CLOSED);
        T_STATUS(sli_queue_acquire(f.queue, 2, -1, &batch), SLUICE_CLOSED);
        T_STATUS(sli_queue_acquire(f.queue, 99, 0, &batch), SLUICE_CLOSED);
        CU_ASSERT_PTR_NULL(batch.data);
        close_queue(&f);
    }
}

/* A thread in an endless wait: what it waits for, and what it was told. */
typedef struct sleeper {
    pthread_t thread;
    sli_queue *queue;
    uint64_t seq;
    enum { ACQUIRES, SLEEPS, POLLS } how;
    sluice_status got;
} sleeper;

static void *sleep_until_told(void *arg)
{
    sleeper *s = arg;
    sli_batch batch;

    s->got = s->how == ACQUIRES ? sli_queue_acquire(s->queue, s->seq, -1, &batch)
                                : sli_queue_wait(s->queue, s->seq, -1, s->how == POLLS);
    return NULL;
}

static void start_sleepers(sleeper *sleepers, int count)
{
    for (int i = 0; i < count; i++) {
        T_EQ(pthread_create(&sleepers[i].thread, NULL, sleep_until_told, &sleepers[i]), 0);
    }
}

static void join_sleepers(sleeper *sleepers, int count, sluice_status want)
{
    for (int i = 0; i < count; i++) {
        pthread_join(sleepers[i].thread, NULL);
        T_EQ(sleepers[i].got, want);
    }
}

/* Until so many threads sleep on the event. */
static void await_waiters(sli_event *event, uint32_t count)
{
    while (atomic_load(&event->waiters) != count) {
        sched_yield();
    }
}

static void closing_wakes_everybody(void)
{
    for (int i = 0; i < BACKENDS; i++) {
        fixture f;
        sleeper sleepers[4];

        open_queue(&f, backends[i], false);
        for (uint64_t seq = 1; seq <= room(&f); seq++) {
            produce(&f, seq);
        }
        for (int s = 0; s < 4; s++) {
            sleepers[s] = (sleeper){.queue = f.queue, .seq = room(&f) + 1};
        }
        sleepers[1].seq++;
        sleepers[2].how = SLEEPS;
        sleepers[3].how = POLLS;
        start_sleepers(sleepers, 4);
        await_waiters(&f.queue->front.room, 2);
        await_waiters(&f.queue->back->ready, 1);
        sli_queue_close(f.queue);
        join_sleepers(sleepers, 4, SLUICE_CLOSED);
        close_queue(&f);
    }
}

static void a_batch_wakes_the_consumer_and_room_the_producers(void)
{
    for (int i = 0; i < BACKENDS; i++) {
        fixture f;
        sleeper consumer;
        sleeper producers[2];

        open_queue(&f, backends[i], false);
        consumer = (sleeper){.queue = f.queue, .seq = 1, .how = SLEEPS};
        start_sleepers(&consumer, 1);
        await_waiters(&f.queue->back->ready, 1);
        produce(&f, 1);
        join_sleepers(&consumer, 1, SLUICE_OK);
        for (uint64_t seq = 2; seq <= room(&f); seq++) {
            produce(&f, seq);
        }
        for (int s = 0; s < 2; s++) { /* two rows of one batch */
            producers[s] = (sleeper){.queue = f.queue, .seq = room(&f) + 1};
        }
        start_sleepers(producers, 2);
        await_waiters(&f.queue->front.room, 2);
        consume(&f, 1);
        join_sleepers(producers, 2, SLUICE_OK);
        close_queue(&f);
    }
}

const t_test queue_ends_tests[] = {
    T_TEST(the_end_comes_after_the_last_batch),
    T_TEST(an_error_arrives_in_order_with_the_text_of_the_lowest_row),
    T_TEST(of_several_errors_the_one_that_is_met_counts),
    T_TEST(a_failed_copy_arrives_after_the_good_batches),
    T_TEST(a_closed_queue_gives_nothing_more),
    T_TEST(closing_wakes_everybody),
    T_TEST(a_batch_wakes_the_consumer_and_room_the_producers),
    T_END,
};
