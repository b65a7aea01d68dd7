/* SPDX-License-Identifier: Apache-2.0 */
/* The cutmix stage: torchvision's CutMix, of Yun et al., "CutMix: Regularization Strategy to Train
 * Strong Classifiers with Localizable Features" (ICCV 2019). */
#include "mix_stage.h"
#include "status_int.h"

/* Height and width of an image column. */
static const uint64_t *size_of(const stage_schema *schema, uint32_t i)
{
    return &schema->columns[i].shape[schema->infos[i].is_chw ? 1 : 0];
}

static mix_box draw_box(const sli_draws *draws, double lambda, uint32_t width, uint32_t height)
{
    uint32_t bits[4];

    sli_draw(draws, 0, bits);
    return mix_box_around(sli_below(bits[0], width), sli_below(bits[1], height), lambda, width,
                          height);
}

static void cutmix_batch(const void *args, const batch_view *batch)
{
    const stage_schema *schema = batch->schema;
    double lambda = mix_draw_lambda(args, batch);
    mix_box box = {0, 0, 0, 0};
    bool drawn = false;

    for (uint32_t i = 0; i < schema->column_count; i++) {
        const uint64_t *size = size_of(schema, i);

        if (schema_is_image(schema, i)) {
            if (!drawn) {
                box = draw_box(&batch->draws, lambda, (uint32_t)size[1], (uint32_t)size[0]);
                lambda =
                    1 - (double)(box.x1 - box.x0) * (box.y1 - box.y0) / (double)(size[0] * size[1]);
                drawn = true;
            }
            mix_paste_image(batch, i, &box);
        }
    }
    mix_labels(args, batch, lambda);
}

/* One box serves all images. Those that a map writes may have another size. */
static sluice_status check_sizes(const stage_schema *schema)
{
    const uint64_t *first = NULL;

    for (uint32_t i = 0; i < schema->column_count; i++) {
        const uint64_t *size = size_of(schema, i);

        if (!schema_is_image(schema, i)) {
            continue;
        }
        if (first != NULL && (size[0] != first[0] || size[1] != first[1])) {
            return sli_fail(SLUICE_E_INVALID,
                            "cutmix: image %s has %llux%llu pixels, and an earlier one %llux%llu; "
                            "the sizes must be equal; resize, or drop it before batch",
                            schema->columns[i].name, (unsigned long long)size[1],
                            (unsigned long long)size[0], (unsigned long long)first[1],
                            (unsigned long long)first[0]);
        }
        first = first != NULL ? first : size;
    }
    return SLUICE_OK;
}

static sluice_status cutmix_infer(const void *args, stage_schema *schema)
{
    const sluice_status st = mix_infer("cutmix", args, schema);

    return st == SLUICE_OK ? check_sizes(schema) : st;
}

static const stage_param cutmix_params[] = {MIX_PARAMS};

const stage_def stage_cutmix = {
    .name = "cutmix",
    .summary = "Pastes a box of the sample before it into each sample of a batch: CutMix.",
    .elsewhere = "CutMix",
    .example = "batch 4 | cutmix 4",
    .gives = "image, the same shape; the label as f32 (classes)",
    .details = "References: torchvision.transforms.v2.CutMix; Yun et al., \"CutMix: "
               "Regularization Strategy to Train Strong Classifiers with Localizable "
               "Features\" (ICCV 2019).\n"
               "With r = sqrt(1 - lambda) / 2 the box is [x - w, x + w) by [y - h, y + h), "
               "clipped to the image, where (x, y) is a random pixel, and w and h are r times "
               "width and height, truncated. Labels are blended as by mixup with lambda = 1 - "
               "(area of the box) / (area of the image).\n"
               "The other row, lambda, labels, types and what is refused are those of mixup.",
    .kind = STAGE_BATCH_MAP,
    STAGE_PARAMS(cutmix_params),
    .args_size = sizeof(mix_args),
    .infer = cutmix_infer,
    .array = &mix_array_ops,
    .batch = cutmix_batch,
    .draws = true,
};
