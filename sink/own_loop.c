/* SPDX-License-Identifier: Apache-2.0 */
/* sluice_channel: the data channel for a loop of the user's own, who is its consumer. */
#include <sluice/channel.h>

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "alloc_int.h"
#include "data_channel.h"
#include "lender.h"
#include "overrides.h"
#include "status_int.h"

/* Longer waits are for ever: nanoseconds that, added to a clock, fit 64 bits. */
static const int64_t LONGEST_WAIT_MS = INT64_MAX / 1000000 / 2;

/* How long a batch may be late before the device is looked at, and looked at again. */
static const int64_t LOOK_NS = 100000000;

struct sluice_channel {
    data_channel data;
    batch_lender *lender;
    uint64_t first_batch;
    uint64_t batches; /* UINT64_MAX: without end */

    pthread_mutex_t
        lock; /* guards the two below, and the engine's pointer while it is not started */
    bool start_called;
    bool stopped;
    _Atomic bool started; /* the engine is there */

    /* What follows is the consumer's; the counters have any thread as a reader. */
    bool has_batch;
    sluice_batch batch;
    _Atomic uint64_t seq; /* of the next batch */
    _Atomic uint64_t samples;
    _Atomic uint64_t wait_ns;
};

/* ---- opening and closing --------------------------------------------------------------------- */

static sluice_status check_config(const sluice_channel_config *config)
{
    if (config->struct_size != sizeof(*config)) {
        return sli_fail(SLUICE_E_INVALID,
                        "config.struct_size is %zu; call sluice_channel_config_init() first",
                        config->struct_size);
    }
    if (config->rank > 0 && config->rank >= config->world) {
        return sli_fail(SLUICE_E_INVALID, "rank is %u, want less than world, %u", config->rank,
                        config->world > 0 ? config->world : 1);
    }
    if ((int)config->on_error < SLUICE_ON_ERROR_FAIL ||
        (int)config->on_error > SLUICE_ON_ERROR_ZERO) {
        return sli_fail(SLUICE_E_INVALID, "on_error is %d, want one of sluice_on_error",
                        (int)config->on_error);
    }
    if (config->batches > UINT64_MAX - 1 - config->first_batch) {
        return sli_fail(SLUICE_E_INVALID, "more batches than 64 bits can count");
    }
    return SLUICE_OK;
}

static sluice_status check_arguments(const sluice_device *device, const sluice_dataset *dataset,
                                     const sluice_channel_config *config,
                                     sluice_channel *const *channel_out)
{
    sluice_status st;

    if (dataset == NULL || config == NULL || channel_out == NULL) {
        return sli_fail(SLUICE_E_INVALID, "sluice_channel_open: %s is NULL",
                        dataset == NULL  ? "dataset"
                        : config == NULL ? "config"
                                         : "channel_out");
    }
    st = sli_device_check(device, "sluice_channel_open");
    if (st == SLUICE_OK && lender_ops_of(device) == NULL) {
        st = sli_fail(SLUICE_E_UNSUPPORTED,
                      "sluice_channel_open: device %s: no GetNext on it yet; use host:0",
                      sluice_device_name(device));
    }
    return st == SLUICE_OK ? check_config(config) : st;
}

/* Goes on where a run that has made so many batches would. */
static sluice_status begin_at(sli_plan *plan, uint64_t batches)
{
    const sli_place place = sli_plan_place(plan, batches);

    return sli_plan_begin(plan, &place, 1);
}

static sluice_status open_data(sluice_device *device, sluice_dataset *dataset,
                               const sluice_channel_config *config, data_channel *data_out)
{
    channel_config own = {.device = device,
                          .dataset = dataset,
                          .workers = config->workers,
                          .slots = config->slots,
                          .memory_bytes = config->memory_bytes};
    char overridden[OVERRIDES_USED_SIZE];
    sluice_ranks ranks;
    sluice_status st = channel_find_ranks(config->rank, config->world, &ranks);

    if (st != SLUICE_OK) {
        return st;
    }
    own.settings = (sli_run_settings){config->seed, ranks.rank, ranks.world,
                                      (sli_error_policy)config->on_error, false};
    st = overrides_of_channel(&own.workers, &own.slots, &own.memory_bytes, overridden);
    return st == SLUICE_OK ? overrides_explain(channel_open(&own, data_out), overridden) : st;
}

sluice_status sluice_channel_open(sluice_device *device, sluice_dataset *dataset,
                                  const sluice_channel_config *config, sluice_channel **channel_out)
{
    sluice_status st = check_arguments(device, dataset, config, channel_out);
    sluice_channel *channel;

    if (st != SLUICE_OK) {
        return st;
    }
    channel = sli_calloc(1, sizeof(*channel));
    if (channel == NULL) {
        return sli_fail(SLUICE_E_NO_MEMORY, "a channel");
    }
    st = open_data(device, dataset, config, &channel->data);
    if (st != SLUICE_OK) {
        sli_free(channel);
        return st;
    }
    st = begin_at(channel->data.plan, config->first_batch);
    if (st == SLUICE_OK) {
        st = lender_ops_of(device)->create(&channel->data, &channel->lender);
    }
    if (st != SLUICE_OK) {
        channel_close(&channel->data);
        sli_free(channel);
        return st;
    }
    pthread_mutex_init(&channel->lock, NULL);
    channel->first_batch = config->first_batch;
    channel->batches = config->batches > 0 ? config->batches : UINT64_MAX;
    channel->batch.struct_size = sizeof(channel->batch);
    channel->batch.input_count = channel->data.plan->column_count;
    channel->batch.rows = channel->data.plan->batch_size;
    atomic_store_explicit(&channel->seq, 1, memory_order_relaxed);
    *channel_out = channel;
    return SLUICE_OK;
}

static bool is_started(sluice_channel *channel)
{
    /* Pairs with the release store in sluice_channel_start(): seeing it, the engine is seen. */
    return atomic_load_explicit(&channel->started, memory_order_acquire);
}

static sluice_status start(sluice_channel *channel)
{
    sluice_status st;

    if (channel->start_called) {
        return sli_fail(SLUICE_E_INVALID, "sluice_channel_start: it has been called before");
    }
    if (channel->stopped) {
        return SLUICE_CLOSED;
    }
    channel->start_called = true;
    st = channel_start(&channel->data, channel->batches);
    if (st == SLUICE_OK) {
        /* Pairs with the acquire load in is_started(). */
        atomic_store_explicit(&channel->started, true, memory_order_release);
    }
    return st;
}

sluice_status sluice_channel_start(sluice_channel *channel)
{
    sluice_status st;

    if (channel == NULL) {
        return sli_fail(SLUICE_E_INVALID, "sluice_channel_start: channel is NULL");
    }
    st = sli_device_check(channel->data.config.device, "sluice_channel_start");
    if (st == SLUICE_OK) {
        pthread_mutex_lock(&channel->lock);
        st = start(channel);
        pthread_mutex_unlock(&channel->lock);
    }
    return st;
}

void sluice_channel_stop(sluice_channel *channel)
{
    if (channel == NULL) {
        return;
    }
    pthread_mutex_lock(&channel->lock);
    channel->stopped = true;
    if (is_started(channel)) {
        sli_engine_close(channel->data.engine);
    } else {
        sli_queue_close(channel->data.queue);
    }
    pthread_mutex_unlock(&channel->lock);
}

void sluice_channel_close(sluice_channel *channel)
{
    if (channel == NULL) {
        return;
    }
    channel_stop(&channel->data);
    channel->lender->ops->destroy(channel->lender); /* before what it writes to is freed */
    channel_close(&channel->data);
    pthread_mutex_destroy(&channel->lock);
    sli_free(channel);
}

/* ---- batches --------------------------------------------------------------------------------- */

const sluice_tensor *sluice_batch_input(const sluice_batch *batch, const char *name)
{
    for (uint32_t i = 0; i < batch->input_count; i++) {
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

static sluice_status not_started(const char *function)
{
    return sli_fail(SLUICE_E_INVALID, "%s: call sluice_channel_start() first", function);
}

static bool is_stopped(sluice_channel *channel)
{
    bool stopped;

    pthread_mutex_lock(&channel->lock);
    stopped = channel->stopped;
    pthread_mutex_unlock(&channel->lock);
    return stopped;
}

static void give_back(sluice_channel *channel, uint64_t seq)
{
    if (channel->has_batch) {
        channel->has_batch = false;
        channel->lender->ops->give_back(channel->lender, seq - 1);
    }
}

/* Waits for batch seq, with a look at the device from time to time while it is late. */
static sluice_status wait_and_look(sluice_channel *channel, uint64_t seq, int64_t timeout_ns)
{
    batch_lender *l = channel->lender;
    const int64_t start_ns = sli_now_ns();
    int64_t left_ns = timeout_ns;
    sluice_status st;

    do {
        const bool all = l->ops->look == NULL || (left_ns >= 0 && left_ns <= LOOK_NS);

        st = sli_queue_wait(channel->data.queue, seq, all ? left_ns : LOOK_NS, false);
        if (st == SLUICE_TIMEOUT && l->ops->look != NULL) {
            const sluice_status looked = l->ops->look(l);

            st = looked == SLUICE_OK ? st : looked;
        }
        if (timeout_ns >= 0) {
            const int64_t gone_ns = sli_now_ns() - start_ns;

            left_ns = gone_ns < timeout_ns ? timeout_ns - gone_ns : 0;
        }
    } while (st == SLUICE_TIMEOUT && left_ns != 0);
    return st;
}

static sluice_status wait_for(sluice_channel *channel, uint64_t seq, int64_t timeout_ms)
{
    const bool forever = timeout_ms < 0 || timeout_ms > LONGEST_WAIT_MS;
    const int64_t start_ns = sli_now_ns();
    const sluice_status st = wait_and_look(channel, seq, forever ? -1 : timeout_ms * 1000000);

    sli_counter_add(&channel->wait_ns, (uint64_t)(sli_now_ns() - start_ns));
    return st;
}

static sluice_status lend(sluice_channel *channel, uint64_t seq, void *stream)
{
    sluice_batch *batch = &channel->batch;
    sli_inputs inputs;
    sluice_status st = channel->lender->ops->lend(channel->lender, seq, stream, &inputs);

    if (st != SLUICE_OK) {
        return st;
    }
    batch->number = channel->first_batch + seq - 1;
    batch->pass = inputs.header->pass;
    batch->inputs = inputs.tensors;
    batch->valid_rows = inputs.header->valid_rows;
    batch->samples = inputs.samples;
    channel->has_batch = true;
    sli_counter_add(&channel->samples, batch->valid_rows);
    sli_counter_add(&channel->seq, 1);
    return SLUICE_OK;
}

sluice_status sluice_channel_get_next(sluice_channel *channel, void *stream, int64_t timeout_ms,
                                      const sluice_batch **batch_out)
{
    sluice_status st = check_get_next(channel, batch_out);
    uint64_t seq;

    if (st != SLUICE_OK) {
        return st;
    }
    if (!is_started(channel)) {
        return is_stopped(channel) ? SLUICE_CLOSED : not_started("sluice_channel_get_next");
    }
    st = channel->lender->ops->check(channel->lender, stream);
    if (st != SLUICE_OK) {
        return st;
    }
    seq = atomic_load_explicit(&channel->seq, memory_order_relaxed);
    give_back(channel, seq);
    st = wait_for(channel, seq, timeout_ms);
    if (st == SLUICE_OK) {
        st = lend(channel, seq, stream);
    }
    if (st == SLUICE_OK) {
        *batch_out = &channel->batch;
    }
    return st;
}

sluice_status sluice_channel_get_next_async(sluice_channel *channel, void *stream,
                                            const sluice_batch **batch_out)
{
    return sluice_channel_get_next(channel, stream, 0, batch_out);
}

/* ---- pausing, and what is known -------------------------------------------------------------- */

static sluice_status set_paused(sluice_channel *channel, bool paused, const char *function)
{
    if (channel == NULL) {
        return sli_fail(SLUICE_E_INVALID, "%s: channel is NULL", function);
    }
    if (!is_started(channel)) {
        return not_started(function);
    }
    sli_engine_pause(channel->data.engine, paused);
    return SLUICE_OK;
}

sluice_status sluice_channel_pause(sluice_channel *channel)
{
    return set_paused(channel, true, "sluice_channel_pause");
}

sluice_status sluice_channel_resume(sluice_channel *channel)
{
    return set_paused(channel, false, "sluice_channel_resume");
}

/* Copies as much of a struct as its caller knows of. */
static sluice_status copy_out(const char *function, bool has_channel, const void *from, size_t size,
                              void *to)
{
    size_t wanted = 0;

    if (to != NULL) {
        memcpy(&wanted, to, sizeof(wanted));
    }
    if (!has_channel || wanted < sizeof(wanted) || wanted > size) {
        return sli_fail(SLUICE_E_INVALID, "%s: %s", function,
                        has_channel ? "struct_size is not set" : "channel is NULL");
    }
    memcpy((uint8_t *)to + sizeof(wanted), (const uint8_t *)from + sizeof(wanted),
           wanted - sizeof(wanted));
    return SLUICE_OK;
}

sluice_status sluice_channel_inspect(const sluice_channel *channel, sluice_channel_info *info)
{
    sluice_channel_info known;

    memset(&known, 0, sizeof(known));
    if (channel != NULL) {
        const sli_plan *plan = channel->data.plan;

        known.samples = sli_plan_is_stream(plan) ? 0 : plan->samples_per_pass;
        known.batches = sli_plan_is_stream(plan) ? 0 : plan->batches_per_pass;
        known.batch_size = plan->batch_size;
        known.workers = channel->data.placement->worker_count;
        known.slots = channel->data.slots;
        known.column_count = plan->column_count;
        known.staging_bytes = channel->data.memory.staging_bytes;
        known.slot_bytes = channel->data.memory.slot_bytes;
        memcpy(known.columns, plan->seen, plan->column_count * sizeof(known.columns[0]));
    }
    return copy_out("sluice_channel_inspect", channel != NULL, &known, sizeof(known), info);
}

static void collect_stats(sluice_channel *channel, sluice_channel_stats *stats)
{
    const uint64_t seq = atomic_load_explicit(&channel->seq, memory_order_relaxed);
    sli_engine_errors errors;

    stats->batches = seq - 1;
    stats->samples = atomic_load_explicit(&channel->samples, memory_order_relaxed);
    stats->wait_seconds =
        (double)atomic_load_explicit(&channel->wait_ns, memory_order_relaxed) / 1e9;
    if (is_started(channel)) {
        sli_engine_errors_get(channel->data.engine, &errors);
        stats->replaced = errors.replaced;
        stats->zeroed = errors.zeroed;
        stats->bytes_read = sli_engine_bytes_read(channel->data.engine);
        stats->ready = sli_queue_ready(channel->data.queue, seq);
    }
}

sluice_status sluice_channel_stats_get(sluice_channel *channel, sluice_channel_stats *stats)
{
    sluice_channel_stats known;

    memset(&known, 0, sizeof(known));
    if (channel != NULL) {
        collect_stats(channel, &known);
    }
    return copy_out("sluice_channel_stats_get", channel != NULL, &known, sizeof(known), stats);
}
