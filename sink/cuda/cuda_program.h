/* SPDX-License-Identifier: Apache-2.0 */
/* The state of a sink program on CUDA, for cuda_program*.c. */
#ifndef SLUICE_CUDA_PROGRAM_H
#define SLUICE_CUDA_PROGRAM_H

#include "cuda_device_int.h"
#include "program.h"
#include "shared_memory.h"
#include "step_graph.h"

/* Device memory of a program. Followed by learning rates. */
typedef struct device_part {
    sli_getnext_state getnext;
    step_frame frame;
    step_state state;
} device_part;

/* Page-locked host memory that the device reads and writes. Followed by traces, then learning
 * rates. */
typedef struct shared_part {
    _Alignas(64) sli_getnext_command command;
    _Alignas(64) sli_getnext_command turns; /* for the unrolled loop, which runs first */
    _Alignas(64) sli_getnext_report getnext;
    _Alignas(64) step_report report;
    _Alignas(64) uint64_t stop;
    uint64_t never; /* always 0: the stop word of one-batch launches, in which the step runs in any
                       case */
    _Alignas(64) device_part initial; /* initial contents of the device_part */
} shared_part;

/* MOST_LAUNCHES: maximum number of one-batch launches in flight. LAUNCH_EVENTS: number of events;
 * one is recorded after every LAUNCH_EVENTS-th launch. */
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
    sli_counters *map_counters;
    sli_counters *step_counters;
    bool mapped;     /* the step calls device maps */
    bool marks_maps; /* the maps' end is marked in the stream; false while a step is captured */

    sli_stream stream;
    cudaStream_t handle; /* the CUDA stream of `stream` */
    device_part *part; /* in device memory */
    shared_memory memory;
    shared_part *shared;                     /* in `memory`, like traces and rates */
    step_trace *traces;                      /* (capacity) */
    float *rates;                            /* (capacity) */
    float *device_rates;                     /* (capacity) in device memory; NULL: no schedule */
    const uint64_t *device_stop;             /* device address of the stop word */
    const sli_getnext_command *turn_command; /* device address of `turns` */
    step_control control;                    /* control, gather and digest: arguments of kernels */
    sli_gather gather;
    step_digest digest;
    step_chain chain;
    step_graph graph; /* modes loop and graph */
    step_graph turns; /* mode loop: the unrolled loop; exec is NULL if not unrolled */
    uint32_t turn;    /* steps per iteration of `turns` */
    sluice_step view;

    cudaEvent_t events[LAUNCH_EVENTS]; /* recorded after every second one-batch launch */
    uint32_t event_count;
    uint64_t awaited; /* last launch whose end the stream's thread was asked to report */
    sli_event room;   /* notified when launch `awaited` has ended */

    /* The fields below are used only by the trainer, between launches. */
    uint64_t next_seq; /* number of the next batch to launch; in mode loop, to wait for */
    uint64_t step;     /* the next step to collect */
    bool launched;     /* a launch was enqueued since the last collect */
    bool yielded; /* the last launch yielded: the next one runs single steps with the batches that
                     are available */
    program_end pending;    /* how the run ends after the launches in flight; DONE: it continues */
    uint64_t more_launches; /* launches beyond the launch() calls since the last collect */
    bool stop_requested;    /* requested by the step that is being launched */
    sli_error error;
    uint64_t idle_ns;            /* idle time of the device that was already added to the profile */
    sluice_step_record *records; /* (capacity) */
    uint64_t *samples;           /* (capacity, micro_batches, batch_size), or NULL */
} cuda_program;

/* Allocates memory and fills in the kernels' arguments and the view (cuda_program_open.c). After a
 * failure, too, cuda_program_close() frees everything. */
sluice_status cuda_program_open(cuda_program *p, const program_config *config);
void cuda_program_close(cuda_program *p);

static inline cuda_program *cuda_program_of(sink_program *program)
{
    return (cuda_program *)program;
}

/* Ends the run with this result once all launches in flight are done. cuda_program_fail_with() ends
 * it with the thread's last error (cuda_program_launch.c). */
void cuda_program_end_with(cuda_program *p, program_end end);
void cuda_program_fail_with(cuda_program *p, sluice_status status);

/* See program_ops. */
sluice_status cuda_program_launch(sink_program *program, uint64_t steps);
sluice_status cuda_program_await_room(sink_program *program, int64_t timeout_ns);

/* Called between the device maps and the step of a batch: in the modes that call the step for each
 * batch, enqueues the kernel that measures the time of the maps. */
sluice_status cuda_program_mark_maps(void *program);

/* Chooses a mode that the step supports, and creates its graph (cuda_program_mode.c). */
sluice_status cuda_program_choose_mode(cuda_program *p, const program_config *config);

#endif
