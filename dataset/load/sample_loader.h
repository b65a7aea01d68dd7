/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loads a sample: from its file to its row of a batch, completely on one worker:
 *
 *     read -> decode (what the crop needs) -> resample -> convert -> row
 *
 * Then its masks and boxes are processed, since they depend on the geometry of the image.
 */
#ifndef SLUICE_SAMPLE_LOADER_H
#define SLUICE_SAMPLE_LOADER_H

#include "fault_int.h"
#include "image_notes_int.h"
#include "image_tools.h"
#include "index_counts_int.h"
#include "operation_clock.h"
#include "plan.h"
#include "sample_cached.h"
#include "sample_transform.h"
#include "slow_samples.h"
#include "stage_clock_int.h"

/* A worker's current activity, for stall diagnostics; written by the worker, read by any thread. */
typedef struct worker_state {
    _Atomic(const char *) stage; /* name of the current stage; "": the worker is between samples */
    _Atomic uint64_t sample;
    _Atomic uint64_t since_ticks;
    _Atomic uint64_t seq;  /* sequence number of the batch whose rows the worker is filling */
    _Atomic uint32_t rows; /* rows of that batch filled but not yet reported to the queue */
} worker_state;

/* Index statistics of one worker (sli_index_counts); written by the worker, read by any thread. */
typedef struct worker_indexes {
    _Atomic uint64_t asked;
    _Atomic uint64_t used;
    _Atomic uint64_t made;
    _Atomic uint64_t refused;
    _Atomic uint64_t lacking;
    _Atomic uint64_t above;
    _Atomic uint64_t needed;
} worker_indexes;

/* What a worker reports of its work. */
typedef struct worker_report {
    worker_state state;
    worker_indexes indexes;
    _Atomic uint64_t image_notes[SLI_IMAGE_NOTES]; /* images of each kind; read by any thread */
    sli_counters *counters[PLAN_PROFILED];         /* this worker's counters */
    sli_stage_clock clock;                         /* of this worker's thread */
    slow_samples slow;
    _Atomic int64_t allocated; /* bytes for this worker, by sli_alloc_count_in() */
} worker_report;

/* A worker's states of the maps and filters of the plan. NULL: not created yet. */
typedef struct map_states {
    sluice_sample *samples;     /* of maps of samples, indexed by step of the plan */
    sluice_host_batch *batches; /* of maps of batches, in order */
    uint32_t *rows; /* (batch_size) for batch_view.rows; this and `saved_row` are NULL before the
                       first batch map of the library */
    uint8_t *saved_row; /* for batch_view.saved */
} map_states;

/* The outcome of loading a sample. */
typedef struct sample_outcome {
    const char *stage;   /* name of the stage that it was in last: if it failed, in this one */
    sli_fault fault;     /* machine fault of its read; NONE: no fault */
    bool is_noted;       /* its failure is already in the list of bad samples */
    bool dropped;        /* a filter has dropped it */
    uint64_t read_ticks; /* duration of its read, 0 if that failed; next field: bytes of the read */
    uint64_t read_bytes;
    uint32_t boxes_below;     /* boxes that the limits of sanitize_boxes dropped */
    uint64_t document_length; /* with pack: its tokens (sample_load_filtered()) */
    uint32_t bucket;          /* with bucket: its bucket (sample_load_filtered()) */
} sample_outcome;

/* The state of one worker. */
struct sample_loader {
    const sli_plan *plan;
    sample_io io;
    image_tools tools;
    drawn_transforms drawn; /* for the last sample */
    cached_samples cached;
    map_states maps;
    sample_outcome last; /* of the last sample */
    worker_report report;
    operation_clock clock;
    uint8_t *scratch;  /* memory of columns that are not in the row (plan_buffer) */
    uint8_t *own_rows; /* the worker's private rows (plan_dealing.own_rows); NULL: there is no
                          filter, pack or bucket */
    struct sample_mosaic *mosaic; /* NULL: there is no mosaic */
    struct error_samples *errors; /* for bad partners of mosaics; NULL: no list */
    uint64_t run_pass;            /* the pass of the row; that of a sample's draws may be another */
    bool filters;                 /* sample_load() must call the filters */
    bool drops;                   /* drop the samples' pages from the page cache after use */
};

/* The destination of a sample: its row in each column. */
typedef struct sample_row {
    void *columns[SLUICE_MAX_COLUMNS];
    uint8_t *flags;
    uint32_t extent; /* entries in its rows of ragged columns (layout_int.h); 0: none is ragged */
} sample_row;

sluice_status sample_loader_init(sample_loader *loader, const sli_plan *plan);

/* Frees the user code's state for this worker; must be the last call on the worker's thread. */
void sample_loader_end(sample_loader *loader);
void sample_loader_fini(sample_loader *loader);

/*
 * Loads a sample into its row. On failure, loader->last.stage is the stage that failed, the last
 * error has the cause, and the contents of the row are undefined.
 */
sluice_status sample_load(sample_loader *loader, uint64_t sample, uint64_t pass,
                          const sample_row *row);

/* The run's pass of the rows that follow, for mosaics. */
static inline void sample_set_pass(sample_loader *loader, uint64_t pass)
{
    loader->run_pass = pass;
}

/*
 * True if an error ends the run whatever the policy is: it is a fault of the machine (out of memory
 * or file descriptors), or an error of user code that concerns the whole run.
 */
static inline bool sample_ends_run(const sample_loader *loader, sluice_status status)
{
    return status == SLUICE_E_NO_MEMORY || sli_fault_is_of_process(loader->last.fault) ||
           loader->io.ends_run;
}

/* Adds this worker's index statistics to *counts. Callable from any thread. */
void sample_add_indexes(const worker_indexes *indexes, sli_index_counts *counts);

/*
 * Writes the message for a sample that the loader failed on, such as "decode: sample 7, cat/7.jpg:
 * why".
 */
void sample_failure_text(sample_loader *loader, uint64_t sample, char *text, size_t size);

#endif
