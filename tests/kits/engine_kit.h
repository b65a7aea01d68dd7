/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A run without a step: a dataset's batches, one by one, from an engine; a source that does what a
 * test tells it; and all that a run gave, to compare.
 */
#ifndef SLUICE_ENGINE_KIT_H
#define SLUICE_ENGINE_KIT_H

#include <pthread.h>

#include "engine_int.h"
#include "plan.h"
#include "stage.h"

/* ---- a source that does what a test tells it ------------------------------------------------- */

enum { MOST_SAMPLES = 4000, SIDE = 4 };

/* What reading a sample does. SLOW ones take a processor for so long that rows are claimed one by
 * one. */
typedef enum behaviour { GOOD, SLOW, BAD, NO_MEMORY, NO_DESCRIPTORS, BAD_SECTOR, BLOCKS } behaviour;

/* Samples are images u8 (SIDE, SIDE, 3) and their index as the label; names are "script/INDEX". */
struct script {
    uint64_t samples;
    pthread_mutex_t lock; /* guards what follows */
    pthread_cond_t changed;
    uint8_t behaviours[MOST_SAMPLES];
    uint32_t blocked; /* readers that wait, or have waited */
    uint32_t let;     /* so many readers need not wait */
    bool released;
    uint64_t reads; /* of bad samples */
    bool holds;     /* readahead, in its next question */
    uint64_t located;
    uint32_t locations[MOST_SAMPLES]; /* samples that readahead wanted to know of, in this order */
};

extern struct script script;
extern const stage_def stage_script;

void script_reset(uint64_t samples, behaviour all);
sluice_dataset *script_dataset(uint32_t batch, bool drop_remainder);
uint8_t script_pixel(uint64_t sample, size_t i);
void script_wait_blocked(uint32_t readers);

/* The same, for so long at most. */
bool script_await_blocked(uint32_t readers, int64_t timeout_ns);

/* Lets so many readers through that wait for samples that block, or will. */
void script_let(uint32_t readers);

/* From now on reading this sample blocks. */
void script_block(uint64_t sample);

/* Until so many reads of bad samples have begun. */
void script_wait_reads(uint64_t reads);

/* Until readahead has wanted to know of so many samples. */
void script_wait_located(uint64_t samples);

/* Lets all samples through that block, now and later. */
void script_release(void);

/* ---- a run, without a step ------------------------------------------------------------------- */

typedef struct run_options {
    const char *device; /* NULL: host:0 */
    uint32_t workers;   /* 0: 1 */
    uint32_t slots;     /* 0: 4 */
    sli_run_settings settings;
    uint64_t first_step; /* the run begins after so many batches */
    bool resumes;        /* it begins at the position that an earlier run has after them */
    uint64_t batches;    /* 0: a pass; UINT64_MAX: without end */
    uint64_t passes;     /* of a stream; 0: one, or without end where batches are given */
} run_options;

typedef struct engine_run {
    sluice_dataset *own; /* NULL: borrowed */
    sluice_device *device;
    sli_plan *plan;
    sli_layout layout;
    sli_placement *placement;
    sli_profile profile;
    sli_queue *queue;
    sli_engine *engine;
    uint64_t seq;     /* of the batch that is had, or of the last */
    sli_inputs input; /* that batch */
    bool has_batch;
} engine_run;

/* What there is to vary. */
extern const char *const devices[2];
extern const uint32_t worker_counts[3];

extern const run_options one_worker;

/* On an error nothing is left open. */
sluice_status start_run(engine_run *run, sluice_dataset *dataset, const run_options *options);

/* The same; a run that does not start fails the test. */
void open_run(engine_run *run, sluice_dataset *dataset, const run_options *options);

/* The same; close_run() also destroys the dataset. */
void open_own(engine_run *run, sluice_dataset *dataset, const run_options *options);
void close_run(engine_run *run);

/* Goes on to the next batch: OK, END_OF_DATA, or the run's error. */
sluice_status next_batch(engine_run *run);
void done_with_batch(engine_run *run);

/* Counts the batches of a run up to its error, which must have that status and words and come
 * within 20 s. Destroys the dataset. */
uint64_t batches_to_error(sluice_dataset *dataset, const run_options *options, sluice_status status,
                          const char *words);

const void *row_of(const engine_run *run, uint32_t column, uint32_t row);
size_t row_bytes(const engine_run *run, uint32_t column);
bool is_zero(const void *data, size_t bytes);

/* ---- all that a run gave, to compare --------------------------------------------------------- */

typedef struct tape {
    uint8_t *bytes; /* free() it */
    size_t size;
    size_t capacity;
    uint64_t batches;
    uint64_t passes; /* of a stream; 0: one, or without end where batches are given */
    sluice_status end;
    char error[1024];
    sli_engine_errors errors; /* without `first`, which is gone */
} tape;

/* A whole run. */
tape record(sluice_dataset *dataset, const run_options *options);

/* The same; destroys the dataset. */
tape record_own(sluice_dataset *dataset, const run_options *options);

/* Adds the batch that the run has. */
void tape_batch(tape *t, const engine_run *run);

/* Checks that a run of three workers gives the batches of one worker, which are so many; destroys
 * the dataset. */
void check_three_workers(sluice_dataset *dataset, uint64_t batches);
void check_equal_tapes(const tape *got, const tape *want, const char *what);

/* Twenty images of different sizes in three classes, written to the folder. */
sluice_dataset *jpeg_dataset(const char *folder, const char *stages);

#endif
