/* SPDX-License-Identifier: Apache-2.0 */
/* A run of sluice_train(): its parts, each with a noun. */
#ifndef SLUICE_TRAIN_RUN_H
#define SLUICE_TRAIN_RUN_H

#include "agree.h"
#include "overrides.h"
#include "program.h"
#include "report_file.h"
#include "run_counts.h"
#include "run_watch.h"
#include "step_history.h"
#include "train_state.h"

/* What environment variables say. */
typedef struct run_environment {
    char overridden[OVERRIDES_USED_SIZE]; /* settings, "" none (overrides.h) */
    char report_path[REPORT_PATH_SIZE];   /* the file of the report, "" none */
} run_environment;

/* What is planned. */
typedef struct run_plan {
    sink_plan sinks;
    sluice_mode mode;
    const char *mode_reason; /* why it is not a stronger one, "" it is the strongest */
    char line[600];          /* all of it, as it is logged */
} run_plan;

/* Where the run began. */
typedef struct run_origin {
    bool resumed;        /* from a checkpoint, */
    bool early;          /* which was written before the validation of its step */
    uint32_t batch_size; /* of the pass that it resumed within, */
    uint32_t world;      /* on so many ranks; 0: it regroups nothing */
} run_origin;

/* Where the run stands. */
typedef struct run_progress {
    uint64_t step; /* the next one */
    int64_t start_ns;
    uint64_t awaited_seq;     /* the batch that the host waits for; 0: none */
    uint64_t checkpoint_step; /* of the last checkpoint, or of the one that was resumed from */
    uint64_t early_step;      /* the same, of early checkpoints */
    uint64_t validation_step; /* of the last validation; UINT64_MAX: none yet */
    train_state state;        /* for checkpoints; without them empty, its position the beginning */
} run_progress;

typedef struct train_run {
    sluice_device *device;
    sluice_model model;              /* defaults filled in */
    sluice_train_config config;      /* the same */
    sluice_schedule learning_rate;   /* copies of what config points to, */
    sluice_checkpointing checkpoint; /* zero where that is NULL */
    sluice_validating validation;
    sluice_callback *callbacks; /* (config.callback_count) */
    bool nested;                /* in another run: validation, check */
    run_environment environment;
    run_plan plan;
    run_origin origin;
    rank_group ranks;
    data_feed feed;
    sink_program *program;
    run_progress progress;
    run_outcome outcome;
    run_counts counts;
    run_watch watch;
    step_history history;
} train_run;

#endif
