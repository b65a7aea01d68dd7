/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The four modes. They differ in the number of steps per launch and in when the host waits. The
 * samples of a step, its results and the arguments of hooks are the same in all modes.
 *
 *     direct   launch 1, wait                      for each step
 *     data     wait for data, call the step        for each step; wait for the device once a sink
 *     graph    wait for data, launch 1             for each step; wait for the device once a sink
 *     loop     launch all, wait                    for each sink; again after a yield
 *
 * If program->by_batch is set, as on a GPU except in loop mode, the step only enqueues work. Direct
 * and data mode then work like graph mode, except that direct waits for each step. The host waits
 * only until a batch's copy is enqueued, and the launch is ordered after the copy. Before each
 * launch the host also waits until few launches are in flight.
 */
#include "sink_modes.h"

#include "error_int.h"
#include "hooks.h"
#include "log_int.h"
#include "nvtx_ranges_int.h"
#include "pass_epochs.h"
#include "pass_rows.h"
#include "stall_monitor.h"

/* Polls the run's monitors. Returns whether another step may begin; after an error, which is stored
 * in *st, returns false.
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
            program_stop(program); /* the launch waits for data, so this ends it */
        }
    }
    sli_range_end();
    return watched != SLUICE_OK ? watched : st;
}

/*
 * Adds the idle time of the device to the counts: the host waited for batch `seq` from `start`
 * until now, and the device was idle from the end of its last batch. A replay is not a wait for
 * data.
 */
static void count_idle(train_run *run, uint64_t seq, uint64_t start)
{
    const uint64_t now = sli_ticks();
    const program_progress progress = program_progress_of(run->program);
    const uint64_t ended = progress.idle_since_ticks;
    const uint64_t since = ended > start ? ended : start;

    if (progress.batches_done + 1 == seq && since < now) {
        run->counts.host_wait_ticks +=
            now - since - sli_engine_replay_overlap(run->feed.engine, since, now);
    }
}

/* True if a launched step has stopped the run or failed. Later launches then consume no batch. */
static bool launches_have_ended(const train_run *run)
{
    return program_progress_of(run->program).ended;
}

/* Sequence number of the next batch; valid while no launch is in flight. */
static uint64_t next_batch(const train_run *run)
{
    return program_progress_of(run->program).batches_done + 1;
}

/* Waits until batch `seq` has arrived; with by_batch only until its copy is enqueued. */
static sluice_status wait_in_queue(const train_run *run, uint64_t seq)
{
    sli_queue *queue = run->feed.queue;

    return run->program->by_batch ? sli_queue_wait_given(queue, seq, TRAIN_POLL_NS)
                                  : sli_queue_wait(queue, seq, TRAIN_POLL_NS, false);
}

/* True if the epoch's pass is known to end before batch `seq`. */
static bool pass_ends_before(const train_run *run, uint64_t seq)
{
    return run->passes.limits && pass_epochs_left(run, seq) == 0;
}

/*
 * Waits on the host for batch `seq`. `beside`: launches are in flight at the same time. Returns
 * true if the queue has a batch or an end or error marker with that sequence number; *found_out is
 * its status. Returns false if no step may be launched; *found_out is then an error, OK, or
 * END_OF_PASS if the epoch's pass has ended: what the queue has is then left to the next epoch.
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
        waits = !launches_have_ended(run) && !pass_ends_before(run, seq) && goes_on(run, &st);
    }
    /* Also if the batch, the end or the error of a later pass has arrived. */
    if ((waits || st >= 0) && pass_ends_before(run, seq)) {
        st = SLUICE_END_OF_PASS;
        waits = false;
    }
    sli_range_end();
    run->progress.awaited_seq = 0;
    if (!beside || !run->program->by_batch) { /* otherwise the device measures its own idle time */
        count_idle(run, seq, start);
    }
    *found_out = st;
    return waits;
}

/* Collects the records of launches. Sets *end_out to the reason why they ended. */
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
    /* With by_batch, launch() calls the step on this thread in direct and data mode. */
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

/* Waits for the launches and collects their results. Does so even if `st` is an error, which is
 * then returned, so that all steps that ran are counted and passed to the hooks. */
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
    (void)collected; /* ignored: only the first error is reported */
    return sli_error_raise(&error);
}

/* Number of steps of the next launch: `steps`, limited by the capacity for records. */
static uint64_t chunk(const train_run *run, uint64_t steps)
{
    return steps < run->config.output_capacity ? steps : run->config.output_capacity;
}

sluice_status train_await_pass(train_run *run)
{
    const host_work before = host_clock_enter(&run->watch.host, HOST_SINK);
    sluice_status st = SLUICE_OK;

    if (!run->passes.limits || wait_for_data(run, next_batch(run), false, &st)) {
        st = SLUICE_OK;
    }
    host_clock_leave(&run->watch.host, before);
    return st;
}

/* The number of batches from `seq` on that have arrived, at most `most`; 1 if `seq` is an end or
 * error marker. */
static uint64_t arrived(const train_run *run, uint64_t seq, uint64_t most)
{
    uint64_t count = 1;

    while (count < most && sli_queue_wait(run->feed.queue, seq + count, 0, false) == SLUICE_OK) {
        count++;
    }
    return count;
}

/*
 * Returns how many of `steps` steps may be launched at once: those known to be of the epoch's pass.
 * Waits until there is one. 0: there is none; *st is then a status as of wait_for_data(). Steps
 * that end with a pass of unknown length have one batch each.
 */
static uint64_t steps_of_pass(train_run *run, uint64_t steps, sluice_status *st)
{
    const uint64_t seq = next_batch(run);
    sluice_status found;
    uint64_t here;
    uint64_t left;

    if (!run->passes.limits) {
        return steps;
    }
    if (!wait_for_data(run, seq, false, &found)) {
        *st = found;
        return 0;
    }
    here = found == SLUICE_OK ? arrived(run, seq, steps) : 1;
    left = pass_epochs_left(run, seq); /* after the look at what has arrived, which is of the pass
                                          if its end is not known now */
    here = left == UINT64_MAX ? here : left;
    return here < steps ? here : steps;
}

/* A turn in loop mode, or in direct mode, where each launch is one step: one launch. */
static sluice_status turn_of_loop(train_run *run, uint64_t steps, program_end *how)
{
    sluice_status st = SLUICE_OK;
    uint64_t next;

    if (*how == PROGRAM_YIELD) {
        run->counts.yields++;
        if (!wait_for_data(run, next_batch(run), false, &st)) {
            return st;
        }
        /* An end or error marker is left to the launch, which handles it after the earlier steps.
         */
    }
    st = SLUICE_OK;
    next = steps_of_pass(run, chunk(run, steps), &st);
    return next > 0 ? settle(run, launch(run, next), how) : st;
}

/* Waits until another launch may be enqueued. Returns false if the run ends; *st is then an error
 * or OK. */
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
 * Launches up to `most` steps. Each step is launched when its first batch has arrived. With
 * by_batch each batch has a launch of its own, enqueued after the batch's copy.
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
        /* An end or error marker is launched like a batch, so that the program handles it after the
         * earlier steps. */
        st = launch(run, 1);
        if (data != SLUICE_OK) {
            break;
        }
        seq += run->program->by_batch ? 1 : step_batches - (seq - 1) % step_batches;
    }
    return st;
}

/* A turn in graph mode: waits for data before each launch, and for the device only after the last
 * launch. */
static sluice_status turn_of_graph(train_run *run, uint64_t steps, program_end *how)
{
    return settle(run, launch_as_data_come(run, chunk(run, steps)), how);
}

/* A turn in data mode: one batch. */
static sluice_status turn_of_data(train_run *run, program_end *how)
{
    sluice_status st;

    if (!wait_for_data(run, next_batch(run), false, &st) || st != SLUICE_OK) {
        return st;
    }
    run->counts.launches++;
    watchdog_enter(&run->watch.callbacks, warn_of_step, run->progress.step);
    sli_range_begin("launch");
    run->program->ops->call(run->program);
    sli_range_end();
    watchdog_leave(&run->watch.callbacks);
    return collect(run, how);
}

/* Runs some of `steps` steps. *how: how the launches of the turn before ended, and of this one. */
static sluice_status run_turn(train_run *run, uint64_t steps, program_end *how)
{
    if (run->program->by_batch) {
        return turn_of_graph(run, steps, how); /* direct: waits per step, as the capacity is 1 */
    }
    switch (run->plan.mode) {
    case SLUICE_MODE_GRAPH:
        return turn_of_graph(run, steps, how);
    case SLUICE_MODE_DATA:
        return turn_of_data(run, how);
    default:
        return turn_of_loop(run, steps, how);
    }
}

/*
 * Each turn must consume a batch, or end with a status or an outcome, or yield for a late batch.
 * A turn after such a yield has waited for the batch. A loop of other turns would never end.
 */
static sluice_status check_turn(const train_run *run, uint64_t first, bool may_yield)
{
    if (next_batch(run) != first || may_yield || !outcome_goes_on(&run->outcome)) {
        return SLUICE_OK;
    }
    return sli_fail(SLUICE_E_STALLED,
                    "internal error: mode %s at step %llu consumed no batch and found no reason to "
                    "wait or to end; this is a bug in Sluice: please report the pipeline and the "
                    "settings",
                    sluice_mode_name(run->plan.mode), (unsigned long long)run->progress.step);
}

sluice_status train_run_steps(train_run *run, uint64_t steps)
{
    const uint64_t end = run->progress.step + steps;
    program_end how = PROGRAM_DONE;
    sluice_status st = SLUICE_OK;

    while (run->progress.step < end && goes_on(run, &st)) {
        const uint64_t first = next_batch(run);
        const bool has_waited = how == PROGRAM_YIELD;

        st = run_turn(run, end - run->progress.step, &how);
        if (st == SLUICE_OK) {
            st = check_turn(run, first, how == PROGRAM_YIELD && !has_waited);
        }
    }
    pass_rows_add(run); /* the sink, and so a pass, may have ended since the last poll */
    return st;
}

sluice_status train_end_sink(train_run *run)
{
    /* In data mode a step may have enqueued work on its device; the other modes have waited
     * already. */
    return run->plan.mode == SLUICE_MODE_DATA && !run->program->by_batch ? wait_for_device(run)
                                                                         : SLUICE_OK;
}
