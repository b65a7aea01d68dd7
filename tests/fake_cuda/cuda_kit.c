/* SPDX-License-Identifier: Apache-2.0 */
#include "cuda_kit.h"

#include "testing.h"

const fake_cuda_machine cuda_kit_machine = {
    .devices = 1, .driver = CUDART_VERSION, .host_reads = true};

static sluice_step_fn host_step;

/* Args: the function, the step's view, the kit. */
static void step_body(void *const *args, unsigned blocks, unsigned threads)
{
    sluice_step_fn function;
    void *user;

    (void)blocks;
    (void)threads;
    memcpy(&function, args[0], sizeof(function));
    memcpy(&user, args[2], sizeof(user));
    (void)function(args[1], user);
}

static const fake_kernel step_kernel = {
    "kit_step", step_body, 3, {sizeof(sluice_step_fn), sizeof(sluice_step), sizeof(void *)}};

static sluice_status enqueue(sluice_step_fn function, const sluice_step *step, void *user)
{
    const dim3 one = {1, 1, 1};
    sluice_step view = *step;
    void *args[] = {&function, &view, &user};

    return cudaLaunchKernel(&step_kernel, one, one, args, 0, step->stream) == cudaSuccess
               ? SLUICE_OK
               : sluice_fail(SLUICE_E_DEVICE, "cudaLaunchKernel fails");
}

sluice_status cuda_kit_step(const sluice_step *step, void *user)
{
    return enqueue(host_step, step, user);
}

sluice_status cuda_kit_eval(const sluice_step *step, void *user)
{
    return enqueue(kit_eval, step, user);
}

void cuda_kit_init(kit *k)
{
    kit_init(k);
    host_step = k->model.step;
    k->model.step = cuda_kit_step;
    k->device = "cuda:0";
}

/* ---- any run of the kit ---------------------------------------------------------------------- */

/* Runs at once have the same. */
static _Atomic(sluice_step_fn) placed_step;
static _Atomic(sluice_step_fn) placed_eval;

static sluice_status enqueue_step(const sluice_step *step, void *user)
{
    return enqueue(atomic_load(&placed_step), step, user);
}

static sluice_status enqueue_eval(const sluice_step *step, void *user)
{
    return enqueue(atomic_load(&placed_eval), step, user);
}

void cuda_kit_place(sluice_model *model, const char **device)
{
    if (model->step != NULL && model->step != enqueue_step) {
        atomic_store(&placed_step, model->step);
        model->step = enqueue_step;
    }
    if (model->eval != NULL && model->eval != enqueue_eval) {
        atomic_store(&placed_eval, model->eval);
        model->eval = enqueue_eval;
    }
    *device = strstr(*device, "spin_us=100000") != NULL ? "cuda:0,spin_us=100000"
              : strstr(*device, "spin_us") != NULL      ? "cuda:0,spin_us=0"
              : strstr(*device, "copy=1") != NULL       ? "cuda:0,transport=pull"
                                                        : "cuda:0";
}

void cuda_kit_nothing_is_live(void)
{
    const fake_cuda_live live = fake_cuda_count();

    T_EQ(live.contexts, 0);
    T_EQ(live.blocks, 0);
    T_EQ(live.locked, 0);
    T_EQ(live.streams, 0);
    T_EQ(live.events, 0);
    T_EQ(live.pushed, 0);
    T_EQ(live.graphs, 0);
    T_EQ(live.execs, 0);
}
