/* SPDX-License-Identifier: Apache-2.0 */
/* A run of sluice_train(), for the files that take part in it. */
#ifndef SLUICE_TRAIN_RUN_H
#define SLUICE_TRAIN_RUN_H

#include <sluice/ranks.h>

#include "overrides.h"
#include "program.h"
#include "train_state.h"
#include "watchdog.h"

typedef struct train_run {
    sluice_device *device;
    sluice_model model;         /* defaults filled in */
    sluice_train_config config; /* the same */
    sluice_mode mode;
    const char *mode_reason; /* what stood in the way of a stronger one, "" nothing */
    sink_plan plan;
    data_channel channel;
    sink_program *program;
    char plan_line[400];
    char overridden[OVERRIDES_USED_SIZE];  /* by the environment, "" nothing (overrides.h) */
    char report_path[OVERRIDES_PATH_SIZE]; /* where the environment wants the report, "" nowhere */

    uint64_t step; /* the next one */
    uint64_t steps_run;
    uint64_t samples;
    uint64_t launches;
    uint64_t syncs;
    uint64_t yields;
    uint64_t digest;         /* of all steps so far */
    uint64_t nan_steps;      /* with an output that was not finite */
    uint64_t first_nan_step; /* UINT64_MAX: none */
    train_state state;       /* for checkpoints; without them empty, its place the beginning */
    bool resumed;            /* from a checkpoint, */
    uint32_t regrouped_batch_size; /* in the midst of a pass that was begun in such batches */
    uint32_t regrouped_world;      /* on so many ranks; 0: in those of this run */
    uint64_t checkpoints;          /* that were written */
    uint64_t checkpoint_step;      /* of the last of them, or of the one that was resumed from */
    uint64_t validations;          /* that were done */
    uint64_t validation_step;      /* of the last of them; UINT64_MAX: none yet */
    uint64_t host_wait_ticks;      /* the device had nothing to do while the host waited for data */
    uint64_t awaited_seq;          /* the batch that the host waits for; 0: none */
    int wish; /* of this rank among several: an agree_wish, for the next border */
    uint32_t agree_calls;
    bool parted;        /* from other ranks: agree is not called any more */
    bool nested;        /* in another run: validation, check */
    sluice_ranks ranks; /* what the launcher says, or the config */
    bool stop;          /* at the next border */
    bool out_of_time;   /* max_seconds are over: no stop, but the end */

    int64_t start_ns;
    int64_t progress_ns; /* when a step was last seen to have ended, or hooks had; 0: not yet */
    uint64_t progress_batches;
    bool stall_warned;
    watchdog watchdog; /* of the user's functions that the trainer calls */

    sluice_step_record *history; /* of the steps since step_begin, the latest HISTORY_MOST */
    float *history_outputs;      /* (history_capacity, output_count) */
    size_t history_capacity;
    size_t outputs_capacity;
    uint64_t history_count;
} train_run;

/* Records that step_end sees at most, and steps of one launch at most. */
enum { HISTORY_MOST = 1048576 };

/* Checks in the order of the documentation (train_checks.c). */
sluice_status train_check_arguments(const sluice_model *model, const sluice_dataset *dataset,
                                    const sluice_train_config *config);
sluice_status train_find_ranks(train_run *run);     /* as the config says, or the launcher */
sluice_status train_check_settings(train_run *run); /* fills in defaults, too */
sluice_status train_check_columns(const train_run *run);
sluice_status train_check_stream(train_run *run);        /* how many passes it makes of it, too */
sluice_status train_check_padding(const train_run *run); /* the plan knows where it begins */
sluice_status train_check_ranks(const train_run *run);

/*
 * Makes a run ready, up to workers that read (opening.c). What was made is given back by
 * train_close(), also after a failure.
 */
sluice_status train_open(train_run *run);
void train_close(train_run *run);

/* Who this is, in one line, and that line into the log (who_am_i.c). The channel is open. */
void train_describe_identity(const train_run *run, sli_text *text);
void train_tell_identity(const train_run *run);

/*
 * Looks after a run while the trainer waits: the stop token, the time limit, stalls. OK, or
 * E_STALLED once nothing has moved for too long (watch.c).
 */
sluice_status train_watch(train_run *run);

/*
 * A hook or the step has asked to stop: at once when this rank is alone, else where the ranks agree
 * (watch.c). st, or E_INVALID where they cannot.
 */
sluice_status train_wants_to_stop(train_run *run, sluice_status st);

/*
 * Starts the watchdog, if the run calls anything that it can watch; and the model with a save and
 * load that it watches (watchdog.c).
 */
sluice_status train_start_watchdog(train_run *run);
sluice_model train_watched_model(train_run *run);

/* How long the trainer sleeps between two looks. */
extern const int64_t TRAIN_LOOK_NS;

/*
 * Runs the next `steps` steps in the mode of the run; fewer when it is to stop (sink_modes.c). OK,
 * END_OF_DATA, or the first error; steps before it are taken in.
 */
sluice_status train_run_steps(train_run *run, uint64_t steps);

/* Waits for what the steps of a sink have left under way on the device. */
sluice_status train_end_sink(train_run *run);

/*
 * Borders (borders.c). Finds out where to go on, which is config.start_step from then on; writes a
 * checkpoint when one is due, or when `always` unless it has just been.
 */
sluice_status train_resume(train_run *run);
sluice_status train_checkpoint(train_run *run, bool always);

/* Keeps the model when its results are the best so far (borders.c). */
sluice_status train_keep_best(train_run *run, const double *results);

/*
 * Validates when it is due, or when `always` unless it has just been, and calls the hooks
 * (validation.c). A stop that was asked for meanwhile leaves out the rest, and the hooks.
 */
sluice_status train_validate(train_run *run, bool always);

/* A run within another one, of its world but without its borders. */
sluice_status train_nested(sluice_device *device, const sluice_model *model,
                           sluice_dataset *dataset, const sluice_train_config *config);

/*
 * Check mode: E_INVALID when the first steps differ in direct mode and in the mode of the run, from
 * the same saved model, which is loaded again (check.c). A stop is one of the run.
 */
sluice_status train_compare_modes(train_run *run);

/* Hooks (hooks.c). Each answers the first error of a hook. */
typedef enum hook_kind {
    HOOK_TRAIN_BEGIN,
    HOOK_EPOCH_BEGIN,
    HOOK_STEP_BEGIN,
    HOOK_RECORDS,
    HOOK_STEP_END,
    HOOK_VALIDATION,
    HOOK_EPOCH_END,
    HOOK_TRAIN_END
} hook_kind;
const char *train_hook_name(hook_kind kind);
sluice_status train_call_hooks(train_run *run, hook_kind kind, sluice_hook *hook);

/* Does any callback have this hook? */
bool train_has_hook(const train_run *run, hook_kind kind);

/* What a hook is told in any case. */
void train_fill_hook(const train_run *run, sluice_hook *hook);

/* Takes in the records of a launch: totals, hooks, the history of the sink. */
sluice_status train_take_records(train_run *run, const program_result *result);

/* How long steps have waited for data so far, in seconds. */
double train_wait_seconds(const train_run *run);

/* Makes the report of a run that ended with status; error is its text, or "" (report.c). */
sluice_status train_make_report(const train_run *run, sluice_status status, const char *error,
                                sluice_report **report_out);

/* The report of a run that never began. */
sluice_status train_make_empty_report(sluice_status status, const char *error,
                                      sluice_report **report_out);

#endif
