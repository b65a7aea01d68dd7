/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Programs on CUDA. In mode loop a launch is a graph with a WHILE node:
 *
 *     begin -> while it says so: gather -> step -> next
 *
 * In the other modes a launch is one batch, which the host has seen to be there: a graph of the
 * same kernels without the loop (graph), or these one by one with a call of the step between them
 * (data, direct). What comes of a step is in host memory that the device writes; it is read once
 * the stream is idle.
 */
#include "cuda_program.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "alloc_int.h"
#include "clock_int.h"
#include "cuda_error.h"
#include "rng_int.h"

/* How long the text of an error that the device has met may be on its way here. */
static const int64_t ERROR_WAIT_NS = 5000000000;

static cuda_program *of(sink_program *program)
{
    return (cuda_program *)program;
}

/* ---- launching ------------------------------------------------------------------------------- */

/* The run ends with this once all that is under way is done. */
static void end_with(cuda_program *p, program_end end)
{
    p->pending = end;
}

static void fail_with(cuda_program *p, sluice_status status)
{
    p->status = status;
    snprintf(p->error, sizeof(p->error), "%s", sluice_last_error());
    end_with(p, PROGRAM_FAILED);
}

/*
 * Looks whether the next batch is one at all: an end, or an error, is found here, where the host
 * stands, and nothing is launched behind what came before it.
 */
static bool may_launch(cuda_program *p)
{
    sluice_status st;

    if (p->pending != PROGRAM_DONE) {
        return false;
    }
    st = sli_queue_wait(p->channel->queue, p->next_seq, 0, true);
    if (st == SLUICE_END_OF_DATA || st == SLUICE_CLOSED) {
        end_with(p, PROGRAM_END_OF_DATA);
    } else if (st < 0) {
        fail_with(p, st);
    } else if (sli_ring_load_acquire(&p->shared->stop) != 0) {
        end_with(p, PROGRAM_STOPPED);
    }
    return p->pending == PROGRAM_DONE;
}

/* Of the steps that may run before the next collect: a schedule is not asked about others. */
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
 * Before the first launch: what the user has done to his memory until then, on whatever stream, is
 * done. Streams of ours do not wait for the default one, on which cudaMemset() is not waited for.
 */
static sluice_status wait_for_setup(const cuda_program *p)
{
    sluice_status st = sli_cuda_enter(p->device);
    cudaError_t error;

    if (st != SLUICE_OK) {
        return st;
    }
    error = cudaDeviceSynchronize();
    if (error != cudaSuccess) {
        st = sli_cuda_fail(error, "cudaDeviceSynchronize before the first step");
    }
    sli_cuda_leave(p->device);
    return st;
}

/* The first launch since the last collect finds everything as it was left there. */
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
    s->command.spin_ns = (uint64_t)p->channel->config.device->caps.spin_ns;
    s->command.collects++;
    s->turns.spin_ns = s->command.spin_ns;
    s->turns.collects = s->command.collects;
    p->yielded = false;
    memset(&s->getnext, 0, sizeof(s->getnext));
    p->launched = true;
    return st == SLUICE_OK && p->device_rates != NULL ? copy_rates(p, steps) : st;
}

/* Whole turns of a loop that is unrolled, then what is left of the steps one by one. */
static sluice_status launch_graph(void *arg)
{
    cuda_program *p = arg;
    const bool turns = !p->base.by_batch && p->shared->turns.steps > 0;
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

/* GetNext's part of a batch, in front of the step. */
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

/* Calls the step. One that fails has run, and counts. */
static sluice_status call_step(void *arg)
{
    cuda_program *p = arg;
    const uint64_t failures = sli_fail_count();
    const unsigned long long step = p->plan->first_step + (p->next_seq - 1) / p->micro_batches;
    const sluice_status answer = p->model.step(&p->view, p->model.user);

    if (answer < 0) {
        sli_fail_from(answer, failures, "step %llu: the step function returned %s", step,
                      sluice_status_name(answer));
        fail_with(p, answer);
    }
    p->step_stops = p->step_stops || answer == SLUICE_STOPPED;
    return SLUICE_OK;
}

static sluice_status launch_next(void *arg)
{
    cuda_program *p = arg;

    return step_graph_launch_kernel(&p->chain.next, p->handle);
}

/* A batch whose step is called: nothing of ours is current or held while the user's code runs. */
static sluice_status launch_call(cuda_program *p)
{
    sluice_status st = sli_cuda_stream_enqueue(p->stream.handle, launch_front, p);

    if (st == SLUICE_OK) {
        st = sli_cuda_stream_enqueue(p->stream.handle, call_step, p);
    }
    if (st == SLUICE_OK) {
        st = sli_cuda_stream_enqueue(p->stream.handle, launch_next, p);
    }
    if (p->step_stops && p->next_seq % p->micro_batches == 0) {
        p->step_stops = false;
        p->stop_wanted = true;
        if (!p->runs_on && p->pending == PROGRAM_DONE) {
            end_with(p, PROGRAM_STOPPED);
        }
    }
    return st;
}

static sluice_status cuda_launch(sink_program *program, uint64_t steps)
{
    cuda_program *p = of(program);
    sluice_status st;

    if (!may_launch(p)) {
        return SLUICE_OK;
    }
    st = prepare(p, steps);
    if (st != SLUICE_OK) {
        return st;
    }
    if (p->graph.exec != NULL) {
        st = sli_cuda_stream_enqueue(p->stream.handle, launch_graph, p);
    } else {
        st = launch_call(p);
    }
    p->next_seq += p->base.by_batch;
    return st;
}

static cudaError_t synchronize(void *stream)
{
    return cudaStreamSynchronize(stream);
}

/* An error may be of what was to tell that the device is done: what it writes is then still read by
 * nobody before it is. */
static sluice_status cuda_wait(sink_program *program, int64_t timeout_ns)
{
    cuda_program *p = of(program);
    const sluice_status st = sli_stream_wait(&p->stream, timeout_ns);

    if (st != SLUICE_OK && st != SLUICE_TIMEOUT) {
        sli_cuda_give_back(p->device, synchronize, p->handle, "cudaStreamSynchronize");
    }
    return st;
}

/* ---- collecting ------------------------------------------------------------------------------ */

/* The host's ticks in a time that the device has measured. */
static uint64_t ticks_of(const cuda_program *p, uint64_t ns)
{
    const sli_profile *profile = &p->channel->profile;
    const double all_ns = (double)(sli_now_ns() - profile->start_ns);
    const double all_ticks = (double)(sli_ticks() - profile->start_ticks);

    return all_ns > 0 ? (uint64_t)((double)ns * all_ticks / all_ns) : 0;
}

/* What the device has measured of its waits, in the profile. */
static void count_waits(cuda_program *p)
{
    const uint64_t idle_ns = p->shared->report.idle_ns;
    const uint64_t wait_ns = p->shared->getnext.wait_ns + idle_ns - p->idle_ns;

    p->idle_ns = idle_ns;
    sli_counter_add(&p->get_next_counters->wait_input_ticks, ticks_of(p, wait_ns));
}

/* And of a step: of each of its batches the mean. */
static void count_step(cuda_program *p, const step_trace *trace)
{
    const uint64_t gather = ticks_of(p, trace->gather_ns / p->micro_batches);
    const uint64_t step = ticks_of(p, trace->step_ns / p->micro_batches);

    for (uint32_t i = 0; i < p->micro_batches; i++) {
        sli_counters_item(p->get_next_counters, gather, p->channel->layout.slot_bytes);
        sli_counters_item(p->step_counters, step, 0);
    }
}

/* The samples of a step's batches. */
static const uint64_t *take_samples(cuda_program *p, uint32_t place, uint64_t step)
{
    const size_t rows = (size_t)p->micro_batches * p->batch_size;
    const uint64_t first = (step - p->plan->first_step) * p->micro_batches + 1;
    uint64_t *to = p->samples + place * rows;

    for (uint32_t i = 0; i < p->micro_batches; i++) {
        memcpy(to + (size_t)i * p->batch_size, sli_queue_samples(p->channel->queue, first + i),
               p->batch_size * sizeof(*to));
    }
    return to;
}

static void take_record(cuda_program *p, uint32_t place)
{
    const step_trace *trace = &p->traces[place];
    sluice_step_record *r = &p->records[place];

    r->step = p->step++;
    r->epoch = sink_plan_epoch(p->plan, r->step);
    r->pass = trace->pass;
    r->first_sample = trace->first_sample;
    r->valid_rows = trace->valid_rows;
    r->digest = trace->digest;
    r->outputs = trace->outputs;
    count_step(p, trace);
    r->samples = p->samples != NULL ? take_samples(p, place, r->step) : NULL;
}

/* The guard has ended the run, for the last step's outputs. */
static void fail_for_nan(cuda_program *p, uint64_t steps)
{
    const float *outputs = p->traces[steps - 1].outputs;
    uint32_t bad = 0;

    while (bad + 1 < p->model.output_count && isfinite(outputs[bad])) {
        bad++;
    }
    fail_with(p, program_fail_nan(&p->model, p->step - 1, bad, outputs[bad]));
}

/* An error stands in the ring; its text is the queue's. */
static void fail_for_ring(cuda_program *p, uint64_t seq)
{
    const sluice_status st = sli_queue_wait(p->channel->queue, seq, ERROR_WAIT_NS, false);

    fail_with(p, st < 0 ? st
                        : sli_fail(SLUICE_E_DEVICE, "batch %llu failed, and nobody says why",
                                   (unsigned long long)seq));
}

/* How the launches since the last collect ended. */
static void take_end(cuda_program *p)
{
    const sli_getnext_report *report = &p->shared->getnext;

    if (p->pending == PROGRAM_FAILED) {
        return; /* the step's call has */
    }
    switch ((sli_getnext_end)report->end) {
    case SLI_GETNEXT_YIELD:
        if (p->base.by_batch) {
            fail_with(p, sli_fail(SLUICE_E_DEVICE,
                                  "batch %llu was there for the host and not for the device",
                                  (unsigned long long)report->seq));
        }
        break;
    case SLI_GETNEXT_STOPPED:
        end_with(p, PROGRAM_STOPPED);
        break;
    case SLI_GETNEXT_END_OF_DATA:
        end_with(p, PROGRAM_END_OF_DATA);
        break;
    case SLI_GETNEXT_FAILED:
        fail_for_ring(p, report->seq);
        break;
    case SLI_GETNEXT_CORRUPT:
        fail_with(p, sli_fail(SLUICE_E_CORRUPT, "the slot of batch %llu says another number",
                              (unsigned long long)report->seq));
        break;
    case SLI_GETNEXT_HALTED:
        fail_for_nan(p, report->steps);
        break;
    default:
        break;
    }
}

static void cuda_collect(sink_program *program, program_result *result_out)
{
    cuda_program *p = of(program);
    const sli_getnext_report *report = &p->shared->getnext;
    const bool launched = p->launched;
    const uint64_t steps = launched ? report->steps : 0;
    const bool yielded = launched && report->end == SLI_GETNEXT_YIELD;

    for (uint32_t i = 0; i < steps; i++) {
        take_record(p, i);
    }
    if (launched && report->seq > 0) {
        p->next_seq = report->seq;
        count_waits(p);
        take_end(p);
    }
    p->launched = false;
    p->shared->report.ended = 0; /* what has ended the run is pending now */
    result_out->end = p->pending == PROGRAM_DONE && yielded ? PROGRAM_YIELD : p->pending;
    result_out->steps = steps;
    result_out->records = p->records;
    result_out->status = p->status;
    result_out->error = p->error;
    result_out->nan_steps = p->shared->report.nan_steps;
    result_out->first_nan_step =
        result_out->nan_steps > 0 ? p->shared->report.first_nan_step : UINT64_MAX;
    result_out->step_stops = p->stop_wanted;
    result_out->more_launches = p->more_launches;
    p->stop_wanted = false;
    p->more_launches = 0;
    p->yielded = yielded;
}

/* ---- from beside ----------------------------------------------------------------------------- */

static void cuda_stop(sink_program *program)
{
    sli_ring_store_release(&of(program)->shared->stop, 1);
}

static program_progress cuda_progress(const sink_program *program)
{
    const cuda_program *p = (const cuda_program *)program;
    const step_report *report = &p->shared->report;
    program_progress progress = {.waits_for_data = false};

    /* All else that a launch tells is read once its stream is idle. */
    progress.batches_done = sli_ring_load_acquire(&report->batches_done);
    progress.ended = p->pending != PROGRAM_DONE || sli_ring_load_acquire(&report->ended) != 0;
    return progress;
}

/* ---- making ---------------------------------------------------------------------------------- */

static void cuda_destroy(sink_program *program)
{
    if (program != NULL) {
        cuda_program_close(of(program));
    }
}

/* Steps of a turn: as many as the device was opened for, where their batches can be there at once.
 */
static uint32_t choose_turn(const program_config *config)
{
    const uint32_t wanted = config->channel->config.device->caps.unroll;
    const uint32_t most = config->micro_batches == 1 ? config->channel->slots : 1;

    return wanted == 0 ? 1 : wanted < most ? wanted : most;
}

static sluice_status cuda_create(const program_config *config, sink_program **program_out)
{
    cuda_program *p = sli_calloc(1, sizeof(*p));
    sluice_status st;

    if (p == NULL) {
        return sli_fail(SLUICE_E_NO_MEMORY, "the program of a run");
    }
    p->base.ops = &cuda_program_ops;
    p->channel = config->channel;
    p->device = config->channel->config.device->state;
    p->model = *config->model;
    p->plan = config->plan;
    p->micro_batches = config->micro_batches;
    p->capacity = config->capacity;
    p->batch_size = config->channel->plan->batch_size;
    p->runs_on = config->runs_on;
    p->learning_rate = config->learning_rate;
    p->get_next_counters = channel_counters(config->channel, CHANNEL_GET_NEXT);
    p->step_counters = channel_counters(config->channel, CHANNEL_STEP);
    p->next_seq = 1;
    p->step = config->plan->first_step;
    p->pending = PROGRAM_DONE;
    p->turn = choose_turn(config);
    st = cuda_program_open(p, config);
    if (st == SLUICE_OK) {
        st = cuda_program_choose_mode(p, config);
    }
    if (st != SLUICE_OK) {
        cuda_destroy(&p->base);
        return st;
    }
    *program_out = &p->base;
    return SLUICE_OK;
}

const program_ops cuda_program_ops = {
    .kind = "cuda",
    .create = cuda_create,
    .destroy = cuda_destroy,
    .launch = cuda_launch,
    .wait = cuda_wait,
    .collect = cuda_collect,
    .stop = cuda_stop,
    .progress = cuda_progress,
};
