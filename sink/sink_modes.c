/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The four ways to run steps. They differ in who launches how much and when the host waits; which
 * samples a step sees, what it computes and what hooks are told do not depend on them.
 *
 *     direct   launch 1, wait                      for each step
 *     data     wait for data, call the step        for each step; wait for the device once a sink
 *     graph    wait for data, launch 1             for each step; wait for the device once a sink
 *     loop     launch all, wait                    for each sink; again after a yield
 *
 * On a device that launches by itself a step is not called but enqueued, in data mode as in direct:
 * so both are like graph mode there, but that direct waits for each step (program->by_batch).
 */
#include <stdio.h>

#include "range_int.h"
#include "train_run.h"

/* Looks after the run: may another step begin? Not after an error, which *st then is. */
static bool goes_on(train_run *run, sluice_status *st)
{
    if (*st == SLUICE_OK) {
        *st = train_watch(run);
    }
    return *st == SLUICE_OK && !run->stop && !run->out_of_time;
}

/* Waits for the device, looking after the run meanwhile. */
static sluice_status wait_for_device(train_run *run)
{
    sink_program *program = run->program;
    sluice_status watched = SLUICE_OK;
    sluice_status st;

    run->syncs++;
    sli_range_begin("wait for the device");
    while ((st = program->ops->wait(program, TRAIN_LOOK_NS)) == SLUICE_TIMEOUT) {
        sluice_status now = train_watch(run);

        if (now != SLUICE_OK) {
            watched = now;
            program->ops->stop(program); /* it waits for data, so this makes the launch end */
        }
    }
    sli_range_end();
    return watched != SLUICE_OK ? watched : st;
}

/*
 * The host has waited for batch `seq` since `start`: counts how long the device had nothing to do
 * meanwhile, which is from when it had done all it was given.
 */
static void count_idle(train_run *run, uint64_t seq, uint64_t start)
{
    const uint64_t now = sli_ticks();
    const program_progress progress = program_progress_of(run->program);
    const uint64_t ended = progress.idle_since_ticks;
    const uint64_t since = ended > start ? ended : start;

    if (progress.batches_done + 1 == seq && since < now) {
        run->host_wait_ticks += now - since;
    }
}

/* In graph mode: a step that was launched has stopped or failed, so no other will take a batch. */
static bool launches_have_ended(const train_run *run)
{
    return program_progress_of(run->program).ended;
}

/* The batch that comes next, where nothing is under way. */
static uint64_t next_batch(const train_run *run)
{
    return program_progress_of(run->program).batches_done + 1;
}

/*
 * Waits on the host for batch `seq`. STOPPED when the run is to end instead; else what stands in
 * the queue at that place. `beside` launches that are under way.
 */
static sluice_status wait_for_data(train_run *run, uint64_t seq, bool beside)
{
    const uint64_t start = sli_ticks();
    sluice_status st;

    if (run->program->by_batch || run->mode == SLUICE_MODE_GRAPH || run->mode == SLUICE_MODE_DATA) {
        sli_queue_look(run->channel.queue);
    }
    run->awaited_seq = seq;
    sli_range_begin("wait for data");
    while ((st = sli_queue_wait(run->channel.queue, seq, TRAIN_LOOK_NS, false)) == SLUICE_TIMEOUT) {
        st = SLUICE_OK;
        if (!goes_on(run, &st) || launches_have_ended(run)) {
            st = st == SLUICE_OK ? SLUICE_STOPPED : st;
            break;
        }
    }
    sli_range_end();
    run->awaited_seq = 0;
    if (!beside || !run->program->by_batch) { /* else the device itself has measured it */
        count_idle(run, seq, start);
    }
    return st;
}

/* What launches came to: takes in their records, and says how the run goes on. */
static sluice_status collect(train_run *run, program_end *end_out)
{
    program_result result;
    sluice_status st;

    run->program->ops->collect(run->program, &result);
    run->launches += result.more_launches;
    st = train_take_records(run, &result);
    *end_out = result.end;
    if (st == SLUICE_OK && result.step_stops) {
        st = train_wants_to_stop(run, SLUICE_OK);
    }
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
    sink_program *program = run->program;
    /* Then it calls the step, on this thread. */
    const bool calls = program->by_batch && run->mode != SLUICE_MODE_GRAPH;
    sluice_status st;

    run->launches++;
    if (calls) {
        watchdog_enter(&run->watchdog, WATCHED_STEP, 0, run->step);
    }
    sli_range_begin("launch");
    st = program->ops->launch(program, steps);
    sli_range_end();
    if (calls) {
        watchdog_leave(&run->watchdog);
    }
    return st;
}

/* Waits for what was launched and takes in what came of it, also after an error `st`, which then
 * stays the answer: steps that ran are counted and told in any case. */
static sluice_status settle(train_run *run, sluice_status st, program_end *end_out)
{
    const sluice_status waited = wait_for_device(run);
    char error[SLI_ERROR_SIZE];
    sluice_status collected;

    st = st == SLUICE_OK ? waited : st;
    if (st == SLUICE_OK) {
        return collect(run, end_out);
    }
    snprintf(error, sizeof(error), "%s", sluice_last_error());
    collected = collect(run, end_out);
    (void)collected; /* a later error than the one that is reported */
    return sli_fail_again(st, error);
}

/* Steps of one launch: no more than can be recorded. */
static uint64_t chunk(const train_run *run, uint64_t steps)
{
    return steps < run->config.output_capacity ? steps : run->config.output_capacity;
}

/* Loop, and direct, whose loops are of one step. */
static sluice_status run_loop(train_run *run, uint64_t steps)
{
    const uint64_t end = run->step + steps;
    program_end how = PROGRAM_DONE;
    sluice_status st = SLUICE_OK;

    while (run->step < end && goes_on(run, &st)) {
        if (how == PROGRAM_YIELD) {
            run->yields++;
            st = wait_for_data(run, next_batch(run), false);
            if (st == SLUICE_STOPPED) {
                return SLUICE_OK;
            }
            /* An end or an error in the ring is the launch's to find, in order. */
            st = st == SLUICE_E_STALLED ? st : SLUICE_OK;
        }
        if (st == SLUICE_OK) {
            st = launch(run, chunk(run, end - run->step));
            st = settle(run, st, &how);
        }
    }
    return st;
}

/*
 * Launches up to `most` steps, each when its first batch has come; where a launch takes no more
 * than one, each batch when it has.
 */
static sluice_status launch_as_data_come(train_run *run, uint64_t most)
{
    const uint64_t step_batches = run->config.micro_batches;
    const uint64_t end = (run->step + most - run->plan.first_step) * step_batches + 1;
    const uint64_t first = next_batch(run);
    uint64_t seq = first;
    sluice_status st = SLUICE_OK;

    while (seq < end && goes_on(run, &st)) {
        const sluice_status data = wait_for_data(run, seq, seq > first);

        if (data == SLUICE_STOPPED || launches_have_ended(run)) {
            break;
        }
        if (data == SLUICE_E_STALLED) {
            return data;
        }
        /* Also where an end or an error stands: the program finds it, in order. */
        st = launch(run, 1);
        if (data != SLUICE_OK) {
            break;
        }
        seq += run->program->by_batch ? 1 : step_batches - (seq - 1) % step_batches;
    }
    return st;
}

/* One wait for data before each launch, none for the device until the end. */
static sluice_status run_graph(train_run *run, uint64_t steps)
{
    const uint64_t end = run->step + steps;
    sluice_status st = SLUICE_OK;
    program_end how;

    while (run->step < end && goes_on(run, &st)) {
        st = launch_as_data_come(run, chunk(run, end - run->step));
        st = settle(run, st, &how);
    }
    return st;
}

static sluice_status run_data(train_run *run, uint64_t steps)
{
    const uint64_t end = run->step + steps;
    sluice_status st = SLUICE_OK;
    program_end how;

    while (run->step < end && goes_on(run, &st)) {
        st = wait_for_data(run, next_batch(run), false);
        if (st != SLUICE_OK) {
            return st == SLUICE_STOPPED ? SLUICE_OK : st;
        }
        run->launches++;
        watchdog_enter(&run->watchdog, WATCHED_STEP, 0, run->step);
        sli_range_begin("launch");
        run->program->ops->call(run->program);
        sli_range_end();
        watchdog_leave(&run->watchdog);
        st = collect(run, &how);
    }
    return st;
}

sluice_status train_run_steps(train_run *run, uint64_t steps)
{
    if (run->program->by_batch) {
        return run_graph(run,
                         steps); /* direct mode has room for one record, so it waits for each */
    }
    switch (run->mode) {
    case SLUICE_MODE_GRAPH:
        return run_graph(run, steps);
    case SLUICE_MODE_DATA:
        return run_data(run, steps);
    default:
        return run_loop(run, steps);
    }
}

sluice_status train_end_sink(train_run *run)
{
    /* What a step of data mode has enqueued on its device; the other modes have waited already. */
    return run->mode == SLUICE_MODE_DATA && !run->program->by_batch ? wait_for_device(run)
                                                                    : SLUICE_OK;
}
