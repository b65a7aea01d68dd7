/* SPDX-License-Identifier: Apache-2.0 */
/* A channel's batches: fetching, releasing, rewinding. */
#include <string.h>

#include "channel_state.h"
#include "channel_steps.h"
#include "channel_watch.h"
#include "log_int.h"
#include "text_int.h"

/* Longer timeouts count as unlimited, because a clock value plus the timeout in nanoseconds must
 * fit 64 bits. */
static const int64_t LONGEST_WAIT_MS = INT64_MAX / 1000000 / 2;

/* Interval between polls of the device, and for requests, while a batch is late. */
static const int64_t POLL_NS = 100000000;

/*
 * Sampling the queue's depth reads one word of each filled slot. The depth is sampled every 16
 * batches, or every slots / 4 batches if that is more, so a get_next reads only a few words on
 * average.
 */
enum { DEPTH_INTERVAL = 16, DEPTH_SHARE = 4 };

const sluice_tensor *sluice_batch_input(const sluice_batch *batch, const char *name)
{
    for (uint32_t i = 0; batch != NULL && name != NULL && i < batch->input_count; i++) {
        if (strcmp(batch->inputs[i].name, name) == 0) {
            return &batch->inputs[i];
        }
    }
    return NULL;
}

static sluice_status check_get_next(sluice_channel *channel, const sluice_batch *const *batch_out)
{
    static const char function[] = "sluice_channel_get_next";

    if (channel == NULL || batch_out == NULL) {
        return sli_fail(SLUICE_E_INVALID, "%s: %s is NULL", function,
                        channel == NULL ? "channel" : "batch_out");
    }
    return sli_device_check(channel->data.config.device, function);
}

static bool is_stopped(sluice_channel *channel)
{
    bool stopped;

    pthread_mutex_lock(&channel->lock);
    stopped = channel->stopped;
    pthread_mutex_unlock(&channel->lock);
    return stopped;
}

/* Removes a batch from the held batches, then frees every slot that can be freed in order. */
static void end_hold(sluice_channel *channel, held_batch *entry)
{
    const uint64_t seq = atomic_load_explicit(&channel->seq, memory_order_relaxed);
    uint64_t slot;

    held_batches_remove(&channel->held, entry);
    while ((slot = held_batches_next_slot(&channel->held, seq)) != 0) {
        channel->lender->ops->free_slot(channel->lender, slot);
    }
}

/* Releases the batch before seq if `held` is 1, since such a loop need not release batches itself.
 */
static void release_last(sluice_channel *channel, uint64_t seq)
{
    if (channel->held.most == 1 && channel->held.count == 1) {
        end_hold(channel, held_batches_at(&channel->held, seq - 1));
    }
}

/* Adds the wait since the last call to the counters, without the time of a replay. A no-op if
 * get_next does not wait. */
static void count_wait(sluice_channel *channel)
{
    channel_wait *wait = &channel->wait;
    const uint64_t since = wait->since_ticks;
    const uint64_t ticks = sli_ticks();
    const int64_t ns = sli_now_ns();
    const uint64_t waited = ticks - since;
    uint64_t data;

    if (since == 0) {
        return;
    }
    data = waited - sli_engine_replay_overlap(channel->data.engine, since, ticks);
    sli_counter_add(&feed_counters(&channel->data, FEED_GET_NEXT)->wait_input_ticks, data);
    if (data > 0 && ns > wait->since_ns) { /* a clock may go back */
        sli_counter_add(&channel->wait_ns,
                        (uint64_t)((double)(ns - wait->since_ns) * (double)data / (double)waited));
    }
    *wait = (channel_wait){ticks, ns, wait->ticks + waited};
}

/* Polls while a batch is late. Returns TIMEOUT, or the error of the device. */
static sluice_status poll_in_wait(sluice_channel *channel)
{
    batch_lender *l = channel->lender;
    sluice_status st = SLUICE_OK;

    count_wait(channel);
    (void)channel_watch_poll(channel, sli_ticks());
    if (l->ops->poll_device != NULL) {
        st = l->ops->poll_device(l);
    }
    return st == SLUICE_OK ? SLUICE_TIMEOUT : st;
}

/* Waits for batch seq; polls while it is late. */
static sluice_status wait_polling(sluice_channel *channel, uint64_t seq, int64_t timeout_ns)
{
    const int64_t start_ns = timeout_ns >= 0 ? sli_now_ns() : 0;
    int64_t left_ns = timeout_ns;
    sluice_status st;

    do {
        const bool last = left_ns >= 0 && left_ns <= POLL_NS;

        st = sli_queue_wait(channel->data.queue, seq, last ? left_ns : POLL_NS, false);
        if (st == SLUICE_TIMEOUT) {
            st = poll_in_wait(channel);
        }
        if (timeout_ns >= 0) {
            const int64_t gone_ns = sli_now_ns() - start_ns;

            left_ns = gone_ns < timeout_ns ? timeout_ns - gone_ns : 0;
        }
    } while (st == SLUICE_TIMEOUT && left_ns != 0);
    return st;
}

/* Index of batch seq since the start or the last rewind, from 0. */
static uint64_t run_batch(const sluice_channel *channel, uint64_t seq)
{
    return seq - 1 - channel->base;
}

/* Describes what late batch seq waits for. The caller frees the text. */
static const char *describe_wait(const sluice_channel *channel, uint64_t seq, int64_t waited_ns,
                                 sli_text *text)
{
    sli_text_add(text, "no batch for %.1f s: batch %llu waits for data; ", (double)waited_ns / 1e9,
                 (unsigned long long)(channel->begin.batch + run_batch(channel, seq)));
    sli_engine_describe_wait(channel->data.engine, seq, text);
    return text->failed || text->data == NULL ? "no batch" : text->data;
}

/* wait_polling(), with a warning after config.stall_warning_ms without progress: no
 * batch arrives, and no replay is in progress, which logs its own progress. */
static sluice_status wait_warning(sluice_channel *channel, uint64_t seq, int64_t timeout_ns)
{
    const int64_t quiet_ns = channel->stall_warning_ns;
    sli_engine *engine = channel->data.engine;
    int64_t waited_ns = 0;
    bool warned = false;
    sluice_status st;

    do {
        const bool forever = timeout_ns < 0;
        const bool waits_quiet = !warned && (forever || timeout_ns - waited_ns > quiet_ns);
        const int64_t left_ns = forever ? -1 : timeout_ns - waited_ns;
        const uint64_t replayed = sli_engine_replayed(engine);

        st = wait_polling(channel, seq, waits_quiet ? quiet_ns : left_ns);
        if (st != SLUICE_TIMEOUT || !waits_quiet) {
            break;
        }
        waited_ns += quiet_ns;
        if (sli_engine_replayed(engine) == replayed) {
            sli_text text = {0};

            warned = true;
            sli_log(SLUICE_LOG_WARN, "%s", describe_wait(channel, seq, waited_ns, &text));
            sli_text_free(&text);
        }
    } while (true);
    return st;
}

/* Waits for a late batch, and counts the wait. */
static sluice_status wait_late(sluice_channel *channel, uint64_t seq, int64_t timeout_ms)
{
    const bool forever = timeout_ms < 0 || timeout_ms > LONGEST_WAIT_MS;
    const int64_t timeout_ns = forever ? -1 : timeout_ms * 1000000;
    sluice_status st;

    channel->wait = (channel_wait){sli_ticks(), sli_now_ns(), 0};
    st = wait_warning(channel, seq, timeout_ns);
    count_wait(channel);
    channel->wait.since_ticks = 0;
    if (st == SLUICE_TIMEOUT && timeout_ms > 0) {
        sli_text text = {0};

        (void)sli_fail(st, "%s", describe_wait(channel, seq, timeout_ns, &text));
        sli_text_free(&text);
    }
    return st;
}

static sluice_status wait_for_batch(sluice_channel *channel, uint64_t seq, int64_t timeout_ms)
{
    const sluice_status st = sli_queue_wait(channel->data.queue, seq, 0, false);

    if (st != SLUICE_TIMEOUT) {
        return st;
    }
    sli_queue_starve(channel->data.queue);
    return wait_late(channel, seq, timeout_ms);
}

/* True if all batches were fetched. Always false for a channel that cannot rewind: there the engine
 * publishes an end marker. */
static bool is_at_end(const sluice_channel *channel, uint64_t seq)
{
    return channel->data.config.rewinds && run_batch(channel, seq) >= channel->batches;
}

/* True if the pass of the last batch is known to end before batch seq. */
static bool pass_ends_before(const sluice_channel *channel, uint64_t seq)
{
    return channel->end_of_pass && channel->in_pass &&
           sli_plan_position(channel->data.plan, run_batch(channel, seq)).pass != channel->pass;
}

/* Waits for batch seq. Returns OK or another status of sluice_channel_get_next(). */
static sluice_status await_batch(sluice_channel *channel, uint64_t seq, int64_t timeout_ms)
{
    const bool at_end = is_at_end(channel, seq);
    const sluice_status st = at_end || pass_ends_before(channel, seq)
                                 ? sli_queue_wait(channel->data.queue, seq, 0, false)
                                 : wait_for_batch(channel, seq, timeout_ms);

    /* The end of a pass of unknown length may have become known meanwhile. The batch, the end or
     * the error that follows it is left to the next call. */
    if (st != SLUICE_CLOSED && pass_ends_before(channel, seq)) {
        return SLUICE_END_OF_PASS;
    }
    return at_end && st == SLUICE_TIMEOUT ? SLUICE_END_OF_DATA : st;
}

/* Counts the call that lends a batch, which began at `start`. The loop's step begins. */
static void count_get_next(sluice_channel *channel, uint64_t start)
{
    const uint64_t maps = channel->lender->map_ticks;

    channel->lent_ticks = sli_ticks();
    sli_counters_item(feed_counters(&channel->data, FEED_GET_NEXT),
                      channel->lent_ticks - start - channel->wait.ticks - maps,
                      channel->data.layout.slot_bytes);
    if (maps > 0) {
        sli_counters_item(feed_counters(&channel->data, FEED_MAPS), maps, 0);
    }
}

/* Lends batch seq in a call that began at `start`. */
static sluice_status lend_batch(sluice_channel *channel, uint64_t seq, uint64_t start, void *stream,
                                const sluice_batch **batch_out)
{
    const lend_request request = {.seq = seq,
                                  .number = channel->begin.batch + run_batch(channel, seq),
                                  .set = held_batches_next_set(&channel->held),
                                  .stream = stream};
    sluice_batch *batch;
    sli_inputs inputs;
    sluice_status st = channel->lender->ops->lend(channel->lender, &request, &inputs);

    if (st != SLUICE_OK) {
        return st;
    }
    batch = &held_batches_add(&channel->held, seq)->batch;
    batch->number = request.number;
    batch->pass = inputs.header->pass;
    batch->inputs = inputs.tensors;
    batch->valid_rows = inputs.header->valid_rows;
    batch->samples = inputs.samples;
    channel->pass = batch->pass;
    channel->in_pass = true;
    sli_counter_add(&channel->samples, batch->valid_rows);
    sli_counter_add(&channel->given, 1);
    sli_counter_add(&channel->seq, 1);
    count_get_next(channel, start);
    *batch_out = batch;
    return SLUICE_OK;
}

/* Counts the time since the last batch was lent as the loop's step. */
static void count_step(sluice_channel *channel, uint64_t now)
{
    if (channel->lent_ticks != 0) {
        channel_steps_count(channel, now - channel->lent_ticks);
        channel->lent_ticks = 0;
    }
}

static void sample_depth(sluice_channel *channel)
{
    const uint32_t share = channel->data.slots / DEPTH_SHARE;

    if (channel->until_depth == 0) {
        sli_queue_sample_depth(channel->data.queue);
        channel->until_depth = share > DEPTH_INTERVAL ? share : DEPTH_INTERVAL;
    }
    channel->until_depth--;
}

/* Fetches the next batch. Call only after check_fetch() has returned OK. */
static sluice_status fetch(sluice_channel *channel, uint64_t seq, void *stream, int64_t timeout_ms,
                           const sluice_batch **batch_out)
{
    uint64_t start = sli_ticks();
    sluice_status st;

    count_step(channel, start);
    if (channel_watch_poll(channel, start)) {
        start = sli_ticks();
    }
    release_last(channel, seq);
    sample_depth(channel);
    channel->wait.ticks = 0;
    st = await_batch(channel, seq, timeout_ms);
    channel->in_pass = channel->in_pass && st != SLUICE_END_OF_PASS;
    if (st == SLUICE_OK) {
        st = lend_batch(channel, seq, start, stream, batch_out);
    }
    if (st < 0) {
        pthread_mutex_lock(&channel->lock);
        sli_error_take(st, &channel->failure);
        pthread_mutex_unlock(&channel->lock);
    }
    return st;
}

/* Checks whether batch seq may be fetched in this stream. Has no side effects. */
static sluice_status check_fetch(sluice_channel *channel, uint64_t seq, void *stream)
{
    const held_batches *held = &channel->held;
    const sluice_status st = held->most > 1 ? held_batches_check(held, seq) : SLUICE_OK;

    return st == SLUICE_OK
               ? channel->lender->ops->check(channel->lender, held_batches_next_set(held), stream)
               : st;
}

sluice_status sluice_channel_get_next(sluice_channel *channel, void *stream, int64_t timeout_ms,
                                      const sluice_batch **batch_out)
{
    sluice_status st = check_get_next(channel, batch_out);
    uint64_t seq;

    if (st != SLUICE_OK) {
        return st;
    }
    if (!channel_is_started(channel)) {
        return is_stopped(channel) ? SLUICE_CLOSED : channel_not_started("sluice_channel_get_next");
    }
    seq = atomic_load_explicit(&channel->seq, memory_order_relaxed);
    st = check_fetch(channel, seq, stream);
    return st == SLUICE_OK ? fetch(channel, seq, stream, timeout_ms, batch_out) : st;
}

sluice_status sluice_channel_release(sluice_channel *channel, const sluice_batch *batch,
                                     void *stream)
{
    static const char function[] = "sluice_channel_release";
    held_batch *entry = NULL;
    sluice_status st;

    if (channel == NULL || batch == NULL) {
        return sli_fail(SLUICE_E_INVALID, "%s: %s is NULL", function,
                        channel == NULL ? "channel" : "batch");
    }
    st = sli_device_check(channel->data.config.device, function);
    if (st == SLUICE_OK) {
        st = held_batches_find(&channel->held, batch, &entry);
    }
    if (st == SLUICE_OK) {
        st = channel->lender->ops->release(channel->lender, entry->set, stream);
    }
    if (st == SLUICE_OK) {
        end_hold(channel, entry);
    }
    return st;
}

/* ---- rewinding ------------------------------------------------------------------------------- */

static sluice_status check_rewind(sluice_channel *channel)
{
    static const char function[] = "sluice_channel_rewind";
    sluice_status st;

    if (channel == NULL) {
        return sli_fail(SLUICE_E_INVALID, "%s: channel is NULL", function);
    }
    st = sli_device_check(channel->data.config.device, function);
    if (st == SLUICE_OK && !channel_is_started(channel)) {
        st = is_stopped(channel) ? SLUICE_CLOSED : channel_not_started(function);
    }
    if (st == SLUICE_OK && channel->held.count > 0) {
        st = sli_fail(SLUICE_E_INVALID,
                      "%s: %u batches are held; call sluice_channel_release() first", function,
                      channel->held.count);
    }
    if (st == SLUICE_OK && !channel->data.config.rewinds) {
        st = sli_fail(SLUICE_E_UNSUPPORTED,
                      "%s: the source, %s, is read by a pipe and cannot be read again; open a new "
                      "dataset",
                      function, sli_plan_source(channel->data.plan));
    }
    return st == SLUICE_OK ? channel->lender->ops->check(
                                 channel->lender, held_batches_next_set(&channel->held), NULL)
                           : st;
}

/* Waits for and discards each batch up to `base`, the last batch produced before the rewind. */
static sluice_status discard_batches(sluice_channel *channel, uint64_t base)
{
    const uint32_t set = held_batches_next_set(&channel->held);
    uint64_t seq = atomic_load_explicit(&channel->seq, memory_order_relaxed);
    sluice_status st = SLUICE_OK;

    for (; seq <= base; seq++) {
        st = wait_warning(channel, seq, -1);
        if (st == SLUICE_OK) {
            st = channel->lender->ops->discard(channel->lender, seq, set);
        }
        if (st != SLUICE_OK) {
            break;
        }
        held_batches_discard(&channel->held, seq);
        sli_counter_add(&channel->seq, 1);
    }
    return st;
}

/* A rewind before the first batch has nothing to discard, but reports an error of the pipeline. */
static sluice_status rewind_at_begin(const sluice_channel *channel, uint64_t seq)
{
    const sluice_status st = sli_queue_wait(channel->data.queue, seq, 0, false);

    return st == SLUICE_TIMEOUT ? SLUICE_OK : st;
}

sluice_status sluice_channel_rewind(sluice_channel *channel)
{
    sluice_status st = check_rewind(channel);
    uint64_t seq;
    uint64_t base;

    if (st != SLUICE_OK) {
        return st;
    }
    seq = atomic_load_explicit(&channel->seq, memory_order_relaxed);
    if (run_batch(channel, seq) == 0) {
        return rewind_at_begin(channel, seq);
    }
    base = sli_engine_rewind(channel->data.engine, seq - 1);
    st = discard_batches(channel, base);
    if (st == SLUICE_OK) {
        channel->base = base;
        channel->in_pass = false;
    }
    return st;
}
