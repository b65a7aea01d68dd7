/* SPDX-License-Identifier: Apache-2.0 */
/* The device stage: what later stages do to the image, GetNext does on the device. The planner does
 * the work (plan_conversions.c, plan_programs.c). */
#include "stage.h"

static sluice_status device_infer(const void *args, stage_schema *schema)
{
    (void)args;
    return schema->image < 0 || schema->columns[schema->image].dtype == SLUICE_ENCODED
               ? fail_missing_image(schema, "device")
               : SLUICE_OK;
}

const stage_def stage_device = {
    .name = "device",
    .summary = "All later stages of the image run on the device, in GetNext.",
    .gives = "the same columns",
    .details = "GetNext runs the later stages on the device in one pass over the image: "
               "warps, colours, erasing, flips, normalisation, type and layout, and mixup and "
               "cutmix. Workers draw the random numbers, and send the parameters of up to 8 "
               "operations with each row. The results are bit-identical to those of the "
               "workers.\n"
               "Crops, resizes, contrast, autocontrast, equalize, blurring and sharpening run "
               "on the workers, and must come before this stage. Warps after it must be "
               "adjacent, with equal filters and fills; then no warp may come before it. "
               "Masks, boxes, points and further images stay on the workers. With colour "
               "stages or warps after this stage, width and height are at most 65535.\n"
               "A later stage that the device cannot run is an error, and so are a later "
               "stage with offload=host and a later map that uses the image. The stage "
               "needs a decoded image, and a pipeline has it once.",
    .kind = STAGE_DEVICE,
    .infer = device_infer,
};
