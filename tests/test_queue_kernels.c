/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The queue where GetNext is a kernel, on the fake of CUDA: a thread of the test polls the words in
 * device memory and reads the slots, as the kernels do.
 */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <unistd.h>

#include <sluice/log.h>

#include "alloc_int.h"
#include "fake_cuda.h"
#include "queue_kit.h"
#include "testing.h"

/* The test's thread reads device memory in place. */
static const fake_cuda_machine readable = {
    .devices = 1, .driver = CUDART_VERSION, .host_reads = true};

static const char *const transports[] = {"cuda:0,transport=push", "cuda:0,transport=pull"};

static void nothing_is_live(void)
{
    const fake_cuda_live live = fake_cuda_count();

    T_EQ(live.contexts + live.blocks + live.locked + live.streams + live.events + live.pushed, 0);
}

/* As describe() and open_queue() of the kit, with kernels. */
static void describe_kernels(fixture *f, const char *uri, uint32_t slots)
{
    describe(f, uri, true);
    f->device->caps.kernels = true;
    f->config.slots = slots;
}

static void open_kernels(fixture *f, const char *uri, uint32_t slots)
{
    describe_kernels(f, uri, slots);
    T_OK(sli_queue_create(&f->config, &f->queue));
    T_OK(sli_queue_start(f->queue, NULL));
}

/* ---- a consumer like GetNext's kernels ------------------------------------------------------- */

/* Is the slot batch seq, whole? */
static bool is_batch(const fixture *f, const sli_getnext *g, uint64_t seq)
{
    const uint8_t *slot = g->slots + sli_ring_slot(&g->ring, seq) * g->slot_bytes;
    const sli_batch_header *header = (const sli_batch_header *)(const void *)slot;
    bool whole = header->seq == seq && header->position == seq - 1 && header->pass == 7;

    for (uint32_t row = 0; row < BATCH; row++) {
        int32_t label;

        memcpy(&label, slot + f->layout.offsets[1] + row * sizeof(label), sizeof(label));
        whole = whole && label == (int32_t)(seq * 100 + row);
        for (size_t i = 0; i < ROW_BYTES; i++) {
            whole =
                whole && slot[f->layout.offsets[0] + row * ROW_BYTES + i] == byte_of(seq, row, i);
        }
    }
    return whole;
}

typedef struct kernel {
    pthread_t thread;
    fixture *f;
    uint64_t batches;   /* that came, in order and whole */
    uint64_t wrong;     /* that did not */
    sli_ring_kind kind; /* by what it ended; EMPTY: it was told to */
    int64_t step_us;
    _Atomic bool stop;
} kernel;

static void *run_kernel(void *arg)
{
    kernel *k = arg;
    sli_getnext g;

    memset(&g, 0, sizeof(g));
    sli_queue_getnext(k->f->queue, &g);
    for (uint64_t seq = 1; !atomic_load(&k->stop);) {
        k->kind = sli_ring_peek(&g.ring, seq);
        if (k->kind == SLI_RING_EMPTY) {
            sched_yield();
            continue;
        }
        if (k->kind != SLI_RING_BATCH) {
            break;
        }
        if (is_batch(k->f, &g, seq)) {
            k->batches++;
        } else {
            k->wrong++;
        }
        sli_ring_release(&g.ring, seq);
        seq++;
        if (k->step_us > 0) {
            usleep((unsigned)k->step_us);
        }
    }
    return NULL;
}

static void start_kernel(kernel *k, fixture *f, int64_t step_us)
{
    memset((void *)k, 0, sizeof(*k));
    k->f = f;
    k->step_us = step_us;
    T_EQ(pthread_create(&k->thread, NULL, run_kernel, k), 0);
}

static void stop_kernel(kernel *k)
{
    atomic_store(&k->stop, true);
    pthread_join(k->thread, NULL);
}

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

/* Small batches that are staged while a copy is under way go together in the next one. */
static void batches_that_wait_share_a_copy(void)
{
    enum { LAST = 16 };
    sli_queue_stats stats;
    fixture f;
    kernel k;

    fake_cuda_start(&readable);
    open_kernels(&f, transports[0], LAST);
    start_kernel(&k, &f, 0);
    for (uint64_t seq = LAST; seq >= 1; seq--) { /* the copier can begin when all are there */
        produce(&f, seq);
    }
    T_OK(sli_queue_wait(f.queue, LAST, -1, false));
    stop_kernel(&k);
    sli_queue_stop(f.queue);
    sli_queue_stats_get(f.queue, &stats);
    T_EQ(stats.copies, 1);
    T_EQ(stats.publishes, 1);
    T_EQ(stats.bytes_copied, LAST * f.layout.slot_bytes);
    close_queue(&f);
    nothing_is_live();
}

const t_test queue_kernels_tests[] = {
    T_TEST(every_batch_arrives_once_in_order_and_whole),
    T_TEST(a_batch_is_not_there_before_its_copy_is_done),
    T_TEST(batches_that_wait_share_a_copy),
    T_END,
};
