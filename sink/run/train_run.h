/* SPDX-License-Identifier: Apache-2.0 */
/* The state of a run of sluice_train(). */
#ifndef SLUICE_TRAIN_RUN_H
#define SLUICE_TRAIN_RUN_H

#include "agree.h"
#include "device_maps.h"
#include "overrides.h"
#include "program.h"
#include "report_file.h"
#include "run_counts.h"
#include "run_watch.h"
#include "start_clocks.h"
#include "step_history.h"
#include "train_state.h"

/* Settings from environment variables. */
typedef struct run_environment {
    char overridden[OVERRIDES_USED_SIZE]; /* text of the variables that override settings
                                             (overrides.h); "": no overrides */
    char report_path[REPORT_PATH_SIZE];   /* path of the report file; "": no file */
} run_environment;

/* The plan of the run. */
typedef struct run_plan {
    sink_plan sinks;
    sluice_mode mode;
    const char *mode_reason; /* why `mode` is not stronger; "" if it is the strongest */
    char line[2000];         /* the plan line, as logged */
} run_plan;

/* Where the run began. */
typedef struct run_origin {
    bool resumed;        /* the run resumed from a checkpoint */
    bool early;          /* the checkpoint was written before the validation of its step */
    uint32_t batch_size; /* batch size that the resumed pass was begun with */
    uint32_t world;      /* number of ranks that the resumed pass was begun with; both are 0 unless
                            regrouped */
} run_origin;

/* Progress of the run. */
typedef struct run_progress {
    uint64_t step; /* the next step */
    int64_t start_ns;
    start_clocks start;       /* all zero in a nested run, which makes no report */
    uint64_t awaited_seq;     /* queue number of the batch that the host waits for; 0: none */
    uint64_t checkpoint_step; /* step of the last checkpoint, written or resumed from */
    uint64_t early_step;      /* step of the last early checkpoint, written or resumed from */
    uint64_t validation_step; /* step of the last validation; UINT64_MAX: none yet */
    train_state state;        /* state that checkpoints store; all zero without checkpoints */
} run_progress;

/* Epochs that are passes whose lengths are unknown (pass_epochs.h). */
typedef struct run_passes {
    bool unknown;
    bool limits;   /* no step may run after the end of the pass */
    uint64_t pass; /* pass of the current epoch */
} run_passes;

typedef struct train_run {
    sluice_device *device;
    sluice_model model;              /* with defaults filled in */
    sluice_train_config config;      /* with defaults filled in */
    sluice_schedule learning_rate;   /* copy of *config.learning_rate; zero if NULL */
    sluice_checkpointing checkpoint; /* copy of *config.checkpoint; zero if NULL */
    sluice_validating validation;
    sluice_callback *callbacks; /* (config.callback_count) */
    bool nested;                /* a run within another run, for validation or the mode check */
    bool names_log;             /* sli_log_enter_rank() was called */
    bool failure_told;          /* a failure of this rank was logged, and config.abort called */
    run_environment environment;
    run_plan plan;
    run_origin origin;
    run_passes passes;
    rank_group ranks;
    data_feed feed;
    device_maps device_maps;
    mapped_step mapped;
    sink_program *program;
    run_progress progress;
    run_outcome outcome;
    run_counts counts;
    run_watch watch;
    step_history history;
} train_run;

#endif
