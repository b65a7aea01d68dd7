/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The plan of a run: what a dataset's stages become once the source is open, the rank is known and
 * the device's abilities are. Read-only once made; the engine's workers share it.
 *
 * Passes, in order (plan.c): the order of samples; the columns; geometry stages into groups, the
 * first of which is fused with decode; conversions into programs for the workers and for GetNext.
 */
#ifndef SLUICE_PLAN_INT_H
#define SLUICE_PLAN_INT_H

#include <stdbool.h>
#include <stdint.h>

#include <sluice/dataset.h>

#include "conversion_int.h"
#include "layout_int.h"
#include "text_int.h"

/* What to do with a sample that cannot be read or decoded. Numbers as in the public config. */
typedef enum sli_error_policy {
    SLI_ON_ERROR_FAIL = 0,    /* the run ends with the error */
    SLI_ON_ERROR_REPLACE = 1, /* another sample takes its place */
    SLI_ON_ERROR_ZERO = 2     /* its rows are zero, and a column `mask` says so */
} sli_error_policy;

/* What a plan depends on besides the dataset. */
typedef struct sli_run_settings {
    uint64_t seed;
    uint32_t rank;
    uint32_t world;
    sli_error_policy on_error;
    bool prefer_device; /* offload=auto means the device: where bytes cross a bus */
} sli_run_settings;

struct plan_details; /* of the dataset module */

typedef struct sli_plan {
    sluice_dataset *dataset; /* borrowed */
    sli_run_settings settings;
    uint32_t batch_size;
    bool drop_remainder;
    uint64_t samples_per_pass; /* over all ranks */
    uint64_t batches_per_pass; /* of every rank */
    uint32_t column_count;
    sluice_column wire[SLUICE_MAX_COLUMNS]; /* as workers write them */
    sluice_column seen[SLUICE_MAX_COLUMNS]; /* as a step sees them */
    int image_column;                       /* -1: none */
    int label_column;                       /* -1: none */
    int mask_column;                        /* 1 for a sample, 0 for zeros in its place; -1: none */
    bool device_converts;
    sli_conversion device_conversion;
    sli_conversion host_conversion;
    uint32_t stage_count; /* of the profile, workers' stages only */
    const char *stage_names[8];
    struct plan_details *details;
} sli_plan;

/* Opens the dataset if need be. E_INVALID no batch, no sample, columns that do not fit. */
sluice_status sli_plan_open(sluice_dataset *dataset, const sli_run_settings *settings,
                            sli_plan **plan_out);
void sli_plan_close(sli_plan *plan);

/* Says what the passes did and why, a line each. */
void sli_plan_explain(const sli_plan *plan, sli_text *text);

/* Bytes kept for the list of samples: the source's, and the members of splits. */
uint64_t sli_plan_source_memory(const sli_plan *plan);

/* What makes a dataset the same one for a run that is resumed, wherever its files lie now. */
typedef struct sli_dataset_identity {
    uint64_t samples; /* of the source */
    uint64_t names;   /* a hash of samples' names: of all, or of 1024 spread over them */
    char *stages;     /* the pipeline's text after its source; freed by sluice_string_free() */
} sli_dataset_identity;

/* E_NO_MEMORY. */
sluice_status sli_plan_identity(const sli_plan *plan, sli_dataset_identity *identity_out);

#endif
