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
    .elsewhere = "MixUp",
    .example = "batch 4 | mixup 4",
    .gives = "image, the same shape; the label as f32 (classes)",
    .details = "References: torchvision.transforms.v2.MixUp; Zhang et al., \"mixup: Beyond "
               "Empirical Risk Minimization\" (ICLR 2018).\n"
               "Images and labels become row * lambda + other row * (1 - lambda), in single "
               "precision, as in torchvision for float32 images; results of type f16, bf16 "
               "and u8 are rounded once, to nearest, halves to even. torchvision refuses "
               "integer images.\n"
               "The other row of row i is row i - 1, that of row 0 the last row, as torchvision "
               "rolls the batch by one. Rows without a sample (padding, and bad samples under "
               "policy zero) are left out, and stay zero. One lambda is drawn for each "
               "batch, from the beta distribution with both parameters equal to alpha "
               "(Marsaglia and Tsang 2000). It depends only on the seed, the pass and the "
               "position of the batch, so it is the same for any number of workers and in a "
               "resumed run. Ranks draw different numbers.\n"
               "All images of a sample are mixed; they may be u8, f32, f16 or bf16, (H, W, C) "
               "or (C, H, W). Masks, boxes and points are refused, and other columns do not "
               "change.\n"
               "The label becomes f32 (classes): a soft label, for a loss that takes class "
               "probabilities, such as torch's CrossEntropyLoss. Class numbers are one-hot "
               "encoded before they are mixed. A class number that is not in [0, classes) "
               "makes a bad sample. For label smoothing put one_hot before batch.\n"
               "The worker that writes the last row of a batch mixes it, with two exceptions: "
               "after the stage device, and on a device whose GetNext is a kernel, GetNext "
               "mixes the first image, after its conversions. The bits are the same. A "
               "pipeline is refused if the image is mixed after the stage device and GetNext "
               "cannot do it: twice in one batch, after a conversion with offload=host, or "
               "after random_erasing that follows a conversion.",
    .kind = STAGE_BATCH_MAP,
    STAGE_PARAMS(mixup_params),
    .args_size = sizeof(mix_args),
    .infer = mixup_infer,
    .array = &mix_array_ops,
    .batch = mixup_batch,
    .draws = true,
};
