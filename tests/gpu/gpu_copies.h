/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Copies of batches as the copier gives them to a device: a copy, the words of its batches in
 * device memory, a word on the host. C, over the library's own stream, so that it also runs on the
 * fake of CUDA.
 */
#ifndef GPU_COPIES_H
#define GPU_COPIES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct gpu_copies {
    const char *device; /* "cuda:0,copy_streams=1" */
    size_t batch_bytes;
    uint32_t group;  /* batches of a copy, at most 64 */
    uint32_t copies; /* one after another */

    /* results */
    double gb_per_s; /* 10^9 bytes a second */
    double first_us; /* of the first of two copies, from the call to its word on the host */
    char error[400];
} gpu_copies;

/* False where something failed; then error says what. */
bool gpu_copies_run(gpu_copies *run);

#ifdef __cplusplus
}
#endif

#endif
