/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The random_horizontal_flip and random_vertical_flip stages: torchvision's RandomHorizontalFlip
 * and RandomVerticalFlip. They are conversions. A horizontal flip leaves pixels in their line. For
 * a vertical flip, workers write the lines in reverse order, so the device has no part in it.
 */
#include "layout_int.h"
#include "stage.h"
#include "status_int.h"

typedef struct flip_args {
    conversion_args common;
    double p;
} flip_args;

static sluice_status infer(const char *stage, const stage_schema *schema)
{
    if (schema->image < 0 || schema->columns[schema->image].dtype == SLUICE_ENCODED) {
        return sli_fail(SLUICE_E_INVALID, "%s: there is no decoded image; put decode before it",
                        stage);
    }
    for (uint32_t i = 0; i < schema->column_count && schema->is_mapped; i++) {
        const column_role role = schema->infos[i].role;

        if (schema->maps_followers || schema_follows(role) || role == ROLE_GEOMETRY) {
            return sli_fail(SLUICE_E_INVALID,
                            "%s comes after a map; put it before, since masks and boxes do not "
                            "follow the image any more",
                            stage);
        }
    }
    return SLUICE_OK;
}

static sluice_status horizontal_infer(const void *args, stage_schema *schema)
{
    (void)args;
    return infer("random_horizontal_flip", schema);
}

static sluice_status vertical_infer(const void *args, stage_schema *schema)
{
    (void)args;
    return infer("random_vertical_flip", schema);
}

static void horizontal_convert(const void *args, const column_info *before, conversion_state *state)
{
    (void)args;
    (void)before;
    state->flip = true;
}

/* Lines are reversed for each row, by its flags, with any program. */
static void vertical_convert(const void *args, const column_info *before, conversion_state *state)
{
    (void)args;
    (void)before;
    (void)state;
}

static bool flip_draws(const void *args, const sli_draws *draws)
{
    uint32_t bits[4];

    sli_draw(draws, 0, bits);
    return sli_unit(bits[0]) < ((const flip_args *)args)->p;
}

static const stage_param horizontal_params[] = {
    PARAM_(flip_args, p, PARAM_REAL, "0.5", 0, 1, NULL, "the probability"),
    OFFLOAD_PARAM,
};

const stage_def stage_random_horizontal_flip = {
    .name = "random_horizontal_flip",
    .summary = "Flips the image left to right with probability p.",
    .gives = "the same shape and type",
    .kind = STAGE_CONVERSION,
    .draws = true,
    STAGE_PARAMS(horizontal_params),
    .args_size = sizeof(flip_args),
    .infer = horizontal_infer,
    .convert = horizontal_convert,
    .moves = true,
    .flips = flip_draws,
    .row_flag = SLI_ROW_FLIP,
};

sluice_status sluice_dataset_random_horizontal_flip(sluice_dataset *dataset, double p)
{
    const flip_args args = {.p = p};

    return dataset_append(dataset, &stage_random_horizontal_flip, &args);
}

/* Without OFFLOAD_PARAM: workers do it. */
static const stage_param vertical_params[] = {
    PARAM_(flip_args, p, PARAM_REAL, "0.5", 0, 1, NULL, "the probability"),
};

const stage_def stage_random_vertical_flip = {
    .name = "random_vertical_flip",
    .summary = "Flips the image upside down with probability p.",
    .gives = "the same shape and type",
    .kind = STAGE_CONVERSION,
    .draws = true,
    STAGE_PARAMS(vertical_params),
    .args_size = sizeof(flip_args),
    .infer = vertical_infer,
    .convert = vertical_convert,
    .moves = true,
    .flips = flip_draws,
    .row_flag = SLI_ROW_FLIP_LINES,
};

sluice_status sluice_dataset_random_vertical_flip(sluice_dataset *dataset, double p)
{
    const flip_args args = {.p = p};

    return dataset_append(dataset, &stage_random_vertical_flip, &args);
}
