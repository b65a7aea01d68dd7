/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sink programs on the host device. The device's thread runs this loop, which on a GPU is a graph:
 *
 *     while steps are left:  (wait -> GetNext -> step) for each micro-batch -> guard
 *
 * The wait sleeps and never yields. A device that was opened with spin_us polls and yields instead,
 * like a GPU.
 */
#include "host_ops.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "alloc_int.h"
#include "callback_int.h"
#include "digest_int.h"
#include "nvtx_ranges_int.h"
#include "rng_int.h"
#include "stage_clock_int.h"

/* Maximum sleep between two polls of the outcome. */
static const int64_t WAIT_SLICE_NS = 20000000;

/* Maximum number of launches in flight: in graph mode one per slot, plus a reserve. */
enum { MAX_LAUNCHES = 1026 };

typedef struct host_program host_program;

typedef struct host_launch {
    host_program *program;
    uint64_t steps;
} host_launch;

struct host_program {
    sink_program base;
    const data_feed *feed;
    run_outcome *outcome;
    sluice_model model;
    const sink_plan *plan;
    uint32_t micro_batches;
    uint32_t capacity;
    uint32_t batch_size;
    bool digest;
    bool has_maps;   /* device maps run before the step */
    bool host_waits; /* the host waits for data before it launches */
    sluice_nan_guard nan_guard;
    sluice_schedule learning_rate;
    uint64_t seed;
    sli_counters *get_next_counters;
    sli_counters *map_counters;
    sli_counters *step_counters;
    sli_stage_clock clock; /* of the thread that runs steps: device maps and the step */
    sli_stream stream;
    host_launch launches[MAX_LAUNCHES];
    uint64_t launch_count;
    _Atomic uint64_t batches_done;     /* batches completed in the whole run; release store, after
                                          idle_since_ticks */
    _Atomic uint64_t idle_since_ticks; /* when the last batch was done */
    _Atomic bool waits_for_data;
    _Atomic bool ended; /* a launch ended early */

    /* The fields below are used only by the thread that runs steps; between launches, only by the
     * trainer. */
    uint64_t seq;   /* number of the next batch in the queue, from 1 */
    uint32_t micro; /* index of that batch in its step */
    program_end end;
    sli_error error;
    uint64_t run;                /* steps since the last collect */
    sluice_step_record *records; /* (capacity) */
    float *outputs;              /* (capacity, output_count) */
    uint64_t *samples;           /* (capacity, micro_batches, batch_size), or NULL */
    sluice_step_record current;  /* current step, which may span launches */
    float current_outputs[SLUICE_MAX_OUTPUTS];
    uint64_t *current_samples; /* (micro_batches, batch_size), or NULL */
    uint64_t nan_steps;
    uint64_t first_nan_step;
    uint64_t began_ticks; /* when the maps or the step of the current batch began */
    bool stop_requested;  /* the current step has requested a stop */
    uint64_t step_number; /* the step's view points to micro and to the fields up to random_key */
    uint64_t epoch_number;
    float rate;
    uint64_t random_key;
    sluice_step view;
};

static void finish(host_program *p, program_end end)
{
    p->end = end;
    atomic_store_explicit(&p->ended, end != PROGRAM_DONE, memory_order_relaxed);
}

static bool has_ended(const host_program *p)
{
    return atomic_load_explicit(&p->ended, memory_order_relaxed);
}

/* Ends the run with the thread's last error. */
static void fail_program(host_program *p, sluice_status status)
{
    sli_error_take(status, &p->error);
    outcome_raise(p->outcome, status == SLUICE_E_NAN ? OUTCOME_NAN : OUTCOME_FAILED);
    finish(p, PROGRAM_ENDED);
}

/* Waits for batch p->seq. Returns false if the launch has ended; p->end has the reason. */
static bool wait_for_batch(host_program *p)
{
    const int64_t spin_ns = p->feed->config.device->caps.spin_ns;
    const bool spins = spin_ns >= 0;
    const uint64_t start = sli_ticks();
    uint64_t end;
    sluice_status st;

    if (!p->host_waits) {
        sli_queue_sample_depth(p->feed->queue);
    }
    atomic_store_explicit(&p->waits_for_data, true, memory_order_relaxed);
    do {
        st = sli_queue_wait(p->feed->queue, p->seq, spins ? spin_ns : WAIT_SLICE_NS, spins);
    } while (st == SLUICE_TIMEOUT && !spins && outcome_poll(p->outcome));
    atomic_store_explicit(&p->waits_for_data, false, memory_order_relaxed);
    end = sli_ticks();
    sli_counter_add(&p->get_next_counters->wait_input_ticks,
                    end - start - sli_engine_replay_overlap(p->feed->engine, start, end));
    switch (st) {
    case SLUICE_OK:
        return true;
    case SLUICE_TIMEOUT:
        finish(p, spins && outcome_poll(p->outcome) ? PROGRAM_YIELD : PROGRAM_ENDED);
        return false;
    case SLUICE_END_OF_DATA:
    case SLUICE_CLOSED:
        finish(p, PROGRAM_END_OF_DATA);
        return false;
    default:
        fail_program(p, st);
        return false;
    }
}

/* The digest of the step's inputs: the columns in order, then the number of valid rows. */
static uint64_t digest_of(const sli_inputs *inputs)
{
    uint64_t digest = 0;

    for (uint32_t i = 0; i < inputs->count; i++) {
        digest =
            sli_mix_in(digest, sli_digest_bytes(inputs->tensors[i].data, inputs->tensors[i].bytes));
    }
    return sli_mix_in(digest, inputs->header->valid_rows);
}

/* Initializes the record of the step that begins with this batch. */
static void begin_step(host_program *p, const sli_inputs *inputs)
{
    sluice_step_record *r = &p->current;

    r->struct_size = sizeof(*r);
    r->step = p->plan->first_step + (p->seq - 1) / p->micro_batches;
    r->epoch = sink_plan_epoch(p->plan, r->step);
    r->pass = inputs->header->pass;
    r->first_sample = inputs->header->first_sample;
    r->valid_rows = 0;
    r->digest = 0;
    p->stop_requested = false;
    p->step_number = r->step;
    p->epoch_number = r->epoch;
    p->rate = program_rate(&p->learning_rate, r->step);
    memset(p->current_outputs, 0, sizeof(p->current_outputs));
}

/* Adds a batch to the step's record, and points the step's view at the batch. */
static void add_batch(host_program *p, const sli_inputs *inputs)
{
    sluice_step_record *r = &p->current;
    const uint64_t key = sli_mix_in(sli_mix64(p->seed), r->step);

    r->valid_rows += inputs->header->valid_rows;
    if (p->digest) {
        r->digest = p->micro == 0 ? digest_of(inputs) : sli_mix_in(r->digest, digest_of(inputs));
    }
    if (p->samples != NULL) {
        memcpy(p->current_samples + (size_t)p->micro * p->batch_size, inputs->samples,
               p->batch_size * sizeof(*p->samples));
    }
    p->random_key = p->micro == 0 ? key : sli_mix_in(key, p->micro);
    p->view.inputs = inputs->tensors;
    p->view.valid_rows = &inputs->header->valid_rows;
}

/* The NaN guard: checks the outputs of the step that has ended. Ends the launch with an error if
 * nan_guard is NAN_STOP. */
static void guard_outputs(host_program *p)
{
    uint32_t bad = 0;

    while (bad < p->model.output_count && isfinite(p->view.outputs[bad])) {
        bad++;
    }
    if (bad == p->model.output_count) {
        return;
    }
    if (p->nan_steps++ == 0) {
        p->first_nan_step = p->step_number;
    }
    if (p->nan_guard == SLUICE_NAN_STOP) {
        fail_program(p, program_fail_nan(&p->model, p->step_number, bad, p->view.outputs[bad]));
    }
}

/* Appends the current step to the records since the last collect. */
static void keep_step(host_program *p)
{
    const uint32_t outputs = p->model.output_count;
    const size_t rows = (size_t)p->micro_batches * p->batch_size;
    sluice_step_record *r = &p->records[p->run];
    float *kept = p->outputs + p->run * outputs;

    *r = p->current;
    memcpy(kept, p->current_outputs, outputs * sizeof(*kept));
    r->outputs = kept;
    if (p->samples != NULL) {
        memcpy(p->samples + p->run * rows, p->current_samples, rows * sizeof(*p->samples));
        r->samples = p->samples + p->run * rows;
    }
    p->run++;
    p->micro = 0;
}

/* Call after the step's last batch: stores the step's record and checks its outputs. */
static void end_step(host_program *p)
{
    keep_step(p);
    if (p->stop_requested) {
        outcome_request(p->outcome, OUTCOME_STOP);
    }
    if (!outcome_poll(p->outcome)) {
        finish(p, PROGRAM_ENDED);
    }
    if (p->nan_guard != SLUICE_NAN_IGNORE) {
        guard_outputs(p);
    }
}

/* Processes the status that the step returned. A step that failed is counted as one that ran.
 * failures: sli_fail_count() before the call. */
static void take_answer(host_program *p, sluice_status answer, uint64_t failures)
{
    sluice_status st;

    p->seq++;
    p->micro++;
    st = sli_callback_status(answer, failures, "step %llu: the step function",
                             (unsigned long long)p->step_number);
    if (st < 0) {
        keep_step(p);
        fail_program(p, st);
        return;
    }
    p->stop_requested = p->stop_requested || st == SLUICE_STOPPED;
    if (p->micro == p->micro_batches) {
        end_step(p);
    }
}

/* Called after the device maps of a batch, before its step. */
static sluice_status mark_maps(void *program)
{
    host_program *p = program;
    const uint64_t now = sli_ticks();

    sli_counters_item(p->map_counters, now - p->began_ticks, 0);
    sli_stage_clock_enter(&p->clock, p->step_counters);
    p->began_ticks = sli_ticks();
    return SLUICE_OK;
}

/* Runs GetNext and the step for batch p->seq, which has arrived. */
static void run_batch(host_program *p)
{
    const uint64_t failures = sli_fail_count();
    const uint64_t start = sli_ticks();
    uint64_t now;
    sli_inputs inputs;
    sluice_status st;

    sli_range_begin("get_next");
    st = sli_queue_get_next(p->feed->queue, p->seq, &inputs);
    sli_range_end();
    if (st != SLUICE_OK) {
        fail_program(p, st);
        return;
    }
    if (p->micro == 0) {
        begin_step(p, &inputs);
    }
    add_batch(p, &inputs);
    now = sli_ticks();
    sli_counters_item(p->get_next_counters, now - start, p->feed->layout.slot_bytes);
    sli_stage_clock_begin(&p->clock, p->batch_size,
                          p->has_maps ? p->map_counters : p->step_counters);
    p->began_ticks = sli_ticks();
    sli_range_begin("step");
    st = p->model.step(&p->view, p->model.user);
    sli_range_end();
    now = sli_ticks();
    sli_stage_clock_enter(&p->clock, NULL);
    sli_counters_item(p->step_counters, now - p->began_ticks, 0);
    sli_queue_step_done(p->feed->queue, p->seq);
    atomic_store_explicit(&p->idle_since_ticks, now, memory_order_relaxed);
    /* Pairs with the acquire load in host_progress(): a reader of the count also sees
     * idle_since_ticks. */
    atomic_store_explicit(&p->batches_done, p->seq, memory_order_release);
    take_answer(p, st, failures);
}

/* Runs one launch on the device's thread. */
static void run_launch(void *arg)
{
    host_launch *launch = arg;
    host_program *p = launch->program;

    for (uint64_t left = launch->steps; left > 0 && !has_ended(p); left -= p->micro == 0) {
        if (!outcome_poll(p->outcome)) {
            finish(p, PROGRAM_ENDED);
        } else if (wait_for_batch(p)) {
            run_batch(p);
        }
    }
}

static sluice_status host_launch_steps(sink_program *program, uint64_t steps)
{
    host_program *p = (host_program *)program;
    host_launch *launch = &p->launches[p->launch_count++ % MAX_LAUNCHES];

    launch->program = p;
    launch->steps = steps;
    return sli_stream_call(&p->stream, run_launch, launch);
}

static sluice_status host_wait(sink_program *program, int64_t timeout_ns)
{
    return sli_stream_wait(&((host_program *)program)->stream, timeout_ns);
}

static void host_call(sink_program *program)
{
    host_program *p = (host_program *)program;

    if (!has_ended(p)) {
        run_batch(p);
    }
}

static void host_collect(sink_program *program, program_result *result_out)
{
    host_program *p = (host_program *)program;

    result_out->end = p->end;
    result_out->steps = p->run;
    result_out->records = p->records;
    result_out->error = &p->error;
    result_out->nan_steps = p->nan_steps;
    result_out->first_nan_step = p->first_nan_step;
    result_out->more_launches = 0;
    p->run = 0;
    if (p->end == PROGRAM_YIELD) {
        finish(p, PROGRAM_DONE);
    }
}

static program_progress host_progress(const sink_program *program)
{
    const host_program *p = (const host_program *)program;
    program_progress progress;

    /* Pairs with the release store in run_batch(): idle_since_ticks is at least as new as the
     * count. */
    progress.batches_done = atomic_load_explicit(&p->batches_done, memory_order_acquire);
    progress.idle_since_ticks = atomic_load_explicit(&p->idle_since_ticks, memory_order_relaxed);
    progress.waits_for_data = atomic_load_explicit(&p->waits_for_data, memory_order_relaxed);
    progress.ended = has_ended(p);
    return progress;
}

static void host_destroy(sink_program *program)
{
    host_program *p = (host_program *)program;

    if (p == NULL) {
        return;
    }
    sli_stream_close(&p->stream);
    sli_stage_clock_fini(&p->clock);
    sli_free(p->records);
    sli_free(p->outputs);
    sli_free(p->samples);
    sli_free(p->current_samples);
    sli_free(p);
}

static sluice_status make_records(host_program *p, const program_config *config)
{
    const size_t rows = (size_t)p->micro_batches * p->batch_size;

    p->records = sli_calloc(p->capacity, sizeof(*p->records));
    p->outputs = sli_calloc((size_t)p->capacity * p->model.output_count, sizeof(*p->outputs));
    if (config->record_samples) {
        p->samples = sli_calloc(p->capacity * rows, sizeof(*p->samples));
        p->current_samples = sli_calloc(rows, sizeof(*p->samples));
    }
    if (p->records == NULL || p->outputs == NULL ||
        (config->record_samples && (p->samples == NULL || p->current_samples == NULL))) {
        return sli_fail(SLUICE_E_NO_MEMORY, "records of %u steps", p->capacity);
    }
    return SLUICE_OK;
}

/* Opens the device's thread. Its name differs between runs (modulo 100), since threads that a step
 * starts inherit the name and are counted by it. */
static sluice_status open_thread(host_program *p)
{
    static _Atomic uint32_t runs;
    const uint32_t run = atomic_fetch_add_explicit(&runs, 1, memory_order_relaxed) % 100;
    char name[16] = "sluice/device";

    if (run > 0) {
        snprintf(name, sizeof(name), "sluice/device%u", run);
    }
    return sli_stream_open(p->feed->config.device, name, SLI_STREAM_STEPS,
                           &p->feed->placement->device_cpus, 0, &p->stream);
}

static sluice_status host_create(const program_config *config, sink_program **program_out)
{
    host_program *p = sli_calloc(1, sizeof(*p));
    const data_feed *feed = config->feed;
    sluice_status st;

    if (p == NULL) {
        return sli_fail(SLUICE_E_NO_MEMORY, "the program of a run");
    }
    p->base.ops = &host_program_ops;
    p->base.mode = config->mode;
    p->feed = feed;
    p->outcome = config->outcome;
    p->model = *config->model;
    p->plan = config->plan;
    p->micro_batches = config->micro_batches;
    p->capacity = config->capacity;
    p->batch_size = feed->plan->batch_size;
    p->digest = config->digest;
    p->host_waits = config->mode == SLUICE_MODE_GRAPH;
    p->nan_guard = config->nan_guard;
    p->learning_rate = config->learning_rate;
    p->seed = config->seed;
    p->first_nan_step = UINT64_MAX;
    p->get_next_counters = feed_counters(feed, FEED_GET_NEXT);
    p->map_counters = feed_counters(feed, FEED_MAPS);
    p->step_counters = feed_counters(feed, FEED_STEP);
    sli_stage_clock_init(&p->clock);
    p->has_maps = config->mapped != NULL;
    if (config->mapped != NULL) {
        config->mapped->mark = mark_maps;
        config->mapped->program = p;
    }
    p->seq = 1;
    p->view.struct_size = sizeof(p->view);
    p->view.input_count = feed->plan->column_count;
    p->view.step = &p->step_number;
    p->view.epoch = &p->epoch_number;
    p->view.learning_rate = &p->rate;
    p->view.random_key = &p->random_key;
    p->view.outputs = p->current_outputs;
    p->view.micro = &p->micro;
    p->view.micro_batches = p->micro_batches;
    st = make_records(p, config);
    if (st == SLUICE_OK) {
        st = open_thread(p);
    }
    if (st != SLUICE_OK) {
        host_destroy(&p->base);
        return st;
    }
    *program_out = &p->base;
    return SLUICE_OK;
}

static const sli_thread *host_thread(const sink_program *program)
{
    return sli_stream_thread(&((const host_program *)program)->stream);
}

const program_ops host_program_ops = {
    .create = host_create,
    .destroy = host_destroy,
    .launch = host_launch_steps,
    .wait = host_wait,
    .call = host_call,
    .collect = host_collect,
    .progress = host_progress,
    .thread = host_thread,
};
