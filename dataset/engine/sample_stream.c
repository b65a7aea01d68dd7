/* SPDX-License-Identifier: Apache-2.0 */
#include "sample_stream.h"

#include <pthread.h>

#include "alloc_int.h"
#include "event_int.h"
#include "log_int.h"
#include "stream_passes.h"

struct sample_stream {
    const sli_plan *plan;
    uint64_t batches;
    _Atomic bool stopped;
    _Atomic uint64_t dropping; /* batch to drop once all its rows are done; 0: no batch */
    sli_event changed;         /* notified when stopped or dropping changes */
    pthread_mutex_t lock;      /* guards the fields below */
    stream_passes passes;
    uint64_t done;    /* samples of the pass before the run: of the current one, or the next */
    replay replay;    /* of the samples that are skipped */
    uint64_t row;     /* next row to claim, counted through all batches */
    uint64_t base;    /* batches up to this one are abandoned */
    uint64_t limit;   /* no row of a later batch is claimed until a rewind */
    bool rewound;     /* the batch after base must restart the plan */
    stream_kind rest; /* kind of the batch's remaining rows; STREAM_SAMPLE: not determined yet */
    bool failed;
    bool over;
};

const replay *sample_stream_replay(const sample_stream *stream)
{
    return &stream->replay;
}

/* ---- passes -------------------------------------------------------------------------------- */

/* Checks the pass that has just ended: it has as many samples as were done in the run that is
 * resumed, and at least one batch. */
static sluice_status check_pass(const sample_stream *stream)
{
    const sli_plan *plan = stream->plan;
    const uint64_t taken = stream->passes.taken;

    if (taken < stream->done && !plan->details->kept.counts) {
        return sli_fail(
            SLUICE_E_INVALID,
            "the run resumes after sample %llu of a pass, but the stream ends after %llu "
            "samples: the data are not those of the run; resume with the same data",
            (unsigned long long)stream->done, (unsigned long long)taken);
    }
    if (!plan_pass_is_empty(plan, taken, stream->done)) {
        return SLUICE_OK;
    }
    return sli_fail(SLUICE_E_INVALID,
                    "no valid data in the dataset: a pass of the stream has %llu samples and no "
                    "batch of %u%s",
                    (unsigned long long)taken, plan->batch_size,
                    taken > 0 ? "; drop_remainder=false keeps what is left" : "");
}

/* Ends the pass, whose length is known now. */
static sluice_status end_pass(sample_stream *stream)
{
    const uint64_t pass = stream->passes.ended;
    sluice_status st = stream_passes_end(&stream->passes);

    if (st == SLUICE_OK) {
        st = check_pass(stream);
    }
    return st == SLUICE_OK ? plan_end_pass(stream->plan, pass, stream->passes.taken, &stream->done)
                           : st;
}

/* Skips the samples of the pass before the run. The pass may end with them, or before. */
static sluice_status skip_done(sample_stream *stream)
{
    sluice_status st = SLUICE_OK;

    if (stream->done > 0 && !replay_is_open(&stream->replay)) {
        replay_begin(&stream->replay, stream->plan, stream->done);
        sli_log(SLUICE_LOG_INFO, "the stream is read from its beginning: %llu samples are skipped",
                (unsigned long long)stream->done);
    }
    while (st == SLUICE_OK && stream->passes.taken < stream->done) {
        st = stream_passes_skip(&stream->passes);
        replay_add(&stream->replay, st == SLUICE_OK);
    }
    if (st == SLUICE_END_OF_DATA) {
        st = end_pass(stream); /* done is now that of the next pass */
        if (stream->done > 0) {
            return st;
        }
    }
    if (st == SLUICE_OK && replay_is_open(&stream->replay)) {
        replay_end(&stream->replay, stream_passes_seen(&stream->passes));
    }
    return st;
}

/* Begins a pass. END_OF_DATA: there are no more passes. */
static sluice_status begin_pass(sample_stream *stream)
{
    const sluice_status st = stream_passes_begin(&stream->passes);

    if (st == SLUICE_END_OF_DATA && stream->done > 0) {
        return plan_fail_short(stream->plan, stream->passes.ended, stream->done);
    }
    return st == SLUICE_OK ? skip_done(stream) : st;
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
        st = count == settings->rank ? stream_passes_take(&stream->passes, item)
                                     : stream_passes_skip(&stream->passes);
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
               !stream_passes_is_open(&stream->passes)) { /* repeats if a resumed pass was at its
                                                          end already */
            st = begin_pass(stream);
        }
        if (st != SLUICE_OK) {
            return st;
        }
        claim->pass = stream->passes.number;
        claim->position = stream->passes.taken + plan->settings.rank;
        st = take_round(stream, item, &count);
        claim->sample = item->number;
        if (st == SLUICE_END_OF_DATA) {
            st = end_pass(stream);
        }
        /* If the pass ends between two batches, no padding is needed. */
    } while (st == SLUICE_OK && !stream_passes_is_open(&stream->passes) && claim->row == 0 &&
             count == 0);
    stream_passes_note_memory(&stream->passes);
    if (st == SLUICE_OK && !stream_passes_is_open(&stream->passes)) {
        stream->rest = plan->drop_remainder ? STREAM_LEFT_OUT : STREAM_PADDING;
        claim->kind =
            !plan->drop_remainder && plan->settings.rank < count ? STREAM_SAMPLE : stream->rest;
    }
    return st;
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
        stream_passes_restart(&stream->passes);
        replay_abandon(&stream->replay);
        stream->done = stream->plan->begin.done;
        stream->rewound = false;
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

    stream_passes_done(&stream->passes, item);
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
    stream_passes_done(&stream->passes, item);
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
    st = stream_passes_init(&stream->passes, plan, passes);
    if (st != SLUICE_OK) {
        sli_free(stream);
        return st;
    }
    pthread_mutex_init(&stream->lock, NULL);
    stream->plan = plan;
    stream->batches = batches;
    stream->done = plan->begin.done;
    stream->limit = UINT64_MAX;
    *stream_out = stream;
    return SLUICE_OK;
}

void sample_stream_destroy(sample_stream *stream)
{
    if (stream == NULL) {
        return;
    }
    stream_passes_free(&stream->passes);
    pthread_mutex_destroy(&stream->lock);
    sli_free(stream);
}

void sample_stream_stop(sample_stream *stream)
{
    atomic_store_explicit(&stream->stopped, true, memory_order_relaxed);
    stream_passes_stop(&stream->passes);
    sli_event_notify(&stream->changed);
}
