/* SPDX-License-Identifier: Apache-2.0 */
#include "nested_stage.h"

#include <string.h>

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

sluice_status nested_check(const char *stage, bool weighted, uint32_t most, const nested_args *args)
{
    const nested_stages *nested = args->nested;
    uint32_t weights = 0;

    if (nested == NULL || nested->branch_count == 0) {
        return sli_fail(SLUICE_E_INVALID, "%s: there are no stages in parentheses", stage);
    }
    if (nested->branch_count > most) {
        return sli_fail(
            SLUICE_E_INVALID,
            "%s: %u pairs of parentheses, and there must be one, with bars between stages", stage,
            nested->branch_count);
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
    const char *label = first->def->array_column(first->args.bytes);
    const char *its_label = other->def->array_column(other->args.bytes);

    return strcmp(label, its_label) == 0
               ? SLUICE_OK
               : sli_fail(SLUICE_E_INVALID,
                          "%s: %s has label=%s and %s label=%s, and all must have the same", stage,
                          first->def->name, label, other->def->name, its_label);
}

/* Updates the columns to those after a nested stage, which works on the images of `columns`. */
static sluice_status infer_one(const char *stage, const dataset_stage *inner, const char *columns,
                               stage_schema *schema)
{
    dataset_stage with_columns = *inner; /* shares the texts and objects of the arguments */
    const char **its_columns = stage_args_columns(inner->def, with_columns.args.bytes);

    if (its_columns != NULL) {
        *its_columns = columns;
    } else if (columns[0] != '\0') {
        return sli_fail(SLUICE_E_INVALID,
                        "%s: columns=%s, and %s works on all images; leave columns out", stage,
                        columns, inner->def->name);
    }
    return inner->def->infer(with_columns.args.bytes, schema);
}

sluice_status nested_infer(const char *stage, bool one_of, const nested_args *args,
                           stage_schema *schema)
{
    const nested_stages *nested = args->nested;
    const bool is_batch = nested_are_batch_maps(nested);
    const uint32_t operations = schema->color_operations;
    const uint32_t maps = schema->map_count;
    const uint32_t mixes = schema->mixes;
    uint32_t most = operations;
    uint32_t most_mixes = mixes;
    sluice_status st = SLUICE_OK;

    for (uint32_t i = 0; i < nested->branch_count && st == SLUICE_OK; i++) {
        const nested_branch *branch = &nested->branches[i];

        schema->color_operations = one_of ? operations : schema->color_operations;
        schema->mixes = one_of ? mixes : schema->mixes;
        for (uint32_t k = branch->first; k < branch->first + branch->count && st == SLUICE_OK;
             k++) {
            st = infer_one(stage, &nested->stages[k], args->common.columns, schema);
            if (st == SLUICE_OK && is_batch) {
                st = check_label(stage, nested, k);
                schema->map_count = maps; /* the stage is one map of the profile */
            }
        }
        most = schema->color_operations > most ? schema->color_operations : most;
        most_mixes = schema->mixes > most_mixes ? schema->mixes : most_mixes;
    }
    schema->color_operations = most;
    schema->mixes = most_mixes;
    schema->map_count = maps + is_batch;
    return st;
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

        if (stage->def->is_by_pixel == NULL || !stage->def->is_by_pixel(stage->args.bytes)) {
            return false;
        }
    }
    return !nested_warps(args); /* GetNext runs one warp, whose sampling must be known beforehand */
}

/* ---- running --------------------------------------------------------------------------------- */

/* The random numbers of a nested stage. They do not depend on its position among the others that
 * are applied. */
static sli_draws draws_of(const sli_draws *draws, uint32_t number)
{
    return (sli_draws){sli_mix_in(draws->key, number + 1), draws->sample, draws->pass};
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

            stage->def->colors(stage->args.bytes, &own, chain);
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

    return first->def->array_column(first->args.bytes);
}

sluice_status nested_array(const void *args, const sluice_column *from_type, const void *from,
                           const sluice_column *to_type, void *to)
{
    const dataset_stage *first = &((const nested_args *)args)->nested->stages[0];

    return first->def->array(first->args.bytes, from_type, from, to_type, to);
}
