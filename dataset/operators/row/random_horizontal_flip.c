/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The random_horizontal_flip stage: flips left to right. It is a conversion, since pixels stay in
 * their line.
 */
#include "stage.h"
#include "status_int.h"

typedef struct flip_args {
    conversion_args common;
    double p;
} flip_args;

static sluice_status flip_infer(const void *args, stage_schema *schema)
{
    (void)args;
    if (schema->image < 0 || schema->columns[schema->image].dtype == SLUICE_ENCODED) {
        return sli_fail(SLUICE_E_INVALID,
                        "random_horizontal_flip: there is no decoded image; put decode before it");
    }
    for (uint32_t i = 0; i < schema->column_count && schema->is_mapped; i++) {
        const column_role role = schema->infos[i].role;

        if (schema->maps_followers || schema_follows(role) || role == ROLE_GEOMETRY) {
            return sli_fail(SLUICE_E_INVALID,
                            "random_horizontal_flip comes after a map; put it before, since "
                            "masks and boxes do not follow the image any more");
        }
    }
    return SLUICE_OK;
}

static void flip_convert(const void *args, const column_info *before, conversion_state *state)
{
    (void)args;
    (void)before;
    state->flip = true;
}

static bool flip_draws(const void *args, const sli_draws *draws)
{
    uint32_t bits[4];

    sli_draw(draws, 0, bits);
    return sli_unit(bits[0]) < ((const flip_args *)args)->p;
}

static const stage_param flip_params[] = {
    PARAM_(flip_args, p, PARAM_REAL, "0.5", 0, 1, NULL, "the probability"),
    OFFLOAD_PARAM,
};

const stage_def stage_random_horizontal_flip = {
    .name = "random_horizontal_flip",
    .summary = "Flips the image left to right with probability p.",
    .gives = "the same shape and type",
    .kind = STAGE_CONVERSION,
    .draws = true,
    STAGE_PARAMS(flip_params),
    .args_size = sizeof(flip_args),
    .infer = flip_infer,
    .convert = flip_convert,
    .moves = true,
    .flips = flip_draws,
};

sluice_status sluice_dataset_random_horizontal_flip(sluice_dataset *dataset, double p)
{
    const flip_args args = {.p = p};

    return dataset_append(dataset, &stage_random_horizontal_flip, &args);
}
