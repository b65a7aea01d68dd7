/* SPDX-License-Identifier: Apache-2.0 */
/* Opens, starts, pauses and closes a sluice_channel, and reports its position and statistics. */
#include <sluice/channel.h>

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "alloc_int.h"
#include "channel_identity.h"
#include "channel_state.h"
#include "channel_watch.h"
#include "devices.h"
#include "expected_inputs.h"
#include "idle_int.h"
#include "log_int.h"
#include "overrides.h"
#include "status_int.h"
#include "struct_size_int.h"
#include "text_int.h"

/* Maximum number of held batches. Of the other two slots, workers fill one; the second is needed if
 * slots are lent. */
enum { MOST_HELD = SLI_MAX_SLOTS - 2 };

/* ---- opening and closing --------------------------------------------------------------------- */

static const sli_struct config_struct = SLI_STRUCT(sluice_channel_config, position);
static const sli_struct position_struct = SLI_STRUCT(sluice_channel_position, seed);
static const sli_struct info_struct = SLI_STRUCT(sluice_channel_info, columns);
static const sli_struct stats_struct = SLI_STRUCT(sluice_channel_stats, wait_seconds);

static sluice_status check_config(const sluice_channel_config *config)
{
    if (config->rank > 0 && config->rank >= config->world) {
        return sli_fail(SLUICE_E_INVALID, "rank is %u, and must be less than world, %u",
                        config->rank, config->world > 0 ? config->world : 1);
    }
    if ((int)config->on_error < SLUICE_ON_ERROR_FAIL ||
        (int)config->on_error > SLUICE_ON_ERROR_ZERO) {
        return sli_fail(SLUICE_E_INVALID, "on_error is %d, and must be one of sluice_on_error",
                        (int)config->on_error);
    }
    if (config->held > MOST_HELD) {
        return sli_fail(SLUICE_E_INVALID, "held is %u, and must be at most %d", config->held,
                        MOST_HELD);
    }
    return SLUICE_OK;
}

static sluice_status check_arguments(const sluice_device *device, const sluice_dataset *dataset,
                                     const sluice_channel_config *config,
                                     sluice_channel *const *channel_out,
                                     sluice_channel_config *own_out)
{
    sluice_status st;

    if (dataset == NULL || config == NULL || channel_out == NULL) {
        return sli_fail(SLUICE_E_INVALID, "sluice_channel_open: %s is NULL",
                        dataset == NULL  ? "dataset"
                        : config == NULL ? "config"
                                         : "channel_out");
    }
    st = sli_device_check(device, "sluice_channel_open");
    if (st == SLUICE_OK && device_lender(device) == NULL) {
        st = sli_fail(SLUICE_E_UNSUPPORTED,
                      "sluice_channel_open: device %s: no GetNext on it yet; use host:0",
                      sluice_device_name(device));
    }
    if (st == SLUICE_OK) {
        st = sli_struct_read(&config_struct, "sluice_channel_open", config, own_out);
    }
    return st == SLUICE_OK ? check_config(own_out) : st;
}

static sluice_status check_position(const sli_plan *plan, const sluice_channel_config *config,
                                    const sluice_channel_position *position)
{
    if (config->first_batch != 0) {
        return sli_fail(
            SLUICE_E_INVALID,
            "config.first_batch is %llu and config.position is set; set only one of them",
            (unsigned long long)config->first_batch);
    }
    if (position->seed != config->seed) {
        return sli_fail(SLUICE_E_INVALID,
                        "config.position has seed %llu, config.seed is %llu: the order of samples "
                        "would differ; set config.seed to the position's",
                        (unsigned long long)position->seed, (unsigned long long)config->seed);
    }
    if (sli_plan_uncounted(plan) == NULL && position->samples > plan->samples_per_pass) {
        return sli_fail(SLUICE_E_INVALID,
                        "config.position is after %llu samples of a pass, which has %llu; is it "
                        "a position in another dataset?",
                        (unsigned long long)position->samples,
                        (unsigned long long)plan->samples_per_pass);
    }
    return SLUICE_OK;
}

/* Reads and checks config->position. */
static sluice_status read_position(sluice_channel *channel, const sluice_channel_config *config,
                                   sluice_channel_position *from)
{
    sli_plan *plan = channel->data.plan;
    sluice_status st =
        sli_struct_read(&position_struct, "sluice_channel_open", config->position, from);

    if (st == SLUICE_OK) {
        st = channel_identity_check(from, &channel->begin, &channel->maps, config->allow, plan);
    }
    return st == SLUICE_OK ? check_position(plan, config, from) : st;
}

/*
 * Begins the plan at a position or, with `counts`, after from->batch batches. Where passes of
 * unknown length must be read to count these, the pass is unknown until the first batch: then the
 * position before it has no samples, which makes the channel that begins there count as well.
 */
static sluice_status begin_at(sluice_channel *channel, const sluice_channel_position *from,
                              bool counts)
{
    sli_plan *plan = channel->data.plan;
    const bool unknown = sli_plan_uncounted(plan) != NULL;
    sli_position begin = {from->pass, from->samples};
    sluice_status st;

    counts = counts || (unknown && from->pass == 0 && from->samples == 0);
    st = counts ? sli_plan_begin_after(plan, from->batch, 1) : sli_plan_begin(plan, &begin, 1);
    if (st == SLUICE_OK && !unknown) {
        begin = sli_plan_position(plan, 0);
    }
    channel->begin.batch = from->batch;
    channel->begin.pass = begin.pass;
    channel->begin.samples = begin.done;
    return st;
}

/* Begins the plan at config->position or, without a position, after config->first_batch batches. */
static sluice_status begin_plan(sluice_channel *channel, const sluice_channel_config *config)
{
    sli_plan *plan = channel->data.plan;
    sluice_channel_position from = {.batch = config->first_batch};
    sluice_status st = channel_identity_make(plan, &channel->maps, &channel->begin);

    channel->begin.seed = config->seed;
    if (st == SLUICE_OK) {
        st = channel_identity_check_allow(plan, config->allow);
    }
    if (st == SLUICE_OK && config->position != NULL) {
        st = read_position(channel, config, &from);
    }
    if (st != SLUICE_OK) {
        return st;
    }
    if (config->batches > UINT64_MAX - 1 - from.batch) {
        return sli_fail(SLUICE_E_INVALID, "more batches than 64 bits can count");
    }
    return begin_at(channel, &from, config->position == NULL);
}

static sluice_status open_data(sluice_device *device, sluice_dataset *dataset,
                               const sluice_channel_config *config, device_maps *maps,
                               data_feed *data_out)
{
    feed_config own = {.device = device,
                       .dataset = dataset,
                       .workers = config->workers,
                       .slots = config->slots,
                       .memory_bytes = config->memory_bytes,
                       .maps = maps,
                       .held = config->held};
    char overridden[OVERRIDES_USED_SIZE];
    const sluice_ranks set = {.rank = config->rank, .world = config->world};
    sluice_ranks ranks;
    sluice_status st = feed_find_ranks(&set, &ranks);

    if (st != SLUICE_OK) {
        return st;
    }
    own.settings = (sli_run_settings){
        config->seed, ranks.rank, ranks.world, (sli_error_policy)config->on_error, false, false};
    own.ranks = ranks;
    st = overrides_of_channel(&own.workers, &own.slots, &own.memory_bytes, &own.cores, overridden);
    return st == SLUICE_OK ? overrides_explain(feed_open(&own, data_out), overridden) : st;
}

/* Checks the expected inputs and creates the lender and the state of held batches. channel->data is
 * open. */
static sluice_status prepare_channel(sluice_channel *channel, const sluice_channel_config *config)
{
    const sli_plan *plan = channel->data.plan;
    const device_maps *maps = &channel->maps;
    const sluice_batch shape = {
        .struct_size = sizeof(shape), .input_count = maps->column_count, .rows = plan->batch_size};
    sluice_status st = expected_inputs_check(maps->columns, maps->column_count, config->inputs,
                                             config->input_count, "config");

    channel->data.config.rewinds = !sli_plan_reads_once(plan);
    if (st == SLUICE_OK) {
        st = begin_plan(channel, config);
    }
    if (st == SLUICE_OK) {
        st = held_batches_init(&channel->held, channel->data.slots, channel->data.held, &shape);
    }
    if (st == SLUICE_OK) {
        st = device_lender(channel->data.config.device)->create(&channel->data, &channel->lender);
    }
    return st;
}

static int64_t stall_warning_of(const sluice_channel_config *config)
{
    const int64_t most_ms = INT64_MAX / 1000000;
    const int64_t ms = config->stall_warning_ms > 0 ? config->stall_warning_ms : 30000;

    return (ms < most_ms ? ms : most_ms) * 1000000;
}

/* A channel logs no plan line, only the arguments that have no effect. */
static void log_idle_arguments(const sluice_channel *channel)
{
    sli_text list = {0};

    sli_plan_idle(channel->data.plan, &list);
    if (list.data != NULL && channel->data.config.settings.rank == 0) {
        sli_log(SLUICE_LOG_INFO, "channel: without effect: %s", list.data);
    }
    sli_text_free(&list);
}

sluice_status sluice_channel_open(sluice_device *device, sluice_dataset *dataset,
                                  const sluice_channel_config *config, sluice_channel **channel_out)
{
    sluice_channel_config own;
    sluice_status st = check_arguments(device, dataset, config, channel_out, &own);
    sluice_channel *channel;

    if (st != SLUICE_OK) {
        return st;
    }
    channel = sli_calloc(1, sizeof(*channel));
    if (channel == NULL) {
        return sli_fail(SLUICE_E_NO_MEMORY, "a channel");
    }
    st = device_maps_read(own.device_maps, own.device_map_count, "sluice_channel_open",
                          &channel->maps);
    if (st == SLUICE_OK) {
        st = open_data(device, dataset, &own, &channel->maps, &channel->data);
    }
    if (st == SLUICE_OK) {
        st = prepare_channel(channel, &own);
        if (st != SLUICE_OK) {
            held_batches_fini(&channel->held);
            feed_close(&channel->data);
        }
    }
    if (st != SLUICE_OK) {
        device_maps_close(&channel->maps);
        sli_free(channel);
        return st;
    }
    pthread_mutex_init(&channel->lock, NULL);
    channel_watch_init(&channel->watch);
    sli_log_enter_rank(channel->data.config.settings.rank, channel->data.config.settings.world);
    channel->stall_warning_ns = stall_warning_of(&own);
    channel->end_of_pass = own.end_of_pass;
    channel->batches = own.batches > 0 ? own.batches : UINT64_MAX;
    atomic_store_explicit(&channel->seq, 1, memory_order_relaxed);
    log_idle_arguments(channel);
    *channel_out = channel;
    return SLUICE_OK;
}

static sluice_status start_channel(sluice_channel *channel)
{
    sluice_status st;

    if (channel->start_called) {
        return sli_fail(SLUICE_E_INVALID, "sluice_channel_start: it has been called before");
    }
    if (channel->stopped) {
        return SLUICE_CLOSED;
    }
    channel->start_called = true;
    channel_watch_begin(channel);
    start_clocks_read(&channel->start, channel->data.topology, NULL, NULL);
    st = feed_start(&channel->data, channel->batches);
    if (st == SLUICE_OK) {
        /* Pairs with the acquire load in channel_is_started(). */
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
        st = start_channel(channel);
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
    if (channel_is_started(channel)) {
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
    feed_stop(&channel->data);
    channel->lender->ops->destroy(channel->lender); /* before its buffers are freed */
    feed_close(&channel->data);
    device_maps_close(&channel->maps);
    held_batches_fini(&channel->held);
    channel_watch_fini(&channel->watch);
    pthread_mutex_destroy(&channel->lock);
    sli_log_leave_rank();
    sli_free(channel);
}

/* ---- pause, position and statistics ---------------------------------------------------------- */

static sluice_status set_paused(sluice_channel *channel, bool paused, const char *function)
{
    if (channel == NULL) {
        return sli_fail(SLUICE_E_INVALID, "%s: channel is NULL", function);
    }
    if (!channel_is_started(channel)) {
        return channel_not_started(function);
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

sluice_status sluice_channel_inspect(const sluice_channel *channel, sluice_channel_info *info)
{
    sluice_channel_info known;
    const sli_plan *plan;

    if (channel == NULL) {
        return sli_fail(SLUICE_E_INVALID, "sluice_channel_inspect: channel is NULL");
    }
    memset(&known, 0, sizeof(known));
    plan = channel->data.plan;
    known.samples = sli_plan_uncounted(plan) != NULL ? 0 : plan->samples_per_pass;
    known.batches = sli_plan_uncounted(plan) != NULL ? 0 : plan->batches_per_pass;
    known.batch_size = plan->batch_size;
    known.workers = channel->data.placement->worker_count;
    known.slots = channel->data.slots;
    known.column_count = channel->maps.column_count;
    known.staging_bytes = channel->data.memory.staging_bytes;
    known.slot_bytes = channel->data.memory.slot_bytes;
    known.device_map_bytes = channel->data.map_bytes;
    memcpy(known.columns, channel->maps.columns, known.column_count * sizeof(known.columns[0]));
    return sli_struct_write(&info_struct, "sluice_channel_inspect", &known, info);
}

sluice_status sluice_channel_position_get(const sluice_channel *channel,
                                          sluice_channel_position *position)
{
    sluice_channel_position known;
    sli_position next;
    uint64_t batches;

    if (channel == NULL) {
        return sli_fail(SLUICE_E_INVALID, "sluice_channel_position_get: channel is NULL");
    }
    batches = atomic_load_explicit(&channel->seq, memory_order_relaxed) - 1 - channel->base;
    known = channel->begin;
    if (batches > 0) {
        next = sli_plan_position(channel->data.plan, batches);
        known.batch += batches;
        known.pass = next.pass;
        known.samples = next.done;
    }
    return sli_struct_write(&position_struct, "sluice_channel_position_get", &known, position);
}

static void collect_stats(sluice_channel *channel, sluice_channel_stats *stats)
{
    const uint64_t seq = atomic_load_explicit(&channel->seq, memory_order_relaxed);
    sli_engine_errors errors;

    stats->batches = atomic_load_explicit(&channel->given, memory_order_relaxed);
    stats->samples = atomic_load_explicit(&channel->samples, memory_order_relaxed);
    stats->wait_seconds =
        (double)atomic_load_explicit(&channel->wait_ns, memory_order_relaxed) / 1e9;
    if (channel_is_started(channel)) {
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

    if (channel == NULL) {
        return sli_fail(SLUICE_E_INVALID, "sluice_channel_stats_get: channel is NULL");
    }
    memset(&known, 0, sizeof(known));
    collect_stats(channel, &known);
    return sli_struct_write(&stats_struct, "sluice_channel_stats_get", &known, stats);
}
