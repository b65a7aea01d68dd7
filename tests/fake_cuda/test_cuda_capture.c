/* SPDX-License-Identifier: Apache-2.0 */
/* Steps that a capture does not hold, or not all of, on the fake of CUDA. */
#include <pthread.h>

#include "cuda_kit.h"
#include "testing.h"

static const sluice_mode modes[] = {SLUICE_MODE_AUTO, SLUICE_MODE_LOOP, SLUICE_MODE_GRAPH};
static const dim3 one = {1, 1, 1};

static void nothing(void *const *args, unsigned blocks, unsigned threads)
{
    (void)args;
    (void)blocks;
    (void)threads;
}

static const fake_kernel update = {"update", nothing, 0, {0}};

static cudaError_t launch_on(cudaStream_t stream)
{
    return cudaLaunchKernel(&update, one, one, NULL, 0, stream);
}

/* ---- steps ----------------------------------------------------------------------------------- */

static sluice_status step_on_the_default_stream(const sluice_step *step, void *user)
{
    (void)step;
    (void)user;
    (void)launch_on(NULL);
    return SLUICE_OK;
}

/* As a wrapper of a kernel often is: the error of its launch is asked for at once. */
static sluice_status step_that_checks(const sluice_step *step, void *user)
{
    (void)step;
    (void)user;
    (void)launch_on(NULL);
    return cudaGetLastError() == cudaSuccess ? SLUICE_OK
                                             : sluice_fail(SLUICE_E_DEVICE, "update<<<>>>");
}

static sluice_status step_on_both(const sluice_step *step, void *user)
{
    const sluice_status st = cuda_kit_step(step, user);

    (void)launch_on(cudaStreamLegacy);
    return st;
}

/* The error of the launch is not the last one. */
static sluice_status step_on_the_default_stream_first(const sluice_step *step, void *user)
{
    (void)user;
    (void)launch_on(NULL);
    (void)launch_on(step->stream);
    return SLUICE_OK;
}

static sluice_status step_that_copies(const sluice_step *step, void *user)
{
    const sluice_status st = cuda_kit_step(step, user);

    (void)cudaMemsetAsync(step->outputs, 0, sizeof(float), NULL);
    return st;
}

static void *use_the_default_stream(void *user)
{
    (void)user;
    fake_cuda_use(0);
    (void)launch_on(NULL);
    return NULL;
}

static sluice_status step_beside_a_thread(const sluice_step *step, void *user)
{
    pthread_t thread;

    if (pthread_create(&thread, NULL, use_the_default_stream, NULL) == 0) {
        pthread_join(thread, NULL);
    }
    return cuda_kit_step(step, user);
}

static sluice_status step_of_nothing(const sluice_step *step, void *user)
{
    (void)step;
    (void)user;
    return SLUICE_OK;
}

static sluice_status step_on_the_threads_stream(const sluice_step *step, void *user)
{
    (void)step;
    (void)user;
    return launch_on(cudaStreamPerThread) == cudaSuccess ? SLUICE_OK : SLUICE_E_DEVICE;
}

/* ---- what they are told ---------------------------------------------------------------------- */

typedef struct wrong_step {
    sluice_step_fn step;
    const char *says;
} wrong_step;

static const wrong_step wrong_steps[] = {
    {step_on_the_default_stream, "the step uses CUDA's default stream while it is captured"},
    {step_that_checks, "the step uses CUDA's default stream while it is captured"},
    {step_on_both, "launch all of it on s->stream"},
    {step_on_the_default_stream_first, "the step uses CUDA's default stream while it is captured"},
    {step_that_copies, "the step uses CUDA's default stream while it is captured"},
    {step_beside_a_thread, "another thread of the program uses the default stream"},
    {step_of_nothing, "the step enqueues nothing on its stream while it is captured (0 nodes)"},
    {step_on_the_threads_stream, "launch on s->stream, for what goes to another stream runs once"},
};

static void refuse(const wrong_step *wrong, sluice_mode mode, bool eval)
{
    sluice_dataset *dataset = NULL;
    static const char *const names[] = {"label"};
    kit k;

    T_OK(sluice_dataset_parse("synthetic samples=16 shape=4,4,3 | batch 8", &dataset));
    fake_cuda_start(&cuda_kit_machine);
    fake_cuda_allow_users_calls(true);
    cuda_kit_init(&k);
    if (eval) {
        k.model.eval = wrong->step;
        k.model.result_names = names;
        k.model.result_count = 1;
        k.validation.dataset = dataset;
        k.validation.at_start = true;
    } else {
        k.model.step = wrong->step;
    }
    k.config.mode = mode;
    k.config.sink_size = 10;
    T_EQ(kit_run(&k), SLUICE_E_INVALID);
    T_CONTAINS(k.error, wrong->says);
    T_EQ(k.count, 0);
    kit_fini(&k);
    cuda_kit_nothing_is_live();
    sluice_dataset_destroy(dataset);
}

/* In any mode that captures: auto takes no weaker one, where the step would be as wrong. */
static void a_step_that_is_not_on_its_stream_is_refused(void)
{
    for (size_t i = 0; i < COUNT(wrong_steps) * COUNT(modes); i++) {
        refuse(&wrong_steps[i / COUNT(modes)], modes[i % COUNT(modes)], false);
    }
}

static sluice_status captured_answer;

static sluice_status step_that_answers(const sluice_step *step, void *user)
{
    const sluice_status st = cuda_kit_step(step, user);

    return st == SLUICE_OK ? captured_answer : st;
}

/* Which no mode that calls the step would take either. */
static void a_number_that_is_not_a_status_ends_the_run(void)
{
    for (size_t i = 0; i < 2 * COUNT(modes); i++) {
        kit k;

        captured_answer = (sluice_status)(i % 2 == 0 ? -4242 : 4242);
        fake_cuda_start(&cuda_kit_machine);
        cuda_kit_init(&k);
        k.model.step = step_that_answers;
        k.config.mode = modes[i / 2];
        T_EQ(kit_run(&k), SLUICE_E_CALLBACK);
        T_CONTAINS(k.error, i % 2 == 0 ? "returned -4242, which is not a sluice_status"
                                       : "returned 4242, which is not a sluice_status");
        T_EQ(k.count, i / 2 == 0 ? 1 : 0);
        kit_fini(&k);
        cuda_kit_nothing_is_live();
    }
}

static void so_is_such_an_eval(void)
{
    for (size_t i = 0; i < COUNT(wrong_steps); i++) {
        refuse(&wrong_steps[i], SLUICE_MODE_AUTO, true);
    }
}

/* Beside a blocking stream CUDA refuses the launch: it has not run even once. */
static void what_is_refused_has_not_run(void)
{
    kit k;

    fake_cuda_start(&cuda_kit_machine);
    fake_cuda_allow_users_calls(true);
    cuda_kit_init(&k);
    k.model.step = step_on_both;
    k.config.mode = SLUICE_MODE_GRAPH;
    T_EQ(kit_run(&k), SLUICE_E_INVALID);
    T_EQ(fake_cuda_kernels(), 0);
    kit_fini(&k);
    cuda_kit_nothing_is_live();
}

const t_test cuda_capture_tests[] = {
    T_TEST(a_step_that_is_not_on_its_stream_is_refused), T_TEST(so_is_such_an_eval),
    T_TEST(a_number_that_is_not_a_status_ends_the_run), T_TEST(what_is_refused_has_not_run), T_END};
