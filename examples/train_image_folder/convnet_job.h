/* SPDX-License-Identifier: Apache-2.0 */

/* Arguments of the kernels in convnet_kernels.h: sizes, offsets, and addresses in one block of
 * device memory (in tests, host memory). The weights have the layout of convnet_weights().
 */

#ifndef CONVNET_JOB_H
#define CONVNET_JOB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "convnet.h"

enum {
    CONVNET_BLOCKS = 3,
    CONVNET_LANES = 16,     /* outputs in a panel of weights, see convnet.c */
    CONVNET_SLICES = 64,    /* parts of a logit's sum */
    CONVNET_MAX_PARTS = 64, /* parts of a gradient's sum */
    CONVNET_CLOSED = 4      /* `winner` if the ReLU is inactive */
};

/* What follows the gradient in `sums`. */
enum { CONVNET_LOSS, CONVNET_CORRECT, CONVNET_ROWS, CONVNET_TOTALS };

/* A convolution with bias, ReLU and max-pool. (H, W) is the size of its input. */
typedef struct convnet_block {
    uint32_t height, width, in, out;
    uint32_t row, column, channel; /* strides of the input in floats */
    const float *input;            /* (batch, H, W, in); the first one's (batch, in, H, W) */
    float *input_slope; /* gradient of the loss with respect to input; NULL in the first block */
    float *output;      /* (batch, H / 2, W / 2, out) */
    float *slope;       /* gradient of the loss with respect to output */
    uint8_t *winner;    /* index, 0 to 3, of the pixel that is the maximum of each pooled output */
    float *flipped;     /* (3, 3, out, in): the weights for the backward pass */
    size_t weights;     /* offset of (out / 16, 3, 3 * in, 16), then (out) biases */
} convnet_block;

/* The arguments of all kernels, passed by value. */
typedef struct convnet_job {
    convnet_block blocks[CONVNET_BLOCKS];
    uint32_t batch, classes, panels, features; /* panels of 16 classes */
    uint32_t parts;                            /* parts of a batch's rows */
    float momentum;
    size_t weight_count; /* floats of all layers, in the layout of convnet_weights() */
    size_t linear;       /* offset of the linear layer, (panels, features, 16), then biases */
    float *weights;      /* (weight_count) */
    float *velocity;     /* (weight_count), after the weights */
    float *gradients;    /* (parts, linear), of the convolutions */
    float *sums;         /* (weight_count + CONVNET_TOTALS), of all rows, then of all devices */
    float *logit_parts;  /* (batch, panels, 64, 16) */
    float *logits;       /* (batch, panels * 16), later replaced by their gradients */
    float *losses;       /* (batch) */
    uint8_t *correct;    /* (batch) */

    /* Fields of a single step, set before its kernels are launched. */
    const float *images;   /* (batch, 3, H, W) */
    const int32_t *labels; /* (batch) */
    const uint32_t *valid_rows;
    const float *learning_rate;
    float *loss_out;
    float *correct_out;
    bool means; /* the gradients and the two outputs above are means over the rows, not sums */
} convnet_job;

/* Reserves memory for count elements, aligned to 256 bytes; NULL if memory is NULL. */
static inline void *convnet_take(char *memory, size_t *total, size_t count, size_t element)
{
    const size_t offset = *total;

    *total += (count * element + 255) / 256 * 256;
    return memory == NULL ? NULL : memory + offset;
}

static inline float *convnet_take_floats(char *memory, size_t *total, size_t count)
{
    return (float *)convnet_take(memory, total, count, sizeof(float));
}

/* Lays out a block whose input is the output of `before`, or the images if it is NULL. */
static inline void convnet_lay_out_block(convnet_block *b, const convnet_block *before,
                                         const convnet_config *config, char *memory, size_t *total)
{
    size_t outputs;

    b->height = before == NULL ? config->height : before->height / 2;
    b->width = before == NULL ? config->width : before->width / 2;
    b->in = before == NULL ? 3 : before->out;
    b->out = before == NULL ? 16 : 2 * before->out;
    b->row = before == NULL ? b->width : b->width * b->in;
    b->column = before == NULL ? 1 : b->in;
    b->channel = before == NULL ? b->height * b->width : 1;
    b->input = before == NULL ? NULL : before->output;
    b->input_slope = before == NULL ? NULL : before->slope;
    b->weights = before == NULL ? 0 : before->weights + 9 * before->in * before->out + before->out;
    outputs = (size_t)config->batch * (b->height / 2) * (b->width / 2) * b->out;
    b->output = convnet_take_floats(memory, total, outputs);
    b->slope = convnet_take_floats(memory, total, outputs);
    b->winner = (uint8_t *)convnet_take(memory, total, outputs, 1);
    b->flipped = convnet_take_floats(memory, total, (size_t)9 * b->in * b->out);
}

/*
 * Lays out a job for a config that convnet_create() accepts.
 *
 * Returns: the size of `memory` in bytes. If memory is NULL all addresses are NULL, too. Only
 * weights and velocity must be initialized.
 */
static inline size_t convnet_lay_out(convnet_job *job, const convnet_config *config, char *memory)
{
    const convnet_block *last = &job->blocks[CONVNET_BLOCKS - 1];
    size_t total = 0;
    size_t logits;

    memset(job, 0, sizeof(*job));
    job->batch = config->batch;
    job->classes = config->classes;
    job->panels = (config->classes + CONVNET_LANES - 1) / CONVNET_LANES;
    job->parts = config->batch < CONVNET_MAX_PARTS ? config->batch : (uint32_t)CONVNET_MAX_PARTS;
    job->momentum = config->momentum;
    for (uint32_t i = 0; i < CONVNET_BLOCKS; i++) {
        convnet_lay_out_block(&job->blocks[i], i == 0 ? NULL : &job->blocks[i - 1], config, memory,
                              &total);
    }
    job->features = last->height / 2 * (last->width / 2) * last->out;
    job->linear = last->weights + 9 * last->in * last->out + last->out;
    job->weight_count = job->linear + ((size_t)job->features + 1) * job->panels * CONVNET_LANES;
    job->weights = convnet_take_floats(memory, &total, 2 * job->weight_count);
    job->velocity = memory == NULL ? NULL : job->weights + job->weight_count;
    job->gradients = convnet_take_floats(memory, &total, job->parts * job->linear);
    job->sums = convnet_take_floats(memory, &total, job->weight_count + CONVNET_TOTALS);
    logits = (size_t)config->batch * job->panels * CONVNET_LANES;
    job->logit_parts = convnet_take_floats(memory, &total, logits * CONVNET_SLICES);
    job->logits = convnet_take_floats(memory, &total, logits);
    job->losses = convnet_take_floats(memory, &total, config->batch);
    job->correct = (uint8_t *)convnet_take(memory, &total, config->batch, 1);
    return total;
}

#endif
