/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A training to be looked at: a model whose outputs depend on all it has seen, hooks that write
 * down what they are told, and a source that fails, blocks and counts as it is told.
 */
#ifndef SLUICE_TRAIN_KIT_H
#define SLUICE_TRAIN_KIT_H

#include <stdatomic.h>

#include <sluice/sluice.h>

#include "log_kit.h"
#include "report_data.h"
#include "text_int.h"

/* What is kept of a step: its record, with a hash in place of the sample indices. */
typedef struct kit_step {
    uint64_t step;
    uint64_t epoch;
    uint64_t pass;
    uint64_t first_sample;
    uint64_t digest;
    uint64_t samples;
    uint32_t valid_rows;
    float outputs[2]; /* the running state; the label of row 0 */
} kit_step;

typedef enum kit_hook {
    KIT_TRAIN_BEGIN,
    KIT_EPOCH_BEGIN,
    KIT_STEP_BEGIN,
    KIT_RECORDS,
    KIT_STEP_END,
    KIT_EPOCH_END,
    KIT_TRAIN_END,
    KIT_HOOKS
} kit_hook;

typedef struct kit kit;
struct kit {
    /* Set by kit_init(), to be changed before kit_run(). */
    const char *device; /* its name */
    const char *pipeline;
    sluice_dataset *dataset;    /* in place of the pipeline; borrowed */
    sluice_train_config config; /* what it points to is set by kit_run(): */
    sluice_schedule learning_rate;
    sluice_checkpointing checkpoint;
    sluice_validating validation;
    const sluice_callback *callbacks; /* (callback_count), without sizes; NULL: the kit's own */
    uint32_t callback_count;
    sluice_model model;
    kit_hook
        act_in; /* in this hook, the act_at-th call (from 0): answer, or ask to stop, or call */
    uint64_t act_at;
    sluice_status act_answer;
    bool act_stops;
    void (*act)(kit *k);
    uint64_t step_at; /* in this call of the step (from 0): answer */
    sluice_status step_answer;
    void (*in_step)(kit *k, const sluice_step *step); /* in every call; may be NULL */
    void *user;

    /* What came of it. */
    sluice_status status;
    char error[1024];
    sluice_report *report;
    char plan[400];
    sli_text events; /* "train_begin 0+0\nstep_begin 0+20\n..." : hook, step, step_count */
    kit_step *steps; /* as the hook `records` saw them */
    size_t count;
    size_t capacity;
    uint64_t step_ends; /* steps that step_end was told of */
    uint64_t hook_calls[KIT_HOOKS];
    _Atomic uint64_t calls; /* of the step, begun */
    float state;
};

/* 100 batches of 2 samples, one epoch of a pass, sunk, loop. */
void kit_init(kit *k);

/* Trains; what came of it is in k, whose earlier results are freed. */
sluice_status kit_run(kit *k);
void kit_fini(kit *k);

/* Sums of the labels, and of ones, over the rows that hold samples. */
sluice_status kit_eval(const sluice_step *step, void *user);

/* Validates on a dataset, which is borrowed, by kit_eval(): its results are "sum" and "ones". */
void kit_validate(kit *k, sluice_dataset *dataset);

/* A hook that does nothing. */
sluice_status kit_ignore(sluice_hook *hook, void *user);

/* The model's state in a folder of a checkpoint, and back. E_IO: it is not there. */
sluice_status kit_save_state(const kit *k, const char *folder);
sluice_status kit_load_state(kit *k, const char *folder);

/* Checks that hold of every run: counters agree, steps follow each other, hooks saw them all. */
void kit_check(const kit *k);

/* Checks that no line of a text is longer than SLI_COLUMNS. */
void kit_check_columns(const char *text);

/* Checks that steps [from, from + count) of `b`, counted from its first, are the same as of `a`. */
void kit_check_same(const kit *a, const kit *b, size_t from, size_t count);

/* ---- a source that does as it is told ------------------------------------------------------ */

enum { KIT_SAMPLES_MOST = 4096 };

typedef struct kit_source {
    uint64_t samples;
    uint64_t fail_at;        /* reading this sample fails; UINT64_MAX none */
    sluice_status fail_with; /* E_CORRUPT */
    uint64_t block_at;       /* reading this one waits for kit_source_release(); UINT64_MAX none */
    _Atomic bool blocks;     /* somebody waits there */
    _Atomic bool released;
    _Atomic uint32_t reads[KIT_SAMPLES_MOST];
} kit_source;

void kit_source_init(kit_source *source, uint64_t samples);

/* A dataset of it: image u8 (4, 4, 3), label i32; names are "kit/INDEX". batch_size 0: without
 * batch. */
sluice_dataset *kit_source_dataset(kit_source *source, uint32_t batch_size);
void kit_source_release(kit_source *source);

/* One past the last sample that was read. */
uint64_t kit_source_end(const kit_source *source);

/* ---- folders of JPEG files ------------------------------------------------------------------- */

/* folder/a/000.jpg, folder/b/000.jpg, ...: `per_class` square pictures in each. */
void kit_write_folder(const char *folder, uint32_t per_class, uint32_t side);

#endif
