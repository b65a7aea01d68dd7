/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The four ways to run steps. They differ in who launches how much and when the host waits; which
 * samples a step sees, what it computes and what hooks are told do not depend on them.
 *
 *     direct   launch 1, wait                      for each step
 *     data     wait for data, call the step        for each step; wait for the device once a sink
 *     graph    wait for data, launch 1             for each step; wait for the device once a sink
 *     loop     launch all, wait                    for each sink; again after a yield
 */
#include "train_run.h"

/* Waits for the device, looking after the run meanwhile. */
static sluice_status wait_for_device(train_run *run)
{
    sink_program *program = run->program;
    sluice_status watched = SLUICE_OK;
    sluice_status st;

    run->syncs++;
    while ((st = program->ops->wait(program, TRAIN_LOOK_NS)) == SLUICE_TIMEOUT) {
        sluice_status now = train_watch(run);

        if (now != SLUICE_OK && watched == SLUICE_OK) {
            watched =
                now; /* the launch still has to end: it waits for data, so it can be stopped */
            program->ops->stop(program);
        }
    }
    return watched != SLUICE_OK ? watched : st;
}

/* Waits on the host for the batch of the step that is `ahead` steps after run->step. */
static sluice_status wait_for_data(train_run *run, uint64_t ahead)
{
    const uint64_t seq = run->step + ahead - run->plan.first_step + 1;
    const uint64_t done = atomic_load_explicit(&run->program->steps_done, memory_order_relaxed);
    const bool idle = done + 1 == seq; /* the device has nothing left to do meanwhile */
    const uint64_t start = sli_ticks();
    sluice_status st;

    if (run->mode == SLUICE_MODE_GRAPH || run->mode == SLUICE_MODE_DATA) {
        sli_queue_look(run->channel.queue);
    }
    atomic_store_explicit(&run->program->waits_for_data, true, memory_order_relaxed);
    while ((st = sli_queue_wait(run->channel.queue, seq, TRAIN_LOOK_NS, false)) == SLUICE_TIMEOUT) {
        sluice_status watched = train_watch(run);

        if (watched != SLUICE_OK || run->stop || run->out_of_time) {
            st = watched != SLUICE_OK ? watched : SLUICE_STOPPED;
            break;
        }
    }
    atomic_store_explicit(&run->program->waits_for_data, false, memory_order_relaxed);
    run->host_wait_ticks += idle ? sli_ticks() - start : 0;
    return st;
}

/* What a launch came to: takes its records, and says how the run goes on. */
static sluice_status collect(train_run *run, program_end *end_out)
{
    program_result result;
    sluice_status st;

    run->program->ops->collect(run->program, &result);
    st = train_take_records(run, &result);
    *end_out = result.end;
    if (st != SLUICE_OK) {
        return st;
    }
    switch (result.end) {
    case PROGRAM_FAILED:
        return sli_fail_again(result.status, result.error);
    case PROGRAM_END_OF_DATA:
        return SLUICE_END_OF_DATA;
    case PROGRAM_STOPPED:
        run->stop = run->stop || !run->out_of_time;
        return SLUICE_OK;
    case PROGRAM_DONE:
    case PROGRAM_YIELD:
        break;
    }
    return SLUICE_OK;
}

static sluice_status launch(train_run *run, uint64_t steps)
{
    run->launches++;
    return run->program->ops->launch(run->program, steps);
}

/* Steps of one launch: no more than can be recorded. */
static uint64_t chunk(const train_run *run, uint64_t steps)
{
    return steps < run->config.output_capacity ? steps : run->config.output_capacity;
}

static bool goes_on(const train_run *run)
{
    return !run->stop && !run->out_of_time;
}

static sluice_status run_loop(train_run *run, uint64_t steps)
{
    const uint64_t end = run->step + steps;
    program_end how = PROGRAM_DONE;
    sluice_status st = SLUICE_OK;

    while (run->step < end && goes_on(run) && st == SLUICE_OK) {
        if (how == PROGRAM_YIELD) {
            run->yields++;
            st = wait_for_data(run, 0);
            if (st == SLUICE_STOPPED) {
                return SLUICE_OK;
            }
            /* An end or an error in the ring is the launch's to find, in order. */
            st = st == SLUICE_E_STALLED ? st : SLUICE_OK;
        }
        if (st == SLUICE_OK) {
            st = launch(run, chunk(run, end - run->step));
        }
        if (st == SLUICE_OK) {
            st = wait_for_device(run);
        }
        if (st == SLUICE_OK) {
            st = collect(run, &how);
        }
    }
    return st;
}

/* One wait of the graph's host for data before each launch, none for the device until the end. */
static sluice_status run_graph(train_run *run, uint64_t steps)
{
    sluice_status st = SLUICE_OK;

    while (steps > 0 && goes_on(run) && st == SLUICE_OK) {
        const uint64_t most = chunk(run, steps);
        uint64_t launched = 0;
        sluice_status data = SLUICE_OK;
        sluice_status waited;
        program_end how;

        while (launched < most && data == SLUICE_OK && st == SLUICE_OK) {
            data = wait_for_data(run, launched);
            if (data != SLUICE_STOPPED && data != SLUICE_E_STALLED) {
                st = launch(run, 1); /* an end or an error is found by the device, in order */
                launched++;
            }
            if (train_watch(run) != SLUICE_OK || !goes_on(run)) {
                break;
            }
        }
        waited = wait_for_device(run);
        st = st == SLUICE_OK ? waited : st;
        steps -= launched;
        if (st == SLUICE_OK) {
            st = collect(run, &how);
        }
        if (st == SLUICE_OK && data == SLUICE_E_STALLED) {
            st = data;
        }
    }
    return st;
}

/* Steps with hooks for each: direct and data. */
static sluice_status with_hooks(train_run *run, sluice_status (*one)(train_run *run),
                                uint64_t steps)
{
    const uint64_t end = run->step + steps;
    sluice_status st = SLUICE_OK;

    while (run->step < end && goes_on(run) && st == SLUICE_OK) {
        sluice_hook hook;

        train_fill_hook(run, &hook);
        hook.step_count = 1;
        st = train_call_hooks(run, HOOK_STEP_BEGIN, &hook);
        if (st == SLUICE_OK) {
            st = one(run);
        }
        if (st == SLUICE_OK && run->history_count > 0) {
            train_fill_hook(run, &hook);
            hook.step = run->step - 1;
            hook.step_count = 1;
            hook.records = run->history;
            hook.record_count = 1;
            st = train_call_hooks(run, HOOK_STEP_END, &hook);
        }
        run->history_count = 0;
    }
    return st;
}

static sluice_status one_direct(train_run *run)
{
    program_end how = PROGRAM_DONE;
    sluice_status st = launch(run, 1);

    if (st == SLUICE_OK) {
        st = wait_for_device(run);
    }
    if (st == SLUICE_OK) {
        st = collect(run, &how);
    }
    while (st == SLUICE_OK && how == PROGRAM_YIELD && goes_on(run)) {
        run->yields++;
        st = wait_for_data(run, 0);
        if (st == SLUICE_OK) {
            st = launch(run, 1);
        }
        if (st == SLUICE_OK) {
            st = wait_for_device(run);
        }
        if (st == SLUICE_OK) {
            st = collect(run, &how);
        }
    }
    return st == SLUICE_STOPPED ? SLUICE_OK : st;
}

static sluice_status one_data(train_run *run)
{
    program_end how;
    sluice_status st = wait_for_data(run, 0);

    if (st != SLUICE_OK) {
        return st == SLUICE_STOPPED ? SLUICE_OK : st;
    }
    run->launches++;
    run->program->ops->call(run->program);
    st = train_watch(run);
    if (st == SLUICE_OK) {
        st = collect(run, &how);
    }
    return st;
}

sluice_status train_run_steps(train_run *run, uint64_t steps)
{
    sluice_status st;

    switch (run->mode) {
    case SLUICE_MODE_LOOP:
        return run_loop(run, steps);
    case SLUICE_MODE_GRAPH:
        return run_graph(run, steps);
    case SLUICE_MODE_DATA:
        st = with_hooks(run, one_data, steps);
        return st == SLUICE_OK ? wait_for_device(run) : st;
    default:
        return with_hooks(run, one_direct, steps);
    }
}
