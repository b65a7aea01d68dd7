/* SPDX-License-Identifier: Apache-2.0 */
/* Ends, errors and closing, where GetNext is a kernel. */
#include <sched.h>
#include <unistd.h>

#include <sluice/log.h>

#include "kernel_kit.h"
#include "testing.h"

/* ---- ends ------------------------------------------------------------------------------------ */

static void an_error_of_a_row_arrives_in_its_place(void)
{
    for (int i = 0; i < 2; i++) {
        sli_batch batch;
        fixture f;
        kernel k;

        fake_cuda_start(&readable);
        open_kernels(&f, transports[i], 3);
        start_kernel(&k, &f, 0);
        produce(&f, 1);
        produce(&f, 2);
        acquire(&f, 3, &batch);
        sli_queue_row_failed(f.queue, 3, 1, SLUICE_E_CORRUPT, "row one");
        complete(&f, 3, &batch);
        pthread_join(k.thread, NULL);
        T_EQ(k.kind, SLI_RING_ERROR);
        T_EQ(k.batches, 2);
        T_STATUS(sli_queue_wait(f.queue, 3, -1, false), SLUICE_E_CORRUPT);
        T_STR(sluice_last_error(), "row one");
        close_queue(&f);
        nothing_is_live();
    }
}

/* A thread in an endless acquire. */
typedef struct sleeper {
    pthread_t thread;
    sli_queue *queue;
    uint64_t seq;
    sluice_status got;
} sleeper;

static void *acquire_for_ever(void *arg)
{
    sleeper *s = arg;
    sli_batch batch;

    s->got = sli_queue_acquire(s->queue, s->seq, -1, &batch);
    return NULL;
}

static void closing_ends_waits_for_kernels(void)
{
    enum { SLEEPERS = 3 };

    for (int i = 0; i < 4; i++) {
        const uint64_t filled = i % 2 == 0 ? 6 : 3;
        sleeper sleepers[SLEEPERS];
        sli_batch batch;
        fixture f;

        fake_cuda_start(&readable);
        open_kernels(&f, transports[i % 2], 3);
        for (uint64_t seq = 1; seq <= filled; seq++) {
            produce(&f, seq);
        }
        T_STATUS(sli_queue_acquire(f.queue, filled + 1, 0, &batch), SLUICE_TIMEOUT);
        T_STATUS(sli_queue_acquire(f.queue, filled + 1, 2000000, &batch), SLUICE_TIMEOUT);
        for (int s = 0; s < SLEEPERS; s++) {
            sleepers[s] = (sleeper){.queue = f.queue, .seq = filled + 1 + (uint64_t)s};
            T_EQ(pthread_create(&sleepers[s].thread, NULL, acquire_for_ever, &sleepers[s]), 0);
        }
        usleep(i / 2 * 5000);
        sli_queue_close(f.queue);
        for (int s = 0; s < SLEEPERS; s++) {
            pthread_join(sleepers[s].thread, NULL);
            T_EQ(sleepers[s].got, SLUICE_CLOSED);
        }
        close_queue(&f);
        nothing_is_live();
    }
}

/* Each is woken by the release that makes its room, whoever of them polls. */
static void workers_wait_for_kernels_together(void)
{
    enum { SLEEPERS = 3 };
    sleeper sleepers[SLEEPERS];
    sli_getnext g;
    fixture f;

    fake_cuda_start(&readable);
    open_kernels(&f, transports[1], 3);
    memset(&g, 0, sizeof(g));
    sli_queue_getnext(f.queue, &g);
    for (uint64_t seq = 1; seq <= 3; seq++) {
        produce(&f, seq);
    }
    for (int s = SLEEPERS - 1; s >= 0; s--) { /* the last seq polls first */
        sleepers[s] = (sleeper){.queue = f.queue, .seq = 4 + (uint64_t)s};
        T_EQ(pthread_create(&sleepers[s].thread, NULL, acquire_for_ever, &sleepers[s]), 0);
        usleep(2000);
    }
    for (int s = 0; s < SLEEPERS; s++) {
        T_TRUE(is_batch(&f, &g, (uint64_t)s + 1));
        sli_ring_release(&g.ring, (uint64_t)s + 1);
        pthread_join(sleepers[s].thread, NULL);
        T_EQ(sleepers[s].got, SLUICE_OK);
    }
    close_queue(&f);
    nothing_is_live();
}

/* ---- errors of CUDA -------------------------------------------------------------------------- */

typedef struct producer {
    pthread_t thread;
    fixture *f;
    uint64_t batches;
} producer;

static void *run_producer(void *arg)
{
    producer *p = arg;
    sli_batch batch;

    for (uint64_t seq = 1; seq <= p->batches + 1; seq++) {
        if (sli_queue_acquire(p->f->queue, seq, -1, &batch) != SLUICE_OK) {
            return NULL;
        }
        if (seq <= p->batches) {
            complete(p->f, seq, &batch);
        } else {
            sli_queue_publish_end(p->f->queue, seq);
        }
    }
    return NULL;
}

/* What the sink does: polls on the device for a bounded time, yields, waits on the host. */
static sluice_status consume_all(const fixture *f, uint64_t *batches_out)
{
    sluice_status st = SLUICE_OK;
    sli_getnext g;

    memset(&g, 0, sizeof(g));
    sli_queue_getnext(f->queue, &g);
    for (uint64_t seq = 1;; seq++) {
        for (int polls = 0; polls < 100 && sli_ring_peek(&g.ring, seq) == SLI_RING_EMPTY; polls++) {
            sched_yield();
        }
        if (sli_ring_peek(&g.ring, seq) == SLI_RING_EMPTY || seq % 3 == 0) {
            st = sli_queue_wait(f->queue, seq, 20000000000, false);
        }
        switch (st == SLUICE_OK ? sli_ring_peek(&g.ring, seq) : SLI_RING_EMPTY) {
        case SLI_RING_BATCH:
            T_TRUE(is_batch(f, &g, seq));
            T_EQ(sli_queue_header(f->queue, seq)->seq, seq);
            break;
        case SLI_RING_EMPTY:
            T_TRUE(st != SLUICE_OK && st != SLUICE_TIMEOUT);
            *batches_out = seq - 1;
            return st;
        default:
            st = sli_queue_wait(f->queue, seq, 20000000000, false);
            T_TRUE(st != SLUICE_OK && st != SLUICE_TIMEOUT);
            *batches_out = seq - 1;
            return st;
        }
        sli_ring_release(&g.ring, seq);
    }
}

/* A run on a device that is open; the first error, or END_OF_DATA. */
static sluice_status run_queue(fixture *f, uint64_t batches, uint64_t *batches_out)
{
    producer p = {.f = f, .batches = batches};
    sluice_status st = sli_queue_create(&f->config, &f->queue);

    *batches_out = 0;
    if (st == SLUICE_OK) {
        st = sli_queue_start(f->queue, NULL);
    }
    if (st == SLUICE_OK) {
        T_EQ(pthread_create(&p.thread, NULL, run_producer, &p), 0);
        st = consume_all(f, batches_out);
        sli_queue_close(f->queue);
        pthread_join(p.thread, NULL);
    }
    sli_queue_destroy(f->queue);
    sluice_device_close(f->device);
    return st;
}

/* Every call of CUDA fails once: the batches before it are good, and then there is its error. */
static void whichever_call_fails_the_queue_ends_with_it(void)
{
    enum { LAST = 8 };

    sluice_log_set_level(SLUICE_LOG_OFF);
    for (int i = 0; i < 4; i++) {
        int64_t failed = 0;
        bool reached = true;

        for (int64_t good = 0; reached; good++) {
            uint64_t batches;
            sluice_status st;
            fixture f;

            fake_cuda_start(&readable);
            fake_cuda_slow_copies(i / 2 * 200);
            describe_kernels(&f, transports[i % 2], 2);
            f.device->backend = &sli_cuda_backend; /* the counted one has checks of its own */
            fake_cuda_fail_after(good, cudaErrorIllegalAddress);
            st = run_queue(&f, LAST, &batches);
            reached = fake_cuda_calls() > good;
            if (st == SLUICE_END_OF_DATA) {
                T_EQ(batches, LAST);
            } else {
                failed++;
                T_EQ(st, SLUICE_E_DEVICE);
                T_CONTAINS(sluice_last_error(), "device cuda:0: ");
                T_CONTAINS(sluice_last_error(), "cudaErrorIllegalAddress");
            }
            nothing_is_live();
        }
        T_TRUE(failed >= (i % 2 == 0 ? 80 : 3));
    }
    sluice_log_set_level(SLUICE_LOG_WARN);
}

/* A device that breaks: nothing can be published on it, so the host alone tells of it. */
static void a_device_that_breaks_ends_waits_on_the_host(void)
{
    enum { LAST = 12 };

    sluice_log_set_level(SLUICE_LOG_OFF);
    for (int64_t good = 0; good <= LAST; good++) {
        uint64_t batches;
        sluice_status st;
        fixture f;

        fake_cuda_start(&readable);
        describe_kernels(&f, transports[0], 3);
        fake_cuda_fail_copy_after(good, cudaErrorIllegalAddress);
        fake_cuda_slow_copies(good % 2 * 300);
        st = run_queue(&f, LAST, &batches);
        T_TRUE(st == SLUICE_E_DEVICE || (good > 0 && st == SLUICE_END_OF_DATA));
        if (st == SLUICE_E_DEVICE) {
            T_CONTAINS(sluice_last_error(), "cudaErrorIllegalAddress");
            T_TRUE(batches < LAST || good > 0);
        } else {
            T_EQ(batches, LAST);
        }
        nothing_is_live();
    }
    sluice_log_set_level(SLUICE_LOG_WARN);
}

/* The wait of a device that works ends, too, with all slots full of good batches before it. */
static void an_error_comes_to_the_device_behind_the_good_batches(void)
{
    sli_getnext g;
    fixture f;

    sluice_log_set_level(SLUICE_LOG_OFF);
    fake_cuda_start(&readable);
    open_kernels(&f, transports[0], 3);
    memset(&g, 0, sizeof(g));
    sli_queue_getnext(f.queue, &g);
    for (uint64_t seq = 1; seq <= 2; seq++) {
        produce(&f, seq);
        T_OK(sli_queue_wait(f.queue, seq, -1, false));
    }
    fake_cuda_fail_records(1, cudaErrorIllegalAddress);
    produce(&f, 3); /* arrives, though nobody is told when */
    T_OK(sli_queue_wait(f.queue, 3, -1, false));
    T_STATUS(sli_queue_wait(f.queue, 4, -1, false), SLUICE_E_DEVICE);
    T_CONTAINS(sluice_last_error(), "cudaEventRecord: cudaErrorIllegalAddress");
    for (uint64_t seq = 1; seq <= 3; seq++) {
        T_EQ(sli_ring_peek(&g.ring, seq), SLI_RING_BATCH);
        T_TRUE(is_batch(&f, &g, seq));
    }
    T_EQ(sli_queue_ready(f.queue, 1), 3);
    sli_ring_release(&g.ring, 1); /* now there is a place for it */
    while (sli_ring_peek(&g.ring, 4) == SLI_RING_EMPTY) {
        sched_yield();
    }
    T_EQ(sli_ring_peek(&g.ring, 4), SLI_RING_ERROR);
    T_EQ(sli_ring_peek(&g.ring, 2), SLI_RING_BATCH);
    T_STATUS(sli_queue_wait(f.queue, 4, 0, false), SLUICE_E_DEVICE);
    close_queue(&f);
    nothing_is_live();
    sluice_log_set_level(SLUICE_LOG_WARN);
}

/* ---- batches that are under way -------------------------------------------------------------- */

/* What is ordered behind a batch waits for its copy; the host knows of it, and of the end. */
static void what_was_given_is_known_before_it_arrives(void)
{
    sli_getnext g;
    cudaStream_t steps;
    fixture f;

    fake_cuda_start(&readable);
    open_kernels(&f, transports[0], 4);
    fake_cuda_use(0);
    T_EQ(cudaStreamCreateWithFlags(&steps, cudaStreamNonBlocking), cudaSuccess);
    memset(&g, 0, sizeof(g));
    sli_queue_getnext(f.queue, &g);
    T_STATUS(sli_queue_wait_given(f.queue, 1, 0), SLUICE_TIMEOUT);
    fake_cuda_hold_copies_after(0);
    produce(&f, 1);
    produce(&f, 2);
    produce_end(&f, 3);
    T_OK(sli_queue_wait_given(f.queue, 1, -1));
    T_OK(sli_queue_wait_given(f.queue, 2, -1));
    T_STATUS(sli_queue_wait_given(f.queue, 3, -1), SLUICE_END_OF_DATA);
    T_STATUS(sli_queue_wait(f.queue, 1, 0, false), SLUICE_TIMEOUT);
    T_OK(sli_queue_order(f.queue, 2, steps));
    T_EQ(cudaStreamQuery(steps), cudaErrorNotReady);
    T_EQ(sli_ring_peek(&g.ring, 2), SLI_RING_EMPTY);
    fake_cuda_hold_copies_after(-1);
    T_EQ(cudaStreamSynchronize(steps), cudaSuccess);
    T_EQ(sli_ring_peek(&g.ring, 2), SLI_RING_BATCH);
    T_TRUE(is_batch(&f, &g, 1) && is_batch(&f, &g, 2));
    T_EQ(cudaStreamDestroy(steps), cudaSuccess);
    close_queue(&f);
    nothing_is_live();
}

/* Kernels that read the workers' ring find a batch there once it is published. */
static void without_copies_given_is_there(void)
{
    fixture f;

    fake_cuda_start(&readable);
    open_kernels(&f, transports[1], 4);
    T_STATUS(sli_queue_wait_given(f.queue, 1, 0), SLUICE_TIMEOUT);
    produce(&f, 1);
    T_OK(sli_queue_wait_given(f.queue, 1, -1));
    T_OK(sli_queue_order(f.queue, 1, NULL));
    T_EQ(fake_cuda_count_of("cudaStreamWaitEvent"), 0);
    close_queue(&f);
    nothing_is_live();
}

/* After an error the copy stream is another one: the host waits for what was given before. */
static void after_an_error_of_a_copy_the_host_waits(void)
{
    fixture f;

    sluice_log_set_level(SLUICE_LOG_OFF);
    fake_cuda_start(&readable);
    open_kernels(&f, transports[0], 3);
    produce(&f, 1);
    T_OK(sli_queue_wait_given(f.queue, 1, -1));
    T_OK(sli_queue_wait(f.queue, 1, -1, false));
    fake_cuda_fail_records(1, cudaErrorIllegalAddress);
    produce(&f, 2); /* arrives, though nobody is told when */
    T_STATUS(sli_queue_wait(f.queue, 3, -1, false), SLUICE_E_DEVICE);
    T_OK(sli_queue_wait_given(f.queue, 2, -1));
    T_OK(sli_queue_order(f.queue, 1, NULL));
    T_OK(sli_queue_order(f.queue, 2, NULL));
    T_STATUS(sli_queue_wait_given(f.queue, 3, -1), SLUICE_E_DEVICE);
    T_STATUS(sli_queue_order(f.queue, 3, NULL), SLUICE_E_DEVICE);
    close_queue(&f);
    nothing_is_live();
    sluice_log_set_level(SLUICE_LOG_WARN);
}

const t_test queue_kernel_ends_tests[] = {
    T_TEST(an_error_of_a_row_arrives_in_its_place),
    T_TEST(closing_ends_waits_for_kernels),
    T_TEST(workers_wait_for_kernels_together),
    T_TEST(whichever_call_fails_the_queue_ends_with_it),
    T_TEST(a_device_that_breaks_ends_waits_on_the_host),
    T_TEST(an_error_comes_to_the_device_behind_the_good_batches),
    T_TEST(what_was_given_is_known_before_it_arrives),
    T_TEST(without_copies_given_is_there),
    T_TEST(after_an_error_of_a_copy_the_host_waits),
    T_END,
};
