/* SPDX-License-Identifier: Apache-2.0 */
/* Workers that wait for room, any of which can do what there is to do: few are woken. */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "queue_kit.h"
#include "testing.h"

enum { PLACES = 8, MOST_WAITERS = 3 };

static _Atomic uint32_t returned;
static _Atomic uint32_t closed;
static _Atomic bool other;

typedef struct waiter {
    pthread_t thread;
    sli_queue *queue;
    sli_room_request request;
    _Atomic long number; /* of the thread, for the kernel */
} waiter;

static bool is_other(void *arg)
{
    (void)arg;
    return atomic_load(&other);
}

static void *wait_for_room(void *arg)
{
    waiter *w = arg;

    atomic_store(&w->number, syscall(SYS_gettid));
    atomic_fetch_add(&closed, !sli_queue_await_room(w->queue, &w->request));
    atomic_fetch_add(&returned, 1);
    return NULL;
}

/* Batches that can be under way at once. */
static uint64_t most_batches(const fixture *f)
{
    return f->device->caps.host_memory ? PLACES : 2 * PLACES;
}

/* Does the thread sleep in the kernel? */
static bool sleeps(const waiter *w)
{
    char path[64];
    char state = '?';
    FILE *file;

    snprintf(path, sizeof(path), "/proc/self/task/%ld/stat", atomic_load(&w->number));
    file = fopen(path, "r");
    if (file != NULL) {
        (void)fscanf(file, "%*d (%*[^)]) %c", &state);
        fclose(file);
    }
    return state == 'S';
}

static void await_asleep(const fixture *f, const waiter *waiters, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        while (atomic_load(&f->queue->front.room.waiters) != count || !sleeps(&waiters[i])) {
            sched_yield();
        }
    }
}

/* A queue whose slots are all filled, and workers that wait for room for one more. */
static void start_waiters(fixture *f, const char *uri, waiter *waiters, uint32_t count,
                          uint64_t slots)
{
    describe(f, uri, false);
    f->config.slots = PLACES;
    T_OK(sli_queue_create(&f->config, &f->queue));
    T_OK(sli_queue_start(f->queue, NULL));
    T_EQ(sli_queue_room(f->queue), PLACES);
    for (uint64_t seq = 1; seq <= most_batches(f); seq++) {
        produce(f, seq);
    }
    atomic_store(&returned, 0);
    atomic_store(&closed, 0);
    atomic_store(&other, false);
    for (uint32_t i = 0; i < count; i++) {
        waiters[i].queue = f->queue;
        waiters[i].request =
            (sli_room_request){.seq = most_batches(f) + 1, .slots = slots, .other = is_other};
        atomic_store(&waiters[i].number, 0);
        T_EQ(pthread_create(&waiters[i].thread, NULL, wait_for_room, &waiters[i]), 0);
    }
    await_asleep(f, waiters, count);
}

static void join_waiters(waiter *waiters, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        pthread_join(waiters[i].thread, NULL);
    }
}

/* So many waiters have returned, and the others sleep: threads that run would have come here. */
static void check_returned(uint32_t want)
{
    while (atomic_load(&returned) < want) {
        sched_yield();
    }
    for (int i = 0; i < 20; i++) {
        sched_yield();
    }
    T_EQ(atomic_load(&returned), want);
}

static void one_worker_is_woken_for_a_slot(void)
{
    for (int i = 0; i < BACKENDS; i++) {
        waiter waiters[MOST_WAITERS];
        fixture f;

        start_waiters(&f, backends[i], waiters, MOST_WAITERS, 1);
        for (uint32_t n = 1; n <= MOST_WAITERS; n++) {
            consume(&f, n);
            check_returned(n);
            while (sli_queue_room(f.queue) < most_batches(&f) + n) {
                sched_yield();
            }
        }
        T_EQ(atomic_load(&closed), 0);
        join_waiters(waiters, MOST_WAITERS);
        close_queue(&f);
    }
}

/* The first sleeps until so many slots are free as it has asked for, or half of all. */
static void no_worker_is_woken_before_there_is_enough_to_do(void)
{
    static const uint64_t asked[] = {0, 1, 2, PLACES / 2, 1000000};

    for (size_t i = 0; i < BACKENDS * sizeof(asked) / sizeof(asked[0]); i++) {
        const uint64_t slots = asked[i / BACKENDS];
        const uint64_t enough = slots < 1 ? 1 : slots < PLACES / 2 ? slots : PLACES / 2;
        waiter w;
        fixture f;

        start_waiters(&f, backends[i % BACKENDS], &w, 1, slots);
        for (uint64_t seq = 1; seq < enough; seq++) {
            consume(&f, seq);
            while (sli_queue_room(f.queue) < most_batches(&f) + seq) {
                sched_yield();
            }
            check_returned(0);
        }
        consume(&f, enough);
        check_returned(1);
        join_waiters(&w, 1);
        close_queue(&f);
    }
}

/* A consumer that holds batches may wait for the next one while fewer slots are free. */
static void a_starving_consumer_wakes_a_worker_for_any_free_slot(void)
{
    for (int i = 0; i < BACKENDS; i++) {
        waiter waiters[2];
        fixture f;

        start_waiters(&f, backends[i], waiters, 2, PLACES / 2);
        sli_queue_starve(f.queue); /* there is no slot */
        check_returned(0);
        consume(&f, 1);
        while (sli_queue_room(f.queue) < most_batches(&f) + 1) {
            sched_yield();
        }
        check_returned(0);
        sli_queue_starve(f.queue);
        check_returned(1);
        sli_queue_close(f.queue);
        join_waiters(waiters, 2);
        close_queue(&f);
    }
}

static void workers_are_woken_for_something_else(void)
{
    waiter waiters[MOST_WAITERS];
    fixture f;

    start_waiters(&f, "host:0", waiters, MOST_WAITERS, 1);
    sli_queue_wake(f.queue, MOST_WAITERS);
    check_returned(0); /* there is nothing else */
    await_asleep(&f, waiters, MOST_WAITERS);
    atomic_store(&other, true);
    sli_queue_wake(f.queue, 1);
    check_returned(1);
    sli_queue_wake(f.queue, MOST_WAITERS);
    check_returned(MOST_WAITERS);
    T_EQ(atomic_load(&closed), 0);
    join_waiters(waiters, MOST_WAITERS);
    close_queue(&f);
}

static void closing_wakes_all_of_them(void)
{
    for (int i = 0; i < BACKENDS; i++) {
        waiter waiters[MOST_WAITERS];
        fixture f;

        start_waiters(&f, backends[i], waiters, MOST_WAITERS, 3);
        sli_queue_close(f.queue);
        join_waiters(waiters, MOST_WAITERS);
        T_EQ(atomic_load(&closed), MOST_WAITERS);
        close_queue(&f);
    }
}

const t_test queue_room_tests[] = {
    T_TEST(one_worker_is_woken_for_a_slot),
    T_TEST(no_worker_is_woken_before_there_is_enough_to_do),
    T_TEST(a_starving_consumer_wakes_a_worker_for_any_free_slot),
    T_TEST(workers_are_woken_for_something_else),
    T_TEST(closing_wakes_all_of_them),
    T_END,
};
