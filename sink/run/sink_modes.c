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
 * so both are like graph mode there, but that direct waits for each step (program->by_batch). There
 * data are waited for until their copy was given, which the launch is ordered behind, and a launch
 * waits for room: few are under way.
 */
#include "sink_modes.h"

#include "error_int.h"
#include "hooks.h"
#include "log_int.h"
#include "nvtx_ranges_int.h"
#include "stall_monitor.h"

/* Polls the monitors of the run. May another step begin? After an error, stored in *st, it may not.
 */
static bool goes_on(train_run *run, sluice_status *st)
{
    if (*st == SLUICE_OK) {
        *st = train_watch(run);
    }
    return *st == SLUICE_OK && outcome_goes_on(&run->outcome);
}

/* Waits for the device and polls the monitors of the run meanwhile. */
static sluice_status wait_for_device(train_run *run)
{
    sink_program *program = run->program;
    sluice_status watched = SLUICE_OK;
    sluice_status st;

    run->counts.syncs++;
    sli_range_begin("wait for the device");
    while ((st = program->ops->wait(program, TRAIN_POLL_NS)) == SLUICE_TIMEOUT) {
        sluice_status now = train_watch(run);

        if (now != SLUICE_OK) {
            watched = now;
            outcome_raise(&run->outcome, OUTCOME_FAILED);
            program_stop(program); /* it waits for data, so this makes the launch end */
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
        run->counts.host_wait_ticks += now - since;
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

/* For a batch to be launched next: where a launch can be ordered behind its copy that is enough. */
static sluice_status wait_in_queue(const train_run *run, uint64_t seq)
{
    sli_queue *queue = run->feed.queue;

    return run->program->by_batch ? sli_queue_wait_given(queue, seq, TRAIN_POLL_NS)
                                  : sli_queue_wait(queue, seq, TRAIN_POLL_NS, false);
}

/*
 * Waits on the host for batch `seq`. True: the queue has a batch or a mark of that number,
 * *found_out says what. False: no further launch is to be given, for *found_out, an error, or OK.
 * `beside` launches that are under way.
 */
static bool wait_for_data(train_run *run, uint64_t seq, bool beside, sluice_status *found_out)
{
    const uint64_t start = sli_ticks();
    sluice_status st = SLUICE_OK;
    bool waits = true;

    if (run->program->by_batch || run->plan.mode == SLUICE_MODE_GRAPH ||
        run->plan.mode == SLUICE_MODE_DATA) {
        sli_queue_sample_depth(run->feed.queue);
    }
    run->progress.awaited_seq = seq;
    sli_range_begin("wait for data");
    while (waits && (st = wait_in_queue(run, seq)) == SLUICE_TIMEOUT) {
        st = SLUICE_OK;
        waits = !launches_have_ended(run) && goes_on(run, &st);
    }
    sli_range_end();
    run->progress.awaited_seq = 0;
    if (!beside || !run->program->by_batch) { /* else the device itself has measured it */
        count_idle(run, seq, start);
    }
    *found_out = st;
    return waits;
}

/* Takes the records of launches, and returns why they ended. */
static sluice_status collect(train_run *run, program_end *end_out)
{
    program_result result;
    sluice_status st;

    run->program->ops->collect(run->program, &result);
    run->counts.launches += result.more_launches;
    st = train_take_records(run, &result);
    *end_out = result.end;
    if (st == SLUICE_OK && outcome_requested(&run->outcome) >= OUTCOME_STOP &&
        result.error->status >= 0) {
        st = train_check_request(run);
    }
    if (st != SLUICE_OK) {
        return st;
    }
    return result.end == PROGRAM_END_OF_DATA ? SLUICE_END_OF_DATA : sli_error_raise(result.error);
}

static void warn_of_step(uint64_t step, double seconds)
{
    sli_log(SLUICE_LOG_WARN, "the step function has not returned for %.1f s (step %llu)", seconds,
            (unsigned long long)step);
}

static sluice_status launch(train_run *run, uint64_t steps)
{
    sink_program *program = run->program;
    /* Then it calls the step, on this thread. */
    const bool calls = program->by_batch && run->plan.mode != SLUICE_MODE_GRAPH;
    sluice_status st;

    run->counts.launches++;
    if (calls) {
        watchdog_enter(&run->watch.callbacks, warn_of_step, run->progress.step);
    }
    sli_range_begin("launch");
    st = program->ops->launch(program, steps);
    sli_range_end();
    if (calls) {
        watchdog_leave(&run->watch.callbacks);
    }
    return st;
}

/* Waits for what was launched and takes in what came of it, also after an error `st`, which then
 * stays the answer: steps that ran are counted and told in any case. */
static sluice_status settle(train_run *run, sluice_status st, program_end *end_out)
{
    const sluice_status waited = wait_for_device(run);
    sli_error error;
    sluice_status collected;

    st = st == SLUICE_OK ? waited : st;
    if (st == SLUICE_OK) {
        return collect(run, end_out);
    }
    sli_error_take(st, &error);
    collected = collect(run, end_out);
    (void)collected; /* a later error than the one that is reported */
    return sli_error_raise(&error);
}

/* Steps of one launch: no more than can be recorded. */
static uint64_t chunk(const train_run *run, uint64_t steps)
{
    return steps < run->config.output_capacity ? steps : run->config.output_capacity;
}

/* Loop, and direct, whose loops are of one step. */
static sluice_status run_loop(train_run *run, uint64_t steps)
{
    const uint64_t end = run->progress.step + steps;
    program_end how = PROGRAM_DONE;
    sluice_status st = SLUICE_OK;

    while (run->progress.step < end && goes_on(run, &st)) {
        if (how == PROGRAM_YIELD) {
            run->counts.yields++;
            if (!wait_for_data(run, next_batch(run), false, &st)) {
                return st;
            }
            /* An end or an error in the ring is the launch's to find, in order. */
        }
        st = launch(run, chunk(run, end - run->progress.step));
        st = settle(run, st, &how);
    }
    return st;
}

/* Waits until another launch may be given. False: the run ends, with *st. */
static bool wait_for_room(train_run *run, sluice_status *st)
{
    sink_program *program = run->program;

    while (program->ops->await_room != NULL &&
           program->ops->await_room(program, TRAIN_POLL_NS) == SLUICE_TIMEOUT) {
        if (!goes_on(run, st)) {
            return false;
        }
    }
    return true;
}

/*
 * Launches up to `most` steps, each when its first batch has come; where a launch takes no more
 * than one, each batch when it has.
 */
static sluice_status launch_as_data_come(train_run *run, uint64_t most)
{
    const uint64_t step_batches = run->config.micro_batches;
    const uint64_t end =
        (run->progress.step + most - run->plan.sinks.first_step) * step_batches + 1;
    const uint64_t first = next_batch(run);
    uint64_t seq = first;
    sluice_status st = SLUICE_OK;

    while (seq < end && goes_on(run, &st)) {
        sluice_status data;

        if (!wait_for_room(run, &st)) {
            return st;
        }
        if (!wait_for_data(run, seq, seq > first, &data)) {
            return data;
        }
        if (launches_have_ended(run)) {
            break;
        }
        /* Also for an end or an error: the program finds it, in order. */
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
    const uint64_t end = run->progress.step + steps;
    sluice_status st = SLUICE_OK;
    program_end how;

    while (run->progress.step < end && goes_on(run, &st)) {
        st = launch_as_data_come(run, chunk(run, end - run->progress.step));
        st = settle(run, st, &how);
    }
    return st;
}

static sluice_status run_data(train_run *run, uint64_t steps)
{
    const uint64_t end = run->progress.step + steps;
    sluice_status st = SLUICE_OK;
    program_end how;

    while (run->progress.step < end && goes_on(run, &st)) {
        if (!wait_for_data(run, next_batch(run), false, &st) || st != SLUICE_OK) {
            return st;
        }
        run->counts.launches++;
        watchdog_enter(&run->watch.callbacks, warn_of_step, run->progress.step);
        sli_range_begin("launch");
        run->program->ops->call(run->program);
        sli_range_end();
        watchdog_leave(&run->watch.callbacks);
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
    switch (run->plan.mode) {
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
    return run->plan.mode == SLUICE_MODE_DATA && !run->program->by_batch ? wait_for_device(run)
                                                                         : SLUICE_OK;
}
