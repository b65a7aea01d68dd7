/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Argument tables of the stages that choose samples by a list, by weights or by class. The data
 * that these stages need is computed by plan/index_tables.c when a dataset is opened.
 */
#include <sluice/sampling.h>

#include "index_stages.h"
#include "status_int.h"
#include "tensor_int.h"

static const stage_param subset_params[] = {
    PARAM_(subset_args, file, PARAM_TEXT, NULL, 0, 0, NULL,
           "numbers of samples in the source, one in each line"),
};

const stage_def stage_subset = {
    .name = "subset",
    .summary = "Keeps the samples that a file lists, in its order; one that is listed twice comes "
               "twice.",
    .gives = "the listed samples",
    .kind = STAGE_INDEX,
    .index = INDEX_SUBSET,
    STAGE_PARAMS(subset_params),
    .args_size = sizeof(subset_args),
};

sluice_status sluice_dataset_subset(sluice_dataset *dataset, const char *file)
{
    const subset_args args = {file};

    return dataset_append(dataset, &stage_subset, &args);
}

static const stage_param weights_params[] = {
    PARAM_(weights_args, by, PARAM_TEXT, NULL, 0, 0, NULL,
           "a column of the source with a number for each sample, or a file with one in each line"),
    PARAM_(weights_args, samples, PARAM_COUNT, "0", 0, 1e15, NULL,
           "samples of a pass; 0: as many as without this stage"),
    PARAM_(weights_args, seed, PARAM_SEED, "run", 0, 0, NULL,
           "seed of the draws; run: the seed of the run"),
};

const stage_def stage_weights = {
    .name = "weights",
    .summary = "Draws samples at random, with replacement, each with a probability in proportion "
               "to its weight. A sample that is drawn again in a pass has other random numbers.",
    .gives = "that many samples",
    .kind = STAGE_INDEX,
    .index = INDEX_WEIGHTS,
    STAGE_PARAMS(weights_params),
    .args_size = sizeof(weights_args),
};

sluice_status sluice_dataset_weights(sluice_dataset *dataset, const char *by, uint64_t samples,
                                     uint64_t seed)
{
    const weights_args args = {by, samples, seed};

    return dataset_append(dataset, &stage_weights, &args);
}

/* Checks that the column is one whole number for each sample. */
static sluice_status infer_balance(const void *opaque, stage_schema *schema)
{
    const balance_args *args = opaque;
    const int found = schema_find(schema, args->column);
    const sluice_column *column = &schema->columns[found < 0 ? 0 : found];

    if (found < 0) {
        return schema_no_column(schema, "balance", args->column);
    }
    if (column->rank != 0 || found == schema->image || column->dtype == SLUICE_F32 ||
        column->dtype == SLUICE_F16 || column->dtype == SLUICE_BF16 ||
        column->dtype == SLUICE_ENCODED) {
        return sli_fail(SLUICE_E_INVALID,
                        "balance: column %s is not one whole number for each sample", args->column);
    }
    return SLUICE_OK;
}

static const stage_param balance_params[] = {
    PARAM_(balance_args, column, PARAM_TEXT, "label", 0, 0, NULL,
           "column of the source with class numbers"),
    PARAM_(balance_args, samples, PARAM_COUNT, "0", 0, 1e15, NULL,
           "samples of a pass; 0: as many as without this stage"),
    PARAM_(balance_args, seed, PARAM_SEED, "run", 0, 0, NULL,
           "seed of the order; run: the seed of the run"),
};

const stage_def stage_balance = {
    .name = "balance",
    .summary = "Gives all classes equally often, in turns. Each class goes through its samples in "
               "random order, and then again, with other random numbers; a pass continues where "
               "the previous one ended.",
    .gives = "that many samples",
    .kind = STAGE_INDEX,
    .index = INDEX_BALANCE,
    STAGE_PARAMS(balance_params),
    .args_size = sizeof(balance_args),
    .infer = infer_balance,
};

sluice_status sluice_dataset_balance(sluice_dataset *dataset, const char *column, uint64_t samples,
                                     uint64_t seed)
{
    const balance_args args = {column != NULL ? column : "label", samples, seed};

    return dataset_append(dataset, &stage_balance, &args);
}
