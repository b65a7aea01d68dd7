/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The plan of a run. It is made from a dataset's stages once the source is open, and the rank and
 * the device's capabilities are known. It is read-only then; the engine's workers share it.
 *
 * Passes of the planner, in order (plan.c): the order of samples; the columns; geometry stages,
 * joined into groups of which the first is fused with decode; conversions, joined into one program
 * for the workers and one for GetNext.
 */
#ifndef SLUICE_PLAN_INT_H
#define SLUICE_PLAN_INT_H

#include <stdbool.h>
#include <stdint.h>

#include <sluice/dataset.h>

#include "conversion_int.h"
#include "layout_int.h"
#include "text_int.h"

/* What to do with a sample that cannot be read or decoded. Values as sluice_on_error. */
typedef enum sli_error_policy {
    SLI_ON_ERROR_FAIL = 0,    /* the run ends with the error */
    SLI_ON_ERROR_REPLACE = 1, /* another sample replaces it */
    SLI_ON_ERROR_ZERO = 2     /* its row is zero, and so is its entry in a column `mask` */
} sli_error_policy;

/* What a plan depends on besides the dataset. */
typedef struct sli_run_settings {
    uint64_t seed;
    uint32_t rank;
    uint32_t world;
    sli_error_policy on_error;
    bool prefer_device; /* offload=auto means the device, since batches cross a bus */
} sli_run_settings;

/* A position between two batches. */
typedef struct sli_position {
    uint64_t pass;
    uint64_t done; /* samples of the pass before it, over all ranks; padding counts as samples */
} sli_position;

struct plan_details; /* private to the dataset module */

typedef struct sli_plan {
    sluice_dataset *dataset; /* borrowed */
    sli_run_settings settings;
    uint32_t batch_size;
    bool drop_remainder;
    uint64_t samples_per_pass; /* over all ranks; of a stream a number beyond any real one */
    uint64_t batches_per_pass; /* of each rank; of a stream as above */
    sli_position begin;        /* of the run */
    uint64_t begin_batches;    /* batches in the rest of the first pass, at least 1 */
    uint32_t column_count;
    sluice_column wire[SLUICE_MAX_COLUMNS]; /* as workers write them */
    sluice_column seen[SLUICE_MAX_COLUMNS]; /* as a step sees them */
    int image_column;                       /* -1: none */
    int label_column;                       /* -1: none */
    int mask_column;                        /* of SLI_ON_ERROR_ZERO; -1: none */
    bool device_converts;
    sli_conversion device_conversion;
    sli_conversion host_conversion;
    uint32_t stage_count;        /* stages of the profile that workers run */
    const char *stage_names[12]; /* "": not used */
    struct plan_details *details;
} sli_plan;

/* Opens the dataset unless it is open, and makes the plan. E_INVALID: the pipeline has no batch
 * stage, the source no sample, or a stage does not fit the columns that it gets. */
sluice_status sli_plan_open(sluice_dataset *dataset, const sli_run_settings *settings,
                            sli_plan **plan_out);
void sli_plan_close(sli_plan *plan);

/*
 * Sets where the run begins, and the number of batches per step: a pass then has a multiple of
 * `group` batches, and the rest of its samples are left out. Without this call a plan begins at the
 * first sample, with group 1. E_INVALID: a pass has fewer batches than `group`; of an order of the
 * source's own: their number is no multiple of it, or the position is within a batch.
 */
sluice_status sli_plan_begin(sli_plan *plan, const sli_position *position, uint32_t group);

/* The position of the run after `batches` batches. */
sli_position sli_plan_position(const sli_plan *plan, uint64_t batches);

/* How many passes the first `batches` batches of the run are taken from. */
uint64_t sli_plan_passes(const sli_plan *plan, uint64_t batches);

/* Samples in the rest of the run's first pass, over all ranks. */
uint64_t sli_plan_left(const sli_plan *plan);

/* Is the source a stream, read sequentially, of an unknown number of samples? */
bool sli_plan_is_stream(const sli_plan *plan);

/* Is the source a pipe? It then gives one pass, to one run. */
bool sli_plan_reads_once(const sli_plan *plan);

/* Is the last batch of a pass padded, on any rank? For a stream: may it be? *rest_out: only that of
 * the run's first pass is, which began in the middle. */
bool sli_plan_pads(const sli_plan *plan, bool *rest_out);

/* Does a stage of the pipeline distribute samples to ranks? Then only as many ranks as began a pass
 * can resume in the middle of it. */
bool sli_plan_deals_itself(const sli_plan *plan);

/* Has the source an order of its own? It is bound to the batch size and the number of ranks. */
bool sli_plan_has_own_order(const sli_plan *plan);

/* Adds one line per pass of the planner: what it did, and why. */
void sli_plan_explain(const sli_plan *plan, sli_text *text);

/* The name of the source stage. */
const char *sli_plan_source(const sli_plan *plan);

/* Bytes of memory that the source takes for its list of samples, and splits for theirs. */
uint64_t sli_plan_source_memory(const sli_plan *plan);

/* The most bytes that samples of a stream take with `workers` workers; 0 for other sources. */
uint64_t sli_plan_stream_memory(const sli_plan *plan, uint32_t workers);

/* Identifies a dataset when a run is resumed, independent of the folder that its files are in. */
typedef struct sli_dataset_identity {
    uint64_t samples; /* of the source */
    uint64_t names;   /* hash of the samples' names: of all, or of 1024 at equal distances */
    char *stages;     /* the pipeline's text between source and batch, with a source of the user's
                         code; freed by sluice_string_free() */
} sli_dataset_identity;

/*
 * Do the stages of a checkpoint and those of this run make the same bits? E_INVALID: they do not;
 * the error text has the stages and arguments that differ. E_NO_MEMORY.
 */
sluice_status sli_stages_compare(const char *kept, const char *mine);

/* E_NO_MEMORY. */
sluice_status sli_plan_identity(const sli_plan *plan, sli_dataset_identity *identity_out);

#endif
