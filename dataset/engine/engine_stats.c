/* SPDX-License-Identifier: Apache-2.0 */
/* Statistics and stall diagnostics of the engine. */
#include "engine_state.h"
#include "sample_cached.h"

void sli_engine_errors_get(const sli_engine *engine, sli_engine_errors *errors_out)
{
    const error_samples *errors = &engine->errors;

    errors_out->replaced = atomic_load_explicit(&errors->replaced, memory_order_relaxed);
    errors_out->zeroed = atomic_load_explicit(&errors->zeroed, memory_order_relaxed);
    errors_out->failed = atomic_load_explicit(&errors->failed, memory_order_relaxed);
    /* Pairs with the release store in error_samples_note(). */
    errors_out->count = atomic_load_explicit(&errors->count, memory_order_acquire);
    errors_out->first = errors->first;
}

uint64_t sli_engine_bytes_read(const sli_engine *engine)
{
    uint64_t bytes = 0;

    for (uint32_t i = 0; i < engine->worker_count; i++) {
        sli_counters *cell = sli_profile_cell(engine->profile, PLAN_READ, i);

        bytes += atomic_load_explicit(&cell->bytes, memory_order_relaxed);
    }
    return bytes;
}

void sli_engine_read_ahead(const sli_engine *engine, uint64_t *samples_out, uint64_t *bytes_out)
{
    readahead_counts(engine->ahead, samples_out, bytes_out);
}

void sli_engine_indexes(const sli_engine *engine, sli_index_counts *counts_out)
{
    *counts_out = (sli_index_counts){0};
    for (uint32_t i = 0; i < engine->worker_count; i++) {
        sample_add_indexes(&engine->loaders[i].report.indexes, counts_out);
    }
}

void sli_engine_image_counts(const sli_engine *engine, sli_image_counts *counts_out)
{
    *counts_out = (sli_image_counts){{0}};
    for (uint32_t i = 0; i < engine->worker_count; i++) {
        for (uint32_t note = 0; note < SLI_IMAGE_NOTES; note++) {
            counts_out->of[note] += atomic_load_explicit(
                &engine->loaders[i].report.image_notes[note], memory_order_relaxed);
        }
    }
}

void sli_engine_slow_samples(const sli_engine *engine, sli_slow_samples *slow_out)
{
    slow_out->count = 0;
    for (uint32_t i = 0; i < engine->worker_count; i++) {
        slow_samples_merge(&engine->loaders[i].report.slow, slow_out);
    }
}

/* Adds up an operation over all workers. */
static void count_operation(const sli_engine *engine, uint32_t number, sli_operation_count *count)
{
    for (uint32_t i = 0; i < engine->worker_count; i++) {
        const operation_counts *counts = &engine->loaders[i].clock.counts;

        count->ticks += atomic_load_explicit(&counts->ticks[number], memory_order_relaxed);
        count->measured += atomic_load_explicit(&counts->runs[number], memory_order_relaxed);
    }
}

/* Adds the operations of a stage. The rest of the stage comes last. */
static void add_operations(const sli_engine *engine, uint32_t stage, sli_operation_counts *counts)
{
    const plan_operations *operations = &engine->plan->details->operations;

    for (uint32_t k = 0; k < operations->count; k++) {
        const uint32_t number = (k + OPERATION_FIRST) % operations->count;
        const plan_operation *operation = &operations->of[number];
        sli_operation_count count = {.name = operation->name,
                                     .stage = engine->plan->stage_names[stage],
                                     .is_rest =
                                         number < OPERATION_FIRST && number != OPERATION_DECODE};

        if (number != OPERATION_NONE && operation->stage == stage) {
            count_operation(engine, number, &count);
            counts->of[counts->count] = count;
            counts->count += count.measured > 0;
        }
    }
}

void sli_engine_operations(const sli_engine *engine, sli_operation_counts *counts_out)
{
    _Static_assert((int)SLI_OPERATIONS >= (int)PLAN_OPERATIONS, "each operation has a count");

    counts_out->count = 0;
    add_operations(engine, PLAN_DECODE, counts_out);
    add_operations(engine, PLAN_PIXELS, counts_out);
}

bool sli_engine_cache(const sli_engine *engine, sli_cache_counts *counts_out)
{
    const sluice_dataset *dataset = engine->plan->dataset;
    sample_cache_use use;

    *counts_out = (sli_cache_counts){0};
    if (dataset->cache == NULL) {
        return false;
    }
    sample_cache_usage(dataset->cache, &use);
    counts_out->entries = use.entries;
    counts_out->bytes = use.bytes;
    counts_out->limit = use.limit;
    counts_out->is_full = use.is_full;
    counts_out->ranks = dataset->cache_ranks > 1 ? dataset->cache_ranks : 1;
    for (uint32_t i = 0; i < engine->worker_count; i++) {
        sample_add_cached(&engine->loaders[i].cached, &counts_out->hits, &counts_out->misses);
    }
    return true;
}

void sli_engine_memory_get(const sli_engine *engine, sli_engine_memory *memory_out)
{
    const plan_dealing *dealing = &engine->plan->details->dealing;
    const uint64_t own_rows = (uint64_t)dealing->own_rows * dealing->own_row_bytes;
    int64_t bytes = 0;

    memory_out->rows = engine->worker_count * own_rows +
                       atomic_load_explicit(&dealing->held_memory, memory_order_relaxed);
    for (uint32_t i = 0; i < engine->worker_count; i++) {
        bytes += (int64_t)sizeof(engine->loaders[i]) +
                 atomic_load_explicit(&engine->loaders[i].report.allocated, memory_order_relaxed);
    }
    /* Workers have also allocated the rows, and the samples that a stream holds. */
    bytes -= (int64_t)(memory_out->rows +
                       atomic_load_explicit(&dealing->stream_now, memory_order_relaxed));
    memory_out->workers = bytes > 0 ? (uint64_t)bytes : 0;
}

const sli_thread *sli_engine_thread(const sli_engine *engine, uint32_t i)
{
    const uint32_t workers = sli_worker_pool_count(engine->pool);

    return i < workers ? sli_worker_pool_thread(engine->pool, i)
                       : readahead_thread(engine->ahead, i - workers);
}

bool sli_engine_worker_stage(const sli_engine *engine, uint32_t i, sli_worker_stage *at_out)
{
    const worker_state *state;
    const char *name;

    if (i >= engine->worker_count) {
        return false;
    }
    state = &engine->loaders[i].report.state;
    name = atomic_load_explicit(&state->stage, memory_order_relaxed);
    at_out->thread =
        atomic_load_explicit(&sli_worker_pool_thread(engine->pool, i)->id, memory_order_relaxed);
    at_out->since_ticks = atomic_load_explicit(&state->since_ticks, memory_order_relaxed);
    at_out->stage = UINT32_MAX;
    for (uint32_t k = 0; k < engine->plan->stage_count && name[0] != '\0'; k++) {
        if (engine->plan->stage_names[k] == name) {
            at_out->stage = k;
        }
    }
    return true;
}

/* ---- replays -------------------------------------------------------------------------------- */

/* NULL: passes have known lengths, so none is replayed. */
static const replay *replay_of(const sli_engine *engine)
{
    return engine != NULL && engine->collected != NULL ? collected_rows_replay(engine->collected)
                                                       : NULL;
}

uint64_t sli_engine_replayed(const sli_engine *engine)
{
    const replay *r = replay_of(engine);

    return r != NULL ? replay_samples(r) : 0;
}

uint64_t sli_engine_replay_overlap(const sli_engine *engine, uint64_t start, uint64_t end)
{
    const replay *r = replay_of(engine);

    return r != NULL ? replay_overlap(r, start, end) : 0;
}

uint64_t sli_engine_replay_ticks(const sli_engine *engine, uint64_t now)
{
    const replay *r = replay_of(engine);

    return r != NULL ? replay_ticks(r, now) : 0;
}

/* ---- stalls --------------------------------------------------------------------------------- */

/* The number of filled rows in a batch, including those of runs in progress. */
static uint32_t rows_filled(const sli_engine *engine, uint64_t seq)
{
    uint32_t rows = sli_queue_rows_done(engine->queue, seq);

    for (uint32_t i = 0; i < engine->worker_count; i++) {
        const worker_state *state = &engine->loaders[i].report.state;

        if (atomic_load_explicit(&state->seq, memory_order_relaxed) == seq) {
            rows += atomic_load_explicit(&state->rows, memory_order_relaxed);
        }
    }
    return rows;
}

void sli_engine_describe_wait(const sli_engine *engine, uint64_t seq, sli_text *text)
{
    const double ns_per_tick = sli_profile_ns_per_tick_now(engine->profile);
    batch_span span;
    uint64_t number;

    if (!engine_batch(engine, seq, &number)) {
        sli_text_add(text, "the batch was abandoned by a rewind");
        return;
    }
    if (replay_of(engine) != NULL && replay_lasts(replay_of(engine))) {
        sli_text_add(text, "batches before it are replayed: %llu samples so far; ",
                     (unsigned long long)sli_engine_replayed(engine));
    }
    plan_locate(engine->plan, number, &span);
    sli_text_add(text, "the batch at sample %llu of pass %llu has %u of %u rows",
                 (unsigned long long)(span.done + span.first * engine->plan->settings.world),
                 (unsigned long long)span.pass, rows_filled(engine, seq), engine->plan->batch_size);
    for (uint32_t i = 0; i < engine->worker_count; i++) {
        const worker_state *state = &engine->loaders[i].report.state;
        const char *stage = atomic_load_explicit(&state->stage, memory_order_relaxed);
        uint64_t sample = atomic_load_explicit(&state->sample, memory_order_relaxed);
        uint64_t since = atomic_load_explicit(&state->since_ticks, memory_order_relaxed);
        uint64_t now = sli_ticks();
        char name[256];

        if (stage[0] == '\0') {
            sli_text_add(text, "; worker %u waits for room or is done", i);
            continue;
        }
        dataset_source(engine->plan->dataset)
            ->name(engine->plan->dataset->source, sample, name, sizeof(name));
        sli_text_add(text, "; worker %u is in %s of ", i, stage);
        sli_text_add_printable(text, name);
        sli_text_add(text, " for %.1f s",
                     (double)(now > since ? now - since : 0) * ns_per_tick / 1e9);
    }
}
