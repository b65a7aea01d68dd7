/* SPDX-License-Identifier: Apache-2.0 */
/* What the tests of the fake of CUDA share: a device, a stream, a few words and kernels. */
#ifndef SLUICE_FAKE_KIT_H
#define SLUICE_FAKE_KIT_H

#include "fake_cuda.h"

#define T_CUDA(call)             T_STR(cudaGetErrorName(call), "cudaSuccess")
#define T_CUDA_ERROR(call, want) T_STR(cudaGetErrorName(call), #want)

enum { FAKE_KIT_WORDS = 64 };

extern cudaStream_t fake_kit_stream;
extern uint64_t *fake_kit_words; /* (FAKE_KIT_WORDS) device memory, zeros at first */
extern const dim3 fake_kit_single;

/* A machine with one device, whose memory the host can read, and no knob turned. */
void fake_kit_start(void);
void fake_kit_finish(void); /* and nothing is live */
void fake_kit_nothing_lives(void);

/* (words, value): words[0] counts the calls, and the value goes behind those before it. */
extern const fake_kernel fake_kit_append_kernel;
cudaError_t fake_kit_append(uint64_t value);
cudaError_t fake_kit_append_on(cudaStream_t stream, uint64_t value);
void fake_kit_appended(uint64_t count, const uint64_t *values);

/* (word): runs until the word is not 0, for a second at most; the word behind it is then as it. */
extern const fake_kernel fake_kit_gate_kernel;
cudaError_t fake_kit_gate(uint64_t *word);
void fake_kit_open(uint64_t *word);

/* (left, handle): counts down, and sets the variable to whether something is left. */
extern const fake_kernel fake_kit_count_kernel;

/* A graph of a loop whose body is to be filled. */
typedef struct fake_loop {
    cudaGraph_t graph;
    cudaGraph_t body; /* NULL: there is no loop yet */
    cudaGraphConditionalHandle handle;
    cudaGraphNode_t first; /* what the loop is behind; NULL: nothing */
} fake_loop;

cudaError_t fake_loop_add_handle(fake_loop *l, unsigned at_launch);
cudaError_t fake_loop_add_kernel(fake_loop *l, const void *function, void **args); /* as first */
cudaError_t fake_loop_add_loop(fake_loop *l);
cudaError_t fake_loop_begin_body(const fake_loop *l); /* captures what the kit's stream is given */
cudaError_t fake_loop_end_body(void);

/* A loop with its body under capture. */
void fake_loop_begin(fake_loop *l, unsigned at_launch);

/* The counting kernel on the kit's stream. */
cudaError_t fake_loop_count_down(const fake_loop *l, uint64_t *left);

#endif
