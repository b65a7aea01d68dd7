/* SPDX-License-Identifier: Apache-2.0 */
/* The planner: runs its passes over a dataset. */
#include "plan.h"

#include <stdio.h>
#include <string.h>

#include "alloc_int.h"
#include "stream_order.h"

/* Limits on a worker's private rows, which hold samples until the filters' choice is known. */
enum { OWN_ROWS_BYTES = 256 << 10, OWN_ROWS_MOST = 1024 };

/* Rows that a worker holds in addition to those in buckets: it copies up to 8
 * (COLLECTED_ROWS_MOST). */
enum { HELD_OF_WORKER = 10 };

/* ---- streams, filters and pack ------------------------------------------------------------------
 */

/* Refuses stages and settings that a stream does not support. */
static sluice_status plan_stream(sli_plan *plan)
{
    struct plan_details *details = plan->details;

    details->dealing.is_stream = dataset_is_stream(plan->dataset);
    details->dealing.replaces_in_batch = details->dealing.is_stream &&
                                         plan->settings.on_error == SLI_ON_ERROR_REPLACE &&
                                         !schema_has(&plan->dataset->opened_schema, STATE_PACKED);
    atomic_init(&details->dealing.stream_memory, 0);
    atomic_init(&details->dealing.stream_now, 0);
    atomic_init(&details->dealing.held_memory, 0);
    if (details->dealing.replaces_in_batch && plan->batch_size == 1) {
        return sli_fail(SLUICE_E_UNSUPPORTED,
                        "policy replace takes another sample of the same batch if the source is a "
                        "stream, and `batch 1` has no other; use a larger batch, or policy zero "
                        "or fail");
    }
    return details->dealing.is_stream ? stream_order_check(plan->dataset) : SLUICE_OK;
}

static sluice_status plan_filters(sli_plan *plan)
{
    const stage_schema *schema = &plan->dataset->opened_schema;
    const bool is_packed = schema_has(schema, STATE_PACKED);
    const bool is_filter = !is_packed && !schema_has(schema, STATE_BUCKETED);
    const char *stage = is_packed ? "pack" : is_filter ? "filter" : "bucket";

    plan->details->dealing.has_choices = schema_has(schema, STATE_FILTERED) || !is_filter;
    if (plan->details->dealing.has_choices && plan->settings.world > 1 &&
        dataset_has_shard(plan->dataset)) {
        return sli_fail(SLUICE_E_UNSUPPORTED,
                        "%s comes after shard in a run of %u ranks, which would have different "
                        "numbers of batches; leave shard out: ranks take the %s in turns",
                        stage, plan->settings.world,
                        is_packed   ? "windows"
                        : is_filter ? "samples that the filter keeps"
                                    : "samples of a bucket");
    }
    return SLUICE_OK;
}

/*
 * If all filters read only plain columns of the source, they are called before a sample is loaded,
 * provided that the source can read these columns alone or is a stream, or that it saves loading
 * samples of other ranks; with bucket, provided instead that the length is also such a column.
 * Otherwise a sample is loaded into a private row of the worker until the choice is made. A worker
 * has several private rows if samples are small; with bucket it has one. With pack a private row
 * contains a document.
 */
static sluice_status plan_tests(sli_plan *plan)
{
    struct plan_details *details = plan->details;
    sli_layout row;
    sluice_status st;

    if (!details->dealing.has_choices) {
        return SLUICE_OK;
    }
    details->dealing.tests_first =
        !details->dealing.has_late_filters && details->pack.seq == 0 &&
        (details->bucket.count > 0 ? details->bucket.is_early
                                   : details->dealing.is_stream || plan->settings.world > 1 ||
                                         dataset_source(plan->dataset)->read_plain != NULL);
    st = sli_layout_make_ragged(plan->wire, plan->wire_count, 1, plan->wire_ragged, &row);
    if (st == SLUICE_OK) {
        const size_t document =
            PLAN_DOCUMENT_HEAD + details->pack.most * details->pack.element_bytes;
        const size_t bytes = details->pack.seq > 0 ? (document + 63) / 64 * 64 : row.slot_bytes;
        const size_t fit = OWN_ROWS_BYTES / bytes;

        details->dealing.own_row_bytes = bytes;
        details->dealing.own_rows = details->dealing.tests_first || details->bucket.count > 0 ||
                                            details->dealing.is_stream || fit <= 1
                                        ? 1
                                    : fit < OWN_ROWS_MOST ? (uint32_t)fit
                                                          : OWN_ROWS_MOST;
    }
    return st;
}

/* The number of kept samples is unknown: sets the counts to the bound that streams use. */
static void forget_counts(sli_plan *plan)
{
    plan->samples_per_pass = UNCOUNTED_SAMPLES;
    plan->batches_per_pass = UNCOUNTED_SAMPLES / plan->settings.world / plan->batch_size;
    plan->begin_batches = plan->batches_per_pass;
}

/* ---- pass 1: order ------------------------------------------------------------------------- */

static sluice_status plan_order(sli_plan *plan)
{
    order_settings settings = {
        .seed = plan->settings.seed, .rank = plan->settings.rank, .world = plan->settings.world};
    sluice_status st = plan_own_order(plan);

    if (st == SLUICE_OK) {
        st = group_order_make(plan->dataset, settings.seed, &plan->details->orders.group);
    }
    if (st == SLUICE_OK) {
        st = plan_make_order(plan, &settings, &plan->details->orders.rank);
    }
    /* A filter after shard has the samples of the shard as candidates. */
    settings.all_ranks = !plan->details->dealing.has_choices || !dataset_has_shard(plan->dataset);
    if (st == SLUICE_OK) {
        st = plan_make_order(plan, &settings, &plan->details->orders.all_ranks);
    }
    if (st != SLUICE_OK) {
        return st;
    }
    plan->samples_per_pass = plan->details->orders.all_ranks.length;
    plan->batches_per_pass = plan_batches_of(plan, &plan->details->orders.rank);
    plan->details->orders.rest = plan->details->orders.rank;
    plan->begin_batches = plan->batches_per_pass;
    plan->details->orders.replace_key = sli_mix_in(sli_hash_text("replace"), plan->settings.seed);
    /* With pack fewer documents than rows in a batch are allowed: one may fill many windows. */
    if (plan->batches_per_pass == 0 &&
        !(schema_has(&plan->dataset->opened_schema, STATE_PACKED) && plan->samples_per_pass > 0)) {
        return sli_fail(
            SLUICE_E_INVALID,
            "no valid data in the dataset: a pass has %llu samples and no batch of %u%s",
            (unsigned long long)plan->samples_per_pass, plan->batch_size,
            plan->samples_per_pass > 0
                ? "; drop_remainder=false keeps what is left"
                : "; take, skip, split or shard have left none of the source's samples");
    }
    if (plan->details->dealing.has_choices) {
        forget_counts(plan);
    }
    return SLUICE_OK;
}

/* ---- pass 2: columns ----------------------------------------------------------------------- */

static sluice_status plan_columns(sli_plan *plan)
{
    const stage_schema *schema = &plan->dataset->opened_schema;
    const char *mask = "mask";
    char note[100];

    plan->column_count = schema->column_count;
    plan->image_column = schema->image;
    plan->label_column = -1;
    plan->mask_column = -1;
    memcpy(plan->seen, schema->columns, sizeof(plan->seen));
    for (uint32_t i = 0; i < plan->column_count; i++) {
        if (strcmp(plan->seen[i].name, "label") == 0) {
            plan->label_column = (int)i;
        }
        mask = strcmp(plan->seen[i].name, "mask") == 0 ? "valid" : mask;
    }
    if (plan->settings.on_error == SLI_ON_ERROR_ZERO) {
        if (plan->column_count == SLUICE_MAX_COLUMNS) {
            return sli_fail(
                SLUICE_E_INVALID,
                "on_error zero adds the column %s: the dataset must have less than %d columns",
                mask, SLUICE_MAX_COLUMNS);
        }
        plan->mask_column = (int)plan->column_count;
        plan->seen[plan->column_count] = (sluice_column){.dtype = SLUICE_U8};
        snprintf(plan->seen[plan->column_count++].name, SLUICE_NAME_SIZE, "%s", mask);
        snprintf(note, sizeof(note), "column %s added: policy zero marks rows without a sample",
                 mask);
        plan_note(plan, note);
    }
    memcpy(plan->wire, plan->seen, sizeof(plan->wire));
    return SLUICE_OK;
}

/* ---- passes 3 to 6: plan_geometry.c, plan_steps.c, column_buffers.c, plan_conversions.c --------
 */

/* ---- pass 7: names of the profile's stages --------------------------------------------------- */

/* The names of a report that are not those of a plan: rows of the device, of the host and of the
 * bottleneck. */
static const char *const other_names[] = {
    "copy",       "get_next",   "device_maps", "step",  "open", "launch", "hooks",
    "checkpoint", "validation", "agree",       "ranks", "none", "others",
};

/* True if the report has a row of this name, apart from those of maps that have no name yet. */
static bool is_taken(const sli_plan *plan, const char *name)
{
    const plan_operations *operations = &plan->details->operations;
    bool taken = false;

    for (size_t i = 0; i < sizeof(other_names) / sizeof(other_names[0]); i++) {
        taken = taken || strcmp(other_names[i], name) == 0;
    }
    for (uint32_t i = 0; i < operations->count; i++) {
        taken = taken || strcmp(operations->of[i].name, name) == 0;
    }
    for (uint32_t i = 0; i < plan->stage_count; i++) {
        taken = taken || strcmp(plan->stage_names[i], name) == 0;
    }
    return taken;
}

/* Names a map's row: "resize#2" if there is a row "resize", and so on. */
static void name_map(sli_plan *plan, uint32_t profiled, const char *name)
{
    char *own = plan->details->texts.map_names[profiled];
    uint32_t number = 1;

    snprintf(own, sizeof(plan->details->texts.map_names[0]), "%s", name);
    while (is_taken(plan, own)) {
        snprintf(own, sizeof(plan->details->texts.map_names[0]), "%.52s#%u", name, ++number);
    }
    plan->stage_names[PLAN_MAPS + profiled] = own;
}

/* Names the rows of maps: first those of stages of the library, which keep their names. */
static void name_maps(sli_plan *plan)
{
    const plan_work *work = &plan->details->work;

    for (uint32_t i = 0; i < work->batch_map_count; i++) {
        if (work->batch_maps[i].map == NULL) {
            name_map(plan, work->batch_maps[i].profiled, work->batch_maps[i].name);
        }
    }
    for (uint32_t i = 0; i < work->step_count; i++) {
        if (work->steps[i].map != NULL) {
            name_map(plan, work->steps[i].profiled, work->steps[i].map->name);
        }
    }
    for (uint32_t i = 0; i < work->batch_map_count; i++) {
        if (work->batch_maps[i].map != NULL) {
            name_map(plan, work->batch_maps[i].profiled, work->batch_maps[i].name);
        }
    }
}

/* After plan_number_operations(), which has named the operations. */
static void plan_names(sli_plan *plan)
{
    struct plan_details *details = plan->details;
    const char *geometry =
        details->geometry.count > 0
            ? details->geometry.stages[details->geometry.count - 1].outer->def->name
            : "";
    bool converts = !sli_conversion_is_identity(&plan->host_conversion);

    snprintf(details->texts.pixels_name, sizeof(details->texts.pixels_name), "%s%s%s%s", geometry,
             details->colors.host_count == 0 ? ""
             : geometry[0] != '\0'           ? "+color"
                                             : "color",
             (geometry[0] != '\0' || details->colors.host_count > 0) && converts ? "+" : "",
             converts || (geometry[0] == '\0' && details->colors.host_count == 0) ? "convert" : "");
    plan->stage_count = PLAN_PROFILED;
    for (uint32_t i = 0; i < PLAN_PROFILED; i++) {
        plan->stage_names[i] = "";
    }
    plan->stage_names[PLAN_READ] = "read";
    plan->stage_names[PLAN_DECODE] = "decode";
    plan->stage_names[PLAN_PIXELS] = details->texts.pixels_name;
    plan->stage_names[PLAN_BATCH] = "batch";
    name_maps(plan);
}

/* ---- the plan -------------------------------------------------------------------------------- */

/* The passes, in order: each uses the results of those before it. */
static sluice_status (*const passes[])(sli_plan *plan) = {
    plan_stream,  plan_filters,  plan_order,   plan_columns,        plan_geometry,
    plan_mosaics, plan_steps,    plan_buffers, plan_further_images, plan_conversions,
    plan_windows, plan_programs, plan_extents, plan_cached,         plan_tests,
};

static sluice_status run_passes(sli_plan *plan)
{
    sluice_status st = SLUICE_OK;

    for (size_t i = 0; i < sizeof(passes) / sizeof(passes[0]) && st == SLUICE_OK; i++) {
        st = passes[i](plan);
    }
    if (st == SLUICE_OK) {
        plan_number_operations(plan);
        plan_names(plan);
    }
    return st;
}

sluice_status sli_plan_open(sluice_dataset *dataset, const sli_run_settings *settings,
                            sli_plan **plan_out)
{
    sli_plan *plan;
    sluice_status st = dataset_status(dataset, "the run");

    if (st != SLUICE_OK) {
        return st;
    }
    if (dataset->schema.batch_size == 0) {
        return sli_fail(SLUICE_E_INVALID, "the dataset has no batch stage; add `| batch N`");
    }
    st = dataset_open(dataset);
    if (st != SLUICE_OK) {
        return st;
    }
    plan = sli_calloc(1, sizeof(*plan));
    if (plan != NULL) {
        plan->details = sli_calloc(1, sizeof(*plan->details));
    }
    if (plan == NULL || plan->details == NULL) {
        sli_free(plan);
        return sli_fail(SLUICE_E_NO_MEMORY, "the plan of a run");
    }
    pass_lengths_init(&plan->details->dealing.lengths);
    plan->dataset = dataset;
    plan->settings = *settings;
    plan->batch_size = dataset->schema.batch_size;
    plan->drop_remainder = dataset->schema.drop_remainder;
    st = run_passes(plan);
    if (st != SLUICE_OK) {
        sli_plan_close(plan);
        return st;
    }
    *plan_out = plan;
    return SLUICE_OK;
}

void sli_plan_close(sli_plan *plan)
{
    if (plan != NULL) {
        if (plan->details->orders.own != NULL) {
            plan->details->orders.own->close(plan->details->orders.own);
        }
        group_order_free(plan->details->orders.group);
        pass_lengths_free(&plan->details->dealing.lengths);
        plan_free_geometry(plan->details);
        sli_free(plan->details->images.further);
        sli_free(plan->details->work.steps);
        sli_free(plan->details->work.batch_maps);
        sli_free(plan->details);
        sli_free(plan);
    }
}

uint64_t sli_plan_source_memory(const sli_plan *plan)
{
    uint64_t bytes = dataset_source(plan->dataset)->memory(plan->dataset->source);

    if (plan->details->orders.own != NULL) {
        bytes += plan->details->orders.own->memory;
    }
    bytes += plan->details->orders.group != NULL ? plan->details->orders.group->bytes : 0;
    for (uint32_t i = 0; i < plan->dataset->stage_count; i++) {
        bytes += plan->dataset->splits[i].count * sizeof(*plan->dataset->splits[i].members);
        bytes += plan->dataset->tables[i].bytes;
    }
    return bytes;
}

uint64_t sli_plan_stream_held(const sli_plan *plan)
{
    return atomic_load_explicit(&plan->details->dealing.stream_memory, memory_order_relaxed);
}

/*
 * An upper bound on the memory of samples of a stream that wait in buckets: a batch in each bucket,
 * and for each worker the row that it loads, one whose bucket has just become full, and those that
 * it copies.
 */
static uint64_t held_memory(const sli_plan *plan, uint32_t workers)
{
    const struct plan_details *details = plan->details;
    const uint64_t rows =
        (uint64_t)details->bucket.count * plan->batch_size + (uint64_t)workers * HELD_OF_WORKER;

    return details->bucket.count > 0 ? rows * details->dealing.own_row_bytes : 0;
}

uint64_t sli_plan_stream_memory(const sli_plan *plan, uint32_t workers)
{
    return plan->details->dealing.is_stream
               ? stream_order_most_memory(plan->dataset, workers) + held_memory(plan, workers)
               : 0;
}

const char *sli_plan_source(const sli_plan *plan)
{
    return plan->dataset->stages[0].def->name;
}

bool sli_plan_has_own_sharding(const sli_plan *plan)
{
    return dataset_has_shard(plan->dataset) || plan->details->orders.own != NULL;
}

void sli_plan_keep_stored(sli_plan *plan)
{
    plan->details->images.keeps_stored = true;
}

bool sli_plan_has_own_order(const sli_plan *plan)
{
    return plan->details->orders.own != NULL || plan->details->bucket.count > 0;
}
