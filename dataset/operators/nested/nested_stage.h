/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What random_apply, random_choice and random_order share. Each has three definitions of one name:
 * of a colour stage; of a stage of geometry, for branches with crops, resizes or flips; and of a
 * batch map, for branches of batch maps.
 */
#ifndef SLUICE_NESTED_STAGE_H
#define SLUICE_NESTED_STAGE_H

#include "array_ops.h"
#include "batch_view.h"
#include "color_ops.h"
#include "geometry_ops.h"
#include "nested_stages.h"
#include "operators/color/color_stage.h"

typedef struct nested_args {
    color_args common;
    nested_stages *nested;
    double p; /* of random_apply */
} nested_args;

/*
 * Chooses the branches to apply, in order, by the first blocks of the stage's random numbers.
 * Returns their number.
 */
typedef uint32_t nested_choice(const nested_args *args, const sli_draws *draws,
                               uint32_t order[NESTED_BRANCHES]);

/* stage_def.retain and .release */
void nested_args_retain(void *args);
void nested_args_release(void *args);

/* Checks that there are branches, that all or none have weights (none unless `weighted`), and that
 * nested stages have no `columns`. */
sluice_status nested_check(const char *stage, bool weighted, const nested_args *args);

/* Which of the branches are applied to an image. */
typedef enum nested_use {
    NESTED_ALL_OR_NONE, /* in order */
    NESTED_ONE,
    NESTED_ANY_ORDER /* all */
} nested_use;

/* stage_def.infer: updates the columns to those after the branches. */
sluice_status nested_infer(const char *stage, nested_use use, const nested_args *args,
                           stage_schema *schema);

/* color_ops.is_by_pixel: true if it holds for all nested stages. args: nested_args */
bool nested_is_by_pixel(const void *args);

/* color_ops.warps_with, branch_ops.warps: true if a nested stage may warp the image. */
bool nested_warps(const void *args);

/* color_ops.add and stage_def.batch: applies the branches that are chosen. */
void nested_colors(nested_choice *choose, const nested_args *args, const sli_draws *draws,
                   color_chain *chain);
void nested_batch(nested_choice *choose, const nested_args *args, const batch_view *batch);

/* array_ops of batch maps: those of the first nested stage. */
const char *nested_array_column(const void *args);
sluice_status nested_array(const void *args, const sluice_column *from_type, const void *from,
                           const sluice_column *to_type, void *to);

#define NESTED_PARAM                                                                               \
    {                                                                                              \
        .name = "stages", .type = PARAM_STAGES,                                                    \
        .offset = PARAM_OFFSET_(nested_args, nested, PARAM_STAGES),                                \
        .help = "in parentheses: stages of colours, warps and geometry, or mixup and cutmix"       \
    }

/* The fields that all definitions have. `prefix`: of the functions of the file. */
#define NESTED_FIELDS(prefix)                                                                      \
    .name = #prefix, STAGE_PARAMS(prefix##_params), .args_size = sizeof(nested_args),              \
    .check = prefix##_check, .retain = nested_args_retain, .release = nested_args_release,         \
    .infer = prefix##_infer, .selects = true, .draws = true

/* Defines the functions and the definition of the batch map. */
#define NESTED_VARIANTS(prefix, is_weighted, use)                                                  \
    static sluice_status prefix##_check(void *args)                                                \
    {                                                                                              \
        return nested_check(#prefix, is_weighted, args);                                           \
    }                                                                                              \
                                                                                                   \
    static sluice_status prefix##_infer(const void *args, stage_schema *schema)                    \
    {                                                                                              \
        return nested_infer(#prefix, use, args, schema);                                           \
    }                                                                                              \
                                                                                                   \
    static void prefix##_colors(const void *args, const sli_draws *draws, color_chain *chain)      \
    {                                                                                              \
        nested_colors(prefix##_choice, args, draws, chain);                                        \
    }                                                                                              \
                                                                                                   \
    static void prefix##_batch(const void *args, const batch_view *batch)                          \
    {                                                                                              \
        nested_batch(prefix##_choice, args, batch);                                                \
    }                                                                                              \
                                                                                                   \
    static const color_ops prefix##_color = {                                                      \
        .add = prefix##_colors,                                                                    \
        .is_by_pixel = nested_is_by_pixel,                                                         \
        .warps = true,                                                                             \
        .warps_with = nested_warps,                                                                \
        .places = true,                                                                            \
    };                                                                                             \
                                                                                                   \
    static uint32_t prefix##_branches(const void *args, const sli_draws *draws, uint32_t *order)   \
    {                                                                                              \
        return prefix##_choice(args, draws, order);                                                \
    }                                                                                              \
                                                                                                   \
    static const branch_ops prefix##_branch_ops = {                                                \
        .choose = prefix##_branches,                                                               \
        .warps = nested_warps,                                                                     \
    };                                                                                             \
                                                                                                   \
    static const stage_def prefix##_of_geometry = {                                                \
        NESTED_FIELDS(prefix),                                                                     \
        .summary = "",                                                                             \
        .gives = "",                                                                               \
        .kind = STAGE_GEOMETRY,                                                                    \
        .geometry =                                                                                \
            &(const geometry_ops){                                                                 \
                .branches = &prefix##_branch_ops,                                                  \
            },                                                                                     \
    };                                                                                             \
                                                                                                   \
    static const stage_def prefix##_of_batches = {                                                 \
        NESTED_FIELDS(prefix),                                                                     \
        .summary = "",                                                                             \
        .gives = "",                                                                               \
        .kind = STAGE_BATCH_MAP,                                                                   \
        .array =                                                                                   \
            &(const array_ops){                                                                    \
                .column = nested_array_column,                                                     \
                .compute = nested_array,                                                           \
            },                                                                                     \
        .batch = prefix##_batch,                                                                   \
    };                                                                                             \
                                                                                                   \
    static const stage_def *prefix##_variant(const void *args)                                     \
    {                                                                                              \
        const nested_stages *nested = ((const nested_args *)args)->nested;                         \
                                                                                                   \
        return nested_are_batch_maps(nested)  ? &prefix##_of_batches                               \
               : nested_have_geometry(nested) ? &prefix##_of_geometry                              \
                                              : &stage_##prefix;                                   \
    }

/* The fields of the definition of the colour stage, besides texts. */
#define NESTED_COLOR_FIELDS(prefix)                                                                \
    NESTED_FIELDS(prefix), .kind = STAGE_COLOR, .variant = prefix##_variant,                       \
                           .color = &prefix##_color

#endif
