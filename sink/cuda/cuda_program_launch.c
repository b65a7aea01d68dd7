/* SPDX-License-Identifier: Apache-2.0 */
/* Launches of a sink program on CUDA: the check of the next batch, the launch, the limit on
 * launches in flight. */
#include "cuda_program.h"

#include <stdio.h>
#include <string.h>

#include "callback_int.h"
#include "clock_int.h"
#include "cuda_error_int.h"
#include "step_capture.h"

/* The event to record after the launch of batch seq, a multiple of LAUNCH_EVENTS. */
static cudaEvent_t event_behind(const cuda_program *p, uint64_t seq)
{
    return p->events[seq / LAUNCH_EVENTS % LAUNCH_EVENTS];
}

void cuda_program_end_with(cuda_program *p, program_end end)
{
    p->pending = end;
}

void cuda_program_fail_with(cuda_program *p, sluice_status status)
{
    sli_error_take(status, &p->error);
    outcome_raise(p->outcome, status == SLUICE_E_NAN ? OUTCOME_NAN : OUTCOME_FAILED);
    cuda_program_end_with(p, PROGRAM_ENDED);
}

/* Checks the next batch on the host. Returns false at an end or error marker; nothing may then be
 * launched. */
static bool may_launch(cuda_program *p)
{
    sluice_status st;

    if (p->pending != PROGRAM_DONE) {
        return false;
    }
    st = p->base.by_batch ? sli_queue_wait_given(p->feed->queue, p->next_seq, 0)
                          : sli_queue_wait(p->feed->queue, p->next_seq, 0, true);
    if (st == SLUICE_END_OF_DATA || st == SLUICE_CLOSED) {
        cuda_program_end_with(p, PROGRAM_END_OF_DATA);
    } else if (st < 0) {
        cuda_program_fail_with(p, st);
    } else if (sli_ring_load_acquire(&p->shared->stop) != 0) {
        cuda_program_end_with(p, PROGRAM_ENDED);
    }
    return p->pending == PROGRAM_DONE;
}

/* Copies the learning rates of the steps that may run before the next collect. The schedule is
 * never called for later steps. */
static sluice_status copy_rates(cuda_program *p, uint64_t steps)
{
    const uint64_t left = p->plan->end_step - p->step;
    const uint64_t most = p->base.by_batch ? p->capacity : steps;
    const uint64_t count = most < left ? most : left;

    for (uint64_t i = 0; i < count; i++) {
        p->rates[i] = program_rate(&p->learning_rate, p->step + i);
    }
    return sli_stream_copy(&p->stream, p->device_rates, p->rates, count * sizeof(float));
}

/*
 * Called before the first launch: waits for all work that the user has enqueued in any stream, such
 * as an asynchronous cudaMemset() in the default stream. The library's streams are not ordered
 * after the default stream.
 */
static sluice_status wait_for_setup(const cuda_program *p)
{
    sluice_status st = sli_cuda_enter(p->device);
    cudaError_t error;

    if (st != SLUICE_OK) {
        return st;
    }
    error = step_capture_synchronize();
    if (error != cudaSuccess) {
        st = sli_cuda_fail(error, "cudaDeviceSynchronize before the first step");
    }
    sli_cuda_leave(p->device);
    return st;
}

/* Called before the first launch since the last collect: sets the commands and resets the report.
 */
static sluice_status prepare(cuda_program *p, uint64_t steps)
{
    shared_part *s = p->shared;
    sluice_status st = SLUICE_OK;

    if (p->launched) {
        return SLUICE_OK;
    }
    if (s->command.collects == 0) {
        st = wait_for_setup(p);
    }
    s->turns.steps = p->turns.exec != NULL && !p->yielded ? steps / p->turn * p->turn : 0;
    s->command.steps = steps - s->turns.steps;
    s->command.spin_ns = (uint64_t)p->feed->config.device->caps.spin_ns;
    s->command.collects++;
    s->turns.spin_ns = s->command.spin_ns;
    s->turns.collects = s->command.collects;
    p->yielded = false;
    memset(&s->getnext, 0, sizeof(s->getnext));
    p->launched = true;
    return st == SLUICE_OK && p->device_rates != NULL ? copy_rates(p, steps) : st;
}

/* Records an event after every LAUNCH_EVENTS-th one-batch launch, for cuda_program_await_room().
 * Not needed if fewer than MOST_LAUNCHES launches fit between two collects. */
static sluice_status mark_launch(cuda_program *p)
{
    cudaError_t error;

    if (p->next_seq % LAUNCH_EVENTS != 0 ||
        (uint64_t)p->capacity * p->micro_batches < MOST_LAUNCHES) {
        return SLUICE_OK;
    }
    error = cudaEventRecord(event_behind(p, p->next_seq), p->handle);
    return error == cudaSuccess ? SLUICE_OK : sli_cuda_fail(error, "cudaEventRecord");
}

/* Launches the graph of one batch; the stream is ordered after the batch's copy. */
static sluice_status launch_once(void *arg)
{
    cuda_program *p = arg;
    const cudaError_t error = cudaGraphLaunch(p->graph.exec, p->handle);

    return error == cudaSuccess ? mark_launch(p) : sli_cuda_fail(error, "cudaGraphLaunch");
}

/* Launches the unrolled loop for as many whole iterations as fit, then the loop of single steps for
 * the rest. */
static sluice_status launch_loop(void *arg)
{
    cuda_program *p = arg;
    const bool turns = p->shared->turns.steps > 0;
    cudaError_t error = cudaSuccess;

    if (turns) {
        error = cudaGraphLaunch(p->turns.exec, p->handle);
    }
    if (error == cudaSuccess && (!turns || p->shared->command.steps > 0)) {
        error = cudaGraphLaunch(p->graph.exec, p->handle);
        p->more_launches += turns;
    }
    return error == cudaSuccess ? SLUICE_OK : sli_cuda_fail(error, "cudaGraphLaunch");
}

/* Launches GetNext's kernels of a batch, before the step. */
static sluice_status launch_front(void *arg)
{
    cuda_program *p = arg;
    sluice_status st = step_graph_launch_kernel(&p->chain.begin, p->handle);

    if (st == SLUICE_OK) {
        st = step_graph_launch_kernel(&p->chain.gather, p->handle);
    }
    if (st == SLUICE_OK && p->chain.digest.function != NULL) {
        st = step_graph_launch_kernel(&p->chain.digest, p->handle);
    }
    return st;
}

sluice_status cuda_program_mark_maps(void *program)
{
    cuda_program *p = program;

    return p->marks_maps ? step_graph_launch_kernel(&p->chain.mark, p->handle) : SLUICE_OK;
}

/* Calls the step. A step that fails is counted as one that ran. */
static sluice_status call_step(void *arg)
{
    cuda_program *p = arg;
    const uint64_t failures = sli_fail_count();
    const unsigned long long step = p->plan->first_step + (p->next_seq - 1) / p->micro_batches;
    cuda_entry outer;
    sluice_status answer = sli_cuda_begin_user(p->device, &outer);

    if (answer == SLUICE_OK) {
        answer = sli_callback_status(p->model.step(&p->view, p->model.user), failures,
                                     "step %llu: the step function", step);
        sli_cuda_end_user(p->device, &outer);
    }
    if (answer < 0) {
        cuda_program_fail_with(p, answer);
    }
    p->stop_requested = p->stop_requested || answer == SLUICE_STOPPED;
    return SLUICE_OK;
}

static sluice_status launch_next(void *arg)
{
    cuda_program *p = arg;
    const sluice_status st = step_graph_launch_kernel(&p->chain.next, p->handle);

    return st == SLUICE_OK ? mark_launch(p) : st;
}

/* Launches a batch, calling the step on this thread. The device's context is current during the
 * call, but no lock is held. */
static sluice_status launch_call(cuda_program *p)
{
    sluice_status st = sli_cuda_stream_enqueue(p->stream.handle, launch_front, p);

    if (st == SLUICE_OK) {
        st = sli_cuda_stream_enqueue(p->stream.handle, call_step, p);
    }
    if (st == SLUICE_OK) {
        st = sli_cuda_stream_enqueue(p->stream.handle, launch_next, p);
    }
    if (p->stop_requested && p->next_seq % p->micro_batches == 0) {
        p->stop_requested = false;
        outcome_request(p->outcome, OUTCOME_STOP);
        if (!outcome_goes_on(p->outcome) && p->pending == PROGRAM_DONE) {
            cuda_program_end_with(p, PROGRAM_ENDED);
        }
    }
    return st;
}

/* Launches one batch, ordered after the batch's copy, for which the host does not wait. */
static sluice_status launch_batch(cuda_program *p)
{
    const sluice_status st = sli_queue_order(p->feed->queue, p->next_seq, p->handle);

    if (st != SLUICE_OK) {
        cuda_program_fail_with(p, st); /* a copy has failed; earlier batches are valid */
        return SLUICE_OK;
    }
    return p->graph.exec != NULL ? sli_cuda_stream_enqueue(p->stream.handle, launch_once, p)
                                 : launch_call(p);
}

/* Enters the context once for both the ordering and the launch. */
static sluice_status launch_graph(cuda_program *p)
{
    sluice_status st = sli_cuda_enter(p->device);

    if (st != SLUICE_OK) {
        return st;
    }
    st = p->base.by_batch ? launch_batch(p)
                          : sli_cuda_stream_enqueue(p->stream.handle, launch_loop, p);
    sli_cuda_leave(p->device);
    return st;
}

sluice_status cuda_program_launch(sink_program *program, uint64_t steps)
{
    cuda_program *p = cuda_program_of(program);
    sluice_status st;

    if (!may_launch(p)) {
        return SLUICE_OK;
    }
    st = prepare(p, steps);
    if (st != SLUICE_OK) {
        return st;
    }
    st = p->graph.exec != NULL ? launch_graph(p) : launch_batch(p);
    p->next_seq += p->base.by_batch;
    return st;
}

/* ---- room for launches ----------------------------------------------------------------------- */

/* True if another launch may be enqueued. Also true after a launch that ended early, since later
 * launches are no-ops, and after a device error. */
static bool has_room(void *arg)
{
    cuda_program *p = arg;
    const uint64_t done = sli_ring_load_acquire(&p->shared->report.batches_done);

    return p->next_seq - 1 - done < MOST_LAUNCHES ||
           sli_ring_load_acquire(&p->shared->report.ended) != 0 ||
           sli_stream_status(&p->stream) != SLUICE_OK;
}

static bool poll_for_room(cuda_program *p)
{
    const int64_t start_ns = sli_now_ns();
    bool room = has_room(p);

    while (!room && sli_now_ns() - start_ns < p->device->poll_ns) {
        sli_relax();
        room = has_room(p);
    }
    return room;
}

/*
 * Polls the device's count of batches, then blocks until half of the launches have ended: one
 * wake-up then serves two batches, and the device still has work queued.
 */
sluice_status cuda_program_await_room(sink_program *program, int64_t timeout_ns)
{
    cuda_program *p = cuda_program_of(program);
    const uint64_t half = (p->next_seq - 1 - MOST_LAUNCHES / 2) / LAUNCH_EVENTS * LAUNCH_EVENTS;

    if (!p->base.by_batch || has_room(p) || (p->awaited != half && poll_for_room(p))) {
        return SLUICE_OK;
    }
    if (p->awaited != half) {
        const sluice_status st =
            sli_cuda_stream_notify(p->stream.handle, event_behind(p, half), &p->room);

        if (st != SLUICE_OK) {
            return st;
        }
        p->awaited = half;
    }
    return sli_event_await(&p->room, has_room, p, timeout_ns) ? SLUICE_OK : SLUICE_TIMEOUT;
}
