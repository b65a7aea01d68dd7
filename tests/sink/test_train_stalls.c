/* SPDX-License-Identifier: Apache-2.0 */
/* Runs in which no step ends for long: late data, long steps and hooks, a suspended process. */
#include <pthread.h>
#include <sched.h>

#include "clock_int.h"
#include "hooks.h"
#include "stall_monitor.h"
#include "testing.h"
#include "train_kit.h"

static const sluice_mode modes[] = {SLUICE_MODE_DIRECT, SLUICE_MODE_DATA, SLUICE_MODE_GRAPH,
                                    SLUICE_MODE_LOOP};

static void release(kit *k)
{
    kit_source_release(k->user);
}

/* Batches of 2 from a source that blocks at this sample, until workers have to come back. */
static void init_blocked(kit *k, kit_source *source, uint64_t block_at)
{
    kit_source_init(source, 100);
    source->block_at = block_at;
    kit_init(k);
    k->dataset = kit_source_dataset(source, 2);
    k->act_in = KIT_TRAIN_END;
    k->act = release;
    k->user = source;
}

static void fini_blocked(kit *k)
{
    sluice_dataset_destroy(k->dataset);
    kit_fini(k);
}

/* One of two workers blocks at sample 21, and the other has begun 22: all before them are there. */
static void wait_until_all_but_one_are_there(kit *k, const sluice_step *step)
{
    const kit_source *source = k->user;

    while (*step->step == 0 &&
           !(atomic_load(&source->blocks) && atomic_load(&source->reads[22]) > 0)) {
        sched_yield();
    }
}

static void a_source_that_blocks_is_warned_of_then_given_up(void)
{
    static const char *const devices[] = {"host:0", "host:0,copy=1", "host:0,spin_us=5"};

    for (size_t i = 0; i < COUNT(modes) * COUNT(devices); i++) {
        const char *log;
        kit_source source;
        kit k;

        init_blocked(&k, &source, 21); /* of batch 10 */
        k.device = devices[i / COUNT(modes)];
        k.config.mode = modes[i % COUNT(modes)];
        k.config.workers = 2;
        k.config.slots = 16;
        k.config.sink_size = 7;
        k.config.epochs = 7;
        k.config.stall_warning_ms = 20;
        k.config.stall_timeout_ms = 60;
        k.in_step = wait_until_all_but_one_are_there;
        kit_log_start(NULL, NULL);
        T_STATUS(kit_run(&k), SLUICE_E_STALLED);
        log = kit_log_stop();
        T_CONTAINS(log, "step 10 waits for data; the batch at sample 20 of pass 0 has 1 of 2 rows");
        T_CONTAINS(log, "is in read of kit/21 for ");
        T_CONTAINS(k.error,
                   "step 10 waits for data; the batch at sample 20 of pass 0 has 1 of 2 rows");
        T_CONTAINS(k.error, "is in read of kit/21 for ");
        kit_check(&k);
        T_EQ(k.count, 10); /* steps of the launch that was given up are counted */
        fini_blocked(&k);
    }
}

static void a_stall_is_given_up_also_where_the_warning_would_come_later(void)
{
    kit_source source;
    kit k;

    init_blocked(&k, &source, 0);
    k.config.stall_timeout_ms = 20; /* and a warning after half a minute */
    kit_log_start(NULL, NULL);
    T_STATUS(kit_run(&k), SLUICE_E_STALLED);
    (void)kit_log_stop();
    T_CONTAINS(k.error, "step 0 waits for data; the batch at sample 0 of pass 0 has ");
    kit_check(&k);
    fini_blocked(&k);
}

/* A clock that a suspension, or whoever sets it, puts forward. */
static _Atomic int64_t clock_ahead_ns;
static _Atomic uint64_t clock_reads;

static int64_t jumping_clock(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    atomic_fetch_add(&clock_reads, 1);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec + atomic_load(&clock_ahead_ns);
}

typedef struct jumper {
    const kit *k;
    kit_source *source;
} jumper;

/* Puts the clock forward while a step waits for data, which come some polls later. */
static void *jump_while_blocked(void *arg)
{
    const jumper *j = arg;
    uint64_t reads;

    while (!atomic_load(&j->source->blocks) || atomic_load(&j->k->calls) < 10) {
        sched_yield();
    }
    atomic_store(&clock_ahead_ns, 1000 * INT64_C(1000000000));
    reads = atomic_load(&clock_reads);
    while (atomic_load(&clock_reads) < reads + 20) {
        sched_yield();
    }
    kit_source_release(j->source);
    return NULL;
}

static void time_in_which_the_process_is_suspended_is_no_stall(void)
{
    for (size_t m = 0; m < COUNT(modes); m++) {
        pthread_t thread;
        kit_source source;
        jumper j;
        kit k;

        init_blocked(&k, &source, 21);
        k.config.mode = modes[m];
        j = (jumper){&k, &source};
        atomic_store(&clock_ahead_ns, 0);
        sli_clock_replace(jumping_clock);
        T_EQ(pthread_create(&thread, NULL, jump_while_blocked, &j), 0);
        kit_log_start(NULL, NULL);
        T_OK(kit_run(&k));
        pthread_join(thread, NULL);
        sli_clock_replace(NULL);
        T_STR(kit_log_stop(), "");
        T_EQ(k.count, 50);
        fini_blocked(&k);
    }
}

static void wait_for_warning(kit *k, const sluice_step *step)
{
    (void)k;
    if (*step->step == 5) {
        kit_log_await();
    }
}

/* In graph mode the host waits for the next batch meanwhile, which only the step can make room for.
 */
static void a_step_that_takes_long_is_warned_of_but_is_no_stall(void)
{
    static const sluice_mode launched[] = {SLUICE_MODE_DIRECT, SLUICE_MODE_GRAPH, SLUICE_MODE_LOOP};

    for (size_t m = 0; m < COUNT(launched); m++) {
        const char *log;
        kit k;

        kit_init(&k);
        k.config.mode = launched[m];
        k.config.stall_warning_ms = 300;
        k.config.stall_timeout_ms = 300; /* it would be one at once */
        k.in_step = wait_for_warning;
        kit_log_start_awaited("no step ended for");
        T_OK(kit_run(&k));
        log = kit_log_stop();
        T_CONTAINS(log, "the step function is running (step 5)");
        kit_check(&k);
        kit_fini(&k);
    }
}

/* A source that takes long and comes back: a warning, and the run goes on. */
static void release_when_warned(const char *message, void *user)
{
    if (strstr(message, "step 10 waits for data") != NULL) {
        kit_source_release(user);
    }
}

static void data_that_come_late_are_trained_on(void)
{
    for (size_t m = 0; m < COUNT(modes); m++) {
        kit_source source;
        kit k;

        init_blocked(&k, &source, 21);
        k.config.mode = modes[m];
        k.config.stall_warning_ms = 10;
        kit_log_start(release_when_warned, &source);
        T_OK(kit_run(&k));
        T_CONTAINS(kit_log_stop(), "step 10 waits for data");
        kit_check(&k);
        T_EQ(k.count, 50);
        /* It lasted from the last step to the warning at least, and counts in every mode. */
        T_TRUE(k.report->stats.data_wait_share * k.report->stats.seconds > 0.009);
        fini_blocked(&k);
    }
}

static program_progress no_progress(const sink_program *program)
{
    (void)program;
    return (program_progress){.batches_done = 0};
}

/* What a hook takes, validation for one, is not time without a step. */
static void hooks_that_take_long_are_no_stall(void)
{
    static const program_ops ops = {.progress = no_progress};
    sluice_callback callbacks[] = {{.user = NULL}, {.epoch_begin = kit_ignore}};
    sink_program program = {.ops = &ops};
    train_run run = {.program = &program};
    sluice_hook hook = {.stop = false};

    run.config.stall_warning_ms = 1000;
    run.config.stall_timeout_ms = 2000;
    run.config.micro_batches = 1;
    for (uint32_t with = 1; with <= 2; with++) {
        run.callbacks = callbacks;
        run.config.callback_count = with;
        run.watch.still.ns = 10 * INT64_C(1000000000);
        kit_log_start(NULL, NULL);
        T_OK(train_call_hooks(&run, HOOK_EPOCH_BEGIN, &hook));
        T_OK(train_watch(&run));
        if (with == 1) { /* nobody's hook was called: ten seconds without a step */
            T_CONTAINS(kit_log_stop(), "the step function is running");
        } else {
            T_STR(kit_log_stop(), "");
        }
        run.watch.stall_warned = false;
    }
}

/* Waits for data from the third call on: the launch has yielded, and the host waits. */
static program_progress late_wait(const sink_program *program)
{
    static int calls;

    (void)program;
    return (program_progress){.batches_done = 0, .waits_for_data = ++calls > 2};
}

static void a_stall_is_judged_and_reported_by_one_poll(void)
{
    static const program_ops ops = {.progress = late_wait};
    sink_program program = {.ops = &ops};
    train_run run = {.program = &program}; /* without an engine, which would be asked for data */

    run.config.stall_warning_ms = 1000;
    run.config.stall_timeout_ms = 2000;
    run.config.micro_batches = 1;
    run.watch.still.ns = 10 * INT64_C(1000000000);
    kit_log_start(NULL, NULL);
    T_OK(train_watch(&run));
    T_CONTAINS(kit_log_stop(), "the step function is running");
}

typedef struct stopper {
    kit *k;
    kit_source *source;
    sluice_stop *stop;
} stopper;

static void *stop_when_blocked(void *arg)
{
    const stopper *s = arg;

    while (!atomic_load(&s->source->blocks) || atomic_load(&s->k->calls) < 10) {
        sched_yield();
    }
    sluice_stop_request(s->stop);
    return NULL;
}

static void a_stop_ends_a_run_whose_source_blocks(void)
{
    static const char *const devices[] = {"host:0", "host:0,copy=1", "host:0,spin_us=5"};
    sluice_stop *stop = NULL;

    T_OK(sluice_stop_create(&stop));
    for (size_t i = 0; i < COUNT(modes) * COUNT(devices); i++) {
        stopper s = {.stop = stop};
        kit_source source;
        pthread_t thread;
        kit k;

        init_blocked(&k, &source, 21);
        s.k = &k;
        s.source = &source;
        k.device = devices[i / COUNT(modes)];
        k.config.mode = modes[i % COUNT(modes)];
        k.config.stop = stop;
        T_EQ(pthread_create(&thread, NULL, stop_when_blocked, &s), 0);
        T_STATUS(kit_run(&k), SLUICE_STOPPED);
        pthread_join(thread, NULL);
        kit_check(&k);
        T_EQ(k.count, 10);
        sluice_stop_clear(stop);
        fini_blocked(&k);
    }
    sluice_stop_destroy(stop);
}

static void a_limit_of_time_ends_a_run_whose_source_blocks(void)
{
    for (size_t m = 0; m < COUNT(modes); m++) {
        kit_source source;
        kit k;

        init_blocked(&k, &source, 21);
        k.config.mode = modes[m];
        k.config.max_seconds = 0.02;
        T_OK(kit_run(&k));
        kit_check(&k);
        T_TRUE(k.count <= 10);
        fini_blocked(&k);
    }
}

const t_test train_stalls_tests[] = {
    T_TEST(a_source_that_blocks_is_warned_of_then_given_up),
    T_TEST(time_in_which_the_process_is_suspended_is_no_stall),
    T_TEST(a_stall_is_given_up_also_where_the_warning_would_come_later),
    T_TEST(a_step_that_takes_long_is_warned_of_but_is_no_stall),
    T_TEST(data_that_come_late_are_trained_on),
    T_TEST(hooks_that_take_long_are_no_stall),
    T_TEST(a_stall_is_judged_and_reported_by_one_poll),
    T_TEST(a_stop_ends_a_run_whose_source_blocks),
    T_TEST(a_limit_of_time_ends_a_run_whose_source_blocks),
    T_END,
};
