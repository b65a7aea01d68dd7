/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Launches of one batch on the fake of CUDA: they are ordered behind their batch's copy, and a few
 * are under way at most.
 */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#include <sluice/log.h>

#include "clock_int.h"
#include "cuda_kit.h"
#include "testing.h"

enum { MOST_LAUNCHES = 4, KERNELS = 4 }; /* of a batch: begin, gather, the step's, next */

static const sluice_mode modes[] = {SLUICE_MODE_GRAPH, SLUICE_MODE_DATA};
static const char *const devices[] = {"cuda:0", "cuda:0,poll_us=0", "cuda:0,transport=pull"};

static void start(kit *k, size_t mode, size_t device)
{
    fake_cuda_start(&cuda_kit_machine);
    cuda_kit_init(k);
    k->device = devices[device];
    k->config.mode = modes[mode];
    k->config.digest = false;
    k->config.slots = 16;
    k->config.sink_size = 40;
    k->config.epochs = 2;
}

static void end(kit *k)
{
    kit expected;

    kit_check(k);
    kit_init(&expected);
    expected.pipeline = k->pipeline;
    expected.config.sink_size = k->config.sink_size;
    expected.config.epochs = k->config.epochs;
    expected.config.digest = false;
    T_OK(kit_run(&expected));
    T_EQ(k->count, expected.count);
    kit_check_same(&expected, k, 0, expected.count);
    kit_fini(&expected);
    kit_fini(k);
    cuda_kit_nothing_is_live();
}

/* Batches that were launched. */
static int64_t launches(const kit *k)
{
    return k->config.mode == SLUICE_MODE_GRAPH ? fake_cuda_count_of("cudaGraphLaunch")
                                               : fake_cuda_count_of("cudaLaunchKernel") / KERNELS;
}

/* Until so many were, or 20 s have passed; then some more, in which there may be further ones. */
static void await_launches(const kit *k, int64_t count)
{
    const int64_t end_ns = sli_now_ns() + 20000000000;

    while (launches(k) < count && sli_now_ns() < end_ns) {
        sched_yield();
    }
    for (int i = 0; i < 20; i++) {
        sched_yield();
    }
}

static void *run(void *arg)
{
    (void)kit_run(arg);
    return NULL;
}

static _Atomic uint64_t steps_begun;

static void hold_copies(kit *k, const sluice_step *step)
{
    (void)k;
    if (*step->step == 5) {
        fake_cuda_hold_copies_after(0);
    }
    atomic_store(&steps_begun, *step->step + 1);
}

/* Does the device wait for a copy, and has the host launched all that it may? */
static bool host_is_ahead(const kit *k)
{
    const uint64_t begun = atomic_load(&steps_begun);

    return fake_cuda_waits() > 0 && launches(k) == (int64_t)begun + MOST_LAUNCHES &&
           atomic_load(&steps_begun) == begun;
}

/* No further copy ends: the device waits for one, and the host has launched what it may. */
static void launches_do_not_wait_on_the_host_for_their_copies(void)
{
    for (size_t m = 0; m < 2; m++) {
        const int64_t end_ns = sli_now_ns() + 20000000000;
        pthread_t thread;
        kit k;

        start(&k, m, 0);
        k.device = "cuda:0,copy_streams=1"; /* which do not wait for each other */
        k.in_step = hold_copies;
        atomic_store(&steps_begun, 0);
        T_EQ(pthread_create(&thread, NULL, run, &k), 0);
        while (!host_is_ahead(&k) && sli_now_ns() < end_ns) {
            sched_yield();
        }
        T_TRUE(host_is_ahead(&k));
        fake_cuda_hold_copies_after(-1);
        pthread_join(thread, NULL);
        T_OK(k.status);
        T_EQ(k.report->stats.yields, 0);
        end(&k);
    }
}

typedef struct seen {
    int64_t most; /* launches under way */
} seen;

/* A long first step: the host launches ahead meanwhile. */
static void count_launches(kit *k, const sluice_step *step)
{
    seen *s = k->user;
    int64_t under_way;

    if (*step->step == 0) {
        await_launches(k, MOST_LAUNCHES);
    }
    under_way = launches(k) - (int64_t)*step->step;
    s->most = under_way > s->most ? under_way : s->most;
}

static void four_launches_are_under_way_at_most(void)
{
    for (size_t i = 0; i < 6; i++) {
        seen s = {0};
        kit k;

        start(&k, i % 2, i / 2);
        k.user = &s;
        k.in_step = count_launches;
        T_OK(kit_run(&k));
        T_EQ(s.most, MOST_LAUNCHES);
        end(&k);
    }
}

/* While the host waits for room. */
static void request_stop(kit *k, const sluice_step *step)
{
    if (*step->step == 5) {
        await_launches(k, 5 + MOST_LAUNCHES);
        sluice_stop_request(k->config.stop);
    }
}

static void a_stop_ends_the_wait_for_room(void)
{
    for (size_t i = 0; i < 6; i++) {
        kit k;

        start(&k, i % 2, i / 2);
        T_OK(sluice_stop_create(&k.config.stop));
        k.in_step = request_stop;
        k.config.epochs = 0;
        k.config.max_steps = 1000000;
        k.config.sink_size = 1000000;
        T_EQ(kit_run(&k), SLUICE_STOPPED);
        T_TRUE(k.count > 5 && k.count <= 6 + MOST_LAUNCHES);
        sluice_stop_destroy(k.config.stop);
        kit_fini(&k);
        cuda_kit_nothing_is_live();
    }
}

/* Behind launches that wait for nothing any more. */
static void a_kernel_that_fails_ends_the_wait_for_room(void)
{
    sluice_log_set_level(SLUICE_LOG_OFF);
    for (size_t i = 0; i < 6; i++) {
        kit k;

        start(&k, i % 2, i / 2);
        fake_cuda_fail_kernel_after(10 * KERNELS, cudaErrorLaunchFailure);
        T_EQ(kit_run(&k), SLUICE_E_DEVICE);
        T_CONTAINS(k.error, "cudaErrorLaunchFailure");
        kit_fini(&k);
        cuda_kit_nothing_is_live();
    }
    sluice_log_set_level(SLUICE_LOG_WARN);
}

const t_test cuda_order_tests[] = {
    T_TEST(launches_do_not_wait_on_the_host_for_their_copies),
    T_TEST(four_launches_are_under_way_at_most),
    T_TEST(a_stop_ends_the_wait_for_room),
    T_TEST(a_kernel_that_fails_ends_the_wait_for_room),
    T_END,
};
