/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Argument tables of the stages that choose samples by a list, by weights or by class. The data
 * that these stages need is computed by plan/index_tables.c when a dataset is opened.
 */

#include "index_stages.h"
#include "status_int.h"

static const stage_param subset_params[] = {
    PARAM_(subset_args, file, PARAM_TEXT, NULL, 0, 0, NULL,
           "numbers of samples in the source, one in each line"),
};

const stage_def stage_subset = {
    .name = "subset",
    .summary = "Keeps the samples that a file lists, in its order; one that is listed twice comes "
               "twice.",
    .gives = "the listed samples",
    .details = "Each line has the number of a sample in the source, from 0. A sample that is "
               "listed several times has other random numbers each time. The stage comes "
               "before all other stages that select or order samples.\n"
               "The file is read at the first use of the dataset. Errors then: E_IO; E_CORRUPT "
               "a line that is not a number below the number of samples of the source, with "
               "FILE:LINE; E_INVALID a file without lines.",
    .kind = STAGE_INDEX,
    .index = INDEX_SUBSET,
    STAGE_PARAMS(subset_params),
    .args_size = sizeof(subset_args),
};

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
    .details = "A draw is a function of seed, pass and position, so it does not depend on the "
               "number of ranks, nor on whether the run was resumed. The stage comes before "
               "shuffle, shard and repeat.\n"
               "`by` is a column if the source has one of this name, else a file with a line "
               "for each sample of the source. The weights are read at the first use of the "
               "dataset, and take 8 bytes of memory for each sample. Errors then: E_IO; "
               "E_CORRUPT a weight that is not a finite number of at least 0; E_INVALID a file "
               "whose number of lines is not the number of samples of the source, a column "
               "that has not one number for each sample, or no weight above 0.",
    .kind = STAGE_INDEX,
    .index = INDEX_WEIGHTS,
    STAGE_PARAMS(weights_params),
    .args_size = sizeof(weights_args),
};

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
        column->dtype == SLUICE_F64 || column->dtype == SLUICE_F16 ||
        column->dtype == SLUICE_BF16 || column->dtype == SLUICE_ENCODED) {
        return sli_fail(SLUICE_E_INVALID,
                        "balance: column %s must be one whole number for each sample",
                        args->column);
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
    .details = "Position p of a pass is of class p modulo the number of classes. Over many "
               "passes all samples of a class are drawn equally often. The draws are a "
               "function of seed, pass and position, so they do not depend on the number of "
               "ranks, nor on whether the run was resumed. The stage comes before shuffle, "
               "shard and repeat.\n"
               "The column has one whole number for each sample. The classes are read at the "
               "first use of the dataset, and take 4 bytes of memory for each sample.",
    .kind = STAGE_INDEX,
    .index = INDEX_BALANCE,
    STAGE_PARAMS(balance_params),
    .args_size = sizeof(balance_args),
    .infer = infer_balance,
};
