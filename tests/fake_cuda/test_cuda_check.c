/* SPDX-License-Identifier: Apache-2.0 */
/* Check mode on the CUDA device, on the fake of CUDA: captures of a step that differ. */
#include <sluice/log.h>

#include "cuda_kit.h"
#include "testing.h"

static const sluice_mode modes[] = {SLUICE_MODE_DIRECT, SLUICE_MODE_DATA, SLUICE_MODE_GRAPH,
                                    SLUICE_MODE_LOOP};

static sluice_status save(void *user, const char *folder, uint32_t rank, uint32_t world)
{
    kit *k = user;

    (void)rank;
    (void)world;
    t_write_file(t_path(folder, "state"), &k->state, sizeof(k->state));
    return SLUICE_OK;
}

static sluice_status load(void *user, const char *folder, uint32_t rank, uint32_t world)
{
    kit *k = user;
    FILE *file = fopen(t_path(folder, "state"), "rb");
    const size_t got = file != NULL ? fread(&k->state, sizeof(k->state), 1, file) : 0;

    (void)rank;
    (void)world;
    if (file != NULL) {
        fclose(file);
    }
    return got == 1 ? SLUICE_OK : SLUICE_E_IO;
}

static void start(kit *k, sluice_step_fn step)
{
    fake_cuda_start(&cuda_kit_machine);
    cuda_kit_init(k);
    k->model.step = step;
    k->model.save = save;
    k->model.load = load;
    k->config.sink_size = 10;
    k->config.epochs = 2;
    k->config.check = true;
}

static void a_good_step_passes_in_every_mode(void)
{
    for (size_t m = 0; m < COUNT(modes); m++) {
        kit k;

        start(&k, cuda_kit_step);
        k.config.mode = modes[m];
        T_OK(kit_run(&k));
        T_EQ(k.report->stats.steps, 20);
        kit_fini(&k);
        cuda_kit_nothing_is_live();
    }
}

/* ---- steps that are not the same when they are called again ---------------------------------- */

static int calls; /* of a step */
static char block[2][256];

static void nothing(void *const *args, unsigned blocks, unsigned threads)
{
    (void)args;
    (void)blocks;
    (void)threads;
}

static const fake_kernel update = {"update", nothing, 2, {sizeof(void *), sizeof(float)}};
static const fake_kernel other = {"other", nothing, 2, {sizeof(void *), sizeof(float)}};

static const fake_kernel newer = {"new_update", nothing, 2, {sizeof(void *), sizeof(float)}};

static sluice_status launch(const sluice_step *step, const fake_kernel *kernel, unsigned blocks,
                            float rate)
{
    const dim3 grid = {blocks, 1, 1};
    const dim3 threads = {32, 1, 1};
    const float *loss = step->outputs;
    void *args[] = {&loss, &rate};

    return cudaLaunchKernel(kernel, grid, threads, args, 0, step->stream) == cudaSuccess
               ? SLUICE_OK
               : SLUICE_E_DEVICE;
}

static sluice_status rate_by_value(const sluice_step *step, void *user)
{
    (void)cuda_kit_step(step, user);
    return launch(step, &update, 1, 1.0F / (float)++calls);
}

/* The same by a kernel that the driver knows by another handle. */
static sluice_status rate_of_newer(const sluice_step *step, void *user)
{
    (void)user;
    return launch(step, &newer, 1, (float)++calls);
}

static sluice_status grid_by_call(const sluice_step *step, void *user)
{
    (void)user;
    return launch(step, &update, (unsigned)++calls, 1);
}

static sluice_status kernel_by_call(const sluice_step *step, void *user)
{
    (void)user;
    return launch(step, ++calls % 2 == 0 ? &update : &other, 1, 1);
}

static sluice_status value_by_call(const sluice_step *step, void *user)
{
    (void)user;
    return cudaMemsetAsync(step->outputs, ++calls, 4, step->stream) == cudaSuccess
               ? SLUICE_OK
               : SLUICE_E_DEVICE;
}

static sluice_status copy_by_call(const sluice_step *step, void *user)
{
    (void)user;
    return cudaMemcpyAsync(block[++calls % 2], step->outputs, 4, cudaMemcpyDeviceToHost,
                           step->stream) == cudaSuccess
               ? SLUICE_OK
               : SLUICE_E_DEVICE;
}

static sluice_status more_by_call(const sluice_step *step, void *user)
{
    calls++;
    for (int i = 0; i < calls; i++) {
        (void)launch(step, &update, 1, 1);
    }
    (void)user;
    return SLUICE_OK;
}

static sluice_status kind_by_call(const sluice_step *step, void *user)
{
    return calls == 0 ? grid_by_call(step, user) : value_by_call(step, user);
}

typedef struct bad_step {
    sluice_step_fn step;
    const char *says;
} bad_step;

static const bad_step bad_steps[] = {
    {rate_by_value, "check: parameter 1 of kernel update (node 1 of the step) is 1065353216 (as a "
                    "float 1) when the step is captured and 1056964608 (as a float 0.5) when it is "
                    "captured again"},
    {rate_of_newer, "check: parameter 1 of kernel new_update (node 0 of the step) is"},
    {grid_by_call, "check: the grid of node 0"},
    {kernel_by_call, "check: the kernel of node 0"},
    {value_by_call, "check: the memory that is set, or the value, of node 0"},
    {copy_by_call, "check: the memory that is copied of node 0"},
    {more_by_call, "check: the step enqueues 1 nodes when it is captured and 2 when"},
    {kind_by_call, "check: the kind of node 0"},
};

static void what_differs_between_two_captures_is_named(void)
{
    for (size_t i = 0; i < 2 * COUNT(bad_steps); i++) {
        const bad_step *bad = &bad_steps[i / 2];
        kit k;

        calls = 0;
        start(&k, bad->step);
        k.config.mode = i % 2 == 0 ? SLUICE_MODE_AUTO : SLUICE_MODE_GRAPH;
        T_EQ(kit_run(&k), SLUICE_E_INVALID);
        T_CONTAINS(k.error, bad->says);
        T_EQ(k.count, 0);
        kit_fini(&k);
        cuda_kit_nothing_is_live();
    }
}

/* ---- padding --------------------------------------------------------------------------------- */

/* With four bytes in its midst, and four at its end, that no assignment writes. */
typedef struct padded {
    float rate;
    void *weights;
    uint32_t count;
} padded;

static const fake_kernel update_padded = {"update_padded", nothing, 1, {sizeof(padded)}};

static sluice_status launch_padded(const sluice_step *step, float rate)
{
    const dim3 one = {1, 1, 1};
    padded parameter;
    void *args[] = {&parameter};

    parameter.rate = rate;
    parameter.weights = block;
    parameter.count = 3;
    return cudaLaunchKernel(&update_padded, one, one, args, 0, step->stream) == cudaSuccess
               ? SLUICE_OK
               : SLUICE_E_DEVICE;
}

static sluice_status step_with_padding(const sluice_step *step, void *user)
{
    const sluice_status st = launch_padded(step, 0.5F);

    return st == SLUICE_OK ? cuda_kit_step(step, user) : st;
}

static sluice_status rate_with_padding(const sluice_step *step, void *user)
{
    const sluice_status st = launch_padded(step, 1.0F / (float)++calls);

    return st == SLUICE_OK ? cuda_kit_step(step, user) : st;
}

static void padding_of_a_parameter_is_not_compared(void)
{
    kit k;

    start(&k, step_with_padding);
    T_OK(kit_run(&k));
    T_EQ(k.report->stats.steps, 20);
    kit_fini(&k);
    cuda_kit_nothing_is_live();
}

static void what_lies_beside_padding_is_compared(void)
{
    kit k;

    calls = 0;
    start(&k, rate_with_padding);
    T_EQ(kit_run(&k), SLUICE_E_INVALID);
    T_CONTAINS(
        k.error,
        "check: parameter 0 of kernel update_padded (node 0 of the step), at byte "
        "2 of 24, is 1065353216 (as a float 1) when the step is captured and 1056964608 (as a "
        "float 0.5) when it is captured again");
    kit_fini(&k);
    cuda_kit_nothing_is_live();
}

/* An older driver cannot tell; then it is said, and the rest of the check is done. */
static void a_driver_that_cannot_tell_is_said(void)
{
    fake_cuda_machine machine = cuda_kit_machine;
    const char *log;
    kit k;

    calls = 0;
    start(&k, rate_by_value);
    machine.missing = "cuFuncGetParamInfo";
    fake_cuda_start(&machine);
    sluice_log_set_level(SLUICE_LOG_INFO);
    kit_log_start(NULL, NULL);
    T_OK(kit_run(&k));
    log = kit_log_stop();
    sluice_log_set_level(SLUICE_LOG_WARN);
    T_CONTAINS(log, "check: two captures of the step are not compared: device cuda:0: "
                    "cuFuncGetParamInfo of the driver");
    kit_fini(&k);
    cuda_kit_nothing_is_live();
}

/* Each call of CUDA fails once: the check, or the run, says so, or all is well. */
static void every_call_may_fail(void)
{
    int64_t all = 0;

    sluice_log_set_level(SLUICE_LOG_OFF);
    for (int64_t good = -1; good < all; good += good < 0 ? 1 : 5 * T_FAULT_STEP) {
        kit k;

        start(&k, cuda_kit_step);
        k.config.epochs = 1;
        fake_cuda_fail_after(good, cudaErrorIllegalAddress);
        (void)kit_run(&k);
        T_TRUE(k.status == SLUICE_OK || good >= 0);
        fake_cuda_fail_after(-1, cudaSuccess);
        all = good < 0 ? fake_cuda_calls() : all;
        kit_fini(&k);
        cuda_kit_nothing_is_live();
    }
    sluice_log_set_level(SLUICE_LOG_WARN);
}

const t_test cuda_check_tests[] = {T_TEST(a_good_step_passes_in_every_mode),
                                   T_TEST(what_differs_between_two_captures_is_named),
                                   T_TEST(padding_of_a_parameter_is_not_compared),
                                   T_TEST(what_lies_beside_padding_is_compared),
                                   T_TEST(a_driver_that_cannot_tell_is_said),
                                   T_TEST(every_call_may_fail),
                                   T_END};
