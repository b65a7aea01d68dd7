/* SPDX-License-Identifier: Apache-2.0 */
/* The loop of the host over a program that consumes no batch and gives no reason for it. */
#include <stdlib.h>

#include "queue_kit.h"
#include "sink_modes.h"
#include "testing.h"

/* A program that never runs a step, and says of each launch that it has ended in the same way. */
typedef struct idle_program {
    sink_program base;
    program_end end;
    sli_error error;
    uint64_t launches;
} idle_program;

static sluice_status launch(sink_program *program, uint64_t steps)
{
    (void)steps;
    ((idle_program *)program)->launches++;
    return SLUICE_OK;
}

static void call(sink_program *program)
{
    ((idle_program *)program)->launches++;
}

static sluice_status wait(sink_program *program, int64_t timeout_ns)
{
    (void)program;
    (void)timeout_ns;
    return SLUICE_OK;
}

static void collect(sink_program *program, program_result *result_out)
{
    const idle_program *idle = (const idle_program *)program;

    *result_out =
        (program_result){.end = idle->end, .error = &idle->error, .first_nan_step = UINT64_MAX};
}

static program_progress progress(const sink_program *program)
{
    (void)program;
    return (program_progress){0};
}

static const program_ops idle_ops = {
    .launch = launch, .call = call, .wait = wait, .collect = collect, .progress = progress};

/* Runs 10 steps on a queue with one batch. Returns the number of launches. */
static uint64_t run_idle(sluice_mode mode, bool by_batch, program_end end)
{
    idle_program program = {.base = {.ops = &idle_ops, .mode = mode, .by_batch = by_batch},
                            .end = end};
    train_run *run = calloc(1, sizeof(*run));
    fixture f;

    T_TRUE(run != NULL);
    open_queue(&f, "host:0", false);
    produce(&f, 1);
    run->program = &program.base;
    run->plan.mode = mode;
    run->config.output_capacity = 1;
    run->config.micro_batches = 1;
    run->config.world = 1;
    run->config.stall_warning_ms = INT64_MAX;
    run->config.stall_timeout_ms = INT64_MAX;
    run->feed.queue = f.queue;
    T_STATUS(train_run_steps(run, 10), SLUICE_E_STALLED);
    T_CONTAINS(sluice_last_error(), "internal error: mode ");
    T_CONTAINS(sluice_last_error(), " at step 0 consumed no batch");
    free(run);
    close_queue(&f);
    return program.launches;
}

static void a_turn_without_a_step_is_an_error(void)
{
    static const sluice_mode modes[] = {SLUICE_MODE_DIRECT, SLUICE_MODE_DATA, SLUICE_MODE_GRAPH,
                                        SLUICE_MODE_LOOP};

    for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
        T_TRUE(run_idle(modes[i], false, PROGRAM_DONE) > 0);
    }
}

/* The first yield is for a late batch; the batch of the second one has arrived. */
static void a_second_yield_for_a_batch_that_is_there_is_an_error(void)
{
    T_EQ(run_idle(SLUICE_MODE_LOOP, false, PROGRAM_YIELD), 2);
}

const t_test turns_tests[] = {
    T_TEST(a_turn_without_a_step_is_an_error),
    T_TEST(a_second_yield_for_a_batch_that_is_there_is_an_error),
    T_END,
};
