/* SPDX-License-Identifier: Apache-2.0 */
/* Runs on the CUDA device, on the fake of CUDA: the same steps as on host:0, in every mode. */
#include <stdlib.h>

#include "cuda_kit.h"
#include "testing.h"

static const sluice_mode modes[] = {SLUICE_MODE_DIRECT, SLUICE_MODE_DATA, SLUICE_MODE_GRAPH,
                                    SLUICE_MODE_LOOP};

/* What the same run is on host:0. */
static void run_on_host(kit *expected, const kit *k)
{
    kit_init(expected);
    expected->pipeline = k->pipeline;
    expected->config = k->config;
    expected->config.mode = SLUICE_MODE_AUTO;
    T_OK(kit_run(expected));
}

static void is_the_same(const kit *k)
{
    kit expected;

    run_on_host(&expected, k);
    T_EQ(k->count, expected.count);
    kit_check_same(&expected, k, 0, expected.count);
    kit_fini(&expected);
}

static void steps_are_the_hosts_in_every_mode(void)
{
    static const char *const pipelines[] = {
        "synthetic samples=203 shape=4,4,3 | shuffle | random_horizontal_flip | batch 2 "
        "drop_remainder=true",
        "synthetic samples=60 shape=8,16,3 | shuffle | random_horizontal_flip | normalize "
        "mean=0.5,0.4,0.3 std=0.2,0.3,0.4 | to_chw | batch 6",
        "synthetic samples=60 shape=8,16,3 | to_dtype f16 scale=true | to_chw | batch 6",
    };

    for (size_t i = 0; i < COUNT(modes) * COUNT(pipelines); i++) {
        kit k;

        fake_cuda_start(&cuda_kit_machine);
        cuda_kit_init(&k);
        k.pipeline = pipelines[i / COUNT(modes)];
        k.config.mode = modes[i % COUNT(modes)];
        k.config.sink_size = 7;
        k.config.epochs = 9;
        T_OK(kit_run(&k));
        kit_check(&k);
        T_EQ(k.count, 63);
        is_the_same(&k);
        kit_fini(&k);
        cuda_kit_nothing_is_live();
    }
}

static void steps_of_several_batches_are_the_hosts(void)
{
    static const uint32_t micros[] = {1, 4, 13};

    for (size_t i = 0; i < COUNT(modes) * COUNT(micros); i++) {
        kit k;

        fake_cuda_start(&cuda_kit_machine);
        cuda_kit_init(&k);
        k.config.mode = modes[i % COUNT(modes)];
        k.config.micro_batches = micros[i / COUNT(modes)];
        k.config.slots = 3;
        k.config.sink_size = 5;
        k.config.epochs = 4;
        k.config.output_capacity = 3;
        T_OK(kit_run(&k));
        kit_check(&k);
        T_EQ(k.count, 20);
        is_the_same(&k);
        kit_fini(&k);
        cuda_kit_nothing_is_live();
    }
}

/* ---- what it takes --------------------------------------------------------------------------- */

/* A sink is one launch and one wait, whatever its length; the fake has counted CUDA's calls. */
static void a_sink_in_loop_mode_is_one_launch(void)
{
    kit k;

    fake_cuda_start(&cuda_kit_machine);
    cuda_kit_init(&k);
    k.device = "cuda:0,spin_us=1000000"; /* late batches are waited for */
    k.config.sink_size = 50;
    k.config.epochs = 6;
    T_OK(kit_run(&k));
    kit_check(&k);
    T_EQ(k.count, 300);
    T_STR(k.report->mode, "loop");
    T_STR(k.report->mode_reason, "");
    T_EQ(k.report->stats.yields, 0);
    T_EQ(k.report->stats.launches, 6);
    T_EQ(k.report->stats.syncs, 6);
    T_EQ(fake_cuda_count_of("cudaGraphLaunch"), 6 + 1); /* the self-test's */
    T_EQ(fake_cuda_count_of("cudaLaunchKernel"), 1);    /* the step's, which was captured */
    kit_fini(&k);
    cuda_kit_nothing_is_live();
}

static void other_modes_launch_each_batch(void)
{
    for (size_t m = 0; m < 3; m++) {
        const bool graph = modes[m] == SLUICE_MODE_GRAPH;
        kit k;

        fake_cuda_start(&cuda_kit_machine);
        cuda_kit_init(&k);
        k.config.mode = modes[m];
        k.config.digest = false;
        k.config.sink_size = 20;
        k.config.epochs = 2;
        T_OK(kit_run(&k));
        T_EQ(k.report->stats.launches, 40);
        T_EQ(k.report->stats.syncs, modes[m] == SLUICE_MODE_DIRECT ? 40 : 2);
        T_EQ(fake_cuda_count_of("cudaGraphLaunch"), graph ? 40 : 0);
        T_EQ(fake_cuda_count_of("cudaLaunchKernel"), graph ? 1 : 40 * 4);
        kit_fini(&k);
        cuda_kit_nothing_is_live();
    }
}

enum { MAX_SINKS = 8 };

typedef struct sink_calls {
    int64_t graphs[MAX_SINKS];
    int64_t kernels[MAX_SINKS];
    int64_t waits[MAX_SINKS];
    int sinks;
} sink_calls;

static sluice_status keep_calls(sluice_hook *hook, void *user)
{
    sink_calls *c = user;

    (void)hook;
    c->graphs[c->sinks] = fake_cuda_count_of("cudaGraphLaunch");
    c->kernels[c->sinks] = fake_cuda_count_of("cudaLaunchKernel");
    c->waits[c->sinks] = fake_cuda_count_of("cudaEventSynchronize") +
                         fake_cuda_count_of("cudaStreamSynchronize") +
                         fake_cuda_count_of("cudaDeviceSynchronize");
    c->sinks += c->sinks < MAX_SINKS - 1;
    return SLUICE_OK;
}

/*
 * The first sets things up. What tests/gpu/check_calls.cu takes for granted on a GPU. A wait blocks
 * where polling is off, and does not where the device is done before the poll is.
 */
static void every_further_sink_waits_once_and_launches_no_kernel(void)
{
    for (int i = 0; i < 4; i++) {
        const bool loop = i % 2 == 0;
        int64_t waits;
        sink_calls calls = {.sinks = 0};
        const sluice_callback callback = {.step_end = keep_calls, .user = &calls};
        kit k;

        fake_cuda_start(&cuda_kit_machine);
        cuda_kit_init(&k);
        /* No copies ahead to wait for. */
        k.device = i < 2 ? "cuda:0,transport=pull,spin_us=1000000,poll_us=0"
                         : "cuda:0,transport=pull,spin_us=1000000,poll_us=1000000";
        k.config.mode = loop ? SLUICE_MODE_LOOP : SLUICE_MODE_GRAPH;
        k.config.sink_size = 50;
        k.config.epochs = 6;
        k.callbacks = &callback;
        k.callback_count = 1;
        T_OK(kit_run(&k));
        T_EQ(calls.sinks, 6);
        for (int sink = 1; sink < calls.sinks; sink++) {
            T_EQ(calls.graphs[sink] - calls.graphs[sink - 1], loop ? 1 : 50);
            waits = calls.waits[sink] - calls.waits[sink - 1];
            /* In graph mode also for room, once for two launches at most. */
            T_TRUE(i >= 2 ? waits == 0 : waits >= 1 && waits <= (loop ? 1 : 1 + 50 / 2));
            T_EQ(calls.kernels[sink], calls.kernels[0]);
        }
        kit_fini(&k);
        cuda_kit_nothing_is_live();
    }
}

/* Calls of CUDA for a run of so many steps of one batch, whose sink is half of it. */
static int64_t calls_of(sluice_mode mode, const char *device, int64_t steps)
{
    int64_t calls;
    kit k;

    fake_cuda_start(&cuda_kit_machine);
    cuda_kit_init(&k);
    k.device = device;
    k.config.mode = mode;
    k.config.digest = false;
    k.config.epochs = 2;
    k.config.sink_size = steps / 2;
    T_OK(kit_run(&k));
    T_EQ(k.count, steps);
    calls = fake_cuda_calls() - 4 * (int64_t)k.report->stats.yields;
    kit_fini(&k);
    cuda_kit_nothing_is_live();
    return calls;
}

/*
 * Of a batch, all threads together: push takes five at most, four where no copy is under way, fewer
 * where batches share a copy; pull none. A launch adds what it is: nothing in a loop; a graph, or
 * four kernels with the step's, in a context that is pushed and popped, for a called step again;
 * for push the order behind the copy; and each second launch an event. Where polls end before they
 * would block, waits are queries, which are not counted.
 */
static void calls_for_a_batch_are_few(void)
{
    /* As modes; direct waits, too. */
    static const int64_t most_push[] = {5 + 19, 5 + 16, 5 + 5, 5};
    static const int64_t most_pull[] = {16, 13, 4, 0};

    for (size_t i = 0; i < 2 * COUNT(modes); i++) {
        const size_t m = i % COUNT(modes);
        const char *polls = i < COUNT(modes) ? "poll_us=0" : "poll_us=1000000";
        char uri[96];
        int64_t push;
        int64_t pull;

        snprintf(uri, sizeof(uri), "cuda:0,spin_us=100000,%s", polls);
        push = calls_of(modes[m], uri, 1200) - calls_of(modes[m], uri, 200);
        snprintf(uri, sizeof(uri), "cuda:0,spin_us=100000,%s,transport=pull", polls);
        pull = calls_of(modes[m], uri, 1200) - calls_of(modes[m], uri, 200);
        T_TRUE(push <= 1000 * most_push[m] + 60);
        T_TRUE(pull <= 1000 * most_pull[m] + 60);
        if (getenv("SLUICE_FIGURES") != NULL) {
            printf("calls for a batch, %s, %s: push %.2f, pull %.2f\n", sluice_mode_name(modes[m]),
                   polls, (double)push / 1000, (double)pull / 1000);
        }
    }
}

/* Batches that are late end a launch; the rest of the sink follows, and nothing is different. */
static void late_batches_are_waited_for_on_the_host(void)
{
    kit k;

    fake_cuda_start(&cuda_kit_machine);
    fake_cuda_slow_copies(2000);
    cuda_kit_init(&k);
    k.device = "cuda:0,spin_us=0";
    k.config.slots = 4; /* fewer than batches: they cannot all be copied ahead */
    k.config.sink_size = 20;
    k.config.epochs = 2;
    T_OK(kit_run(&k));
    kit_check(&k);
    T_TRUE(k.report->stats.yields > 0);
    T_EQ(k.report->stats.launches, 2 + k.report->stats.yields);
    T_EQ(k.report->stats.syncs, k.report->stats.launches);
    T_TRUE(k.report->stats.data_wait_share > 0);
    is_the_same(&k);
    kit_fini(&k);
    cuda_kit_nothing_is_live();
}

/* A device that does one thing at a time: a copy behind a launch that waits for it is not done
 * before that launch has given up. CUDA promises no more. */
static void the_least_concurrency_is_enough(void)
{
    for (size_t m = 0; m < COUNT(modes); m++) {
        kit k;

        fake_cuda_start(&cuda_kit_machine);
        fake_cuda_least_concurrency(true);
        cuda_kit_init(&k);
        k.device = "cuda:0,spin_us=200";
        k.config.slots = 4; /* fewer than batches: they cannot all be copied ahead */
        k.config.mode = modes[m];
        k.config.sink_size = 25;
        k.config.epochs = 2;
        T_OK(kit_run(&k));
        kit_check(&k);
        T_TRUE(modes[m] != SLUICE_MODE_LOOP || k.report->stats.yields > 0);
        is_the_same(&k);
        kit_fini(&k);
        cuda_kit_nothing_is_live();
        fake_cuda_least_concurrency(false);
    }
}

/* Nor loaded: in the modes whose step is in a graph, where that is the library's to see to. */
static void nothing_is_allocated_while_a_sink_runs(void)
{
    for (size_t m = 2; m < COUNT(modes); m++) {
        kit k;

        fake_cuda_start(&cuda_kit_machine);
        fake_cuda_guard_sinks(true);
        cuda_kit_init(&k);
        k.config.mode = modes[m];
        k.config.sink_size = 25;
        k.config.epochs = 2;
        T_OK(kit_run(&k));
        kit_fini(&k);
        cuda_kit_nothing_is_live();
    }
}

static void the_device_can_read_batches_from_the_host(void)
{
    for (size_t m = 0; m < COUNT(modes); m++) {
        kit k;

        fake_cuda_start(&cuda_kit_machine);
        cuda_kit_init(&k);
        k.device = "cuda:0,transport=pull";
        k.config.mode = modes[m];
        k.config.sink_size = 30;
        k.config.epochs = 3;
        k.learning_rate.count = 0;
        T_OK(kit_run(&k));
        kit_check(&k);
        is_the_same(&k);
        T_EQ(fake_cuda_count_of("cuStreamBatchMemOp"), 0);
        kit_fini(&k);
        cuda_kit_nothing_is_live();
    }
}

/* Steps of a turn share the loop's cost; nothing else is different. More than slots are as many. */
static void unrolled_loops_are_the_hosts(void)
{
    static const char *const devices[] = {
        "cuda:0,spin_us=100000,unroll=2", "cuda:0,spin_us=100000,unroll=4",
        "cuda:0,spin_us=100000,unroll=64", "cuda:0,transport=pull,unroll=3",
        "cuda:0,spin_us=0,unroll=3"};
    static const int64_t sinks[] = {1, 7, 12, 50};

    for (size_t i = 0; i < COUNT(devices) * COUNT(sinks); i++) {
        const int64_t turn = i / COUNT(sinks) == 0 ? 2 : 4;
        const int64_t size = sinks[i % COUNT(sinks)];
        uint64_t launches = 3 * (uint64_t)((size >= turn) + (size % turn > 0));
        kit k;

        fake_cuda_start(&cuda_kit_machine);
        cuda_kit_init(&k);
        k.device = devices[i / COUNT(sinks)];
        k.config.mode = SLUICE_MODE_LOOP;
        k.config.slots = 4;
        k.config.sink_size = size;
        k.config.epochs = 3;
        T_OK(kit_run(&k));
        kit_check(&k);
        is_the_same(&k);
        if (i / COUNT(sinks) < 3 && k.report->stats.yields == 0) {
            T_EQ(k.report->stats.launches, launches);
            T_EQ(k.report->stats.syncs, 3);
        }
        T_EQ(k.report->stats.launches + 2, (uint64_t)fake_cuda_count_of("cudaGraphLaunch"));
        kit_fini(&k);
        cuda_kit_nothing_is_live();
    }
}

/* Late batches: the rest of the sink goes on step by step, and gets on. */
static void an_unrolled_loop_waits_on_the_host_too(void)
{
    kit k;

    fake_cuda_start(&cuda_kit_machine);
    fake_cuda_slow_copies(2000);
    cuda_kit_init(&k);
    k.device = "cuda:0,spin_us=0,unroll=4";
    k.config.slots = 4; /* fewer than batches: they cannot all be copied ahead */
    k.config.sink_size = 18;
    k.config.epochs = 2;
    T_OK(kit_run(&k));
    kit_check(&k);
    T_TRUE(k.report->stats.yields > 0);
    is_the_same(&k);
    kit_fini(&k);
    cuda_kit_nothing_is_live();
}

/* ---- what a step is given -------------------------------------------------------------------- */

enum { STEPS = 40 };

static uint64_t rates_asked; /* one past the last step that a schedule was asked about */

typedef struct seen {
    float rates[STEPS];
    uint64_t keys[STEPS];
    uint64_t epochs[STEPS];
} seen;

static void look(kit *k, const sluice_step *step)
{
    seen *s = k->user;

    if (*step->step < STEPS && *step->micro == 0) {
        s->rates[*step->step] = *step->learning_rate;
        s->keys[*step->step] = *step->random_key;
        s->epochs[*step->step] = *step->epoch;
    }
}

/* Asked about steps of the run alone: a user may look into a table of just so many. */
static float rate(uint64_t step, void *user)
{
    rates_asked = step + 1 > rates_asked ? step + 1 : rates_asked;
    return *(const float *)user / (float)(1 + step);
}

static void look_at_a_run(kit *k, seen *s, bool table)
{
    static const float rates[] = {5, 4, 3, 2.5F, 2, 1};
    static float start = 3;

    memset(s, 0, sizeof(*s));
    k->user = s;
    k->in_step = look;
    k->config.sink_size = 8;
    k->config.epochs = 5;
    k->config.output_capacity = 3;
    k->config.micro_batches = 2;
    k->config.seed = 11;
    if (table) {
        k->learning_rate.table = rates;
        k->learning_rate.count = COUNT(rates);
    } else {
        k->learning_rate.function = rate;
        k->learning_rate.user = &start;
    }
    T_OK(kit_run(k));
    T_EQ(k->count, STEPS);
    kit_fini(k);
}

static void its_numbers_are_the_hosts(void)
{
    for (size_t i = 0; i < 2 * COUNT(modes); i++) {
        seen expected;
        seen got;
        kit k;

        kit_init(&k);
        look_at_a_run(&k, &expected, i % 2 == 0);
        fake_cuda_start(&cuda_kit_machine);
        cuda_kit_init(&k);
        k.config.mode = modes[i / 2];
        look_at_a_run(&k, &got, i % 2 == 0);
        T_TRUE(memcmp(&expected, &got, sizeof(got)) == 0);
        T_EQ(got.epochs[STEPS - 1], 4);
        T_TRUE(rates_asked <= STEPS);
        cuda_kit_nothing_is_live();
    }
}

/* ---- validation, and check mode -------------------------------------------------------------- */

static sluice_status keep_results(sluice_hook *hook, void *user)
{
    double *results = user;

    results[0] = hook->results[0];
    results[1] = (double)hook->result_samples;
    return SLUICE_OK;
}

static void validation_is_the_hosts(void)
{
    sluice_dataset *dataset = NULL;
    double results[2][2];

    T_OK(sluice_dataset_parse("synthetic samples=101 shape=4,4,3 | batch 8", &dataset));
    for (size_t i = 0; i < 2; i++) {
        const sluice_callback callback = {.validation = keep_results, .user = results[i]};
        static const char *const names[] = {"label", "ones"};
        kit k;

        fake_cuda_start(&cuda_kit_machine);
        if (i == 0) {
            kit_init(&k);
            k.model.eval = kit_eval;
        } else {
            cuda_kit_init(&k);
            k.model.eval = cuda_kit_eval;
        }
        k.model.reads_valid_rows = true;
        k.model.result_names = names;
        k.model.result_count = 2;
        k.config.sink_size = 10;
        k.config.epochs = 2;
        k.callbacks = &callback;
        k.callback_count = 1;
        k.validation.dataset = dataset;
        k.validation.at_end = true;
        T_OK(kit_run(&k));
        T_EQ(k.report->stats.validations, 1);
        kit_fini(&k);
        cuda_kit_nothing_is_live();
    }
    T_TRUE(results[0][0] == results[1][0]);
    T_EQ(results[1][1], 101);
    sluice_dataset_destroy(dataset);
}

const t_test cuda_train_tests[] = {T_TEST(steps_are_the_hosts_in_every_mode),
                                   T_TEST(steps_of_several_batches_are_the_hosts),
                                   T_TEST(a_sink_in_loop_mode_is_one_launch),
                                   T_TEST(other_modes_launch_each_batch),
                                   T_TEST(every_further_sink_waits_once_and_launches_no_kernel),
                                   T_TEST(calls_for_a_batch_are_few),
                                   T_TEST(late_batches_are_waited_for_on_the_host),
                                   T_TEST(the_least_concurrency_is_enough),
                                   T_TEST(nothing_is_allocated_while_a_sink_runs),
                                   T_TEST(the_device_can_read_batches_from_the_host),
                                   T_TEST(unrolled_loops_are_the_hosts),
                                   T_TEST(an_unrolled_loop_waits_on_the_host_too),
                                   T_TEST(its_numbers_are_the_hosts),
                                   T_TEST(validation_is_the_hosts),
                                   T_END};
