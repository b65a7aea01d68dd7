/* SPDX-License-Identifier: Apache-2.0 */
/* The batch stage, which forms batches and is the last stage. */
#include "stage.h"
#include "status_int.h"

typedef struct batch_args {
    uint64_t n;
    bool drop_remainder;
} batch_args;

static sluice_status batch_infer(const void *opaque, stage_schema *schema)
{
    const batch_args *args = opaque;

    for (uint32_t i = 0; i < schema->column_count; i++) {
        if (schema->columns[i].dtype == SLUICE_ENCODED) {
            return sli_fail(SLUICE_E_INVALID,
                            "batch: column %s is still encoded; put decode before batch",
                            schema->columns[i].name);
        }
    }
    if (schema->image >= 0) {
        schema_add_views(schema, &schema->columns[schema->image]);
    }
    schema->batch_size = (uint32_t)args->n;
    schema->drop_remainder = args->drop_remainder;
    return SLUICE_OK;
}

static const stage_param batch_params[] = {
    PARAM_(batch_args, n, PARAM_COUNT, NULL, 1, 1048576, NULL, "samples in a batch of each rank"),
    PARAM_(batch_args, drop_remainder, PARAM_BOOL, "false", 0, 0, NULL,
           "drop the last batch of a pass if it is not full; false: pad it with zeros"),
};

const stage_def stage_batch = {
    .name = "batch",
    .summary = "Groups n samples; the last stage.",
    .gives = "every column with n in front of its shape",
    .details = "If the last batch of a pass is not full, it is padded with zeros, and "
               "valid_rows is its number of samples; with drop_remainder=true it is dropped. "
               "Only batch maps may follow.",
    .kind = STAGE_BATCH,
    STAGE_PARAMS(batch_params),
    .args_size = sizeof(batch_args),
    .infer = batch_infer,
};
