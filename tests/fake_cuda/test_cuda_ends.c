/* SPDX-License-Identifier: Apache-2.0 */
/* How runs on the CUDA device begin and end, on the fake of CUDA: modes that are not legal, stops,
 * errors, CUDA's own among them. */
#include <math.h>

#include <sluice/log.h>

#include "cuda_kit.h"
#include "testing.h"

static const sluice_mode modes[] = {SLUICE_MODE_DIRECT, SLUICE_MODE_DATA, SLUICE_MODE_GRAPH,
                                    SLUICE_MODE_LOOP};

static void start(kit *k)
{
    fake_cuda_start(&cuda_kit_machine);
    cuda_kit_init(k);
    k->config.sink_size = 10;
    k->config.epochs = 4;
}

static void end(kit *k)
{
    kit_fini(k);
    cuda_kit_nothing_is_live();
}

/* The steps that ran are the first of the host's run. */
static void is_a_beginning(const kit *k)
{
    kit expected;

    kit_init(&expected);
    expected.pipeline = k->pipeline;
    expected.dataset = k->dataset;
    expected.config.sink_size = k->config.sink_size;
    expected.config.epochs = k->config.epochs;
    T_OK(kit_run(&expected));
    kit_check_same(&expected, k, 0, k->count);
    T_TRUE(k->count == 0 ||
           k->state == k->steps[k->count - 1].outputs[0]); /* no step ran besides */
    kit_fini(&expected);
}

/* ---- which mode ------------------------------------------------------------------------------ */

static void on_host(void *arg)
{
    (void)arg;
}

static sluice_status step_with_host_node(const sluice_step *step, void *user)
{
    (void)cudaLaunchHostFunc(step->stream, on_host, NULL);
    return cuda_kit_step(step, user);
}

static sluice_status step_that_waits(const sluice_step *step, void *user)
{
    const sluice_status st = cuda_kit_step(step, user);

    return cudaStreamSynchronize(step->stream) == cudaSuccess ? st : SLUICE_OK; /* careless */
}

static sluice_status step_that_checks(const sluice_step *step, void *user)
{
    const sluice_status st = cuda_kit_step(step, user);

    return cudaStreamSynchronize(step->stream) == cudaSuccess
               ? st
               : sluice_fail(SLUICE_E_DEVICE, "cannot wait");
}

static sluice_status step_that_allocates(const sluice_step *step, void *user)
{
    void *block = NULL;

    (void)cudaMallocAsync(&block, 256, step->stream);
    (void)cudaFreeAsync(block, step->stream);
    return cuda_kit_step(step, user);
}

static float rates[2] = {0.5F, 0.25F}; /* pageable */

static sluice_status copy_rate(const sluice_step *step, void *user, void *to, const void *from)
{
    const sluice_status st = cuda_kit_step(step, user);

    return cudaMemcpyAsync(to, from, sizeof(float), cudaMemcpyDefault, step->stream) == cudaSuccess
               ? st
               : SLUICE_E_DEVICE;
}

static sluice_status step_that_copies_from_the_host(const sluice_step *step, void *user)
{
    return copy_rate(step, user, &step->outputs[SLUICE_MAX_OUTPUTS - 1], &rates[0]);
}

static sluice_status step_that_copies_to_the_host(const sluice_step *step, void *user)
{
    return copy_rate(step, user, &rates[1], &step->outputs[0]);
}

static sluice_status step_that_copies_on_the_device(const sluice_step *step, void *user)
{
    return copy_rate(step, user, &step->outputs[SLUICE_MAX_OUTPUTS - 1], &step->outputs[0]);
}

typedef struct mode_case {
    sluice_step_fn step;
    int driver;
    const char *mode;
    const char *reason;
} mode_case;

static const mode_case mode_cases[] = {
    {cuda_kit_step, CUDART_VERSION, "loop", ""},
    {cuda_kit_step, 12040, "loop", ""},
    {cuda_kit_step, 12020, "graph", "no loop: the driver supports CUDA 12.2, and loops need 12.4"},
    {step_with_host_node, CUDART_VERSION, "graph", "no loop: node 0 of the step is a host node"},
    {step_that_allocates, CUDART_VERSION, "graph", "no loop: node 0 of the step is an allocation"},
    {step_that_copies_from_the_host, CUDART_VERSION, "graph",
     "no loop: node 1 of the step copies from pageable host memory (0x"},
    {step_that_copies_to_the_host, CUDART_VERSION, "graph",
     "no loop: node 1 of the step copies to pageable host memory (0x"},
    {step_that_copies_on_the_device, CUDART_VERSION, "loop", ""},
    {step_that_waits, CUDART_VERSION, "data",
     "no loop: the step makes a call that is not permitted during capture "
     "(cudaErrorStreamCaptureUnsupported"},
    {step_that_checks, CUDART_VERSION, "data", "no loop: the step makes a call that is not"},
};

static void auto_takes_the_strongest_that_is_legal(void)
{
    for (size_t i = 0; i < COUNT(mode_cases); i++) {
        const mode_case *c = &mode_cases[i];
        fake_cuda_machine machine = cuda_kit_machine;
        kit k;

        machine.driver = c->driver;
        machine.oldest = 12000;
        fake_cuda_start(&machine);
        cuda_kit_init(&k);
        k.model.step = c->step;
        k.config.sink_size = 10;
        k.config.epochs = 4;
        T_OK(kit_run(&k));
        kit_check(&k);
        T_EQ(k.count, 40);
        T_STR(k.report->mode, c->mode);
        T_CONTAINS(k.report->mode_reason, c->reason);
        T_CONTAINS(k.plan, c->reason);
        is_a_beginning(&k);
        end(&k);
    }
}

static void a_mode_that_is_asked_for_is_taken_or_refused(void)
{
    for (size_t i = 0; i < COUNT(mode_cases); i++) {
        const mode_case *c = &mode_cases[i];
        fake_cuda_machine machine = cuda_kit_machine;
        kit k;

        machine.driver = c->driver;
        machine.oldest = 12000;
        fake_cuda_start(&machine);
        cuda_kit_init(&k);
        k.model.step = c->step;
        k.config.mode = SLUICE_MODE_LOOP;
        (void)kit_run(&k);
        if (c->reason[0] == '\0') {
            T_EQ(k.status, SLUICE_OK);
        } else {
            T_EQ(k.status, SLUICE_E_UNSUPPORTED);
            T_CONTAINS(k.error, c->reason + strlen("no loop: "));
            T_EQ(k.count, 0);
        }
        end(&k);
    }
}

/* ---- the self-test --------------------------------------------------------------------------- */

static int loop_kernels; /* of the step below, that have run */

static void count_kernel(void *const *args, unsigned blocks, unsigned threads)
{
    (void)args;
    (void)blocks;
    (void)threads;
    loop_kernels++;
}

static const fake_kernel counting = {"count_kernel", count_kernel, 0, {0}};

static sluice_status step_that_counts(const sluice_step *step, void *user)
{
    const dim3 one = {1, 1, 1};

    (void)user;
    return cudaLaunchKernel(&counting, one, one, NULL, 0, step->stream) == cudaSuccess
               ? SLUICE_OK
               : SLUICE_E_DEVICE;
}

typedef struct loop_fault {
    bool no_loop_launch;
    bool body_first;
    const char *reason;
    int extra; /* steps that ran before they should */
} loop_fault;

/* What fails in a launch of no steps takes the mode away before a sink depends on it. */
static void a_loop_that_fails_its_self_test_is_not_chosen(void)
{
    static const loop_fault faults[] = {
        {true, false, "no loop: self-test: cudaGraphLaunch: cudaErrorNotSupported", 0},
        {false, true, "no loop: self-test: the body of a WHILE node runs although its condition is",
         1}};
    static const char *const devices[] = {"cuda:0", "cuda:0,unroll=4"};

    for (size_t i = 0; i < 2 * COUNT(faults); i++) {
        const loop_fault *fault = &faults[i / 2];
        fake_cuda_machine machine = cuda_kit_machine;
        kit k;

        machine.no_loop_launch = fault->no_loop_launch;
        machine.body_first = fault->body_first;
        fake_cuda_start(&machine);
        cuda_kit_init(&k);
        loop_kernels = 0;
        k.model.step = step_that_counts;
        k.device = devices[i % 2];
        k.config.sink_size = 10;
        k.config.epochs = 4;
        T_OK(kit_run(&k));
        T_STR(k.report->mode, "graph");
        T_CONTAINS(k.report->mode_reason, fault->reason);
        T_EQ(loop_kernels, 40 + fault->extra);
        k.config.mode = SLUICE_MODE_LOOP;
        T_TRUE(kit_run(&k) == SLUICE_E_UNSUPPORTED);
        T_CONTAINS(k.error, fault->reason + strlen("no loop: "));
        end(&k);
    }
}

/* ---- stops ----------------------------------------------------------------------------------- */

static void ask(kit *k, const sluice_step *step)
{
    if (*step->step == 12) {
        sluice_stop_request(k->config.stop);
    }
}

/* Whatever was launched has its batch, so a stop leaves a state to go on from in every mode. */
static void a_stop_leaves_whole_steps(void)
{
    for (size_t m = 0; m < COUNT(modes); m++) {
        kit k;

        start(&k);
        k.device = "cuda:0,spin_us=1000000";
        T_OK(sluice_stop_create(&k.config.stop));
        k.in_step = ask;
        k.config.mode = modes[m];
        k.config.epochs = 0;
        k.config.max_steps = 1000000000;
        k.config.sink_size = 1000000;
        T_EQ(kit_run(&k), SLUICE_STOPPED);
        T_TRUE(k.count > 12 && k.count < 1000000);
        k.config.epochs = 1;
        k.config.max_steps = 0;
        k.config.sink_size = (int64_t)k.count;
        is_a_beginning(&k);
        sluice_stop_destroy(k.config.stop);
        end(&k);
    }
}

static sluice_status step_that_ends(const sluice_step *step, void *user)
{
    kit *k = user;
    const sluice_status st = cuda_kit_step(step, user);
    const uint64_t call = (*(uint64_t *)k->user)++;

    return call == 17 ? k->step_answer : st;
}

/* In modes that call the step it says how it went; one that failed has run, and counts. */
static void a_called_step_can_end_the_run(void)
{
    static const sluice_status answers[] = {SLUICE_STOPPED, SLUICE_E_CALLBACK, (sluice_status)-4242,
                                            (sluice_status)4242};

    for (size_t i = 0; i < 2 * COUNT(answers); i++) {
        const sluice_status end_status = i / 2 == 0 ? SLUICE_STOPPED : SLUICE_E_CALLBACK;
        uint64_t calls = 0;
        kit k;

        start(&k);
        k.config.mode = modes[i % 2];
        k.model.step = step_that_ends;
        k.user = &calls;
        k.step_answer = answers[i / 2];
        k.step_at = UINT64_MAX;
        T_EQ(kit_run(&k), end_status);
        T_EQ(k.count, 18);
        if (k.status < 0) {
            T_CONTAINS(k.error, "step 17: the step function returned ");
            T_CONTAINS(k.error, i / 2 == 1   ? "E_CALLBACK"
                                : i / 2 == 2 ? "-4242, which is not a sluice_status"
                                             : "4242, which is not a sluice_status");
        }
        is_a_beginning(&k);
        end(&k);
    }
}

/* ---- the guard ------------------------------------------------------------------------------- */

static void spoil(kit *k, const sluice_step *step)
{
    (void)k;
    if (*step->step == 7 || *step->step == 9) {
        step->outputs[1] = *step->step == 7 ? NAN : INFINITY;
    }
}

static void outputs_that_are_not_finite_are_found(void)
{
    for (size_t m = 0; m <= COUNT(modes); m++) { /* the last one is an unrolled loop */
        kit k;

        start(&k);
        k.in_step = spoil;
        k.config.sink_size = 40; /* more than the queue holds: no slot comes free behind the end */
        k.config.epochs = 1;
        k.config.stall_timeout_ms = 5000;
        k.device = m < COUNT(modes) ? k.device : "cuda:0,unroll=4";
        k.config.mode = m < COUNT(modes) ? modes[m] : SLUICE_MODE_LOOP;
        T_EQ(kit_run(&k), SLUICE_E_NAN);
        T_EQ(k.count, 8);
        T_CONTAINS(k.error, "step 7: output label is nan");
        T_EQ(k.report->stats.first_nan_step, 7);
        k.config.nan_guard = SLUICE_NAN_COUNT;
        T_OK(kit_run(&k));
        T_EQ(k.count, 40);
        T_EQ(k.report->stats.nan_steps, 2);
        T_EQ(k.report->stats.first_nan_step, 7);
        k.config.nan_guard = SLUICE_NAN_IGNORE;
        T_OK(kit_run(&k));
        T_EQ(k.report->stats.nan_steps, 0);
        end(&k);
    }
}

/* ---- errors ---------------------------------------------------------------------------------- */

/* Steps before a sample that cannot be read are done and told; then its error is. */
static void an_error_of_the_pipeline_comes_in_its_place(void)
{
    static const char *const devices[] = {"cuda:0", "cuda:0,spin_us=0", "cuda:0,transport=pull",
                                          "cuda:0,unroll=4"};

    for (size_t i = 0; i < COUNT(modes) * COUNT(devices); i++) {
        kit_source source;
        kit k;

        start(&k);
        kit_source_init(&source, 200);
        source.fail_at = 51;
        k.device = devices[i / COUNT(modes)];
        k.dataset = kit_source_dataset(&source, 2);
        k.config.mode = modes[i % COUNT(modes)];
        T_EQ(kit_run(&k), SLUICE_E_CORRUPT);
        kit_check(&k);
        T_EQ(k.count, 25);
        T_CONTAINS(k.error, "told to fail");
        sluice_dataset_destroy(k.dataset);
        end(&k);
    }
}

/* A run in which the call after `good` ones fails; answers how many there were. */
static int64_t run_and_fail(const char *device, sluice_mode mode, int64_t good)
{
    int64_t calls;
    kit k;

    start(&k);
    k.device = device;
    k.config.epochs = 1;
    k.config.sink_size = 6;
    k.config.mode = mode;
    fake_cuda_fail_after(good, cudaErrorIllegalAddress);
    (void)kit_run(&k);
    if (k.status == SLUICE_OK) {
        T_EQ(k.count, 6);
    } else {
        T_TRUE(good >= 0 && (k.status == SLUICE_E_DEVICE || k.status == SLUICE_E_NO_DEVICE ||
                             k.status == SLUICE_E_UNSUPPORTED));
        T_CONTAINS(k.error, "cuda");
    }
    fake_cuda_fail_after(-1, cudaSuccess);
    calls = fake_cuda_calls();
    end(&k);
    return calls;
}

/* Each call of CUDA fails once, in each mode: an error that is said, or a run that is whole. */
static void every_call_of_cuda_may_fail(void)
{
    sluice_log_set_level(SLUICE_LOG_OFF); /* what is given back after it warns */
    for (size_t m = 0; m <= COUNT(modes); m++) {
        const char *device = m < COUNT(modes) ? "cuda:0,poll_us=0" : "cuda:0,unroll=2";
        const sluice_mode mode = m < COUNT(modes) ? modes[m] : SLUICE_MODE_AUTO;
        const int64_t calls = run_and_fail(device, mode, -1);

        T_TRUE(calls > 250);
        for (int64_t good = (int64_t)(m % T_FAULT_STEP); good < calls; good += T_FAULT_STEP) {
            (void)run_and_fail(device, mode, good);
        }
    }
    sluice_log_set_level(SLUICE_LOG_WARN);
}

/* A copy that fails breaks the context for good: batches before it are trained on. */
static void a_copy_that_fails_ends_the_run(void)
{
    sluice_log_set_level(SLUICE_LOG_OFF);
    for (size_t m = 0; m < COUNT(modes); m++) {
        kit k;

        start(&k);
        k.config.mode = modes[m];
        k.config.slots = 4; /* so few that one copy does not bring many batches */
        fake_cuda_fail_copy_after(9, cudaErrorIllegalAddress);
        T_EQ(kit_run(&k), SLUICE_E_DEVICE);
        T_CONTAINS(k.error, "cudaErrorIllegalAddress");
        T_TRUE(k.count <= 40);
        end(&k);
    }
    sluice_log_set_level(SLUICE_LOG_WARN);
}

const t_test cuda_ends_tests[] = {T_TEST(auto_takes_the_strongest_that_is_legal),
                                  T_TEST(a_mode_that_is_asked_for_is_taken_or_refused),
                                  T_TEST(a_loop_that_fails_its_self_test_is_not_chosen),
                                  T_TEST(a_stop_leaves_whole_steps),
                                  T_TEST(a_called_step_can_end_the_run),
                                  T_TEST(outputs_that_are_not_finite_are_found),
                                  T_TEST(an_error_of_the_pipeline_comes_in_its_place),
                                  T_TEST(every_call_of_cuda_may_fail),
                                  T_TEST(a_copy_that_fails_ends_the_run),
                                  T_END};
