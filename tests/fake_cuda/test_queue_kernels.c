/* SPDX-License-Identifier: Apache-2.0 */
/* Batches on their way to a device where GetNext is a kernel; memory, and what is counted. */
#include <sched.h>
#include <stdatomic.h>

#include "kernel_kit.h"
#include "testing.h"

/* ---- batches --------------------------------------------------------------------------------- */

static void every_batch_arrives_once_in_order_and_whole(void)
{
    enum { LAST = 300 };
    static const int64_t copy_us[] = {0, 100};
    static const int64_t step_us[] = {0, 150};

    for (uint32_t i = 0; i < 16; i++) {
        const uint32_t slots = i / 8 == 0 ? 2 : 5;
        sli_queue_stats stats;
        fixture f;
        kernel k;

        fake_cuda_start(&readable);
        fake_cuda_slow_copies(copy_us[i / 2 % 2]);
        open_kernels(&f, transports[i % 2], slots);
        start_kernel(&k, &f, step_us[i / 4 % 2]);
        for (uint64_t seq = 1; seq <= LAST; seq++) {
            produce(&f, seq);
        }
        produce_end(&f, LAST + 1);
        pthread_join(k.thread, NULL);
        T_EQ(k.kind, SLI_RING_END);
        T_EQ(k.batches, LAST);
        T_EQ(k.wrong, 0);
        T_STATUS(sli_queue_wait(f.queue, LAST + 1, -1, false), SLUICE_END_OF_DATA);
        sli_queue_stop(f.queue);
        sli_queue_stats_get(f.queue, &stats);
        T_EQ(stats.produced, LAST);
        T_EQ(stats.consumed, LAST);
        T_EQ(stats.bytes_copied, i % 2 == 0 ? LAST * f.layout.slot_bytes : 0);
        T_STR(stats.transport, i % 2 == 0 ? "push" : "pull");
        T_EQ(fake_cuda_pageable_copies(), 0);
        close_queue(&f);
        nothing_is_live();
    }
}

typedef struct workers {
    fixture *f;
    _Atomic uint64_t claimed; /* rows, of all batches */
    uint64_t batches;
} workers;

/* As the engine's: claims a row, waits for its batch's slot, writes it. */
static void *run_worker(void *arg)
{
    workers *w = arg;

    for (;;) {
        const uint64_t claim = atomic_fetch_add(&w->claimed, 1);
        const uint64_t seq = claim / BATCH + 1;
        sli_batch batch;

        if (seq > w->batches || sli_queue_acquire(w->f->queue, seq, -1, &batch) != SLUICE_OK) {
            return NULL;
        }
        fill_row(w->f, &batch, seq, (uint32_t)(claim % BATCH));
        if (sli_queue_add_rows(w->f->queue, seq, 1)) {
            memset(batch.header, 0, sizeof(*batch.header));
            batch.header->position = seq - 1;
            batch.header->pass = 7;
            sli_queue_publish(w->f->queue, seq);
        }
    }
}

static void many_workers_fill_for_kernels(void)
{
    enum { WORKERS = 4, LAST = 400 };

    for (int i = 0; i < 4; i++) {
        pthread_t threads[WORKERS];
        workers w = {.batches = LAST};
        sli_queue_stats stats;
        fixture f;
        kernel k;

        fake_cuda_start(&readable);
        open_kernels(&f, transports[i % 2], i / 2 == 0 ? 2 : 7);
        w.f = &f;
        start_kernel(&k, &f, i / 2 == 0 ? 0 : 30);
        for (int t = 0; t < WORKERS; t++) {
            T_EQ(pthread_create(&threads[t], NULL, run_worker, &w), 0);
        }
        for (int t = 0; t < WORKERS; t++) {
            pthread_join(threads[t], NULL);
        }
        produce_end(&f, LAST + 1);
        pthread_join(k.thread, NULL);
        T_EQ(k.batches, LAST);
        T_EQ(k.wrong, 0);
        sli_queue_stats_get(f.queue, &stats);
        T_EQ(stats.consumed, LAST);
        T_TRUE(i % 2 == 0 ? stats.copies <= LAST : stats.copies == 0);
        close_queue(&f);
        nothing_is_live();
    }
}

/* Neither the device's word nor the host's is there before the copy is done. */
static void a_batch_is_not_there_before_its_copy_is_done(void)
{
    uint64_t arrived = 0;
    sli_getnext g;
    fixture f;

    fake_cuda_start(&readable);
    open_kernels(&f, transports[0], 4);
    memset(&g, 0, sizeof(g));
    sli_queue_getnext(f.queue, &g);
    for (uint64_t held = 1; held <= 3; held++) {
        fake_cuda_hold_copies_after(0);
        produce(&f, held);
        T_STATUS(sli_queue_wait(f.queue, held, 5000000, false), SLUICE_TIMEOUT);
        T_EQ(sli_ring_peek(&g.ring, held), SLI_RING_EMPTY);
        T_EQ(sli_queue_ready(f.queue, 1), arrived);
        fake_cuda_hold_copies_after(-1);
        T_OK(sli_queue_wait(f.queue, held, -1, false));
        T_EQ(sli_ring_peek(&g.ring, held), SLI_RING_BATCH);
        T_TRUE(is_batch(&f, &g, held));
        arrived++;
    }
    close_queue(&f);
    nothing_is_live();
}

/* ---- several in one copy --------------------------------------------------------------------- */

/* Rows of (bytes) and nothing else: for how much goes in a copy. */
static void open_rows(fixture *f, uint64_t bytes, uint32_t slots)
{
    const sluice_column column = {.name = "x", .dtype = SLUICE_U8, .rank = 1, .shape = {bytes}};

    describe_kernels(f, transports[0], slots);
    f->config.conversion = NULL;
    T_OK(sli_layout_make(&column, 1, 1, &f->layout));
    T_OK(sli_queue_create(&f->config, &f->queue));
}

static void stage(const fixture *f, uint64_t seq)
{
    sli_batch batch;

    acquire(f, seq, &batch);
    memset(batch.header, 0, sizeof(*batch.header));
    T_TRUE(sli_queue_add_rows(f->queue, seq, 1));
    sli_queue_publish(f->queue, seq);
}

/* Copies that it takes when all batches are staged before the copier comes. */
static uint64_t copies_for(uint64_t row_bytes, uint32_t slots, uint64_t batches)
{
    sli_queue_stats stats;
    fixture f;

    fake_cuda_start(&readable);
    open_rows(&f, row_bytes, slots);
    for (uint64_t seq = 1; seq <= batches; seq++) {
        stage(&f, seq);
    }
    T_OK(sli_queue_start(f.queue, NULL));
    T_OK(sli_queue_wait(f.queue, batches, -1, false));
    T_EQ(sli_queue_ready(f.queue, 1), batches);
    sli_queue_stop(f.queue);
    sli_queue_stats_get(f.queue, &stats);
    T_EQ(stats.bytes_copied, batches * f.layout.slot_bytes);
    T_EQ(stats.publishes, stats.copies);
    close_queue(&f);
    nothing_is_live();
    return stats.copies;
}

static void batches_that_wait_share_a_copy(void)
{
    T_EQ(copies_for(100, 16, 16), 1);
    T_EQ(copies_for(100, 128, 128), 2);         /* 64 and 64 */
    T_EQ(copies_for((1 << 18) - 512, 9, 9), 3); /* four are 1 MiB */
    T_EQ(copies_for((1 << 18) - 511, 9, 9), 3); /* three are less than that */
    T_EQ(copies_for((1 << 19) - 511, 4, 4), 4);
    T_EQ(copies_for(1 << 21, 3, 3), 3);
}

/* Neighbours are so in memory: the first slot does not follow the last. */
static void a_copy_does_not_go_round_the_end_of_the_ring(void)
{
    sli_queue_stats stats;
    sli_getnext g;
    fixture f;

    fake_cuda_start(&readable);
    open_kernels(&f, transports[0], 4);
    memset(&g, 0, sizeof(g));
    sli_queue_getnext(f.queue, &g);
    for (uint64_t seq = 1; seq <= 4; seq++) {
        produce(&f, seq);
        T_OK(sli_queue_wait(f.queue, seq, -1, false));
    }
    for (uint64_t seq = 5; seq <= 8; seq++) {
        produce(&f, seq);
    }
    sli_ring_release(&g.ring, 3); /* room for 5, 6 and 7, in slots 0 to 2 */
    T_OK(sli_queue_wait(f.queue, 7, -1, false));
    produce(&f, 9);
    produce(&f, 10);
    T_EQ(sli_ring_peek(&g.ring, 8), SLI_RING_EMPTY);
    sli_ring_release(&g.ring, 6); /* for 8, 9 and 10, in slots 3, 0 and 1 */
    T_OK(sli_queue_wait(f.queue, 10, -1, false));
    for (uint64_t seq = 7; seq <= 10; seq++) {
        T_EQ(sli_ring_peek(&g.ring, seq), SLI_RING_BATCH);
        T_TRUE(is_batch(&f, &g, seq));
    }
    sli_queue_stats_get(f.queue, &stats);
    T_EQ(stats.copies, 4 + 1 + 2);
    T_EQ(stats.consumed, 6);
    close_queue(&f);
    nothing_is_live();
}

/* ---- accounting ------------------------------------------------------------------------------ */

/* The copier tells of what has arrived without being given more, and of the rest when it stops. */
static void copies_are_accounted_for_when_they_arrive(void)
{
    sli_counters counters;
    sli_queue_stats stats;
    uint64_t before;
    fixture f;

    memset((void *)&counters, 0, sizeof(counters));
    fake_cuda_start(&readable);
    describe_kernels(&f, transports[0], 4);
    f.config.copy_counters = &counters;
    T_OK(sli_queue_create(&f.config, &f.queue));
    T_OK(sli_queue_start(f.queue, NULL));
    fake_cuda_slow_copies(2000);
    for (uint64_t seq = 1; seq <= 3; seq++) {
        produce(&f, seq);
    }
    do {
        sched_yield();
        sli_queue_stats_get(f.queue, &stats);
    } while (stats.bytes_copied != 3 * f.layout.slot_bytes);
    before = stats.copies;
    produce(&f, 4);
    do {
        sched_yield();
        sli_queue_stats_get(f.queue, &stats);
    } while (stats.copies == before);
    sli_queue_stop(f.queue);
    sli_queue_stats_get(f.queue, &stats);
    T_EQ(stats.bytes_copied, 4 * f.layout.slot_bytes);
    T_EQ(atomic_load(&counters.samples) * f.layout.slot_bytes, stats.bytes_copied);
    T_EQ(atomic_load(&counters.bytes), stats.bytes_copied);
    T_TRUE(atomic_load(&counters.busy_ticks) > 0);
    close_queue(&f);
    nothing_is_live();
}

/* A copy, its words, an event behind them, a wait for it; where copies are under way, one call more
 * for the order of the words. */
static void a_batch_costs_five_calls_of_cuda_at_most(void)
{
    int64_t before;
    fixture f;
    kernel k;

    for (int i = 0; i < 2; i++) {
        fake_cuda_start(&readable);
        open_kernels(&f, transports[i], 3);
        start_kernel(&k, &f, 0);
        produce(&f, 1); /* the library's threads have made their first calls */
        T_OK(sli_queue_wait(f.queue, 1, -1, false));
        before = fake_cuda_calls();
        for (uint64_t seq = 2; seq <= 101; seq++) {
            produce(&f, seq);
        }
        produce_end(&f, 102);
        pthread_join(k.thread, NULL);
        T_EQ(k.batches, 101);
        T_STATUS(sli_queue_wait(f.queue, 102, -1, false), SLUICE_END_OF_DATA);
        T_TRUE(fake_cuda_calls() - before <= (i == 0 ? 5 * 100 + 3 : 0));
        close_queue(&f);
        nothing_is_live();
    }
}

/* ---- memory, and what kernels are given ------------------------------------------------------ */

static void memory_is_what_was_computed_before(void)
{
    for (int i = 0; i < 4; i++) {
        sli_queue_memory memory;
        fixture f;

        fake_cuda_start(&readable);
        describe_kernels(&f, transports[i % 2], SLOTS);
        f.config.conversion = i / 2 == 0 ? &f.conversion : NULL;
        sli_queue_memory_of(&f.config, &memory);
        T_OK(sli_queue_create(&f.config, &f.queue));
        T_EQ(memory.slot_bytes, device_bytes);
        T_EQ(memory.staging_bytes, registered_bytes);
        T_EQ(registrations, 1);
        T_TRUE(i % 2 == 0 || memory.slot_bytes < SLOTS * f.layout.slot_bytes + 4096);
        close_queue(&f);
        nothing_is_live();
    }
}

/* Words that an earlier queue left there would be taken for batches. */
static void no_word_is_there_before_the_first_batch(void)
{
    for (int i = 0; i < TRANSPORTS; i++) {
        sli_getnext g;
        fixture f;

        fake_cuda_start(&readable);
        open_kernels(&f, transports[i], 7);
        memset(&g, 0, sizeof(g));
        sli_queue_getnext(f.queue, &g);
        T_EQ(g.ring.slots, 7);
        T_EQ(g.slot_bytes, f.layout.slot_bytes);
        T_EQ(sli_ring_load_acquire(g.ring.consumed), 0);
        for (uint64_t slot = 0; slot < 7; slot++) {
            T_EQ(sli_ring_load_acquire(&g.ring.ready[slot]), 0);
        }
        T_EQ(fake_cuda_device_of(g.slots), i == 0 ? 0 : -1);
        T_EQ(fake_cuda_device_of(g.ring.ready), i == 0 ? 0 : -1);
        T_EQ(fake_cuda_device_of(g.ring.consumed), -1);
        close_queue(&f);
    }
}

static void making_a_queue_survives_running_out_of_memory(void)
{
    for (int i = 0; i < 2; i++) {
        fixture f;

        fake_cuda_start(&readable);
        describe_kernels(&f, transports[i], SLOTS);
        T_TRUE(open_without_memory(&f) >= 6);
        close_queue(&f);
        nothing_is_live();
    }
}

/* Tensors at fixed places, with or without a conversion, and the header behind them. */
static void a_gather_goes_from_slots_to_outputs(void)
{
    for (int i = 0; i < 4; i++) {
        const sluice_tensor *tensors;
        const uint8_t *header;
        sli_gather gather;
        uint32_t count;
        fixture f;

        fake_cuda_start(&readable);
        describe_kernels(&f, transports[i % 2], SLOTS);
        f.config.conversion = i / 2 == 0 ? &f.conversion : NULL;
        T_OK(sli_queue_create(&f.config, &f.queue));
        tensors = sli_queue_outputs(f.queue, 0, &count);
        header = (const uint8_t *)sli_queue_device_header(f.queue, 0);
        T_OK(sli_queue_gather(f.queue, 0, &gather));
        T_EQ(count, 2);
        T_TRUE((const uint8_t *)tensors[1].data - (uint8_t *)tensors[0].data >=
               (ptrdiff_t)tensors[0].bytes);
        T_TRUE(header - (uint8_t *)tensors[1].data >= (ptrdiff_t)tensors[1].bytes);
        T_TRUE(header - (uint8_t *)f.queue->outputs_memory + (ptrdiff_t)sizeof(sli_batch_header) <=
               (ptrdiff_t)f.queue->outputs_bytes);
        T_EQ((uintptr_t)header % 256, 0);
        T_EQ(fake_cuda_device_of(header), 0);
        T_EQ(gather.copy_count, i / 2 == 0 ? 2 : 3);
        T_TRUE(gather.copies[gather.copy_count - 1].to == header);
        T_TRUE(i / 2 != 0 || gather.image.to == tensors[0].data);
        T_TRUE(i / 2 == 0 || gather.copies[0].to == tensors[0].data);
        close_queue(&f);
        nothing_is_live();
    }
}

/* Workers are as far ahead as they can be, and a step that collects late looks back. */
static void samples_and_headers_live_on_for_a_while(void)
{
    enum { HISTORY = 5 };

    for (int i = 0; i < 2; i++) {
        const uint64_t ahead = i == 0 ? 6 : 3;
        uint64_t made = 0;
        sli_getnext g;
        fixture f;

        fake_cuda_start(&readable);
        describe_kernels(&f, transports[i], 3);
        f.config.history = HISTORY;
        T_OK(sli_queue_create(&f.config, &f.queue));
        T_OK(sli_queue_start(f.queue, NULL));
        memset(&g, 0, sizeof(g));
        sli_queue_getnext(f.queue, &g);
        for (uint64_t seq = 1; seq <= 40; seq++) { /* seq is in the step; its slot is released */
            while (made < seq - 1 + ahead) {
                produce(&f, ++made);
            }
            T_OK(sli_queue_wait(f.queue, seq, -1, false));
            sli_ring_release(&g.ring, seq);
            produce(&f, ++made);
            for (uint64_t old = seq > HISTORY ? seq - HISTORY : 1; old <= seq; old++) {
                T_EQ(sli_queue_header(f.queue, old)->seq, old);
                T_EQ(sli_queue_header(f.queue, old)->position, old - 1);
                T_EQ(sli_queue_samples(f.queue, old)[BATCH - 1], old * 1000 + BATCH - 1);
            }
        }
        close_queue(&f);
        nothing_is_live();
    }
}

const t_test queue_kernels_tests[] = {
    T_TEST(every_batch_arrives_once_in_order_and_whole),
    T_TEST(many_workers_fill_for_kernels),
    T_TEST(a_batch_is_not_there_before_its_copy_is_done),
    T_TEST(batches_that_wait_share_a_copy),
    T_TEST(a_copy_does_not_go_round_the_end_of_the_ring),
    T_TEST(copies_are_accounted_for_when_they_arrive),
    T_TEST(a_batch_costs_five_calls_of_cuda_at_most),
    T_TEST(memory_is_what_was_computed_before),
    T_TEST(no_word_is_there_before_the_first_batch),
    T_TEST(making_a_queue_survives_running_out_of_memory),
    T_TEST(a_gather_goes_from_slots_to_outputs),
    T_TEST(samples_and_headers_live_on_for_a_while),
    T_END,
};
