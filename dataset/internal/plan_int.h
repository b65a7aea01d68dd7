/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The plan of a run. It is made from a dataset's stages once the source is open, and the rank and
 * the device's capabilities are known. Afterwards it is read-only, and the engine's workers share
 * it.
 *
 * Passes of the planner, in order (plan.c): the order of samples; the columns; geometry stages,
 * joined into groups of which the first is fused with decode; the steps after geometry (maps, array
 * stages); the buffers of columns; conversions, joined into one program for the workers and one for
 * GetNext; names.
 */
#ifndef SLUICE_PLAN_INT_H
#define SLUICE_PLAN_INT_H

#include <stdbool.h>
#include <stdint.h>

#include <sluice/dataset.h>
#include <sluice/ranks.h>

#include "conversion_int.h"
#include "layout_int.h"
#include "output_int.h"
#include "row_program_int.h"
#include "text_int.h"

/* Policy for a sample that cannot be read or decoded. The values equal those of sluice_on_error. */
typedef enum sli_error_policy {
    SLI_ON_ERROR_FAIL = 0,    /* the run ends with the error */
    SLI_ON_ERROR_REPLACE = 1, /* another sample replaces it */
    SLI_ON_ERROR_ZERO = 2     /* its row is zero, and its element of the column `mask` is 0 */
} sli_error_policy;

/* The planner's inputs other than the dataset. */
typedef struct sli_run_settings {
    uint64_t seed;
    uint32_t rank;
    uint32_t world;
    sli_error_policy on_error;
    bool prefer_device; /* offload=auto selects the device, since a bus transfers the batches */
    bool copies;        /* batches are copied to memory of the device, or read across a bus */
} sli_run_settings;

/* A position in a run, between two batches. */
typedef struct sli_position {
    uint64_t pass;
    uint64_t done; /* samples of the pass before this position, over all ranks, including padding */
} sli_position;

struct plan_details; /* private to the dataset module */

typedef struct sli_plan {
    sluice_dataset *dataset; /* borrowed */
    sli_run_settings settings;
    uint32_t batch_size;
    bool drop_remainder;
    uint64_t samples_per_pass; /* over all ranks; if unknown (sli_plan_uncounted()), a number larger
                                  than any real one */
    uint64_t batches_per_pass; /* on each rank; if unknown, likewise larger than any real number */
    sli_position begin;        /* where the run begins */
    uint64_t begin_batches;    /* batches in the rest of the first pass, at least 1 */
    uint32_t column_count;
    uint32_t wire_count; /* number of wire columns: column_count, unless device_widens; one more if
                            there are row programs */
    sluice_column wire[SLUICE_MAX_COLUMNS]; /* (wire_count) columns as workers write them */
    sluice_column seen[SLUICE_MAX_COLUMNS]; /* (column_count) columns as a step receives them */
    uint32_t wire_ragged;                   /* bit i: column i of wire is ragged (layout_int.h) */
    int image_column;                       /* index of the image column; -1: no image */
    int label_column;                       /* index of the label column; -1: no label */
    int mask_column;    /* index in wire of the column that SLI_ON_ERROR_ZERO adds; else -1 */
    bool device_widens; /* GetNext computes `seen` from `wire`, as described by `outputs` */
    sli_output outputs[SLUICE_MAX_COLUMNS]; /* (column_count) valid if device_widens */
    bool device_converts;
    sli_conversion device_conversion;
    bool device_colors; /* GetNext applies colour stages before device_conversion; then
                           device_converts is true */
    bool device_mixes;  /* GetNext mixes rows of the image, after device_conversion; then
                           device_converts is true */
    int program_column; /* index in wire of the row programs of both, the last one; not a column of
                           steps; -1: none */
    sli_conversion host_conversion;
    uint32_t stage_count;        /* number of profile stages that run in workers */
    const char *stage_names[12]; /* "": unused entry */
    struct plan_details *details;
} sli_plan;

/*
 * Opens the dataset, unless it is open, and makes the plan. E_INVALID: the pipeline has no batch
 * stage, the source has no samples, or a stage does not fit its input columns.
 */
sluice_status sli_plan_open(sluice_dataset *dataset, const sli_run_settings *settings,
                            sli_plan **plan_out);
void sli_plan_close(sli_plan *plan);

/* What a queue must know of the row programs of batches. */
sli_row_programs sli_plan_programs(const sli_plan *plan);

/* Makes the layout of the batches that workers write. Returns E_INVALID as sli_layout_make(). */
sluice_status sli_plan_layout(const sli_plan *plan, sli_layout *layout_out);

/*
 * Sets the position at which the run begins, and the number of batches per step. The batches of a
 * pass are rounded down to a multiple of `group`; the remaining samples are left out. Without this
 * call a run begins at the first sample, with group 1. E_INVALID: a pass has fewer batches than
 * `group`; or the source has its own order, and either the number of batches is not a multiple of
 * `group` or the position is within a batch.
 */
sluice_status sli_plan_begin(sli_plan *plan, const sli_position *position, uint32_t group);

/*
 * Sets the run to begin after `batches` batches, counted from the first sample on; else as
 * sli_plan_begin(). If the number of samples per pass is unknown, the engine reads them to count
 * them, and the run may begin in a later pass.
 */
sluice_status sli_plan_begin_after(sli_plan *plan, uint64_t batches, uint32_t group);

/* Returns the run's position after `batches` batches. */
sli_position sli_plan_position(const sli_plan *plan, uint64_t batches);

/*
 * If the number of samples per pass is unknown: returns the number of batches of the run up to the
 * end of a pass; UINT64_MAX: that is not known yet. A batch that has been published, while this is
 * not known, is in the pass or an earlier one. Callable from any thread.
 */
uint64_t sli_plan_pass_end(const sli_plan *plan, uint64_t pass);

/*
 * If the number of samples per pass is unknown: returns the run's position after `batches` batches,
 * as one in this pass, also at its end, where sli_plan_position() gives the next pass. All earlier
 * passes must have ended.
 */
sli_position sli_plan_position_in(const sli_plan *plan, uint64_t pass, uint64_t batches);

/* Returns the number of passes that the first `batches` batches of the run span. */
uint64_t sli_plan_passes(const sli_plan *plan, uint64_t batches);

/* Returns the number of samples in the rest of the run's first pass, over all ranks. */
uint64_t sli_plan_left(const sli_plan *plan);

/*
 * Returns why the number of samples per pass is unknown, as a noun for messages: "a stream", "a
 * dataset with a filter", "... with pack" or "... with bucket". NULL: the number is known.
 */
const char *sli_plan_uncounted(const sli_plan *plan);

/* Returns what the rows of batches are, for "batches of 4 %s"; sli_plan_uncounted() is not NULL. */
const char *sli_plan_rows(const sli_plan *plan);

/* True if the source is a stream, which is read sequentially. */
bool sli_plan_is_stream(const sli_plan *plan);

/*
 * True if the source is a stream that can be read only once, such as a pipe. It then serves one
 * pass of one run.
 */
bool sli_plan_reads_once(const sli_plan *plan);

/*
 * True if the last batch of a pass is padded, on any rank; for a stream, if it may be. *rest_out:
 * only the run's first pass is affected, because the run began in the middle of it.
 */
bool sli_plan_pads(const sli_plan *plan, bool *rest_out);

/*
 * True if the pipeline itself distributes samples to ranks, by a stage or the source's own order. A
 * pass can then be resumed in the middle only with the number of ranks that began it.
 */
bool sli_plan_has_own_sharding(const sli_plan *plan);

/* True if the order depends on the batch size and the number of ranks: the source has an order of
 * its own, or there is a stage bucket. */
bool sli_plan_has_own_order(const sli_plan *plan);

/* Appends a description of the plan: the result of each planner pass, and the reason for it. */
void sli_plan_explain(const sli_plan *plan, sli_text *text);

/* Returns the name of the source stage. */
const char *sli_plan_source(const sli_plan *plan);

/*
 * Returns the bytes of memory used by the source's list of samples, and by index stages for
 * members, weights and classes.
 */
uint64_t sli_plan_source_memory(const sli_plan *plan);

/* Returns the most bytes that the shuffle buffers of a stream have held so far. */
uint64_t sli_plan_stream_held(const sli_plan *plan);

/*
 * Returns an upper bound on the memory in bytes for samples of a stream with `workers` workers; 0
 * for other sources.
 */
uint64_t sli_plan_stream_memory(const sli_plan *plan, uint32_t workers);

/* Returns the bound on the memory of the stage cache; 0: the pipeline has none. *shared_out: the
 * ranks of a machine share this memory. */
uint64_t sli_plan_cache_bytes(const sli_plan *plan, bool *shared_out);

/*
 * If the pipeline has a shared cache, and this is the first call on the dataset: creates the cache
 * with the other ranks of this machine, collectively. If that fails, it logs a warning, and creates
 * a private cache of this rank's part of the bytes, or none. E_INVALID: bytes are too few for the
 * samples, or SLUICE_EXCHANGE_MS is invalid.
 */
sluice_status sli_plan_share_cache(const sli_plan *plan, const sluice_ranks *ranks);

/* Identifies a dataset when a run is resumed; independent of the folder of the files. */
typedef struct sli_dataset_identity {
    uint64_t samples; /* number of samples of the source */
    uint64_t names;   /* hash of the samples' names (all of them, or up to 1024 evenly spaced ones),
                         and of the data of subset, weights and balance */
    char *stages;     /* text of the stages between source and batch; includes the source if its
                         arguments identify it (user code, tokens) */
    char *source;     /* text of the source, with the arguments on which the data depend; NULL: a
                         version that stored none */
} sli_dataset_identity;

void sli_dataset_identity_free(sli_dataset_identity *identity);

/*
 * Checks that the stages in a checkpoint give the same results as those of this run. E_INVALID:
 * they do not; the message has the stages and arguments that differ. Also returns E_NO_MEMORY. A
 * stage decode of a version without orient= is accepted (sli_stages_keep_stored()).
 */
sluice_status sli_stages_compare(const char *kept, const char *mine);

/*
 * Checks the stages in a state of version 0.1, which sli_stages_compare() has accepted.
 * E_UNSUPPORTED: they give other pixels since then; the message has the stages and what changed.
 * Also returns E_NO_MEMORY.
 */
sluice_status sli_stages_check_changed(const char *stages);

/*
 * True if the stages in a state, which sli_stages_compare() has accepted, are of a version before
 * decode orient=, and those of this run apply Exif orientations. Only files without an orientation
 * give the same pixels then.
 */
bool sli_stages_keep_stored(const char *kept, const char *mine);

/* Makes the first image with an Exif orientation, where the run applies it, end the run:
 * sli_stages_keep_stored() is true for it. Call before the engine starts. */
void sli_plan_keep_stored(sli_plan *plan);

/*
 * Makes a text that is the same for two texts of stages if and only if sli_stages_compare() finds
 * no difference; a text that this library cannot parse is its own. The caller frees it by
 * sluice_string_free(). Returns E_NO_MEMORY on failure.
 */
sluice_status sli_stages_canonical(const char *stages, char **canonical_out);

/* Logs a warning for each function of the program among the stages that has no version. */
void sli_stages_warn_unversioned(const char *stages);

/* Makes the identity of the plan's dataset; freed by sli_dataset_identity_free(). Returns
 * E_NO_MEMORY on failure. */
sluice_status sli_plan_identity(const sli_plan *plan, sli_dataset_identity *identity_out);

#endif
