/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The copier: submits a copy of each staged batch to the copy stream, in order, without waiting for
 * completion. Where GetNext is a kernel, small batches whose slots are adjacent in both rings share
 * one copy. After each copy the stream stores these words in order: the device's ready words, if
 * GetNext is a kernel; the host's words, which release the staging slots and publish the batches;
 * and `copied`, from which the copier detects that the copy is complete.
 */
#include "nvtx_ranges_int.h"
#include "queue_state.h"

/* Upper bounds on the batches and bytes of one copy: combining is faster only for small batches. */
enum { MOST_BATCHES = 64, MOST_BYTES = 1 << 20 };

/* Upper bound on the stream's jobs per slot: the copy, and three words in host memory (`consumed`,
 * ready, `copied`). */
enum { JOBS_OF_A_SLOT = 4 };

/* ---- progress -------------------------------------------------------------------------------- */

static bool in_flight(const sli_queue *queue)
{
    return queue->copier.given > queue->copier.copied;
}

/* True if the next staging slot is filled. False once the end or an error has been submitted. */
static bool is_staged(const sli_queue *queue)
{
    return queue->copier.marker == 0 &&
           sli_ring_peek(&queue->front.words, queue->copier.next) != SLI_RING_EMPTY;
}

/*
 * True if batch seq may be submitted: its device slot is free, and at most `slots` batches are not
 * counted yet. The consumer can release a slot before the store of `copied` is done, so the first
 * condition alone would let workers reuse the header of a batch that is not counted.
 */
static bool has_room(const sli_queue *queue, uint64_t seq)
{
    return seq - queue->copier.noticed <= queue->slots &&
           sli_ring_may_fill(&queue->device_ring.words, seq);
}

static bool may_give(const sli_queue *queue)
{
    return is_staged(queue) && has_room(queue, queue->copier.next);
}

/* Polls `copied` and counts the batches that have arrived. */
static void account_copied(sli_queue *queue)
{
    queue_copier *c = &queue->copier;
    const uint64_t copied = sli_ring_load_acquire(&queue->copied); /* stored by the stream */
    uint64_t bytes = 0;
    uint64_t last;
    uint64_t ticks;

    if (copied != c->copied) {
        c->copied = copied;
        queue_made_room(queue);
    }
    last = c->marker != 0 && c->copied >= c->marker ? c->marker - 1 : c->copied;
    if (last == c->noticed) {
        return;
    }
    ticks = sli_ticks() - c->since_ticks;
    c->since_ticks += ticks;
    for (uint64_t i = c->noticed; i < last; i++) {
        const size_t used = queue_batch_bytes(queue, i + 1);

        if (queue->copy_counters != NULL) {
            sli_counters_item(queue->copy_counters, ticks / (last - c->noticed), used);
        }
        bytes += used;
    }
    atomic_fetch_add_explicit(&queue->bytes_copied, bytes, memory_order_relaxed);
    atomic_fetch_add_explicit(&queue->batches_copied, last - c->noticed, memory_order_relaxed);
    c->noticed = last;
}

/* ---- submission to the copy stream ----------------------------------------------------------- */

/*
 * The number of batches, starting at `next`, to submit as one copy. Batches are combined to save
 * calls, and only if the consumer is a kernel: a kernel can consume faster than single calls
 * submit. A batch that does not use its whole slot is the last one of its copy.
 */
static uint32_t count_neighbours(const sli_queue *queue)
{
    const uint64_t first = queue->copier.next;
    const uint64_t slot = sli_ring_slot(&queue->device_ring.words, first);
    uint32_t count = 1;

    while (queue->kernels && count < MOST_BATCHES && slot + count < queue->slots &&
           (count + 1) * queue->layout.slot_bytes <= MOST_BYTES &&
           queue_batch_bytes(queue, first + count - 1) == queue->layout.slot_bytes &&
           sli_ring_peek(&queue->front.words, first + count) == SLI_RING_BATCH &&
           has_room(queue, first + count)) {
        count++;
    }
    return count;
}

/* Submits the stores of all words for `count` slots, starting at `next`. */
static sluice_status submit_words(sli_queue *queue, uint32_t count, sli_ring_kind kind)
{
    queue_ring *device = &queue->device_ring;
    const uint64_t first = queue->copier.next;
    const uint64_t last = first + count - 1;
    const uint64_t slot = sli_ring_slot(&device->words, first);
    uint64_t words[MOST_BATCHES];
    sluice_status st = SLUICE_OK;

    for (uint32_t i = 0; i < count; i++) {
        words[i] = sli_ring_word(first + i, kind);
    }
    if (queue->kernels) {
        st = sli_stream_publish(&queue->copy_stream, queue->device_words + slot, words, count);
        if (st == SLUICE_OK) {
            queue->copier.published = last;
            sli_counter_add(&queue->publishes, 1);
        }
    }
    if (st == SLUICE_OK && kind == SLI_RING_BATCH) {
        st = sli_stream_write(&queue->copy_stream, queue->front.words.consumed, last, NULL);
    }
    for (uint32_t i = 0; i < count && st == SLUICE_OK; i++) {
        st = sli_stream_write(&queue->copy_stream, &device->words.ready[slot + i], words[i],
                              i == count - 1 ? &device->ready : NULL);
    }
    return st == SLUICE_OK
               ? sli_stream_write(&queue->copy_stream, &queue->copied, last, &queue->front.ready)
               : st;
}

/*
 * Publishes that `count` slots, starting at `next`, are submitted, so that launches can be ordered
 * after them.
 */
static sluice_status publish_submitted(sli_queue *queue, uint32_t count, sli_ring_kind kind)
{
    const uint64_t first = queue->copier.next;
    const uint64_t slot = sli_ring_slot(&queue->device_ring.words, first);
    uint64_t mark = 0;
    sluice_status st;

    if (queue->given_ready == NULL) {
        return SLUICE_OK;
    }
    st = sli_stream_mark(&queue->copy_stream, &mark);
    for (uint32_t i = 0; i < count && st == SLUICE_OK; i++) {
        queue->marks[slot + i] = mark;
        /*
         * Pairs with the acquire load in the consumer's sli_ring_peek(): a thread that sees the
         * word sees the mark.
         */
        sli_ring_store_release(&queue->given_ready[slot + i], sli_ring_word(first + i, kind));
    }
    sli_event_notify(&queue->device_ring.ready);
    return st;
}

/* Submits the next slot; a batch may be combined with the adjacent ones. */
static sluice_status submit_next(sli_queue *queue)
{
    queue_copier *c = &queue->copier;
    const sli_ring_kind kind = sli_ring_peek(&queue->front.words, c->next);
    uint32_t count = 1;
    sluice_status st = SLUICE_OK;

    if (kind == SLI_RING_BATCH) {
        count = count_neighbours(queue);
        c->since_ticks = in_flight(queue) ? c->since_ticks : sli_ticks();
        sli_range_begin("copy");
        st = sli_stream_copy(&queue->copy_stream, queue_slot(queue, &queue->device_ring, c->next),
                             queue_slot(queue, &queue->front, c->next),
                             (count - 1) * queue->layout.slot_bytes +
                                 queue_batch_bytes(queue, c->next + count - 1));
        sli_range_end();
        if (st == SLUICE_OK) {
            sli_counter_add(&queue->copies, 1);
        }
    } else {
        c->marker = c->next;
        c->marker_kind = kind;
    }
    if (st == SLUICE_OK) {
        st = submit_words(queue, count, kind);
    }
    if (st == SLUICE_OK) {
        st = publish_submitted(queue, count, kind);
    }
    if (st == SLUICE_OK) {
        c->next += count;
        c->given = c->next - 1;
    }
    return st;
}

/* ---- errors ---------------------------------------------------------------------------------- */

typedef struct slot_wait {
    sli_queue *queue;
    uint64_t seq;
} slot_wait;

static bool free_or_closed(void *arg)
{
    const slot_wait *wait = arg;

    return sli_ring_may_fill(&wait->queue->device_ring.words, wait->seq) ||
           queue_closed(wait->queue);
}

static sluice_status open_stream(sli_queue *queue, const sli_cpus *cpus)
{
    /* One slot extra: the consumer can release a slot before the store of `copied` is done. */
    const uint32_t jobs = (queue->slots + 1) * JOBS_OF_A_SLOT;

    return sli_stream_open(queue->device, "sluice/copy", SLI_STREAM_COPIES, cpus, jobs,
                           &queue->copy_stream);
}

/*
 * True if the device still works after an error: a new stream can be opened. Closing the old stream
 * first waits for all of its work, so everything published has arrived; host words that the old
 * stream did not store are stored here.
 */
static bool device_works(sli_queue *queue)
{
    queue_copier *c = &queue->copier;

    pthread_mutex_lock(&queue->order_lock);
    queue->orders = false;
    pthread_mutex_unlock(&queue->order_lock);
    sli_stream_close(&queue->copy_stream);
    if (open_stream(queue, NULL) != SLUICE_OK) {
        return false;
    }
    for (uint64_t seq = queue->copied + 1; seq <= c->published; seq++) {
        queue_ring_publish(&queue->device_ring, seq,
                           seq == c->marker ? c->marker_kind : SLI_RING_BATCH);
    }
    sli_ring_store_release(&queue->copied, c->published);
    account_copied(queue);
    return true;
}

/* The first seq whose ready word in host memory is not stored yet. */
static uint64_t first_missing(const sli_queue *queue)
{
    uint64_t seq = queue->copied + 1;

    while (sli_ring_peek(&queue->device_ring.words, seq) != SLI_RING_EMPTY) {
        seq++;
    }
    return seq;
}

/* Publishes an error of the stream, after the batches that have arrived. */
static void publish_error(sli_queue *queue, sluice_status status)
{
    const sluice_status first = sli_stream_wait(&queue->copy_stream, -1);
    slot_wait wait = {queue, 0};
    sli_error error;
    uint64_t word;
    bool works;

    sli_error_take(first != SLUICE_OK ? first : status, &error);
    account_copied(queue);
    works = queue->kernels && device_works(queue);
    if (works && queue->copier.marker != 0 && queue->copied == queue->copier.marker) {
        return; /* all batches and the end have arrived */
    }
    wait.seq = first_missing(queue);
    queue_keep_error(queue, wait.seq, &error);
    if (queue->kernels) {
        /* Pairs with the acquire load in has_failed(). */
        atomic_store_explicit(&queue->failed, true, memory_order_release);
        sli_event_notify(&queue->device_ring.ready);
        queue_poll(&queue->front.ready, free_or_closed, &wait, -1);
    } else {
        sli_event_await(&queue->front.ready, free_or_closed, &wait, -1);
    }
    if (queue_closed(queue)) {
        return;
    }
    word = sli_ring_word(wait.seq, SLI_RING_ERROR);
    if (works &&
        sli_stream_publish(&queue->copy_stream,
                           queue->device_words + sli_ring_slot(&queue->device_ring.words, wait.seq),
                           &word, 1) == SLUICE_OK) {
        (void)sli_stream_wait(&queue->copy_stream, -1);
    }
    queue_ring_publish(&queue->device_ring, wait.seq, SLI_RING_ERROR);
}

/* ---- the thread ------------------------------------------------------------------------------ */

typedef struct news_wait {
    sli_queue *queue;
    bool staged; /* the next batch is staged: waits for a free device slot */
} news_wait;

static bool has_news(void *arg)
{
    const news_wait *wait = arg;
    sli_queue *queue = wait->queue;

    return queue_closed(queue) || (wait->staged ? may_give(queue) : is_staged(queue)) ||
           sli_ring_load_acquire(&queue->copied) != queue->copier.copied ||
           (in_flight(queue) && sli_stream_status(&queue->copy_stream) != SLUICE_OK);
}

/*
 * Sleeps until there is work. Time with copies in flight counts as busy, all other time as waiting.
 */
static void await_news(sli_queue *queue)
{
    news_wait wait = {queue, is_staged(queue)};
    const bool busy = in_flight(queue);
    const uint64_t start = sli_ticks();
    sli_counters *counters = queue->copy_counters;

    if (queue->kernels && wait.staged) {
        queue_poll(&queue->front.ready, has_news, &wait, -1);
    } else {
        sli_event_await(&queue->front.ready, has_news, &wait, -1);
    }
    if (counters != NULL && !busy) {
        sli_counter_add(wait.staged ? &counters->wait_room_ticks : &counters->wait_input_ticks,
                        sli_ticks() - start);
    }
}

/* One iteration of the copier thread. False: the thread ends. */
static bool run_copier(sli_queue *queue)
{
    queue_copier *c = &queue->copier;
    sluice_status st = SLUICE_OK;

    account_copied(queue);
    if (queue_closed(queue)) {
        return false;
    }
    if (in_flight(queue)) {
        st = sli_stream_status(&queue->copy_stream);
    } else if (c->marker != 0) {
        return false;
    }
    if (st == SLUICE_OK && c->sampled_at != c->next) {
        c->sampled_at = c->next;
        queue_ring_sample_depth(&queue->front);
    }
    if (st == SLUICE_OK && may_give(queue)) {
        st = submit_next(queue);
    } else if (st == SLUICE_OK) {
        await_news(queue);
    }
    if (st != SLUICE_OK) {
        publish_error(queue, st);
    }
    return st == SLUICE_OK;
}

static void copier_main(void *arg)
{
    sli_queue *queue = arg;
    const bool entered = sli_device_enter(queue->device) == SLUICE_OK; /* once, not in each call */

    while (run_copier(queue)) {
    }
    if (entered) {
        sli_device_leave(queue->device);
    }
}

sluice_status queue_copier_start(sli_queue *queue, const sli_cpus *cpus)
{
    sluice_status st = open_stream(queue, cpus);

    queue->copier.next = 1;
    queue->orders = st == SLUICE_OK;
    if (st == SLUICE_OK) {
        st = sli_thread_start(&queue->copier_thread, "sluice/copier", cpus, copier_main, queue);
    }
    return st;
}

void queue_copier_stop(sli_queue *queue)
{
    sli_thread_join(&queue->copier_thread);
    if (queue->copy_stream.handle != NULL) {
        sli_thread_place_get(sli_stream_thread(&queue->copy_stream), &queue->copy_thread);
    }
    sli_stream_close(&queue->copy_stream);
    account_copied(queue);
}

void sli_queue_threads(const sli_queue *queue, sli_thread_place places_out[SLI_QUEUE_THREADS])
{
    sli_thread_place_get(&queue->copier_thread, &places_out[0]);
    if (queue->copy_stream.handle != NULL) {
        sli_thread_place_get(sli_stream_thread(&queue->copy_stream), &places_out[1]);
    } else {
        places_out[1] = queue->copy_thread;
    }
}
