/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The copier: takes batches in order from staging and gives the copy stream one copy after another,
 * without waiting for any. Staged batches that lie side by side, as their slots do, go in one copy.
 * Behind each copy the stream stores the words: the device's, where GetNext is a kernel; then those
 * of the host, by which staging is free again and the batch is there; last `copied`, by which the
 * copier keeps account.
 */
#include <stdio.h>

#include "queue_state.h"
#include "range_int.h"

/* Batches that go in one copy: small ones, for large ones are worth a copy each. */
enum { MOST_BATCHES = 64, MOST_BYTES = 1 << 20 };

/* ---- how far it is --------------------------------------------------------------------------- */

static bool under_way(const sli_queue *queue)
{
    return queue->copier.given > queue->copier.copied;
}

/* Is there anything at the next place? */
static bool is_staged(const sli_queue *queue)
{
    return queue->copier.marker == 0 &&
           sli_ring_peek(&queue->front.words, queue->copier.next) != SLI_RING_EMPTY;
}

static bool may_give(const sli_queue *queue)
{
    return is_staged(queue) && sli_ring_may_fill(&queue->device_ring.words, queue->copier.next);
}

/* Looks at what has arrived, and counts it. */
static void notice(sli_queue *queue)
{
    queue_copier *c = &queue->copier;
    uint64_t last;
    uint64_t ticks;

    c->copied = sli_ring_load_acquire(&queue->copied); /* pairs with the stream's store */
    last = c->marker != 0 && c->copied >= c->marker ? c->marker - 1 : c->copied;
    if (last == c->noticed) {
        return;
    }
    ticks = sli_ticks() - c->since_ticks;
    c->since_ticks += ticks;
    for (uint64_t i = c->noticed; i < last && queue->copy_counters != NULL; i++) {
        sli_counters_item(queue->copy_counters, ticks / (last - c->noticed),
                          queue->layout.slot_bytes);
    }
    atomic_fetch_add_explicit(&queue->bytes_copied, (last - c->noticed) * queue->layout.slot_bytes,
                              memory_order_relaxed);
    c->noticed = last;
}

/* ---- giving the stream something ------------------------------------------------------------- */

/* Batches from the next one on that one copy carries. Several are for the sake of the calls that
 * each copy costs where kernels, which cost none, may be faster. */
static uint32_t count_neighbours(const sli_queue *queue)
{
    const uint64_t first = queue->copier.next;
    const uint64_t slot = sli_ring_slot(&queue->device_ring.words, first);
    uint32_t count = 1;

    while (queue->kernels && count < MOST_BATCHES && slot + count < queue->slots &&
           (count + 1) * queue->layout.slot_bytes <= MOST_BYTES &&
           sli_ring_peek(&queue->front.words, first + count) == SLI_RING_BATCH &&
           sli_ring_may_fill(&queue->device_ring.words, first + count)) {
        count++;
    }
    return count;
}

/* The words of `count` places from the next one on. */
static sluice_status give_words(sli_queue *queue, uint32_t count, sli_ring_kind kind)
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
        st = sli_stream_write(&queue->copy_stream, queue->front.words.consumed, last,
                              &queue->front.room);
    }
    for (uint32_t i = 0; i < count && st == SLUICE_OK; i++) {
        st = sli_stream_write(&queue->copy_stream, &device->words.ready[slot + i], words[i],
                              i == count - 1 ? &device->ready : NULL);
    }
    return st == SLUICE_OK
               ? sli_stream_write(&queue->copy_stream, &queue->copied, last, &queue->front.ready)
               : st;
}

/* What stands at the next place, and its neighbours when it is a batch. */
static sluice_status give(sli_queue *queue)
{
    queue_copier *c = &queue->copier;
    const sli_ring_kind kind = sli_ring_peek(&queue->front.words, c->next);
    uint32_t count = 1;
    sluice_status st = SLUICE_OK;

    if (kind == SLI_RING_BATCH) {
        count = count_neighbours(queue);
        c->since_ticks = under_way(queue) ? c->since_ticks : sli_ticks();
        sli_range_begin("copy");
        st = sli_stream_copy(&queue->copy_stream, queue_slot(queue, &queue->device_ring, c->next),
                             queue_slot(queue, &queue->front, c->next),
                             count * queue->layout.slot_bytes);
        sli_range_end();
        if (st == SLUICE_OK) {
            sli_counter_add(&queue->copies, 1);
        }
    } else {
        c->marker = c->next;
        c->marker_kind = kind;
    }
    if (st == SLUICE_OK) {
        st = give_words(queue, count, kind);
    }
    if (st == SLUICE_OK) {
        c->next += count;
        c->given = c->next - 1;
    }
    return st;
}

/* ---- errors ---------------------------------------------------------------------------------- */

typedef struct place_wait {
    sli_queue *queue;
    uint64_t seq;
} place_wait;

static bool free_or_closed(void *arg)
{
    const place_wait *wait = arg;

    return sli_ring_may_fill(&wait->queue->device_ring.words, wait->seq) ||
           queue_closed(wait->queue);
}

/*
 * After an error: does the device still work? A new stream says so, and closing the old one waits
 * for all that it was given, so that everything published has arrived, whoever was not told of it.
 */
static bool device_works(sli_queue *queue)
{
    queue_copier *c = &queue->copier;

    sli_stream_close(&queue->copy_stream);
    if (sli_stream_open(queue->device, "sluice/copy", NULL, &queue->copy_stream) != SLUICE_OK) {
        return false;
    }
    for (uint64_t seq = queue->copied + 1; seq <= c->published; seq++) {
        queue_ring_publish(&queue->device_ring, seq,
                           seq == c->marker ? c->marker_kind : SLI_RING_BATCH);
    }
    sli_ring_store_release(&queue->copied, c->published);
    notice(queue);
    return true;
}

/* The first place of which the host has no word. */
static uint64_t first_missing(const sli_queue *queue)
{
    uint64_t seq = queue->copied + 1;

    while (sli_ring_peek(&queue->device_ring.words, seq) != SLI_RING_EMPTY) {
        seq++;
    }
    return seq;
}

/* The stream has met an error: batches that have arrived are good, then comes the error. */
static void fail(sli_queue *queue, sluice_status status)
{
    const sluice_status first = sli_stream_wait(&queue->copy_stream, -1);
    place_wait wait = {queue, 0};
    char text[SLI_ERROR_SIZE];
    uint64_t word;
    bool works;

    snprintf(text, sizeof(text), "%s", sluice_last_error());
    notice(queue);
    works = queue->kernels && device_works(queue);
    if (works && queue->copier.marker != 0 && queue->copied == queue->copier.marker) {
        return; /* all that there was has arrived */
    }
    wait.seq = first_missing(queue);
    queue_keep_error(queue, wait.seq, first != SLUICE_OK ? first : status, text);
    if (queue->kernels) {
        /* Pairs with the acquire load in sli_queue_wait(). */
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
    bool staged; /* before: then room is what is missing */
} news_wait;

static bool has_news(void *arg)
{
    const news_wait *wait = arg;
    sli_queue *queue = wait->queue;

    return queue_closed(queue) || (wait->staged ? may_give(queue) : is_staged(queue)) ||
           sli_ring_load_acquire(&queue->copied) != queue->copier.copied ||
           (under_way(queue) && sli_stream_status(&queue->copy_stream) != SLUICE_OK);
}

/* Sleeps until there is something to do. What is under way is busy time, all else is waiting. */
static void await_news(sli_queue *queue)
{
    news_wait wait = {queue, is_staged(queue)};
    const bool busy = under_way(queue);
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

/* Does one thing; false when nothing follows. */
static bool carry(sli_queue *queue)
{
    queue_copier *c = &queue->copier;
    sluice_status st = SLUICE_OK;

    notice(queue);
    if (queue_closed(queue)) {
        return false;
    }
    if (under_way(queue)) {
        st = sli_stream_status(&queue->copy_stream);
    } else if (c->marker != 0) {
        return false;
    }
    if (st == SLUICE_OK && c->looked_at != c->next) {
        c->looked_at = c->next;
        queue_ring_look(&queue->front);
    }
    if (st == SLUICE_OK && may_give(queue)) {
        st = give(queue);
    } else if (st == SLUICE_OK) {
        await_news(queue);
    }
    if (st != SLUICE_OK) {
        fail(queue, st);
    }
    return st == SLUICE_OK;
}

static void copier_main(void *arg)
{
    sli_queue *queue = arg;
    const bool entered = sli_device_enter(queue->device) == SLUICE_OK; /* or each call does it */

    while (carry(queue)) {
    }
    if (entered) {
        sli_device_leave(queue->device);
    }
}

sluice_status queue_copier_start(sli_queue *queue, const sli_cpus *cpus)
{
    sluice_status st = sli_stream_open(queue->device, "sluice/copy", cpus, &queue->copy_stream);

    queue->copier.next = 1;
    if (st == SLUICE_OK) {
        st = sli_thread_start(&queue->copier_thread, "sluice/copier", cpus, copier_main, queue);
    }
    return st;
}

void queue_copier_stop(sli_queue *queue)
{
    sli_thread_join(&queue->copier_thread);
    sli_stream_close(&queue->copy_stream);
    notice(queue);
}
