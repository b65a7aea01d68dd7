/* SPDX-License-Identifier: Apache-2.0 */
/* Starts, pauses, rewinds and stops the workers of a run. */
#include <stdlib.h>
#include <string.h>

#include "alloc_int.h"
#include "collected_worker.h"
#include "engine_state.h"
#include "log_int.h"

static void worker_main(void *arg, uint32_t worker)
{
    sli_engine *engine = arg;

    (void)sli_alloc_count_in(&engine->loaders[worker].report.allocated);
    engine_work(engine, &engine->loaders[worker]);
    sample_loader_end(&engine->loaders[worker]);
    (void)sli_alloc_count_in(NULL);
}

/* ---- readahead ------------------------------------------------------------------------------- */

/* True if the sample is in the cache, so that its file is not read. */
static bool is_cached(const sli_engine *engine, uint64_t sample)
{
    const sample_loader *loader = &engine->loaders[0];
    const sample_cache *cache =
        loader->cached.rows != NULL ? loader->cached.rows : loader->cached.samples;
    size_t bytes;

    return cache != NULL && sample_cache_find(cache, sample, &bytes) != NULL;
}

/* Number of samples that are read for a row. */
static uint32_t row_samples(const sli_engine *engine)
{
    const plan_mosaic *mosaic = &engine->plan->details->geometry.mosaic;

    return mosaic->tiles > 0 && engine->plan->details->images.first >= 0 ? mosaic->tiles : 1;
}

/* row_ahead() for a run with filters: readahead is by candidates, not by rows. */
static readahead_row candidate_ahead(const sli_engine *engine, uint64_t candidate,
                                     uint64_t *sample_out)
{
    const sample_order *all = &engine->plan->details->orders.all_ranks;
    uint64_t sample_pass;

    if (atomic_load_explicit(&engine->control.stop_at, memory_order_relaxed) < UINT64_MAX) {
        return READAHEAD_END;
    }
    if (atomic_load_explicit(&engine->control.paused, memory_order_relaxed)) {
        return READAHEAD_WAIT;
    }
    order_at(all, engine->plan->begin.pass + candidate / all->length, candidate % all->length,
             sample_out, &sample_pass);
    return is_cached(engine, *sample_out) ? READAHEAD_NOTHING : READAHEAD_SAMPLE;
}

/* The callback readahead_config.row: determines the readahead action for a sample of a row. */
static readahead_row row_ahead(void *arg, uint64_t number, uint64_t *sample_out)
{
    const sli_engine *engine = arg;
    const uint32_t samples = row_samples(engine);
    const uint64_t row = number / samples;
    const uint64_t seq = row / engine->plan->batch_size + 1;

    if (engine->collected != NULL) {
        return candidate_ahead(engine, row, sample_out);
    }
    if (seq > engine->batches ||
        seq > atomic_load_explicit(&engine->control.stop_at, memory_order_relaxed)) {
        return READAHEAD_END;
    }
    if (atomic_load_explicit(&engine->control.paused, memory_order_relaxed) ||
        seq > atomic_load_explicit(&engine->control.limit, memory_order_relaxed)) {
        return READAHEAD_WAIT;
    }
    return engine_sample_at(engine, seq, (uint32_t)(row % engine->plan->batch_size),
                            (uint32_t)(number % samples), sample_out) &&
                   !is_cached(engine, *sample_out)
               ? READAHEAD_SAMPLE
               : READAHEAD_NOTHING;
}

/* True if SLUICE_READAHEAD=off disables readahead. */
static bool readahead_is_off(void)
{
    const char *value = getenv("SLUICE_READAHEAD");
    const bool off = value != NULL && strcmp(value, "off") == 0;

    if (value != NULL && value[0] != '\0') {
        sli_log(SLUICE_LOG_WARN, "SLUICE_READAHEAD=%.40s: %s", value,
                off ? "no readahead" : "it must be off or unset; readahead is chosen as usual");
    }
    return off;
}

/* Starts readahead. A failure is only logged, since workers read every sample in any case. */
static void start_readahead(sli_engine *engine, const sli_placement *placement)
{
    const sluice_dataset *dataset = engine->plan->dataset;
    const struct plan_details *details = engine->plan->details;
    const bool reads_rows =
        !(details->dealing.tests_first && dataset_source(dataset)->read_plain != NULL);
    const readahead_config config = {.ops = dataset_source(dataset),
                                     .source = dataset->source,
                                     .placement = placement,
                                     .claimed = engine->collected != NULL
                                                    ? collected_rows_next(engine->collected)
                                                    : &engine->claims.next,
                                     .row = row_ahead,
                                     .row_samples = row_samples(engine),
                                     .arg = engine,
                                     .fetch = page_cache_fetch};

    /* If filters choose before images are read, the files to read are unknown until then. */
    if (config.ops->locate != NULL && reads_rows && !readahead_is_off() &&
        readahead_start(&config, &engine->ahead) != SLUICE_OK) {
        sli_log(SLUICE_LOG_WARN, "no readahead: %s", sluice_last_error());
    }
}

/* ---- starting and stopping ------------------------------------------------------------------- */

static sluice_status create_loaders(sli_engine *engine)
{
    engine->loaders = sli_calloc(engine->worker_count, sizeof(*engine->loaders));
    if (engine->loaders == NULL) {
        return sli_fail(SLUICE_E_NO_MEMORY, "%u workers", engine->worker_count);
    }
    for (uint32_t i = 0; i < engine->worker_count; i++) {
        _Atomic int64_t *before = sli_alloc_count_in(&engine->loaders[i].report.allocated);
        const sluice_status st = sample_loader_init(&engine->loaders[i], engine->plan);

        (void)sli_alloc_count_in(before);
        if (st != SLUICE_OK) {
            return st;
        }
        engine->loaders[i].io.interrupt = &engine->closed;
        engine->loaders[i].errors = &engine->errors;
        for (uint32_t stage = 0; stage < PLAN_PROFILED; stage++) {
            engine->loaders[i].report.counters[stage] = sli_profile_cell(engine->profile, stage, i);
        }
    }
    return SLUICE_OK;
}

sluice_status sli_engine_start(const sli_engine_config *config, sli_engine **engine_out)
{
    const struct plan_details *details = config->plan->details;
    sli_engine *engine = sli_aligned_alloc(64, sizeof(*engine));
    sluice_status st;

    if (engine == NULL) {
        return sli_fail(SLUICE_E_NO_MEMORY, "the engine");
    }
    memset((void *)engine, 0, sizeof(*engine));
    error_samples_init(&engine->errors);
    engine->plan = config->plan;
    engine->queue = config->queue;
    engine->profile = config->profile;
    engine->batches = config->rewinds ? UINT64_MAX : config->batches;
    engine->round = config->rewinds ? config->batches : UINT64_MAX;
    engine->first_whole_pass = config->plan->begin.pass + (config->plan->begin.done > 0);
    engine->worker_count = config->placement->worker_count;
    engine->closed = (sli_interrupt){engine_is_closed, engine};
    atomic_store_explicit(&engine->control.stop_at, UINT64_MAX, memory_order_relaxed);
    atomic_store_explicit(&engine->control.limit, engine->round, memory_order_relaxed);
    row_claims_init(&engine->claims, engine->batches, config->plan->batch_size);
    st = sli_plan_layout(config->plan, &engine->layout);
    if (st == SLUICE_OK) {
        st = plan_cache_open(config->plan);
    }
    if (st == SLUICE_OK) {
        st = create_loaders(engine);
    }
    if (st == SLUICE_OK && (details->dealing.has_choices || details->dealing.is_stream)) {
        st = collected_rows_create(config->plan, engine->batches, config->passes,
                                   &engine->collected);
    }
    if (st == SLUICE_OK && engine->collected != NULL) {
        st = collected_workers_create(engine, &engine->collected_workers);
    }
    if (st == SLUICE_OK && details->pack.seq > 0) {
        st = packed_rows_create(config->plan, sli_queue_depth(engine->queue), &engine->packed);
    }
    if (st == SLUICE_OK && engine->collected != NULL && config->rewinds) {
        (void)collected_rows_freeze(engine->collected);
        collected_rows_rewind(engine->collected, 0, engine->round);
    }
    if (st == SLUICE_OK) {
        start_readahead(engine, config->placement);
        st = sli_worker_pool_start(config->placement, "sluice/w", worker_main, engine,
                                   &engine->pool);
    }
    if (st != SLUICE_OK) {
        sli_engine_destroy(engine);
        return st;
    }
    *engine_out = engine;
    return SLUICE_OK;
}

void sli_engine_close(sli_engine *engine)
{
    atomic_store_explicit(&engine->control.stop_at, 0, memory_order_relaxed);
    sli_queue_close(engine->queue);
    if (engine->collected != NULL) {
        collected_rows_stop(engine->collected);
    }
    sli_event_notify(&engine->control.resumed);
    readahead_wake(engine->ahead);
}

void sli_engine_stop(sli_engine *engine)
{
    sli_engine_close(engine);
    readahead_stop(engine->ahead);
    sli_worker_pool_wait(engine->pool);
}

void sli_engine_pause(sli_engine *engine, bool paused)
{
    atomic_store_explicit(&engine->control.paused, paused, memory_order_relaxed);
    sli_event_notify(&engine->control.resumed);
    readahead_wake(engine->ahead);
}

uint64_t sli_engine_rewind(sli_engine *engine, uint64_t released)
{
    /* No row of a batch after `base` can be claimed before the consumer releases more batches. */
    uint64_t base = released + sli_queue_depth(engine->queue);
    uint64_t limit;

    /* Rows of these are claimed before they have a slot, so claimed batches count, too. */
    if (engine->collected != NULL) {
        const uint64_t claimed = collected_rows_freeze(engine->collected);

        base = claimed > base ? claimed : base;
    }
    limit = engine->round < UINT64_MAX - base ? base + engine->round : UINT64_MAX;
    atomic_store_explicit(&engine->errors.zeroed_in_pass, 0, memory_order_relaxed);
    atomic_store_explicit(&engine->control.base, base, memory_order_relaxed);
    atomic_store_explicit(&engine->control.limit, limit, memory_order_relaxed);
    if (engine->collected != NULL) {
        collected_rows_rewind(engine->collected, base, limit);
    }
    sli_event_notify(&engine->control.resumed);
    sli_queue_wake(engine->queue, UINT32_MAX);
    readahead_wake(engine->ahead);
    return base;
}

void sli_engine_destroy(sli_engine *engine)
{
    if (engine == NULL) {
        return;
    }
    sli_worker_pool_join(engine->pool);
    readahead_destroy(engine->ahead);
    for (uint32_t i = 0; engine->loaders != NULL && i < engine->worker_count; i++) {
        sample_loader_fini(&engine->loaders[i]);
    }
    sli_free(engine->loaders);
    collected_rows_destroy(engine->collected);
    collected_workers_destroy(engine->collected_workers, engine->worker_count);
    packed_rows_destroy(engine->packed);
    error_samples_fini(&engine->errors);
    sli_free(engine);
}
