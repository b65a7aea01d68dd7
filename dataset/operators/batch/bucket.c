/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The bucket stage: batches hold samples of similar length. This file checks the arguments; the
 * engine fills the buckets (collected_buckets.c).
 */
#include "collected_args.h"

#include <inttypes.h>
#include <string.h>

#include "operators/array/array_values.h"
#include "stage.h"
#include "status_int.h"

static sluice_status bucket_check(void *opaque)
{
    const param_edges *edges = &((const bucket_args *)opaque)->edges;

    for (uint32_t i = 0; i < edges->count; i++) {
        if (edges->values[i] > INT64_MAX || (i > 0 && edges->values[i] <= edges->values[i - 1])) {
            return sli_fail(SLUICE_E_INVALID,
                            "bucket: edges %" PRIu64 " must be larger than the one before it, and "
                            "less than 2^63",
                            edges->values[i]);
        }
    }
    return SLUICE_OK;
}

static sluice_status bucket_infer(const void *opaque, stage_schema *schema)
{
    const bucket_args *args = opaque;
    const int column = schema_find(schema, args->length);
    const sluice_column *type;

    if (column < 0) {
        return schema_no_column(schema, "bucket", args->length);
    }
    type = &schema->columns[column];
    if (column == schema->image || schema->infos[column].role != ROLE_PLAIN ||
        !array_is_integer(type->dtype) || type->rank != 0) {
        return sli_fail(
            SLUICE_E_INVALID,
            "bucket: %s is %s with %u dimensions, and must be one integer, the length of a "
            "sample, such as NAME_length",
            type->name, sluice_dtype_name(type->dtype), type->rank);
    }
    return SLUICE_OK;
}

static const stage_param bucket_params[] = {
    PARAM_(bucket_args, length, PARAM_TEXT, NULL, 0, 0, NULL,
           "the column that is the length of a sample"),
    PARAM_(bucket_args, edges, PARAM_EDGES, NULL, 0, 0, NULL,
           "maximum length of each bucket, ascending, at most 32; longer samples have a bucket of "
           "their own"),
};

const stage_def stage_bucket = {
    .name = "bucket",
    .summary = "Makes batches of samples of similar length.",
    .gives = "the same columns",
    .details = "All samples of a batch are of one bucket. Samples enter their buckets in the "
               "order of the pass. The first bucket with a full batch for every rank gives the "
               "next batch of each rank. Batches do not depend on the number of workers. At "
               "the end of a pass each bucket that is not empty makes one padded batch, by "
               "ascending length, or its samples are dropped: batch drop_remainder=true. The "
               "number of batches in a pass is not known beforehand. The shapes of the columns "
               "do not change.\n"
               "The length is a plain scalar of an integer type, such as the column "
               "NAME_length of a ragged column NAME.\n"
               "Every rank reads the lengths of all samples. If the length is a plain column "
               "of the source, and filters read only such columns, a sample is loaded only for "
               "its row. Else every sample is loaded for its length, and a second time for its "
               "row. A resumed run reads the lengths from the beginning of the pass again, "
               "logs at level info how long that took, and must have the same batch size and "
               "number of ranks.\n"
               "A sample whose length cannot be read ends the run with error policy fail, even "
               "if it would be dropped at the end of the pass; else it enters the first "
               "bucket, and is listed in the report. With error policy replace the next sample "
               "of its bucket replaces a bad sample.\n"
               "The samples of a stream are loaded once, by every rank, and those of this rank "
               "wait in memory until their bucket is full: up to a batch for each bucket, at "
               "the declared shapes. A bad sample ends the run when it is loaded (policy "
               "fail), or the next good sample of its batch, cyclically, replaces it "
               "(replace).\n"
               "A pipeline has at most one bucket. It is refused after a source with an order "
               "of its own. A run of several ranks after a stage shard fails with "
               "E_UNSUPPORTED.",
    .kind = STAGE_BUCKET,
    STAGE_PARAMS(bucket_params),
    .args_size = sizeof(bucket_args),
    .check = bucket_check,
    .infer = bucket_infer,
};
