/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sink programs on CUDA. In mode loop a launch is a graph with a WHILE node. The kernels begin and
 * next set its condition:
 *
 *     begin -> while (another step): gather -> step -> next
 *
 * In the other modes a launch is one batch, ordered after its copy. In mode graph it is a graph of
 * the same kernels without the loop. In modes data and direct the kernels are launched one by one,
 * with a call of the step between them. Up to four such launches are in flight. The device writes
 * the results of steps to host memory, which the host reads once the stream is idle.
 */
#include "cuda_program.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "alloc_int.h"
#include "clock_int.h"
#include "cuda_error_int.h"
#include "cuda_ops.h"
#include "rng_int.h"

/* Time limit for the error text: the device may see an error marker in the ring before the host has
 * stored its text. */
static const int64_t ERROR_WAIT_NS = 5000000000;

/* ---- waiting --------------------------------------------------------------------------------- */

static cudaError_t synchronize(void *stream)
{
    return cudaStreamSynchronize(stream);
}

/* If the wait failed, the device may still be running. Synchronizes in this case, so that the host
 * does not read results while the device writes them. */
static sluice_status cuda_wait(sink_program *program, int64_t timeout_ns)
{
    cuda_program *p = cuda_program_of(program);
    const sluice_status st = sli_stream_wait(&p->stream, timeout_ns);

    if (st != SLUICE_OK && st != SLUICE_TIMEOUT) {
        sli_cuda_give_back(p->device, synchronize, p->handle, "cudaStreamSynchronize");
    }
    return st;
}

/* ---- collecting ------------------------------------------------------------------------------ */

/* Converts a time measured by the device to ticks of the host. */
static uint64_t ticks_of(const cuda_program *p, uint64_t ns)
{
    return sli_profile_ticks(&p->feed->profile, (double)ns / 1e9);
}

/* Adds the waits that the device has measured to the profile. */
static void count_waits(cuda_program *p)
{
    const uint64_t idle_ns = p->shared->report.idle_ns;
    const uint64_t wait_ns = p->shared->getnext.wait_ns + idle_ns - p->idle_ns;

    p->idle_ns = idle_ns;
    sli_counter_add(&p->get_next_counters->wait_input_ticks, ticks_of(p, wait_ns));
}

/* Adds the times of a step to the profile; each of its batches is counted with the mean over the
 * step's batches. */
static void count_step(cuda_program *p, const step_trace *trace)
{
    const uint64_t gather = ticks_of(p, trace->gather_ns / p->micro_batches);
    const uint64_t maps = ticks_of(p, trace->map_ns / p->micro_batches);
    const uint64_t step = ticks_of(p, trace->step_ns / p->micro_batches);

    for (uint32_t i = 0; i < p->micro_batches; i++) {
        sli_counters_item(p->get_next_counters, gather, p->feed->layout.slot_bytes);
        if (p->marks_maps) {
            sli_counters_item(p->map_counters, maps, 0);
        }
        sli_counters_item(p->step_counters, step, 0);
    }
}

/* Copies the sample indices of a step's batches. */
static const uint64_t *take_samples(cuda_program *p, uint32_t index, uint64_t step)
{
    const size_t rows = (size_t)p->micro_batches * p->batch_size;
    const uint64_t first = (step - p->plan->first_step) * p->micro_batches + 1;
    uint64_t *to = p->samples + index * rows;

    for (uint32_t i = 0; i < p->micro_batches; i++) {
        memcpy(to + (size_t)i * p->batch_size, sli_queue_samples(p->feed->queue, first + i),
               p->batch_size * sizeof(*to));
    }
    return to;
}

static void take_record(cuda_program *p, uint32_t index)
{
    const step_trace *trace = &p->traces[index];
    sluice_step_record *r = &p->records[index];

    r->struct_size = sizeof(*r);
    r->step = p->step++;
    r->epoch = sink_plan_epoch(p->plan, r->step);
    r->pass = trace->pass;
    r->first_sample = trace->first_sample;
    r->valid_rows = trace->valid_rows;
    r->digest = trace->digest;
    r->outputs = trace->outputs;
    count_step(p, trace);
    r->samples = p->samples != NULL ? take_samples(p, index, r->step) : NULL;
}

/* Fails the run after the NaN guard has ended it; the error names the non-finite output of the last
 * step. */
static void fail_for_nan(cuda_program *p, uint64_t steps)
{
    const float *outputs = p->traces[steps - 1].outputs;
    uint32_t bad = 0;

    while (bad + 1 < p->model.output_count && isfinite(outputs[bad])) {
        bad++;
    }
    cuda_program_fail_with(p, program_fail_nan(&p->model, p->step - 1, bad, outputs[bad]));
}

/* Fails the run with the error that the ring holds at sequence number seq; the queue has its text.
 */
static void fail_for_ring(cuda_program *p, uint64_t seq)
{
    const sluice_status st = sli_queue_wait(p->feed->queue, seq, ERROR_WAIT_NS, false);

    cuda_program_fail_with(p, st < 0 ? st
                                     : sli_fail(SLUICE_E_DEVICE,
                                                "batch %llu failed without an error text",
                                                (unsigned long long)seq));
}

/* Sets p->pending from the reason why the launches since the last collect ended. */
static void take_end(cuda_program *p)
{
    const sli_getnext_report *report = &p->shared->getnext;

    if (p->error.status < 0) {
        return; /* calling the step has already failed the run */
    }
    switch ((sli_getnext_end)report->end) {
    case SLI_GETNEXT_YIELD:
        if (p->base.by_batch) {
            cuda_program_fail_with(p,
                                   sli_fail(SLUICE_E_DEVICE,
                                            "batch %llu was ready for the host, not for the device",
                                            (unsigned long long)report->seq));
        }
        break;
    case SLI_GETNEXT_STOPPED:
        cuda_program_end_with(p, PROGRAM_ENDED);
        break;
    case SLI_GETNEXT_END_OF_DATA:
        cuda_program_end_with(p, PROGRAM_END_OF_DATA);
        break;
    case SLI_GETNEXT_FAILED:
        fail_for_ring(p, report->seq);
        break;
    case SLI_GETNEXT_CORRUPT:
        cuda_program_fail_with(p, sli_fail(SLUICE_E_CORRUPT,
                                           "the slot of batch %llu holds another batch",
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
    cuda_program *p = cuda_program_of(program);
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
    p->awaited = 0;
    p->shared->report.ended = 0; /* p->pending has the reason from now on */
    result_out->end = p->pending == PROGRAM_DONE && yielded ? PROGRAM_YIELD : p->pending;
    result_out->steps = steps;
    result_out->records = p->records;
    result_out->error = &p->error;
    result_out->nan_steps = p->shared->report.nan_steps;
    result_out->first_nan_step =
        result_out->nan_steps > 0 ? p->shared->report.first_nan_step : UINT64_MAX;
    result_out->more_launches = p->more_launches;
    p->more_launches = 0;
    p->yielded = yielded;
}

/* ---- while launches are in flight ------------------------------------------------------------ */

static void cuda_stop(sink_program *program)
{
    sli_ring_store_release(&cuda_program_of(program)->shared->stop, 1);
}

static program_progress cuda_progress(const sink_program *program)
{
    const cuda_program *p = (const cuda_program *)program;
    const step_report *report = &p->shared->report;
    program_progress progress = {.waits_for_data = false};

    /* The rest of the report is read once the stream is idle. */
    progress.batches_done = sli_ring_load_acquire(&report->batches_done);
    progress.ended = p->pending != PROGRAM_DONE || sli_ring_load_acquire(&report->ended) != 0;
    return progress;
}

/* ---- creating -------------------------------------------------------------------------------- */

static void cuda_destroy(sink_program *program)
{
    if (program != NULL) {
        cuda_program_close(cuda_program_of(program));
    }
}

/* Steps per iteration of the unrolled loop: the device's setting, if the batches of all these steps
 * fit in the slots. */
static uint32_t choose_turn(const program_config *config)
{
    const uint32_t wanted = config->feed->config.device->caps.unroll;
    const uint32_t most = config->micro_batches == 1 ? config->feed->slots : 1;

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
    p->feed = config->feed;
    p->device = config->feed->config.device->state;
    p->model = *config->model;
    p->plan = config->plan;
    p->micro_batches = config->micro_batches;
    p->capacity = config->capacity;
    p->batch_size = config->feed->plan->batch_size;
    p->outcome = config->outcome;
    p->learning_rate = config->learning_rate;
    p->get_next_counters = feed_counters(config->feed, FEED_GET_NEXT);
    p->map_counters = feed_counters(config->feed, FEED_MAPS);
    p->step_counters = feed_counters(config->feed, FEED_STEP);
    p->mapped = config->mapped != NULL;
    if (p->mapped) {
        config->mapped->mark = cuda_program_mark_maps;
        config->mapped->program = p;
    }
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

static const sli_thread *cuda_thread(const sink_program *program)
{
    return sli_stream_thread(&((const cuda_program *)program)->stream);
}

const program_ops cuda_program_ops = {
    .create = cuda_create,
    .destroy = cuda_destroy,
    .launch = cuda_program_launch,
    .await_room = cuda_program_await_room,
    .wait = cuda_wait,
    .collect = cuda_collect,
    .stop = cuda_stop,
    .progress = cuda_progress,
    .thread = cuda_thread,
};
