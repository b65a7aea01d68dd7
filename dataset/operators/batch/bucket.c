/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The bucket stage: batches hold samples of similar length. This file checks the arguments; the
 * engine fills the buckets (kept_buckets.c).
 */
#include "bucket.h"

#include <inttypes.h>
#include <string.h>

#include <sluice/assembly.h>

#include "operators/array/array_values.h"
#include "stage.h"
#include "status_int.h"

static sluice_status bucket_check(void *opaque)
{
    const param_edges *edges = &((const bucket_args *)opaque)->edges;

    for (uint32_t i = 0; i < edges->count; i++) {
        if (edges->values[i] > INT64_MAX || (i > 0 && edges->values[i] <= edges->values[i - 1])) {
            return sli_fail(SLUICE_E_INVALID,
                            "bucket: edges %" PRIu64 " is not larger than the one before it, or "
                            "above 2^63 - 1",
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
        return sli_fail(SLUICE_E_INVALID,
                        "bucket: %s is %s with %u dimensions; want one integer, the length of a "
                        "sample, such as NAME_length",
                        type->name, sluice_dtype_name(type->dtype), type->rank);
    }
    if (schema->is_bucketed) {
        return sli_fail(SLUICE_E_INVALID, "bucket: a pipeline has at most one");
    }
    if (schema->own_order != NULL) {
        return sli_fail(SLUICE_E_INVALID,
                        "bucket: the source has an order of its own (%s), which is bound to whole "
                        "batches; bucket wants one of shuffle, or none",
                        schema->own_order);
    }
    schema->is_bucketed = true;
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
    .kind = STAGE_BUCKET,
    STAGE_PARAMS(bucket_params),
    .args_size = sizeof(bucket_args),
    .check = bucket_check,
    .infer = bucket_infer,
};

sluice_status sluice_dataset_bucket(sluice_dataset *dataset, const char *length,
                                    const uint64_t *edges, uint32_t count)
{
    bucket_args args = {.length = length};

    if (length == NULL || edges == NULL) {
        return dataset_keep(dataset, &stage_bucket,
                            sli_fail(SLUICE_E_INVALID, "sluice_dataset_bucket: %s is NULL",
                                     length == NULL ? "length" : "edges"));
    }
    if (count == 0 || count > SLUICE_MAX_EDGES) {
        return dataset_keep(dataset, &stage_bucket,
                            sli_fail(SLUICE_E_INVALID, "bucket: %u edges; must be 1 to %d", count,
                                     SLUICE_MAX_EDGES));
    }
    args.edges.count = count;
    memcpy(args.edges.values, edges, count * sizeof(*edges));
    return dataset_append(dataset, &stage_bucket, &args);
}
