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
    SLI_ON_ERROR_REPLACE = 1, /* another sample replaces it */
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

/* A position between two batches: in a pass, after so many of its samples, over all ranks; padding
 * counts as samples. */
typedef struct sli_position {
    uint64_t pass;
    uint64_t done;
} sli_position;

struct plan_details; /* of the dataset module */

typedef struct sli_plan {
    sluice_dataset *dataset; /* borrowed */
    sli_run_settings settings;
    uint32_t batch_size;
    bool drop_remainder;
    uint64_t samples_per_pass; /* over all ranks; of a stream more than can be */
    uint64_t batches_per_pass; /* of every rank; the same */
    sli_position begin;        /* of the run */
    uint64_t begin_batches;    /* what is left of its first pass comes to, at least 1 */
    uint32_t column_count;
    sluice_column wire[SLUICE_MAX_COLUMNS]; /* as workers write them */
    sluice_column seen[SLUICE_MAX_COLUMNS]; /* as a step sees them */
    int image_column;                       /* -1: none */
    int label_column;                       /* -1: none */
    int mask_column;                        /* 1 for a sample, 0 for a zeroed row; -1: none */
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

/*
 * Says where the run begins, and that a step takes `group` batches and none of two passes (1: a
 * pass is as long as it is). Without this call a plan begins at the beginning. E_INVALID a pass has
 * fewer batches than that.
 */
sluice_status sli_plan_begin(sli_plan *plan, const sli_position *position, uint32_t group);

/* Where the run is after so many batches. */
sli_position sli_plan_position(const sli_plan *plan, uint64_t batches);

/* How many passes so many batches touch. */
uint64_t sli_plan_passes(const sli_plan *plan, uint64_t batches);

/* Samples that are left of the pass that the run begins in, over all ranks. */
uint64_t sli_plan_left(const sli_plan *plan);

/* Do samples come in sequence, their number unknown? */
bool sli_plan_is_stream(const sli_plan *plan);

/* Does it come by a pipe, so that there is but one pass, of one run? */
bool sli_plan_reads_once(const sli_plan *plan);

/* Is a batch of the run padded, on any rank? May be, of a stream. *rest_out: one of what is left of
 * its first pass. */
bool sli_plan_pads(const sli_plan *plan, bool *rest_out);

/* May other ranks go on in a pass than began it? Not where a stage of the pipeline deals. */
bool sli_plan_deals_itself(const sli_plan *plan);

/* Says what the passes did and why, a line each. */
void sli_plan_explain(const sli_plan *plan, sli_text *text);

/* The name of the stage that samples come from. */
const char *sli_plan_source(const sli_plan *plan);

/* Bytes kept for the list of samples: the source's, and the members of splits. */
uint64_t sli_plan_source_memory(const sli_plan *plan);

/* Bytes that samples of a stream take at most, with so many workers; 0 where there is none. */
uint64_t sli_plan_stream_memory(const sli_plan *plan, uint32_t workers);

/* What makes a dataset the same one for a run that is resumed, wherever its files lie now. */
typedef struct sli_dataset_identity {
    uint64_t samples; /* of the source */
    uint64_t names;   /* a hash of samples' names: of all, or of 1024 spread over them */
    char *stages;     /* the pipeline's text between source and batch; freed by
                         sluice_string_free() */
} sli_dataset_identity;

/*
 * Do two texts of stages, of a checkpoint and of this run, give the same bits? E_INVALID they do
 * not, and which stages or arguments differ; E_NO_MEMORY.
 */
sluice_status sli_stages_compare(const char *kept, const char *mine);

/* E_NO_MEMORY. */
sluice_status sli_plan_identity(const sli_plan *plan, sli_dataset_identity *identity_out);

#endif
