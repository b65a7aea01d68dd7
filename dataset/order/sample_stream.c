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
#include "stream_order.h"

struct sample_stream {
    const sli_plan *plan;
    uint64_t batches;
    uint64_t passes;
    int stop_fd; /* readable once the run is to stop */
    _Atomic bool stopped;
    _Atomic uint64_t dropping; /* the batch that is dropped, whose rows are waited for; 0: none */
    sli_event changed;         /* one of the two has */
    pthread_mutex_t lock;      /* guards what follows */
    stream_order *order;       /* whose pass is open, or to be begun */
    uint64_t pass_number;
    uint64_t passes_ended;
    uint64_t taken;    /* of the pass, over all ranks */
    uint64_t row;      /* the next, over all batches */
    uint64_t pass_row; /* the first of the pass in this run */
    stream_kind rest;  /* what the rest of the batch is; SAMPLE: it is not known yet */
    bool failed;
    bool over;
    stream_item others; /* samples of other ranks */
};

/* ---- passes -------------------------------------------------------------------------------- */

/* The next sample of the pass. */
static sluice_status next_sample(sample_stream *stream, stream_item *item)
{
    sluice_status st = stream_order_next(stream->order, item);

    stream->taken += st == SLUICE_OK;
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

/* The pass is through: its length holds for all of them. */
static sluice_status end_pass(sample_stream *stream)
{
    _Atomic uint64_t *length = &stream->plan->details->stream_length;
    const uint64_t known = atomic_load_explicit(length, memory_order_relaxed);

    stream_order_end(stream->order);
    stream->passes_ended++;
    if (known != UINT64_MAX && known != stream->taken) {
        return sli_fail(SLUICE_E_CORRUPT,
                        "pass %llu of the stream has %llu samples, those before had %llu: the "
                        "shards have changed",
                        (unsigned long long)stream->pass_number, (unsigned long long)stream->taken,
                        (unsigned long long)known);
    }
    /* Pairs with the acquire load in plan_locate(). */
    atomic_store_explicit(length, stream->taken, memory_order_release);
    return SLUICE_OK;
}

/* Leaves out what was done of the pass before the run. */
static sluice_status go_forward(sample_stream *stream, uint64_t samples)
{
    sluice_status st = SLUICE_OK;

    if (samples > 0) {
        sli_log(SLUICE_LOG_INFO,
                "the stream is read from its beginning: %llu samples are passed over",
                (unsigned long long)samples);
    }
    while (st == SLUICE_OK && stream->taken < samples) {
        st = next_sample(stream, &stream->others);
    }
    if (st == SLUICE_END_OF_DATA) {
        st = end_pass(stream);
    }
    return st;
}

static bool may_begin(const sample_stream *stream)
{
    const sluice_dataset *dataset = stream->plan->dataset;

    return stream->passes_ended == 0 ||
           (!dataset_source(dataset)->once(dataset->source) &&
            (stream->passes == 0 || stream->passes_ended < stream->passes));
}

/* No batch came of the pass that has ended. */
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

/* Begins a pass, unless there is to be none: END_OF_DATA. */
static sluice_status begin_pass(sample_stream *stream)
{
    sluice_status st = check_pass(stream);

    if (st != SLUICE_OK || !may_begin(stream)) {
        return st != SLUICE_OK ? st : SLUICE_END_OF_DATA;
    }
    stream->pass_number = stream->plan->begin.pass + stream->passes_ended;
    stream->taken = 0;
    stream->pass_row = stream->row;
    st = stream_order_begin(stream->order, stream->pass_number, stream->stop_fd);
    return st == SLUICE_OK && stream->passes_ended == 0
               ? go_forward(stream, stream->plan->begin.done)
               : st;
}

/* ---- rows ---------------------------------------------------------------------------------- */

/* Reads one sample for every rank, this one's into the item; *count_out says how many there were.
 */
static sluice_status take_round(sample_stream *stream, stream_item *item, uint32_t *count_out)
{
    const sli_run_settings *settings = &stream->plan->settings;
    sluice_status st = SLUICE_OK;
    uint32_t count = 0;

    while (count < settings->world) {
        st = next_sample(stream, count == settings->rank ? item : &stream->others);
        if (st != SLUICE_OK) {
            break;
        }
        count++;
    }
    *count_out = count;
    return st;
}

/* What a row is that no end has been met before. */
static sluice_status take_row(sample_stream *stream, stream_item *item, stream_claim *claim)
{
    const sli_plan *plan = stream->plan;
    uint32_t count = 0;
    sluice_status st = SLUICE_OK;

    do {
        while (st == SLUICE_OK &&
               !stream_order_in_pass(stream->order)) { /* again: where it went on was its end */
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
        /* An end between two batches pads none of them. */
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

bool sample_stream_drops(const sample_stream *stream, uint64_t seq)
{
    /* Not under the lock: somebody may wait for bytes there. Whoever claimed the last row has
     * stored it before that row was done. */
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

/* ---- beginning and ending -------------------------------------------------------------------- */

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
    stream->plan = plan;
    stream->batches = batches;
    stream->passes = passes;
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
    eventfd_write(stream->stop_fd, 1);
    sli_event_notify(&stream->changed);
}
