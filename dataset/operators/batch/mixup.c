/* SPDX-License-Identifier: Apache-2.0 */
/* The mixup stage: torchvision's MixUp, of Zhang et al., "mixup: Beyond Empirical Risk
 * Minimization" (ICLR 2018). */
#include "mix_stage.h"

static sluice_status mixup_infer(const void *args, stage_schema *schema)
{
    return mix_infer("mixup", args, schema);
}

static void mixup_batch(const void *args, const batch_view *batch)
{
    const double lambda = mix_draw_lambda(args, batch);

    for (uint32_t i = 0; i < batch->schema->column_count; i++) {
        if (schema_is_image(batch->schema, i)) {
            mix_blend_image(batch, i, lambda);
        }
    }
    mix_labels(args, batch, lambda);
}

static const stage_param mixup_params[] = {MIX_PARAMS};

const stage_def stage_mixup = {
    .name = "mixup",
    .summary = "Blends each sample of a batch with the one before it, and their labels: MixUp.",
    .gives = "image, the same shape; the label as f32 (classes)",
    .kind = STAGE_BATCH_MAP,
    STAGE_PARAMS(mixup_params),
    .args_size = sizeof(mix_args),
    .infer = mixup_infer,
    .array_column = mix_label,
    .array = mix_array,
    .batch = mixup_batch,
    .draws = true,
};

sluice_status sluice_dataset_mixup(sluice_dataset *dataset, uint64_t classes, double alpha,
                                   const char *label)
{
    return mix_append(dataset, &stage_mixup, classes, alpha, label);
}
