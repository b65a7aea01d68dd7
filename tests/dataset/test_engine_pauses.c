/* SPDX-License-Identifier: Apache-2.0 */
/* Engines that are paused and resumed: nothing is read meanwhile, and nothing is changed by it. */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "dataset_kit.h"
#include "engine_kit.h"
#include "generator_kit.h"
#include "testing.h"

static uint64_t reads(const engine_run *run)
{
    uint64_t count = 0;

    for (uint32_t i = 0; i < run->placement->worker_count; i++) {
        count += atomic_load(&sli_profile_cell(&run->profile, PLAN_READ, i)->samples);
    }
    return count;
}

/* Until this is part of what the engine says of the wait for a batch. */
static void wait_until_said(const engine_run *run, uint64_t seq, const char *words)
{
    sli_text text = {0};

    do {
        sched_yield();
        sli_text_free(&text);
        sli_engine_describe_wait(run->engine, seq, &text);
    } while (strstr(text.data, words) == NULL);
    sli_text_free(&text);
}

/* One worker is in a sample that blocks, the other waits for room with a row in its hands. */
static void a_worker_that_waited_for_room_reads_nothing_until_it_is_resumed(void)
{
    engine_run run;

    script_reset(40, SLOW);
    script.behaviours[9] = BLOCKS;
    open_own(&run, script_dataset(4, false),
             &(run_options){.workers = 2, .slots = 3, .batches = UINT64_MAX});
    script_wait_blocked(1);
    wait_until_said(&run, 3, "waits for room or is done");
    wait_until_said(&run, 3, "the batch at sample 8 of pass 0 has 3 of 4 rows");
    sli_engine_pause(run.engine, true);
    sli_engine_pause(run.engine, true);
    T_OK(next_batch(&run));
    T_OK(next_batch(&run)); /* there is room for a fourth */
    script_release();
    T_OK(next_batch(&run)); /* the row that was being read is finished */
    done_with_batch(&run);
    T_STATUS(sli_queue_wait(run.queue, 4, 20000000, false), SLUICE_TIMEOUT);
    T_EQ(reads(&run), 12);
    sli_engine_pause(run.engine, false);
    sli_engine_pause(run.engine, false);
    T_OK(next_batch(&run));
    T_EQ(*(const int32_t *)row_of(&run, 1, 0), 12);
    close_run(&run);
}

typedef struct toggler {
    sli_engine *engine;
    _Atomic bool done;
} toggler;

static void *toggle(void *arg)
{
    toggler *t = arg;

    while (!atomic_load(&t->done)) {
        sli_engine_pause(t->engine, true);
        sched_yield();
        sli_engine_pause(t->engine, false);
    }
    return NULL;
}

static void pauses_change_nothing_of_what_is_made(void)
{
    sluice_dataset *dataset =
        parsed("synthetic 103 8,8,3 | shuffle | random_crop 6 | normalize imagenet | batch 4");
    const run_options options = {.workers = 3, .batches = 200};
    tape want = record(dataset, &options);
    tape got = {.bytes = NULL};
    toggler t = {.engine = NULL};
    pthread_t thread;
    engine_run run;

    open_run(&run, dataset, &options);
    t.engine = run.engine;
    T_EQ(pthread_create(&thread, NULL, toggle, &t), 0);
    while ((got.end = next_batch(&run)) == SLUICE_OK) {
        tape_batch(&got, &run);
    }
    atomic_store(&t.done, true);
    pthread_join(thread, NULL);
    check_equal_tapes(&got, &want, "with pauses");
    close_run(&run);
    free(want.bytes);
    free(got.bytes);
    sluice_dataset_destroy(dataset);
}

static void a_paused_engine_can_be_stopped(void)
{
    sluice_dataset *dataset = parsed("synthetic 100 8,8,3 | batch 4");

    for (uint32_t batches = 0; batches < 10; batches++) {
        engine_run run;

        open_run(&run, dataset, &(run_options){.workers = 2, .batches = UINT64_MAX});
        for (uint32_t i = 0; i < batches; i++) {
            T_OK(next_batch(&run));
        }
        sli_engine_pause(run.engine, true);
        done_with_batch(&run);
        sli_engine_stop(run.engine);
        T_STATUS(next_batch(&run), SLUICE_CLOSED);
        close_run(&run);
    }
    sluice_dataset_destroy(dataset);
}

static void a_stop_makes_paused_workers_read_nothing_more(void)
{
    engine_run run;

    script_reset(40, GOOD);
    script.behaviours[9] = BLOCKS;
    open_own(&run, script_dataset(4, false), &(run_options){.batches = UINT64_MAX});
    script_wait_blocked(1);
    sli_engine_pause(run.engine, true);
    script_release();
    T_OK(next_batch(&run));
    T_OK(next_batch(&run));
    T_STATUS(sli_queue_wait(run.queue, 3, 20000000, false), SLUICE_TIMEOUT);
    sli_engine_stop(run.engine);
    T_EQ(reads(&run), 10);
    close_run(&run);
}

/* It holds the first sample of the next pass, which it has read already, and writes it later. */
static void a_worker_of_a_stream_writes_nothing_while_it_is_paused(void)
{
    enum { SAMPLES = 5 };
    atomic_int gate = GENERATOR_GATE;
    generator g = {.samples = SAMPLES, .gate = &gate};
    engine_run run;

    open_own(&run, generator_dataset(&g, "batch 1"),
             &(run_options){.slots = 8, .batches = SAMPLES + 2});
    while (atomic_load(&gate) != GENERATOR_AT_GATE) {
        sched_yield();
    }
    sli_engine_pause(run.engine, true);
    atomic_store(&gate, GENERATOR_OPEN);
    while (atomic_load(&g.calls) < SAMPLES + 2) { /* a pass, its end and one more */
        sched_yield();
    }
    for (int i = 0; i < SAMPLES; i++) {
        T_OK(next_batch(&run));
    }
    done_with_batch(&run);
    T_STATUS(sli_queue_wait(run.queue, SAMPLES + 1, 20000000, false), SLUICE_TIMEOUT);
    T_EQ(atomic_load(&g.calls), SAMPLES + 2);
    sli_engine_pause(run.engine, false);
    T_OK(next_batch(&run));
    T_EQ(*(const int64_t *)row_of(&run, 0, 0), 1000);
    close_run(&run);
}

const t_test engine_pauses_tests[] = {
    T_TEST(a_worker_that_waited_for_room_reads_nothing_until_it_is_resumed),
    T_TEST(pauses_change_nothing_of_what_is_made),
    T_TEST(a_paused_engine_can_be_stopped),
    T_TEST(a_stop_makes_paused_workers_read_nothing_more),
    T_TEST(a_worker_of_a_stream_writes_nothing_while_it_is_paused),
    T_END,
};
