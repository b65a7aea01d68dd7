/* SPDX-License-Identifier: Apache-2.0 */
/* A sink program on CUDA, for its parts: what it holds, and how it is made. */
#ifndef SLUICE_CUDA_PROGRAM_H
#define SLUICE_CUDA_PROGRAM_H

#include "cuda_device_int.h"
#include "program.h"
#include "shared_memory.h"
#include "step_graph.h"

/* Device memory of a program; learning rates follow. */
typedef struct device_part {
    sli_getnext_state getnext;
    step_frame frame;
    step_state state;
} device_part;

/* Page-locked host memory that the device writes and reads; traces, then learning rates follow. */
typedef struct shared_part {
    _Alignas(64) sli_getnext_command command;
    _Alignas(64) sli_getnext_command turns; /* of the unrolled loop, which goes before */
    _Alignas(64) sli_getnext_report getnext;
    _Alignas(64) step_report report;
    _Alignas(64) uint64_t stop;
    uint64_t never; /* 0: a stop word for launches of one batch, behind whose begin a step runs */
    _Alignas(64) device_part initial; /* what the device's part begins with */
} shared_part;

/* Launches of one batch that are under way at most, and of them those with an event behind them. */
enum { MOST_LAUNCHES = 4, LAUNCH_EVENTS = 2 };

typedef struct cuda_program {
    sink_program base;
    const data_feed *feed;
    const cuda_device *device;
    sluice_model model;
    const sink_plan *plan;
    uint32_t micro_batches;
    uint32_t capacity;
    uint32_t batch_size;
    run_outcome *outcome;
    sluice_schedule learning_rate;
    sli_counters *get_next_counters;
    sli_counters *step_counters;

    sli_stream stream;
    cudaStream_t handle; /* the stream's */
    uint32_t multiprocessors;
    device_part *part; /* in device memory */
    shared_memory memory;
    shared_part *shared;         /* in memory, as the two below */
    step_trace *traces;          /* (capacity) */
    float *rates;                /* (capacity) */
    float *device_rates;         /* (capacity) in device memory; NULL: there is no schedule */
    const uint64_t *device_stop; /* where the device sees the stop word, */
    const sli_getnext_command *turn_command; /* and the command for turns */
    step_control control;                    /* arguments of kernels, as the next two */
    sli_gather gather;
    step_digest digest;
    step_chain chain;
    step_graph graph; /* modes loop and graph */
    step_graph turns; /* mode loop: whole turns of the unrolled loop; no exec: there is none */
    uint32_t turn;    /* steps of one */
    sluice_step view;

    cudaEvent_t events[LAUNCH_EVENTS]; /* behind each second launch of one batch */
    uint32_t event_count;
    uint64_t awaited; /* launch that the stream's thread was told to wait for, last */
    sli_event room;   /* that launch has ended */

    /* The trainer's, between launches. */
    uint64_t next_seq;   /* of the next batch to be launched; in mode loop, to be waited for */
    uint64_t step;       /* the next whose record is to be taken */
    bool launched;       /* something, since the last collect */
    bool yielded;        /* the launch before it did: single steps take what there is */
    program_end pending; /* what ends the run once all that is under way is done; DONE: nothing */
    uint64_t more_launches; /* than were asked for, since the last collect */
    bool stop_requested;    /* by the step whose batches are launched */
    sli_error error;
    uint64_t idle_ns;            /* of the device, counted already */
    sluice_step_record *records; /* (capacity) */
    uint64_t *samples;           /* (capacity, micro_batches, batch_size), or NULL */
} cuda_program;

/* Memory, kernels' arguments, the view (cuda_program_open.c). What was made is freed by close. */
sluice_status cuda_program_open(cuda_program *p, const program_config *config);
void cuda_program_close(cuda_program *p);

static inline cuda_program *cuda_program_of(sink_program *program)
{
    return (cuda_program *)program;
}

/* The run ends with this once all that is under way is done; with an error, whose text is the
 * thread's last (cuda_program_launch.c). */
void cuda_program_end_with(cuda_program *p, program_end end);
void cuda_program_fail_with(cuda_program *p, sluice_status status);

/* As program_ops says. */
sluice_status cuda_program_launch(sink_program *program, uint64_t steps);
sluice_status cuda_program_await_room(sink_program *program, int64_t timeout_ns);

/* Chooses a mode that is legal for the step, and makes its graph (cuda_program_mode.c). */
sluice_status cuda_program_choose_mode(cuda_program *p, const program_config *config);

#endif
