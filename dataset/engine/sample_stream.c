/* SPDX-License-Identifier: Apache-2.0 */
#include "sample_stream.h"

#include <errno.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "alloc_int.h"
#include "clock_int.h"
#include "event_int.h"
#include "log_int.h"
#include "stream_hold.h"
#include "stream_order.h"

struct sample_stream {
    const sli_plan *plan;
    uint64_t batches;
    uint64_t passes;
    int stop_fd; /* becomes readable when a stop is requested */
    _Atomic bool stopped;
    _Atomic uint64_t dropping; /* batch to drop once all its rows are done; 0: no batch */
    sli_event changed;         /* notified when stopped or dropping changes */
    pthread_mutex_t lock;      /* guards the fields below */
    stream_hold hold;          /* budget for the workers' samples; needs no lock */
    stream_order *order;       /* order of the current or next pass */
    uint64_t pass_number;
    uint64_t passes_ended;
    uint64_t length;   /* samples of the last pass that has ended; UINT64_MAX: none has */
    uint64_t taken;    /* samples taken of the pass, over all ranks */
    uint64_t row;      /* next row to claim, counted through all batches */
    uint64_t pass_row; /* first row of the current pass */
    uint64_t base;     /* batches up to this one are abandoned */
    uint64_t limit;    /* no row of a later batch is claimed until a rewind */
    bool rewound;      /* the batch after base must restart the plan */
    stream_kind rest;  /* kind of the batch's remaining rows; STREAM_SAMPLE: not determined yet */
    bool failed;
    bool over;
    stream_item others; /* receives the skipped samples and those of other ranks */
};

/* ---- passes -------------------------------------------------------------------------------- */

/* Reads the next sample of the pass. */
static sluice_status next_sample(sample_stream *stream, stream_item *item)
{
    sluice_status st = stream_order_next(stream->order, item);

    stream->taken += st == SLUICE_OK;
    return st;
}

/* Reads the next sample and discards it. */
static sluice_status skip_sample(sample_stream *stream)
{
    sluice_status st = next_sample(stream, &stream->others);

    stream_hold_give_back(&stream->hold, &stream->others);
    return st;
}

/* Reads the next sample for this rank, and charges it to the budget before more is read. */
static sluice_status take_own(sample_stream *stream, stream_item *item)
{
    sluice_status st = next_sample(stream, item);

    if (st == SLUICE_OK) {
        stream_hold_take(&stream->hold, item);
    }
    return st;
}

static void note_memory(sample_stream *stream)
{
    _Atomic uint64_t *most = &stream->plan->details->stream_memory;
    const uint64_t bytes = stream_order_memory(stream->order);

    if (bytes > atomic_load_explicit(most, memory_order_relaxed)) {
        atomic_store_explicit(most, bytes, memory_order_relaxed);
    }
}

/* Ends the pass, whose length is known now. */
static sluice_status end_pass(sample_stream *stream)
{
    const sli_plan *plan = stream->plan;
    const uint64_t pass = stream->passes_ended++;
    const uint64_t done = pass == 0 ? plan->begin.done : 0;
    const uint64_t turns = stream->taken > done ? stream->taken - done : 0;
    const uint64_t known = stream->length;

    stream_order_end(stream->order);
    if (known != UINT64_MAX && known != stream->taken &&
        !dataset_source(plan->dataset)->passes_vary) {
        return sli_fail(SLUICE_E_CORRUPT,
                        "pass %llu of the stream has %llu samples, those before had %llu: the "
                        "shards have changed",
                        (unsigned long long)stream->pass_number, (unsigned long long)stream->taken,
                        (unsigned long long)known);
    }
    stream->length = stream->taken;
    return pass_lengths_add(&plan->details->kept, pass, turns, plan_batches_in(plan, turns));
}

/* Skips the samples of the first pass that were done before this run. */
static sluice_status skip_done(sample_stream *stream, uint64_t samples)
{
    const int64_t start = sli_now_ns();
    sluice_status st = SLUICE_OK;

    if (samples == 0) {
        return SLUICE_OK;
    }
    sli_log(SLUICE_LOG_INFO, "the stream is read from its beginning: %llu samples are skipped",
            (unsigned long long)samples);
    while (st == SLUICE_OK && stream->taken < samples) {
        st = skip_sample(stream);
    }
    if (st == SLUICE_OK || st == SLUICE_END_OF_DATA) {
        sli_log(SLUICE_LOG_INFO, "the stream: %llu samples were skipped in %.1f s",
                (unsigned long long)stream->taken, (double)(sli_now_ns() - start) / 1e9);
    }
    return st == SLUICE_END_OF_DATA ? end_pass(stream) : st;
}

static bool may_begin(const sample_stream *stream)
{
    const sluice_dataset *dataset = stream->plan->dataset;

    return stream->passes_ended == 0 ||
           (!dataset_source(dataset)->once(dataset->source) &&
            (stream->passes == 0 || stream->passes_ended < stream->passes));
}

/* Checks that the pass that has just ended had at least one batch. */
static sluice_status check_pass(const sample_stream *stream)
{
    const sli_plan *plan = stream->plan;
    const bool resumed = stream->passes_ended == 1 && plan->begin.done > 0;

    if (stream->passes_ended == 0 || stream->row > stream->pass_row || resumed) {
        return SLUICE_OK;
    }
    return sli_fail(SLUICE_E_INVALID,
                    "no valid data in the dataset: a pass of the stream has %llu samples and no "
                    "batch of %u%s",
                    (unsigned long long)stream->taken, plan->batch_size,
                    stream->taken > 0 ? "; drop_remainder=false keeps what is left" : "");
}

/* Begins a pass. END_OF_DATA: there are no more passes. */
static sluice_status begin_pass(sample_stream *stream)
{
    sluice_status st = check_pass(stream);

    if (st != SLUICE_OK || !may_begin(stream)) {
        return st != SLUICE_OK ? st : SLUICE_END_OF_DATA;
    }
    stream->pass_number = stream->plan->begin.pass + stream->passes_ended;
    stream->taken = 0;
    stream->pass_row = stream->row;
    st = stream_order_begin(
        stream->order, &(stream_start){.pass = stream->pass_number, .stop_fd = stream->stop_fd});
    return st == SLUICE_OK && stream->passes_ended == 0
               ? skip_done(stream, stream->plan->begin.done)
               : st;
}

/* ---- rows ---------------------------------------------------------------------------------- */

/*
 * Reads one sample for each rank; this rank's goes into the item. *count_out: number of samples
 * read.
 */
static sluice_status take_round(sample_stream *stream, stream_item *item, uint32_t *count_out)
{
    const sli_run_settings *settings = &stream->plan->settings;
    sluice_status st = SLUICE_OK;
    uint32_t count = 0;

    while (count < settings->world) {
        st = count == settings->rank ? take_own(stream, item) : skip_sample(stream);
        if (st != SLUICE_OK) {
            break;
        }
        count++;
    }
    *count_out = count;
    return st;
}

/*
 * Determines the kind of the next row, and reads its sample. Called only if the pass has not ended
 * in this batch.
 */
static sluice_status take_row(sample_stream *stream, stream_item *item, stream_claim *claim)
{
    const sli_plan *plan = stream->plan;
    uint32_t count = 0;
    sluice_status st = SLUICE_OK;

    do {
        while (st == SLUICE_OK &&
               !stream_order_in_pass(stream->order)) { /* repeats if a resumed pass was at its end
                                                          already */
            st = begin_pass(stream);
        }
        if (st != SLUICE_OK) {
            return st;
        }
        claim->pass = stream->pass_number;
        claim->position = stream->taken + plan->settings.rank;
        st = take_round(stream, item, &count);
        claim->sample = item->number;
        if (st == SLUICE_END_OF_DATA) {
            st = end_pass(stream);
        }
        /* If the pass ends between two batches, no padding is needed. */
    } while (st == SLUICE_OK && !stream_order_in_pass(stream->order) && claim->row == 0 &&
             count == 0);
    note_memory(stream);
    if (st == SLUICE_OK && !stream_order_in_pass(stream->order)) {
        stream->rest = plan->drop_remainder ? STREAM_LEFT_OUT : STREAM_PADDING;
        claim->kind =
            !plan->drop_remainder && plan->settings.rank < count ? STREAM_SAMPLE : stream->rest;
    }
    return st;
}

/* Restarts the plan with the first batch after base: ends the open pass. */
static void begin_anew(sample_stream *stream)
{
    if (stream_order_in_pass(stream->order)) {
        stream_order_end(stream->order);
    }
    stream->passes_ended = 0;
    stream->rewound = false;
}

static void fill_claim(sample_stream *stream, stream_item *item, stream_claim *claim)
{
    const uint32_t batch_size = stream->plan->batch_size;

    claim->seq = stream->row / batch_size + 1;
    claim->row = (uint32_t)(stream->row % batch_size);
    if (claim->row == 0) {
        stream->over = stream->over || stream->failed;
        stream->rest = STREAM_SAMPLE;
    }
    if (stream->over) {
        return;
    }
    if (claim->seq <= stream->base) {
        claim->kind = STREAM_PADDING;
        stream->row++;
        return;
    }
    if (claim->seq > stream->limit) {
        claim->kind = STREAM_LIMIT;
        return;
    }
    if (stream->rewound) {
        begin_anew(stream);
    }
    claim->kind = stream->rest;
    if (claim->row == 0 && claim->seq > stream->batches) {
        claim->status = SLUICE_END_OF_DATA;
    } else if (stream->rest == STREAM_SAMPLE) {
        claim->status = take_row(stream, item, claim);
    }
    if (claim->status == SLUICE_END_OF_DATA || claim->status == SLUICE_CLOSED) {
        claim->kind = claim->status == SLUICE_CLOSED ? STREAM_NOTHING : STREAM_END;
        stream->over = true;
        return;
    }
    if (claim->status != SLUICE_OK) {
        claim->kind = STREAM_FAILED;
        stream->failed = true;
        stream->rest = STREAM_PADDING;
    }
    stream->row++;
    if (stream->rest == STREAM_LEFT_OUT && claim->row + 1 == batch_size) {
        atomic_store_explicit(&stream->dropping, claim->seq, memory_order_relaxed);
    }
}

static bool may_take(void *arg)
{
    sample_stream *stream = arg;

    return atomic_load_explicit(&stream->dropping, memory_order_relaxed) == 0 ||
           atomic_load_explicit(&stream->stopped, memory_order_relaxed);
}

void sample_stream_take(sample_stream *stream, stream_item *item, stream_claim *claim_out)
{
    const uint64_t start = sli_ticks();
    stream_claim claim = {.kind = STREAM_NOTHING};

    stream_hold_give_back(&stream->hold, item);
    pthread_mutex_lock(&stream->lock);
    while (!may_take(stream)) {
        pthread_mutex_unlock(&stream->lock);
        sli_event_await(&stream->changed, may_take, stream, -1);
        pthread_mutex_lock(&stream->lock);
    }
    claim.waited_ticks = sli_ticks() - start;
    if (!atomic_load_explicit(&stream->stopped, memory_order_relaxed)) {
        fill_claim(stream, item, &claim);
    }
    pthread_mutex_unlock(&stream->lock);
    *claim_out = claim;
}

uint64_t sample_stream_freeze(sample_stream *stream)
{
    const uint32_t batch_size = stream->plan->batch_size;

    pthread_mutex_lock(&stream->lock);
    return (stream->row + batch_size - 1) / batch_size;
}

void sample_stream_rewind(sample_stream *stream, uint64_t base, uint64_t limit)
{
    stream->base = base;
    stream->limit = limit;
    stream->rewound = base > 0;
    pthread_mutex_unlock(&stream->lock);
}

void sample_stream_done(sample_stream *stream, stream_item *item)
{
    stream_hold_give_back(&stream->hold, item);
}

bool sample_stream_drops(const sample_stream *stream, uint64_t seq)
{
    /*
     * No lock: its holder may be waiting for bytes. The worker that claimed the last row stored
     * `dropping` before that row was done.
     */
    return atomic_load_explicit(&stream->dropping, memory_order_relaxed) == seq;
}

void sample_stream_again(sample_stream *stream, uint64_t seq)
{
    pthread_mutex_lock(&stream->lock);
    stream->row = (seq - 1) * stream->plan->batch_size;
    atomic_store_explicit(&stream->dropping, 0, memory_order_relaxed);
    pthread_mutex_unlock(&stream->lock);
    sli_event_notify(&stream->changed);
}

/* ---- creation -------------------------------------------------------------------------------- */

sluice_status sample_stream_create(const sli_plan *plan, uint64_t batches, uint64_t passes,
                                   sample_stream **stream_out)
{
    sample_stream *stream = sli_calloc(1, sizeof(*stream));
    sluice_status st;

    if (stream == NULL) {
        return sli_fail(SLUICE_E_NO_MEMORY, "a stream");
    }
    st = stream_order_create(plan->dataset, plan->settings.seed, &stream->order);
    if (st == SLUICE_OK) {
        stream->stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
        st = stream->stop_fd >= 0 ? SLUICE_OK
                                  : sli_fail_errno(SLUICE_E_IO, errno, "no event for a stream");
    }
    if (st != SLUICE_OK) {
        stream_order_destroy(stream->order);
        sli_free(stream);
        return st;
    }
    pthread_mutex_init(&stream->lock, NULL);
    stream_hold_init(&stream->hold, dataset_source(plan->dataset)->largest(plan->dataset->source));
    stream->plan = plan;
    stream->batches = batches;
    stream->passes = passes;
    stream->limit = UINT64_MAX;
    stream->length = UINT64_MAX;
    *stream_out = stream;
    return SLUICE_OK;
}

void sample_stream_destroy(sample_stream *stream)
{
    if (stream == NULL) {
        return;
    }
    stream_order_destroy(stream->order);
    image_buffer_free(&stream->others.bytes);
    pthread_mutex_destroy(&stream->lock);
    close(stream->stop_fd);
    sli_free(stream);
}

void sample_stream_stop(sample_stream *stream)
{
    atomic_store_explicit(&stream->stopped, true, memory_order_relaxed);
    stream_hold_stop(&stream->hold);
    eventfd_write(stream->stop_fd, 1);
    sli_event_notify(&stream->changed);
}
