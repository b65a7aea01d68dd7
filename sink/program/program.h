/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The program of a run: GetNext, step and guard, once or in a loop, as a device runs it. What
 * launches it and waits for it is sink_modes.c; a kind of device brings one table of these.
 */
#ifndef SLUICE_PROGRAM_H
#define SLUICE_PROGRAM_H

#include <sluice/train.h>

#include "error_int.h"
#include "feed.h"
#include "outcome.h"
#include "sink_plan.h"
#include "status_int.h"

/* Why a launch ended. */
typedef enum program_end {
    PROGRAM_DONE,        /* all its steps ran */
    PROGRAM_YIELD,       /* the next batch is late: wait for it on the host, and launch the rest */
    PROGRAM_END_OF_DATA, /* no batch follows */
    PROGRAM_ENDED        /* with the run, whose outcome says why */
} program_end;

typedef struct program_config {
    const data_feed *feed;
    const sluice_model *model; /* output_count is set */
    const sink_plan *plan;
    run_outcome *outcome;   /* raised by steps and failures, polled for each step */
    uint32_t micro_batches; /* batches of a step */
    uint32_t capacity;      /* steps between two collects at most */
    sluice_mode mode;       /* that is asked for: never auto */
    bool check;             /* capture the step twice, and compare */
    bool may_weaken;        /* where that one is not legal, the strongest that is */
    bool digest;
    bool record_samples;
    sluice_nan_guard nan_guard;
    sluice_schedule learning_rate;
    uint64_t seed; /* of random keys */
} program_config;

/* Since the program was last collected. */
typedef struct program_result {
    program_end end;
    uint64_t steps; /* that ran */
    const sluice_step_record *records;
    const sli_error *error;  /* of PROGRAM_ENDED; its status is OK where no error ended the run */
    uint64_t nan_steps;      /* ever: steps with an output that was not finite */
    uint64_t first_nan_step; /* of all of them; UINT64_MAX: none */
    uint64_t more_launches;  /* than the launches asked for */
} program_result;

/* Progress of the launches under way, for a thread that waits for them. */
typedef struct program_progress {
    uint64_t batches_done;     /* ever */
    uint64_t idle_since_ticks; /* when the last of them ended; 0: not known */
    bool waits_for_data;       /* a launch does, so the next step cannot begin */
    bool ended;                /* a launch has ended early: those behind it do nothing */
} program_progress;

typedef struct sink_program sink_program;

typedef struct program_ops {
    sluice_status (*create)(const program_config *config, sink_program **program_out);
    void (*destroy)(sink_program *program);

    /* Enqueues up to `steps` steps; those of all launches not yet collected are within capacity. */
    sluice_status (*launch)(sink_program *program, uint64_t steps);

    /*
     * Waits until another launch may be given: OK or TIMEOUT. Some are under way then, so the
     * device has work, but not so many that a stop would take long. NULL: any number may.
     */
    sluice_status (*await_room)(sink_program *program, int64_t timeout_ns);

    /* Waits for everything that was launched: OK or TIMEOUT. */
    sluice_status (*wait)(sink_program *program, int64_t timeout_ns);

    /* Runs the step of one batch on the calling thread (mode data); the batch is there. */
    void (*call)(sink_program *program);

    /* After a wait that returned OK, or a call: its result. The next launch starts from zero. */
    void (*collect)(sink_program *program, program_result *result_out);

    /*
     * Makes a running launch end at its next step, and later ones at once. Any thread. NULL: it
     * polls the outcome.
     */
    void (*stop)(sink_program *program);

    program_progress (*progress)(const sink_program *program);

    /* The device's thread, which runs steps where it is a host device (mode data: the caller's).
     * Optional. */
    const sli_thread *(*thread)(const sink_program *program);
} program_ops;

enum { PROGRAM_REASON_SIZE = 400 };

/* What every kind of program begins with. */
struct sink_program {
    const program_ops *ops;
    sluice_mode mode;
    char mode_reason[PROGRAM_REASON_SIZE]; /* why it is a weaker one, "" it is not */
    bool by_batch; /* but in mode loop a launch takes one batch, which was given to the copy stream
                    * before it, or has arrived */
};

/* The run's outcome was raised: no further step begins. */
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

/* The learning rate of a step of the whole training. */
float program_rate(const sluice_schedule *schedule, uint64_t step);

/* E_NAN, with what to try. */
sluice_status program_fail_nan(const sluice_model *model, uint64_t step, uint32_t output,
                               float value);

#endif
