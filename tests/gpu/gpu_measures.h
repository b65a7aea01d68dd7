/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Measurements that the benchmark prints; some are checks, too. Each answers GPU_PASS, or GPU_FAIL
 * with a text.
 */
#ifndef GPU_MEASURES_H
#define GPU_MEASURES_H

#include "gpu_figures.h"
#include "gpu_kit.h"

/* A figure and what it is of. */
struct gpu_rate {
    const char *name;
    double value;
};

/* ---- gpu_limits.cu --------------------------------------------------------------------------- */

/* Of one copy of 64 MB, or of 256 MB on the device, after another; bytes count once. host_flags as
 * of cudaHostAlloc(). */
gpu_verdict gpu_measure_copy(cudaMemcpyKind kind, unsigned int host_flags, double *gb_s,
                             char *text);

/* How fast one thread of the host fills 64 MB of such memory. */
gpu_verdict gpu_measure_fill(unsigned int host_flags, double *gb_s, char *text);

/* Microseconds of a graph of one empty kernel, launched and waited for. */
gpu_verdict gpu_measure_launch(double *us, char *text);

/* A device loop of a busy kernel, if it is not NULL, and one that counts: iterations per second. */
gpu_verdict gpu_measure_loop(const gpu_busy *busy, uint32_t count, double *per_s, char *text);

/* Microseconds of a training step of the examples' network on 128 images of 64 x 64, replayed. */
gpu_verdict gpu_measure_convnet(double *us, char *text);

/* Batches of a pipeline on host:0, where they are only made: GB/s. */
gpu_verdict gpu_measure_producer(const char *pipeline, uint64_t batch_bytes, double *gb_s,
                                 char *text);

enum { GPU_COPIES = 8, GPU_FIRST_WORDS = 4 };

/* Copies of batches with their words behind them, by the library's stream: GB/s by the size of a
 * batch, CUDA streams, and batches of a copy. */
gpu_verdict gpu_measure_copies(gpu_rate rates[GPU_COPIES], char *text);

/* Microseconds of the first of two such copies, until the host has its word. */
gpu_verdict gpu_measure_first_words(gpu_rate rates[GPU_FIRST_WORDS], char *text);

/* ---- gpu_gather.cu --------------------------------------------------------------------------- */

enum { GPU_GATHERS = 13 };

/* The library's gather by itself, bytes read and written: GB/s. */
gpu_verdict gpu_measure_gathers(gpu_rate rates[GPU_GATHERS], char *text);

enum { GPU_PROGRAMS = 13 };

/* The same where rows have programs, of which each kind of operation is a case, and each kernel. */
gpu_verdict gpu_measure_programs(gpu_rate rates[GPU_PROGRAMS], char *text);

enum { GPU_MIXES = 8 };

/* The same where each row is mixed with another one. */
gpu_verdict gpu_measure_mixes(gpu_rate rates[GPU_MIXES], char *text);

/* ---- gpu_maps.cu ----------------------------------------------------------------------------- */

enum { GPU_MAPS = 6 };

/* Microseconds of a step of 196 KB that computes nothing, without a device map and with one that
 * writes the image anew, by mode. */
gpu_verdict gpu_measure_maps(gpu_rate rates[GPU_MAPS], char *text);

/* ---- gpu_ring_costs.cu ----------------------------------------------------------------------- */

enum { GPU_RELEASES = 4 };

/* Nanoseconds of a step of 196 KB by how its slot is given back; the first is: not at all. */
gpu_verdict gpu_measure_releases(gpu_rate rates[GPU_RELEASES], char *text);

enum { GPU_LOOKS = 4 };

/* Nanoseconds between two looks of a thread at a word that does not change. */
gpu_verdict gpu_measure_looks(gpu_rate rates[GPU_LOOKS], char *text);

/* ---- gpu_gaps.cu ----------------------------------------------------------------------------- */

/* Steps of 250 us, told apart by the device's clock. */
struct gpu_gap_run {
    sluice_mode mode;
    uint32_t slots;  /* 0: the library's default */
    bool busy_cores; /* a thread that never sleeps on every core */

    /* what came of it */
    gpu_gaps gaps;
    uint64_t yields;
};

gpu_verdict gpu_measure_gaps(gpu_gap_run *run, char *text);

#endif
