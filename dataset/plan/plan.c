/* SPDX-License-Identifier: Apache-2.0 */
/* The planner's passes. */
#include "plan.h"

#include <stdio.h>
#include <string.h>

#include "alloc_int.h"
#include "stream_order.h"

static void plan_note(sli_plan *plan, const char *text)
{
    char *notes = plan->details->notes;
    size_t used = strlen(notes);

    snprintf(notes + used, sizeof(plan->details->notes) - used, "%s\n", text);
}

uint64_t plan_stage_key(const sluice_dataset *dataset, uint32_t i, uint64_t seed)
{
    return sli_mix_in(sli_mix_in(sli_hash_text(dataset->stages[i].def->name), seed),
                      dataset_occurrence(dataset, i));
}

/* ---- streams ------------------------------------------------------------------------------- */

/* Refuses stages and settings that a stream does not support. */
static sluice_status plan_stream(sli_plan *plan)
{
    plan->details->is_stream = dataset_is_stream(plan->dataset);
    atomic_init(&plan->details->stream_length, UINT64_MAX);
    atomic_init(&plan->details->stream_memory, 0);
    if (plan->details->is_stream && plan->settings.on_error == SLI_ON_ERROR_REPLACE) {
        return sli_fail(SLUICE_E_UNSUPPORTED,
                        "policy replace draws from all samples, which a stream does not have; use "
                        "policy zero or fail");
    }
    return plan->details->is_stream ? stream_order_check(plan->dataset) : SLUICE_OK;
}

/* ---- pass 1: order ------------------------------------------------------------------------- */

static sluice_status plan_order(sli_plan *plan)
{
    order_settings settings = {
        .seed = plan->settings.seed, .rank = plan->settings.rank, .world = plan->settings.world};
    sluice_status st = order_make(plan->dataset, &settings, &plan->details->order);

    settings.all_ranks = true;
    if (st == SLUICE_OK) {
        st = order_make(plan->dataset, &settings, &plan->details->all_ranks);
    }
    if (st != SLUICE_OK) {
        return st;
    }
    plan->samples_per_pass = plan->details->all_ranks.length;
    plan->batches_per_pass = plan_batches_of(plan, &plan->details->order);
    plan->details->rest = plan->details->order;
    plan->begin_batches = plan->batches_per_pass;
    plan->details->replace_key = sli_mix_in(sli_hash_text("replace"), plan->settings.seed);
    if (plan->batches_per_pass == 0) {
        return sli_fail(
            SLUICE_E_INVALID,
            "no valid data in the dataset: a pass has %llu samples and no batch of %u%s",
            (unsigned long long)plan->samples_per_pass, plan->batch_size,
            plan->samples_per_pass > 0
                ? "; drop_remainder=false keeps what is left"
                : "; take, skip, split or shard have left none of the source's samples");
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
    for (uint32_t i = 0; i < schema->column_count; i++) {
        const column_role role = schema->infos[i].role;

        plan->details->has_followers =
            plan->details->has_followers || role == ROLE_MASK || role == ROLE_BOXES;
        if (role == ROLE_MASK || role == ROLE_BOXES) {
            snprintf(note, sizeof(note), "%s: follows the image, by the same draws%s",
                     schema->columns[i].name, role == ROLE_MASK ? ", by nearest neighbour" : "");
            plan_note(plan, note);
        }
    }
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
            return sli_fail(SLUICE_E_INVALID, "no room for the column %s", mask);
        }
        plan->mask_column = (int)plan->column_count;
        plan->seen[plan->column_count] = (sluice_column){.dtype = SLUICE_U8};
        snprintf(plan->seen[plan->column_count++].name, SLUICE_NAME_SIZE, "%s", mask);
        snprintf(note, sizeof(note), "column %s added: policy zero marks rows without a sample",
                 mask);
        plan_note(plan, note);
    }
    memcpy(plan->wire, plan->seen, sizeof(plan->wire));
    if (plan->dataset->shape_note[0] != '\0') {
        plan_note(plan, plan->dataset->shape_note);
    }
    return SLUICE_OK;
}

/* ---- pass 3: geometry ---------------------------------------------------------------------- */

/*
 * May stage b join a group of stages [first, b)? A group resizes once, and padding must not be
 * resized.
 */
static bool joins_group(const struct plan_details *details, uint32_t first, uint32_t b)
{
    for (uint32_t i = first; i < b; i++) {
        const stage_def *def = details->geometry[i].stage->def;

        if (details->geometry[b].stage->def->resizes && (def->resizes || def->pads)) {
            return false;
        }
    }
    return true;
}

static void plan_geometry(sli_plan *plan)
{
    struct plan_details *details = plan->details;

    for (uint32_t i = 0; i < plan->dataset->stage_count; i++) {
        const dataset_stage *stage = &plan->dataset->stages[i];

        if (stage->def->kind == STAGE_DECODE) {
            details->decode = stage;
        } else if (stage->def->kind == STAGE_GEOMETRY) {
            details->geometry[details->geometry_count++] =
                (plan_stage){stage, plan_stage_key(plan->dataset, i, plan->settings.seed)};
        }
    }
    details->group_count = 1;
    for (uint32_t i = 0; i < details->geometry_count; i++) {
        plan_group *last = &details->groups[details->group_count - 1];

        if (!joins_group(details, last->first, i)) {
            last = &details->groups[details->group_count++];
            last->first = i;
        }
        last->count++;
    }
}

/* ---- pass 4: conversions ------------------------------------------------------------------- */

/* The conversions of a dataset, in order; all of them are after all geometry stages. */
typedef struct conversions {
    uint32_t count;
    uint32_t stages[DATASET_MAX_STAGES]; /* their indexes in the dataset */
} conversions;

static void find_conversions(const sluice_dataset *dataset, conversions *found)
{
    found->count = 0;
    for (uint32_t i = 0; i < dataset->stage_count; i++) {
        if (dataset->stages[i].def->kind == STAGE_CONVERSION) {
            found->stages[found->count++] = i;
        }
    }
}

static bool is_affine(const sluice_dataset *dataset, uint32_t i, const stage_schema *before)
{
    conversion_state state = {.scale = {1, 1, 1, 1}};

    dataset->stages[i].def->convert(dataset->stages[i].args.bytes, before, &state);
    return state.affine;
}

/* The columns before stage i; the image size is that of the end. */
static sluice_status schema_before(const sluice_dataset *dataset, uint32_t i, stage_schema *out)
{
    const stage_schema *end = &dataset->opened_schema;
    const uint64_t *shape = end->columns[end->image].shape;
    sluice_status st = SLUICE_OK;
    uint32_t at;

    memset(out, 0, sizeof(*out));
    out->image = -1;
    out->value_range = 255;
    for (uint32_t k = 0; k < i && st == SLUICE_OK; k++) {
        const stage_def *def = dataset->stages[k].def;

        if (def->source_schema != NULL) {
            st = def->source_schema(dataset->source, out);
        } else if (def->infer != NULL) {
            st = def->infer(dataset->stages[k].args.bytes, out);
        }
    }
    at = out->is_chw ? 1 : 0;
    out->columns[out->image].shape[at] = shape[end->is_chw ? 1 : 0];
    out->columns[out->image].shape[at + 1] = shape[end->is_chw ? 2 : 1];
    return st;
}

/* Are there affine conversions on both sides of the split? Two roundings would differ from one. */
static bool splits_affine(const sluice_dataset *dataset, const conversions *c, uint32_t split)
{
    bool affine[2] = {false, false};

    for (uint32_t k = 0; k < c->count; k++) {
        stage_schema before;

        if (schema_before(dataset, c->stages[k], &before) == SLUICE_OK) {
            affine[k >= split] = affine[k >= split] || is_affine(dataset, c->stages[k], &before);
        }
    }
    return affine[0] && affine[1];
}

/*
 * Chooses the number of conversions that workers do; the device does the others. As many as
 * possible are on the preferred side, subject to the stages' `offload`.
 */
static sluice_status choose_split(const sli_plan *plan, const conversions *c, uint32_t *split_out)
{
    uint32_t least = 0;
    uint32_t most = c->count;
    const char *on_device = "";

    for (uint32_t k = 0; k < c->count; k++) {
        const dataset_stage *stage = &plan->dataset->stages[c->stages[k]];
        const uint32_t target = ((const conversion_args *)(const void *)stage->args.bytes)->offload;

        if (target == OFFLOAD_HOST) {
            least = k + 1;
            if (least > most) {
                return sli_fail(SLUICE_E_INVALID,
                                "%s offload=host stands after %s offload=device; what is on the "
                                "device does not come back",
                                stage->def->name, on_device);
            }
        } else if (target == OFFLOAD_DEVICE && k < most) {
            most = k;
            on_device = stage->def->name;
        }
    }
    for (uint32_t k = 0; k <= most - least; k++) {
        uint32_t split = plan->settings.prefer_device ? least + k : most - k;

        if (!splits_affine(plan->dataset, c, split)) {
            *split_out = split;
            return SLUICE_OK;
        }
    }
    return sli_fail(SLUICE_E_INVALID,
                    "two stages that scale are asked for on different sides; give them the same "
                    "offload, so that they are one multiplication with one rounding");
}

/* Folds conversions [from, to) into a program. */
static sluice_status fold_conversions(sli_plan *plan, const conversions *c, uint32_t from,
                                      uint32_t to, sli_conversion *out)
{
    const sluice_dataset *dataset = plan->dataset;
    conversion_state state = {.scale = {1, 1, 1, 1}};
    const uint64_t *shape;
    stage_schema before;
    sluice_status st;

    st = schema_before(dataset, from < c->count ? c->stages[from] : dataset->stage_count, &before);
    if (st != SLUICE_OK) {
        return st;
    }
    memset(out, 0, sizeof(*out));
    state.dtype = before.columns[before.image].dtype;
    state.chw = before.is_chw;
    shape = before.columns[before.image].shape;
    out->from = state.dtype;
    out->from_chw = state.chw;
    out->height = (uint32_t)shape[before.is_chw ? 1 : SCHEMA_H];
    out->width = (uint32_t)shape[before.is_chw ? 2 : SCHEMA_W];
    out->channels = (uint32_t)shape[before.is_chw ? 0 : SCHEMA_C];
    for (uint32_t k = from; k < to && st == SLUICE_OK; k++) {
        const dataset_stage *stage = &dataset->stages[c->stages[k]];

        st = schema_before(dataset, c->stages[k], &before);
        stage->def->convert(stage->args.bytes, &before, &state);
    }
    out->to = state.dtype;
    out->to_chw = state.chw;
    out->flip = state.flip;
    out->affine = state.affine;
    for (uint32_t i = 0; i < SLI_MAX_CHANNELS; i++) {
        out->scale[i] = (float)state.scale[i];
        out->bias[i] = (float)state.bias[i];
    }
    return st == SLUICE_OK ? sli_conversion_prepare(out) : st;
}

static void find_flips(sli_plan *plan, const conversions *c, uint32_t split)
{
    struct plan_details *details = plan->details;

    for (uint32_t k = 0; k < c->count; k++) {
        const dataset_stage *stage = &plan->dataset->stages[c->stages[k]];

        if (stage->def->flips != NULL) {
            plan_flip *flip = &details->flips[details->flip_count++];

            flip->stage = stage;
            flip->key = plan_stage_key(plan->dataset, c->stages[k], plan->settings.seed);
            flip->on_device = k >= split;
        }
    }
}

static sluice_status plan_conversions(sli_plan *plan)
{
    conversions found;
    uint32_t split = 0;
    stage_schema wire;
    sluice_status st;

    if (plan->image_column < 0) {
        return SLUICE_OK;
    }
    find_conversions(plan->dataset, &found);
    st = choose_split(plan, &found, &split);
    if (st == SLUICE_OK) {
        st = fold_conversions(plan, &found, 0, split, &plan->host_conversion);
    }
    if (st == SLUICE_OK) {
        st = fold_conversions(plan, &found, split, found.count, &plan->device_conversion);
    }
    if (st == SLUICE_OK) {
        st = schema_before(plan->dataset,
                           split < found.count ? found.stages[split] : plan->dataset->stage_count,
                           &wire);
    }
    if (st != SLUICE_OK) {
        return st;
    }
    plan->wire[plan->image_column] = wire.columns[plan->image_column];
    plan->device_converts = !sli_conversion_is_identity(&plan->device_conversion);
    find_flips(plan, &found, split);
    for (uint32_t k = 0; k < found.count; k++) {
        char text[200];

        snprintf(text, sizeof(text), "%s: in the %s",
                 plan->dataset->stages[found.stages[k]].def->name,
                 k < split ? "workers' write to the row" : "device's GetNext");
        plan_note(plan, text);
    }
    return SLUICE_OK;
}

/* ---- pass 5: names of the profile's stages --------------------------------------------------- */

static void plan_names(sli_plan *plan)
{
    struct plan_details *details = plan->details;
    const char *geometry = details->geometry_count > 0
                               ? details->geometry[details->geometry_count - 1].stage->def->name
                               : "";
    bool converts = !sli_conversion_is_identity(&plan->host_conversion);

    snprintf(details->pixels_name, sizeof(details->pixels_name), "%s%s%s", geometry,
             geometry[0] != '\0' && converts ? "+" : "",
             converts || geometry[0] == '\0' ? "convert" : "");
    plan->stage_count = PLAN_PROFILED;
    plan->stage_names[PLAN_READ] = "read";
    plan->stage_names[PLAN_DECODE] = "decode";
    plan->stage_names[PLAN_PIXELS] = details->pixels_name;
    plan->stage_names[PLAN_BATCH] = "batch";
}

/* ---- the plan -------------------------------------------------------------------------------- */

static sluice_status run_passes(sli_plan *plan)
{
    sluice_status st = plan_stream(plan);

    if (st == SLUICE_OK) {
        st = plan_order(plan);
    }
    if (st == SLUICE_OK) {
        st = plan_columns(plan);
    }
    if (st == SLUICE_OK) {
        plan_geometry(plan);
        st = plan_conversions(plan);
    }
    if (st == SLUICE_OK) {
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
        sli_free(plan->details);
        sli_free(plan);
    }
}

uint64_t sli_plan_source_memory(const sli_plan *plan)
{
    uint64_t bytes = dataset_source(plan->dataset)->memory(plan->dataset->source) +
                     atomic_load_explicit(&plan->details->stream_memory, memory_order_relaxed);

    for (uint32_t i = 0; i < plan->dataset->stage_count; i++) {
        bytes += plan->dataset->splits[i].count * sizeof(*plan->dataset->splits[i].members);
    }
    return bytes;
}

uint64_t sli_plan_stream_memory(const sli_plan *plan, uint32_t workers)
{
    return plan->details->is_stream ? stream_order_most_memory(plan->dataset, workers) : 0;
}

const char *sli_plan_source(const sli_plan *plan)
{
    return plan->dataset->stages[0].def->name;
}

bool sli_plan_deals_itself(const sli_plan *plan)
{
    return dataset_has_shard(plan->dataset);
}
