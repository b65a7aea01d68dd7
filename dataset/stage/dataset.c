/* SPDX-License-Identifier: Apache-2.0 */
/* Builds a dataset stage by stage, and describes it as text. */
#include <stdio.h>
#include <string.h>

#include "alloc_int.h"
#include "conversion_ops.h"
#include "dataset_parts.h"
#include "idle_arguments.h"
#include "map_ops.h"
#include "stage_kinds.h"
#include "stage_order.h"

static const char **text_argument(const stage_def *def, uint32_t i, void *args)
{
    return (const char **)(void *)((unsigned char *)args + def->params[i].offset);
}

/* Replaces the caller's texts among the arguments by copies. */
static sluice_status copy_texts(const stage_def *def, void *args)
{
    const char *theirs[STAGE_ARGS_SIZE / sizeof(char *)];

    for (uint32_t i = 0; i < def->param_count; i++) {
        if (def->params[i].type == PARAM_TEXT) {
            theirs[i] = *text_argument(def, i, args);
            *text_argument(def, i, args) = NULL;
        }
    }
    for (uint32_t i = 0; i < def->param_count; i++) {
        if (def->params[i].type == PARAM_TEXT && theirs[i] != NULL) {
            *text_argument(def, i, args) = sli_strdup(theirs[i]);
            if (*text_argument(def, i, args) == NULL) {
                stage_args_free(def, args);
                return sli_fail(SLUICE_E_NO_MEMORY, "arguments of %s", def->name);
            }
        }
    }
    return SLUICE_OK;
}

/* True if stage i decodes the column of the source. */
static bool decodes_column(const sluice_dataset *dataset, uint32_t i, uint32_t column)
{
    bool was_encoded = false;
    bool is_encoded = false;

    for (uint32_t k = 0; k < 2; k++) {
        stage_schema schema;
        int at;

        if (dataset_schema_after(dataset, i + k, &schema) != SLUICE_OK) {
            return false;
        }
        at = schema_find_buffer(&schema, column);
        *(k == 0 ? &was_encoded : &is_encoded) =
            at >= 0 && schema.columns[at].dtype == SLUICE_ENCODED;
    }
    return was_encoded && !is_encoded;
}

const dataset_stage *dataset_decode_of(const sluice_dataset *dataset, uint32_t column)
{
    const dataset_stage *first = NULL;

    for (uint32_t i = 0; i < dataset->stage_count; i++) {
        const dataset_stage *stage = &dataset->stages[i];

        if (stage->def->kind != STAGE_DECODE) {
            continue;
        }
        if (decodes_column(dataset, i, column)) {
            return stage;
        }
        first = first == NULL ? stage : first;
    }
    return first;
}

const decode_args dataset_no_decode = {.mode = DECODE_RGB,
                                       .depth = DECODE_DEPTH_8,
                                       .max_pixels = 100000000, /* the default of the stage */
                                       .orient = true,
                                       .allowed = IMAGE_FORMATS_USUAL,
                                       .by_name = IMAGE_FORMATS_ALL};

const decode_args *dataset_decode_args(const sluice_dataset *dataset, uint32_t column)
{
    const dataset_stage *decode = dataset != NULL ? dataset_decode_of(dataset, column) : NULL;

    return decode != NULL ? (const decode_args *)(const void *)decode->args.bytes
                          : &dataset_no_decode;
}

uint32_t dataset_geometry_end(const sluice_dataset *dataset)
{
    uint32_t end = 1;

    for (uint32_t i = 1; i < dataset->stage_count; i++) {
        const dataset_stage *stage = &dataset->stages[i];
        const stage_kind kind = stage->def->kind;

        end = kind == STAGE_DECODE || kind == STAGE_GEOMETRY ||
                      stage_declares_size(stage->def, stage->args.bytes)
                  ? i + 1
                  : end;
    }
    return end;
}

sluice_status dataset_schema_after(const sluice_dataset *dataset, uint32_t count,
                                   stage_schema *schema_out)
{
    const uint32_t end = dataset_geometry_end(dataset);
    sluice_status st = SLUICE_OK;

    *schema_out = dataset->source_schema;
    for (uint32_t i = 1; i < count && st == SLUICE_OK; i++) {
        if (i == end) {
            schema_set_size(schema_out, dataset->image_width, dataset->image_height);
        }
        st = stage_infer(&dataset->stages[i], schema_out);
    }
    if (count >= end) {
        schema_set_size(schema_out, dataset->image_width, dataset->image_height);
    }
    return st;
}

/* Changes the columns of the source by a stage, and keeps those that the source gives. */
static sluice_status declare(sluice_dataset *dataset, const dataset_stage *stage)
{
    stage_schema declared = dataset->source_schema;
    sluice_status st = stage_infer(stage, &declared);

    if (st != SLUICE_OK) {
        return st;
    }
    if (dataset->given_schema == NULL) {
        dataset->given_schema = sli_calloc(1, sizeof(*dataset->given_schema));
        if (dataset->given_schema == NULL) {
            return sli_fail(SLUICE_E_NO_MEMORY, "the columns of a dataset");
        }
        *dataset->given_schema = dataset->source_schema;
    }
    dataset->source_schema = declared;
    return SLUICE_OK;
}

/* Replaces the definition of a stage by that for converted images, if there are some. */
static sluice_status choose_definition(const sluice_dataset *dataset, dataset_stage *stage)
{
    const stage_def *def = stage->def;
    column_set images = 0;
    sluice_status st = SLUICE_OK;

    if (stage_when_converted(def) != NULL) {
        st = schema_select_images(&dataset->schema, def->name,
                                  *stage_args_columns(def, stage->args.bytes), &images);
    }
    if (st == SLUICE_OK && schema_are_converted(&dataset->schema, images)) {
        stage->def = stage_when_converted(def);
    }
    return st;
}

/* Checks the flips before a stage of geometry: they run on the workers. */
static sluice_status check_flips(const sluice_dataset *dataset, const stage_def *def)
{
    for (uint32_t i = 0; i < dataset->stage_count; i++) {
        const dataset_stage *flip = &dataset->stages[i];

        if (stage_before_geometry(flip->def) != NULL &&
            ((const conversion_args *)(const void *)flip->args.bytes)->offload == OFFLOAD_DEVICE) {
            return sli_fail(SLUICE_E_INVALID,
                            "%s offload=device comes before %s, and what comes before a crop or "
                            "resize runs on the workers; leave offload out, or put it after %s",
                            flip->def->name, def->name, def->name);
        }
    }
    return SLUICE_OK;
}

void stages_begin_geometry(dataset_stage *stages, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        const stage_def *geometry = stage_before_geometry(stages[i].def);

        stages[i].def = geometry != NULL ? geometry : stages[i].def;
    }
}

/* True if maps before a stage must work on the image before geometry. A flip alone moves what
 * follows the image, if no map has read or written that. */
static bool puts_maps_before_geometry(const stage_schema *schema, const stage_def *def)
{
    bool has_followers = false;

    for (uint32_t i = 0; i < schema->column_count; i++) {
        const column_role role = schema->infos[i].role;

        has_followers = has_followers || schema_follows(role) || role == ROLE_GEOMETRY;
    }
    return schema_has(schema, STATE_MAPPED) &&
           (def->kind == STAGE_DECODE || def->kind == STAGE_GEOMETRY || def->kind == STAGE_COLOR ||
            (stage_before_geometry(def) != NULL && has_followers &&
             !schema_has(schema, STATE_MAPS_FOLLOWERS)));
}

/*
 * Changes the stages before an added one if it begins geometry: flips become geometry, and maps
 * work on the image. Sets *after to the columns before the added stage.
 */
static sluice_status begin_geometry(sluice_dataset *dataset, dataset_stage *added,
                                    stage_schema *after)
{
    const bool moves_maps = puts_maps_before_geometry(&dataset->schema, added->def);
    const map_ops *map = added->def->map;
    sluice_status st;

    if (!moves_maps && added->def->kind != STAGE_GEOMETRY &&
        (map == NULL || !map->goes_before_geometry(added->args.bytes, &dataset->schema, false))) {
        return SLUICE_OK;
    }
    st = check_flips(dataset, added->def);
    if (st != SLUICE_OK) {
        return st;
    }
    stages_begin_geometry(dataset->stages, dataset->stage_count);
    for (uint32_t i = 0; i < dataset->stage_count && moves_maps; i++) {
        dataset_stage *before = &dataset->stages[i];

        if (before->def->map != NULL) {
            (void)before->def->map->goes_before_geometry(before->args.bytes, NULL, true);
        }
    }
    return moves_maps ? dataset_schema_after(dataset, dataset->stage_count, after) : SLUICE_OK;
}

sluice_status dataset_try(sluice_dataset *dataset, const stage_def *def, const void *args)
{
    dataset_stage added = {.def = def};
    stage_schema after = dataset->schema;
    sluice_status st;

    if (dataset->stage_count == DATASET_MAX_STAGES) {
        return sli_fail(SLUICE_E_INVALID, "more than %d stages", DATASET_MAX_STAGES);
    }
    memcpy(added.args.bytes, args, def->args_size);
    if (def->retain != NULL) {
        def->retain(added.args.bytes);
    }
    st = choose_definition(dataset, &added);
    def = added.def;
    if (st == SLUICE_OK) {
        st = copy_texts(def, added.args.bytes);
    }
    if (st != SLUICE_OK) {
        return st;
    }
    st = stage_args_check(def, added.args.bytes);
    if (st == SLUICE_OK) {
        st = idle_arguments_check(def, added.args.bytes);
    }
    if (st == SLUICE_OK && def->make != NULL) { /* by user code, unless the stage is refused */
        st = stage_order_check(&added, &dataset->schema);
        st = st == SLUICE_OK ? def->make(def, added.args.bytes) : st;
    }
    if (st == SLUICE_OK) {
        st = begin_geometry(dataset, &added, &after);
    }
    if (st == SLUICE_OK) {
        st = stage_infer(&added, &after);
    }
    if (st == SLUICE_OK && def->declares) {
        st = declare(dataset, &added);
    }
    if (st != SLUICE_OK) {
        stage_args_free(def, added.args.bytes);
        return st;
    }
    dataset->schema = after;
    dataset->stages[dataset->stage_count++] = added;
    return SLUICE_OK;
}

sluice_status dataset_check_unused(sluice_dataset *dataset, const char *name)
{
    bool opened;

    pthread_mutex_lock(&dataset->lock);
    opened = dataset->opened;
    pthread_mutex_unlock(&dataset->lock);
    return opened ? sli_fail(SLUICE_E_INVALID,
                             "sluice_dataset_%s: the dataset was used already; add all stages "
                             "before its first use",
                             name)
                  : SLUICE_OK;
}

sluice_status dataset_keep(sluice_dataset *dataset, const stage_def *def, sluice_status status)
{
    sluice_status st;

    if (dataset == NULL) {
        return sli_fail(SLUICE_E_INVALID, "sluice_dataset_%s: dataset is NULL", def->name);
    }
    st = dataset_check_unused(dataset, def->name);
    if (st != SLUICE_OK) {
        return st;
    }
    if (dataset->error.status == SLUICE_OK) {
        sli_error_take(status, &dataset->error);
        return status;
    }
    return sli_error_raise(&dataset->error);
}

sluice_status dataset_append(sluice_dataset *dataset, const stage_def *def, const void *args)
{
    sluice_status st = dataset_keep(dataset, def, SLUICE_OK);

    return st == SLUICE_OK ? dataset_keep(dataset, def, dataset_try(dataset, def, args)) : st;
}

sluice_status dataset_begin(const stage_def *def, const void *args, sluice_dataset **dataset_out)
{
    sluice_dataset *dataset;
    sluice_status st;

    if (dataset_out == NULL) {
        return sli_fail(SLUICE_E_INVALID, "sluice_dataset_%s: dataset_out is NULL", def->name);
    }
    dataset = sli_calloc(1, sizeof(*dataset));
    if (dataset == NULL) {
        return sli_fail(SLUICE_E_NO_MEMORY, "a dataset");
    }
    pthread_mutex_init(&dataset->lock, NULL);
    dataset->schema.image = -1;
    st = dataset_try(dataset, def, args);
    if (st == SLUICE_OK && dataset_opens_early(dataset)) {
        st = dataset_source_open(dataset);
        if (st == SLUICE_OK) {
            st = def->source->schema(dataset->source, &dataset->schema);
        }
    }
    if (st != SLUICE_OK) {
        sluice_dataset_destroy(dataset);
        return st;
    }
    schema_number_buffers(&dataset->schema);
    dataset->source_schema = dataset->schema;
    *dataset_out = dataset;
    return SLUICE_OK;
}

void sluice_dataset_destroy(sluice_dataset *dataset)
{
    if (dataset == NULL) {
        return;
    }
    dataset_source_close(dataset);
    sample_cache_destroy(dataset->cache);
    for (uint32_t i = 0; i < dataset->stage_count; i++) {
        sli_free(dataset->splits[i].members);
        sli_free(dataset->tables[i].block);
        stage_args_free(dataset->stages[i].def, dataset->stages[i].args.bytes);
    }
    pthread_mutex_destroy(&dataset->lock);
    sli_free(dataset->given_schema);
    sli_free(dataset);
}

sluice_status dataset_status(sluice_dataset *dataset, const char *function)
{
    if (dataset == NULL) {
        return sli_fail(SLUICE_E_INVALID, "%s: dataset is NULL", function);
    }
    return sli_error_raise(&dataset->error);
}

void dataset_print(const sluice_dataset *dataset, uint32_t first, uint32_t end, sli_text *text)
{
    for (uint32_t i = first; i < end; i++) {
        const dataset_stage *stage = &dataset->stages[i];

        sli_text_add(text, "%s%s", i > first ? " | " : "", stage->def->name);
        stage_args_print(stage->def, stage->args.bytes, text);
    }
}

sluice_status sluice_dataset_describe(sluice_dataset *dataset, char **text_out)
{
    sluice_status st = dataset_status(dataset, "sluice_dataset_describe");
    sli_text text = {0};

    if (st == SLUICE_OK && text_out == NULL) {
        st = sli_fail(SLUICE_E_INVALID, "sluice_dataset_describe: text_out is NULL");
    }
    if (st != SLUICE_OK) {
        return st;
    }
    dataset_print(dataset, 0, dataset->stage_count, &text);
    return sli_text_take(&text, text_out);
}

uint32_t dataset_occurrence(const sluice_dataset *dataset, uint32_t i)
{
    uint32_t occurrence = 0;

    for (uint32_t k = 0; k < i; k++) {
        occurrence += strcmp(dataset->stages[k].def->name, dataset->stages[i].def->name) == 0;
    }
    return occurrence;
}
