/* SPDX-License-Identifier: Apache-2.0 */
#include "nested_stage.h"

#include <string.h>

#include "stage_kinds.h"
#include "status_int.h"

void nested_args_retain(void *args)
{
    nested_retain(((nested_args *)args)->nested);
}

void nested_args_release(void *args)
{
    nested_release(((nested_args *)args)->nested);
    ((nested_args *)args)->nested = NULL;
}

/* ---- checks ---------------------------------------------------------------------------------- */

/* Refuses `columns` of nested stages: the images are those of the stage itself. */
static sluice_status check_columns(const char *stage, nested_stages *nested)
{
    for (uint32_t i = 0; i < nested->stage_count; i++) {
        dataset_stage *inner = &nested->stages[i];
        const char **columns = stage_args_columns(inner->def, inner->args.bytes);

        if (columns != NULL && (*columns)[0] != '\0') {
            return sli_fail(SLUICE_E_INVALID,
                            "%s: %s columns=%s in parentheses: write columns= of %s instead", stage,
                            inner->def->name, *columns, stage);
        }
    }
    return SLUICE_OK;
}

sluice_status nested_check(const char *stage, bool weighted, const nested_args *args)
{
    const nested_stages *nested = args->nested;
    uint32_t weights = 0;

    if (nested == NULL || nested->branch_count == 0) {
        return sli_fail(SLUICE_E_INVALID, "%s: there are no stages in parentheses", stage);
    }
    for (uint32_t i = 0; i < nested->branch_count; i++) {
        weights += nested->branches[i].weight > 0;
    }
    if (weights > 0 && !weighted) {
        return sli_fail(SLUICE_E_INVALID,
                        "%s: weights are not allowed here; remove them, or use random_choice",
                        stage);
    }
    if (weights > 0 && weights < nested->branch_count) {
        return sli_fail(SLUICE_E_INVALID,
                        "%s: %u of %u pairs of parentheses have a weight; give all or none one",
                        stage, weights, nested->branch_count);
    }
    return check_columns(stage, args->nested);
}

/* Checks that nested batch maps recompute the same label, since each sample's is written once. */
static sluice_status check_label(const char *stage, const nested_stages *nested, uint32_t i)
{
    const dataset_stage *first = &nested->stages[0];
    const dataset_stage *other = &nested->stages[i];
    const char *label = first->def->array->column(first->args.bytes);
    const char *its_label = other->def->array->column(other->args.bytes);

    return strcmp(label, its_label) == 0
               ? SLUICE_OK
               : sli_fail(SLUICE_E_INVALID,
                          "%s: %s has label=%s and %s label=%s, and all must have the same", stage,
                          first->def->name, label, other->def->name, its_label);
}

/* Updates the columns to those after a nested stage, which works on the images of the stage. */
static sluice_status infer_one(const char *stage, const nested_args *args,
                               const dataset_stage *inner, stage_schema *schema)
{
    const char *columns = args->common.columns;
    dataset_stage with_columns = *inner; /* shares the texts and objects of the arguments */
    const char **its_columns = stage_args_columns(inner->def, with_columns.args.bytes);

    if (its_columns != NULL) {
        *its_columns = columns;
    } else if (columns[0] != '\0') {
        return sli_fail(SLUICE_E_INVALID,
                        "%s: columns=%s, and %s works on all images; leave columns out", stage,
                        columns, inner->def->name);
    }
    return nested_have_geometry(args->nested) ? stage_infer(&with_columns, schema)
                                              : stage_infer_columns(&with_columns, schema);
}

/* Updates the columns to those after the stages of one branch. */
static sluice_status infer_branch(const char *stage, const nested_args *args, uint32_t number,
                                  stage_schema *schema)
{
    const nested_branch *branch = &args->nested->branches[number];
    const uint32_t maps = schema->map_count;
    sluice_status st = SLUICE_OK;

    for (uint32_t k = branch->first; k < branch->first + branch->count && st == SLUICE_OK; k++) {
        st = infer_one(stage, args, &args->nested->stages[k], schema);
        schema->map_count = maps; /* all batch maps of the stage are one of the profile */
    }
    return st;
}

static uint32_t larger(uint32_t a, uint32_t b)
{
    return a > b ? a : b;
}

/* Adds to what the branches so far may have done to an image what another one may do. */
static void join_schema(stage_schema *all, const stage_schema *branch)
{
    all->colors = color_counts_most(&all->colors, &branch->colors);
    schema_set_state(all, STATE_NONAFFINE, branch->by[STATE_NONAFFINE]);
    schema_set_state(all, STATE_COLORED, branch->by[STATE_COLORED]);
}

static bool has_size(const stage_schema *schema, const uint64_t *shape)
{
    return memcmp(schema->columns[schema->image].shape, shape, 2 * sizeof(*shape)) == 0;
}

static uint32_t count_changes(const nested_stages *nested);

/* True if a stage in a branch may change the size of the image. */
static bool branch_changes_size(const nested_stages *nested, uint32_t number)
{
    const nested_branch *branch = &nested->branches[number];

    for (uint32_t i = branch->first; i < branch->first + branch->count; i++) {
        const stage_def *def = nested->stages[i].def;

        if (branch_ops_of(def) != NULL ? count_changes(nested_in(&nested->stages[i])) > 0
                                       : def->kind == STAGE_GEOMETRY && def->flip == NULL) {
            return true;
        }
    }
    return false;
}

/* The number of branches that may change the size of the image. */
static uint32_t count_changes(const nested_stages *nested)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < nested->branch_count; i++) {
        count += branch_changes_size(nested, i);
    }
    return count;
}

/* Infers branches of which one is applied. The size after them is known if all give the same. */
static sluice_status infer_one_of(const char *stage, const nested_args *args, stage_schema *schema,
                                  bool *is_same_out)
{
    const stage_schema before = *schema;
    const uint64_t *shape = schema->columns[schema->image].shape;
    sluice_status st = SLUICE_OK;

    for (uint32_t i = 0; i < args->nested->branch_count && st == SLUICE_OK; i++) {
        stage_schema branch = before;

        st = infer_branch(stage, args, i, &branch);
        join_schema(schema, &branch);
        if (i == 0) {
            memcpy(schema->columns, branch.columns, sizeof(schema->columns));
        }
        *is_same_out = *is_same_out && has_size(&branch, shape);
    }
    return st;
}

/* Infers branches of which all are applied, if any. The size after them is known if all or none
 * give the same. */
static sluice_status infer_all(const char *stage, const nested_args *args, stage_schema *schema,
                               bool *is_same_out)
{
    const stage_schema before = *schema;
    sluice_status st = SLUICE_OK;

    for (uint32_t i = 0; i < args->nested->branch_count && st == SLUICE_OK; i++) {
        st = infer_branch(stage, args, i, schema);
    }
    *is_same_out = has_size(schema, before.columns[before.image].shape);
    return st;
}

/* Infers branches in any order: each must be possible before and after all others. The size after
 * them is known if one of them changes it. */
static sluice_status infer_any_order(const char *stage, const nested_args *args,
                                     stage_schema *schema, bool *is_same_out)
{
    const stage_schema before = *schema;
    stage_schema again;
    sluice_status st = infer_all(stage, args, schema, is_same_out);

    again = *schema;
    again.colors = before.colors; /* they are counted already */
    if (st == SLUICE_OK) {
        st = infer_all(stage, args, &again, is_same_out);
    }
    *is_same_out = count_changes(args->nested) == 1;
    return st;
}

/* Makes messages name the outer stage as what has set the states that nested stages set. */
static void rename_states(const char *stage, const stage_schema *before, stage_schema *schema)
{
    for (uint32_t i = 0; i < STATE_COUNT; i++) {
        schema->by[i] = schema->by[i] != before->by[i] ? stage : before->by[i];
    }
}

/* Infers branches with geometry. */
static sluice_status infer_geometry(const char *stage, nested_use use, const nested_args *args,
                                    stage_schema *schema)
{
    const stage_schema before = *schema;
    bool is_same = true;
    sluice_status st = schema_check_pixels(schema, stage);

    if (st == SLUICE_OK) {
        st = use == NESTED_ONE           ? infer_one_of(stage, args, schema, &is_same)
             : use == NESTED_ALL_OR_NONE ? infer_all(stage, args, schema, &is_same)
                                         : infer_any_order(stage, args, schema, &is_same);
    }
    if (st == SLUICE_OK && count_changes(args->nested) > 0 &&
        (!is_same || schema_lacks_size(schema))) {
        schema_unset_size(schema, stage);
    }
    rename_states(stage, &before, schema);
    return st;
}

/* Infers branches that keep the size of images: of colour stages or batch maps. */
static sluice_status infer_same_size(const char *stage, nested_use use, const nested_args *args,
                                     stage_schema *schema)
{
    const color_counts colors = schema->colors;
    const uint32_t mixes = schema->mixes;
    color_counts most_colors = colors;
    uint32_t most_mixes = mixes;
    sluice_status st = SLUICE_OK;

    for (uint32_t i = 0; i < args->nested->branch_count && st == SLUICE_OK; i++) {
        schema->colors = use == NESTED_ONE ? colors : schema->colors;
        schema->mixes = use == NESTED_ONE ? mixes : schema->mixes;
        st = infer_branch(stage, args, i, schema);
        most_colors = color_counts_most(&most_colors, &schema->colors);
        most_mixes = larger(most_mixes, schema->mixes);
    }
    schema->colors = most_colors;
    schema->mixes = most_mixes;
    return st;
}

/* Infers branches of batch maps, which are one batch map of the pipeline. */
static sluice_status infer_batch(const char *stage, nested_use use, const nested_args *args,
                                 stage_schema *schema)
{
    sluice_status st = infer_same_size(stage, use, args, schema);

    for (uint32_t i = 0; i < args->nested->stage_count && st == SLUICE_OK; i++) {
        st = check_label(stage, args->nested, i);
    }
    schema->map_count++;
    return st;
}

sluice_status nested_infer(const char *stage, nested_use use, const nested_args *args,
                           stage_schema *schema)
{
    return nested_are_batch_maps(args->nested)  ? infer_batch(stage, use, args, schema)
           : nested_have_geometry(args->nested) ? infer_geometry(stage, use, args, schema)
                                                : infer_same_size(stage, use, args, schema);
}

bool nested_warps(const void *args)
{
    const nested_stages *nested = ((const nested_args *)args)->nested;

    for (uint32_t i = 0; i < nested->stage_count; i++) {
        if (stage_warps(nested->stages[i].def, nested->stages[i].args.bytes)) {
            return true;
        }
    }
    return false;
}

bool nested_is_by_pixel(const void *args)
{
    const nested_stages *nested = ((const nested_args *)args)->nested;

    for (uint32_t i = 0; i < nested->stage_count; i++) {
        const dataset_stage *stage = &nested->stages[i];

        if (!stage_is_by_pixel(stage->def, stage->args.bytes)) {
            return false;
        }
    }
    return !nested_warps(args); /* GetNext runs one warp, whose sampling must be known beforehand */
}

/* ---- running --------------------------------------------------------------------------------- */

/* The random numbers of a nested stage. */
static sli_draws draws_of(const sli_draws *draws, uint32_t number)
{
    return (sli_draws){nested_key(draws->key, number), draws->sample, draws->pass};
}

void nested_colors(nested_choice *choose, const nested_args *args, const sli_draws *draws,
                   color_chain *chain)
{
    const nested_stages *nested = args->nested;
    uint32_t order[NESTED_BRANCHES];
    const uint32_t count = choose(args, draws, order);

    for (uint32_t i = 0; i < count; i++) {
        const nested_branch *branch = &nested->branches[order[i]];

        for (uint32_t k = branch->first; k < branch->first + branch->count; k++) {
            const dataset_stage *stage = &nested->stages[k];
            const sli_draws own = draws_of(draws, k);

            stage->def->color->add(stage->args.bytes, &own, chain);
        }
    }
}

void nested_batch(nested_choice *choose, const nested_args *args, const batch_view *batch)
{
    const nested_stages *nested = args->nested;
    uint32_t order[NESTED_BRANCHES];
    const uint32_t count = choose(args, &batch->draws, order);

    for (uint32_t i = 0; i < count; i++) {
        const nested_branch *branch = &nested->branches[order[i]];

        for (uint32_t k = branch->first; k < branch->first + branch->count; k++) {
            const dataset_stage *stage = &nested->stages[k];
            batch_view own = *batch;

            own.draws = draws_of(&batch->draws, k);
            stage->def->batch(stage->args.bytes, &own);
        }
    }
}

const char *nested_array_column(const void *args)
{
    const dataset_stage *first = &((const nested_args *)args)->nested->stages[0];

    return first->def->array->column(first->args.bytes);
}

sluice_status nested_array(const void *args, const sluice_column *from_type, const void *from,
                           const sluice_column *to_type, void *to)
{
    const dataset_stage *first = &((const nested_args *)args)->nested->stages[0];

    return first->def->array->compute(first->args.bytes, from_type, from, to_type, to);
}
