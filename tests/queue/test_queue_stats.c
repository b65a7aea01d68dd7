/* SPDX-License-Identifier: Apache-2.0 */
/* What a queue counts. */
#include <sched.h>
#include <stdatomic.h>

#include "queue_kit.h"
#include "testing.h"

/* Waits for what the copier does beside the test. */
static void stats_after(const fixture *f, uint64_t bytes_copied, sli_queue_stats *stats)
{
    do {
        sched_yield();
        sli_queue_stats_get(f->queue, stats);
    } while (!f->device->caps.host_memory && stats->bytes_copied != bytes_copied);
}

static void looks_count_how_full_the_queue_is(void)
{
    for (int i = 0; i < BACKENDS; i++) {
        sli_queue_stats stats;
        fixture f;

        open_queue(&f, backends[i], false);
        sli_queue_sample_depth(f.queue); /* finds 0 */
        produce(&f, 1);
        produce(&f, 2);
        T_OK(sli_queue_wait(f.queue, 2, -1, false));
        sli_queue_sample_depth(f.queue); /* 2 */
        produce(&f, 3);
        T_OK(sli_queue_wait(f.queue, 3, -1, false));
        sli_queue_sample_depth(f.queue); /* 3: full */
        consume(&f, 1);
        sli_queue_sample_depth(f.queue); /* 2 */
        stats_after(&f, 3 * f.layout.slot_bytes, &stats);
        T_EQ(stats.slots.capacity, SLOTS);
        T_EQ(stats.slots.depth_samples, 4);
        T_EQ(stats.slots.depth_sum, 7);
        T_EQ(stats.slots.empty, 1);
        T_EQ(stats.slots.full, 1);
        T_EQ(stats.has_staging, !f.device->caps.host_memory);
        close_queue(&f);
    }
}

static void hold(void *arg)
{
    while (!atomic_load((_Atomic bool *)arg)) {
        sched_yield();
    }
}

/* While a copy is under way its batch is not there yet: a consumer that comes finds nothing. */
static void a_batch_counts_as_there_once_it_is_copied(void)
{
    _Atomic bool go_on = false;
    sli_queue_stats stats;
    fixture f;

    open_queue(&f, "host:0,copy=1", false);
    T_OK(sli_stream_call(&f.queue->copy_stream, hold, &go_on));
    produce(&f, 1);
    T_STATUS(sli_queue_wait(f.queue, 1, 5000000, false), SLUICE_TIMEOUT);
    sli_queue_sample_depth(f.queue);
    atomic_store(&go_on, true);
    T_OK(sli_queue_wait(f.queue, 1, -1, false));
    sli_queue_sample_depth(f.queue);
    sli_queue_stats_get(f.queue, &stats);
    T_EQ(stats.slots.depth_samples, 2);
    T_EQ(stats.slots.empty, 1);
    T_EQ(stats.slots.depth_sum, 1);
    close_queue(&f);
}

/* produced = consumed + in flight, also when an error or the end ends the run. */
static void every_batch_is_accounted_for(void)
{
    for (int i = 0; i < BACKENDS; i++) {
        sli_queue_stats stats;
        sli_batch batch;
        fixture f;

        open_queue(&f, backends[i], i % 2 != 0);
        for (uint64_t seq = 1; seq <= 7; seq++) {
            produce(&f, seq);
            consume(&f, seq);
        }
        produce(&f, 8); /* in flight */
        acquire(&f, 9, &batch);
        sli_queue_row_failed(f.queue, 9, 0, SLUICE_E_IO, "no batch");
        complete(&f, 9, &batch);
        produce_end(&f, 10);
        T_OK(sli_queue_wait(f.queue, 8, -1, false));
        stats_after(&f, 8 * f.layout.slot_bytes, &stats);
        T_EQ(stats.produced, 8);
        T_EQ(stats.consumed, 7);
        T_EQ(stats.bytes_copied, f.device->caps.host_memory ? 0 : 8 * f.layout.slot_bytes);
        close_queue(&f);
    }
}

static void the_copier_counts_its_copies(void)
{
    sli_counters counters;
    sli_queue_stats stats;
    fixture f;

    memset((void *)&counters, 0, sizeof(counters));
    describe(&f, "host:0,copy=1", true);
    f.config.copy_counters = &counters;
    T_OK(sli_queue_create(&f.config, &f.queue));
    T_OK(sli_queue_start(f.queue, NULL));
    for (uint64_t seq = 1; seq <= 5; seq++) {
        produce(&f, seq);
        consume(&f, seq);
    }
    stats_after(&f, 5 * f.layout.slot_bytes, &stats);
    sli_queue_destroy(f.queue); /* the copier has ended: its counters are final */
    f.queue = NULL;
    T_EQ(atomic_load(&counters.samples), 5);
    T_EQ(atomic_load(&counters.bytes), 5 * f.layout.slot_bytes);
    T_TRUE(atomic_load(&counters.busy_ticks) > 0);
    close_queue(&f);
}

const t_test queue_stats_tests[] = {
    T_TEST(looks_count_how_full_the_queue_is),
    T_TEST(a_batch_counts_as_there_once_it_is_copied),
    T_TEST(every_batch_is_accounted_for),
    T_TEST(the_copier_counts_its_copies),
    T_END,
};
