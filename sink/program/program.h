/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The program of a run: GetNext, step and NaN guard, once or in a loop, as a device executes it.
 * sink_modes.c launches programs and waits for them. Each kind of device has one table of these
 * operations.
 */
#ifndef SLUICE_PROGRAM_H
#define SLUICE_PROGRAM_H

#include <sluice/train.h>

#include "error_int.h"
#include "feed.h"
#include "mapped_step.h"
#include "outcome.h"
#include "sink_plan.h"
#include "status_int.h"

/* Why a launch ended. */
typedef enum program_end {
    PROGRAM_DONE,        /* all requested steps ran */
    PROGRAM_YIELD,       /* the next batch is late: wait for it on the host, and launch the rest */
    PROGRAM_END_OF_DATA, /* no more batches */
    PROGRAM_ENDED        /* the run ended; its outcome has the reason */
} program_end;

typedef struct program_config {
    const data_feed *feed;
    const sluice_model *model; /* output_count is set */
    mapped_step *mapped;       /* the model's step, if it calls device maps; else NULL */
    const sink_plan *plan;
    run_outcome *outcome;   /* raised by steps and failures, polled before each step */
    uint32_t micro_batches; /* batches per step */
    uint32_t capacity;      /* maximum number of steps between two calls of collect() */
    sluice_mode mode;       /* requested mode; never auto */
    bool check;             /* capture the step twice and compare the captures */
    bool may_weaken;        /* if `mode` is not possible, use the strongest mode that is */
    bool digest;
    bool record_samples;
    sluice_nan_guard nan_guard;
    sluice_schedule learning_rate;
    uint64_t seed; /* seed of the steps' random keys */
} program_config;

/* Results since the program was last collected. */
typedef struct program_result {
    program_end end;
    uint64_t steps; /* number of steps that ran; also the number of records */
    const sluice_step_record *records;
    const sli_error *error; /* set with PROGRAM_ENDED; its status is OK if no error ended the run */
    uint64_t nan_steps;     /* steps with a non-finite output, over the whole run */
    uint64_t first_nan_step; /* first step with a non-finite output; UINT64_MAX: no such step */
    uint64_t more_launches;  /* launches in addition to the calls of launch() */
} program_result;

/* Progress of the launches in flight, for a thread that waits for them. */
typedef struct program_progress {
    uint64_t batches_done;     /* batches completed since the start of the run */
    uint64_t idle_since_ticks; /* when the last batch was done; 0: not known */
    bool waits_for_data;       /* a launch waits for data, so the next step cannot begin */
    bool ended;                /* a launch ended early: launches after it are no-ops */
} program_progress;

typedef struct sink_program sink_program;

typedef struct program_ops {
    sluice_status (*create)(const program_config *config, sink_program **program_out);
    void (*destroy)(sink_program *program);

    /* Enqueues up to `steps` steps. The steps of all launches not yet collected must not exceed
     * capacity. */
    sluice_status (*launch)(sink_program *program, uint64_t steps);

    /*
     * Waits until another launch may be enqueued. Returns OK or TIMEOUT. The limit on launches in
     * flight keeps the device busy and a stop short. NULL: no limit.
     */
    sluice_status (*await_room)(sink_program *program, int64_t timeout_ns);

    /* Waits until all launches have ended. Returns OK or TIMEOUT. */
    sluice_status (*wait)(sink_program *program, int64_t timeout_ns);

    /* Runs the step of one batch, which has arrived, on the calling thread (mode data). */
    void (*call)(sink_program *program);

    /* Stores the results since the last collect, and resets their counts. Call after wait() has
     * returned OK, or after call(). */
    void (*collect)(sink_program *program, program_result *result_out);

    /*
     * Ends a running launch before its next step, and later launches immediately. Callable from any
     * thread. NULL: the program polls the outcome itself.
     */
    void (*stop)(sink_program *program);

    program_progress (*progress)(const sink_program *program);

    /* Returns the thread that runs the steps of a host device, except in mode data, where the
     * caller's thread runs them. May be NULL. */
    const sli_thread *(*thread)(const sink_program *program);
} program_ops;

enum { PROGRAM_REASON_SIZE = 400 };

/* First member of every program. */
struct sink_program {
    const program_ops *ops;
    sluice_mode mode;
    char mode_reason[PROGRAM_REASON_SIZE]; /* if mode is weaker than requested: why; else "" */
    bool by_batch; /* each launch runs one batch; before the launch the batch's copy was enqueued in
                      the copy stream, or the batch has arrived. False in mode loop and on host
                      devices */
};

/* Call after the run's outcome was raised, so that no further step begins. */
static inline void program_stop(sink_program *program)
{
    if (program->ops->stop != NULL) {
        program->ops->stop(program);
    }
}

static inline program_progress program_progress_of(const sink_program *program)
{
    return program->ops->progress(program);
}

/* The learning rate at `step`; steps are counted from the start of the training. */
float program_rate(const sluice_schedule *schedule, uint64_t step);

/* Returns E_NAN; the error text suggests what to try. */
sluice_status program_fail_nan(const sluice_model *model, uint64_t step, uint32_t output,
                               float value);

#endif
