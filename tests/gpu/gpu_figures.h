/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Arithmetic and texts of the programs for a GPU, which need none: a suite of sluice_unit has them,
 * too. C, for gpu_calls.c is linked with it.
 */
#ifndef GPU_FIGURES_H
#define GPU_FIGURES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* part / whole; 0 where there is no whole. */
double gpu_share(double part, double whole);

/* ---- gaps between steps ---------------------------------------------------------------------- */

/* By the device's clock, in nanoseconds. */
typedef struct gpu_stamp {
    uint64_t begin_ns;
    uint64_t end_ns;
} gpu_stamp;

typedef struct gpu_gaps {
    uint64_t count;
    uint64_t p50_ns;
    uint64_t p99_ns;
    uint64_t most_ns;
} gpu_gaps;

/* The smallest of the values that `percent` of 100 do not exceed; 0 of none. */
uint64_t gpu_percentile(const uint64_t *sorted, size_t count, unsigned int percent);

/*
 * From each step's end to the next one's begin: count - 1 gaps. `ns`, (count) words, is used for
 * them. False where the steps are no two, or one begins before the one before it has ended.
 */
bool gpu_gaps_of(const gpu_stamp *stamps, size_t count, uint64_t *ns, gpu_gaps *gaps_out);

/* ---- rows ------------------------------------------------------------------------------------ */

/* A cell of the benchmark; tests/bench/torch_graph.py prints the same columns. */
typedef struct gpu_row {
    const char *mode;
    int step_us;
    uint64_t batch_bytes;
    int64_t sink_size;
    uint64_t steps, launches, syncs, yields;
    double seconds;
    double no_data_per_s;   /* steps of the same kernel without data */
    double pinned_gb_per_s; /* of a plain copy */
    double data_wait_share;
    double cpu_seconds, sink_seconds; /* of the thread that trains */
} gpu_row;

#define GPU_ROW_HEADER                                                                             \
    "mode,step_us,batch_bytes,sink_size,steps,seconds,steps_per_s,share_of_no_data,gb_per_s,"      \
    "share_of_pinned_copy,launches,syncs,yields,data_wait_share,trainer_cpu_share"

/* Writes it without an end of line; returns share_of_no_data. */
double gpu_row_text(const gpu_row *row, char *text, size_t size);

/* ---- calls of CUDA --------------------------------------------------------------------------- */

typedef enum gpu_call {
    GPU_CALL_GRAPH_LAUNCH,
    GPU_CALL_KERNEL_LAUNCH,
    GPU_CALL_SYNC,
    GPU_CALL_COPY,
    GPU_CALL_MEMORY_OPERATION, /* of a stream */
    GPU_CALLS,
    GPU_CALL_OTHER = GPU_CALLS
} gpu_call;

/* What a call of the runtime or of the driver does, by its name, which may end in a version. */
gpu_call gpu_call_of(const char *name);

#ifdef __cplusplus
}
#endif

#endif
