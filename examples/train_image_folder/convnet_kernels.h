/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The arithmetic of convnet.h for many threads: one function per kernel, with the work of its
 * thread t, and the order of the kernels. nvcc compiles these functions to kernels
 * (convnet_launch.cu). A C compiler can run the same functions in loops, which is how they are
 * tested without a GPU (tests/examples/test_convnet_kernels.c).
 *
 * Activations are (batch, H, W, C) without borders. Neighbouring threads process neighbouring
 * channels, so they read adjacent weights, whose layout is that of convnet.c, and the same pixels.
 *
 * Max-pool selects one convolution output of four, so the outputs are never stored. The backward
 * pass needs only the index of the selected one (the `winner`), and skips the other three.
 *
 * Every number is written by one thread, and sums have a fixed order: equal steps give equal bits.
 * No decision is made on the host: kernels read valid_rows and the learning rate where they use
 * them.
 */

#ifndef CONVNET_KERNELS_H
#define CONVNET_KERNELS_H

#include <math.h>

#include "convnet_job.h"

#if defined(__CUDACC__)
#define CONVNET_FN     __host__ __device__ static inline
#define CONVNET_UNROLL _Pragma("unroll") /* keeps arrays in registers */
#else
#define CONVNET_FN static inline
#define CONVNET_UNROLL
#endif

/* The sequence of kernels in a step, as X(kernel, block). Each kernel consists of the functions
 * convnet_KERNEL_threads(job, block) and convnet_KERNEL(job, block, thread).
 */
#define CONVNET_FORWARD(X)                                                                         \
    X(convolve, 0)                                                                                 \
    X(convolve, 1)                                                                                 \
    X(convolve, 2)                                                                                 \
    X(logit_part, 0)                                                                               \
    X(logit, 0)                                                                                    \
    X(judge, 0)                                                                                    \
    X(total, 0)
#define CONVNET_BACKWARD(X)                                                                        \
    X(flip, 1)                                                                                     \
    X(flip, 2)                                                                                     \
    X(feature_slope, 0)                                                                            \
    X(gradient, 2)                                                                                 \
    X(input_slope, 2)                                                                              \
    X(gradient, 1)                                                                                 \
    X(input_slope, 1)                                                                              \
    X(gradient, 0)
#define CONVNET_UPDATE(X)                                                                          \
    X(update_blocks, 0)                                                                            \
    X(update_linear, 0)
/* Instead of CONVNET_UPDATE, if several devices share a batch: the sums of one device, and the
 * update by the sums of all. */
#define CONVNET_SUMS(X)                                                                            \
    X(sum_blocks, 0)                                                                               \
    X(sum_linear, 0)
#define CONVNET_SUMS_UPDATE(X) X(update_by_sums, 0)
#define CONVNET_EACH(X)                                                                            \
    X(convolve)                                                                                    \
    X(logit_part)                                                                                  \
    X(logit)                                                                                       \
    X(judge)                                                                                       \
    X(total)                                                                                       \
    X(flip)                                                                                        \
    X(feature_slope)                                                                               \
    X(gradient)                                                                                    \
    X(input_slope)                                                                                 \
    X(update_blocks)                                                                               \
    X(update_linear)                                                                               \
    X(sum_blocks)                                                                                  \
    X(sum_linear)                                                                                  \
    X(update_by_sums)

/* ---- the forward pass --------------------------------------------------------------------- */

/* Offset of a weight in its block; pixel is 3 * ky + kx. */
CONVNET_FN size_t convnet_weight_at(const convnet_block *b, uint32_t o, uint32_t pixel, uint32_t i)
{
    return ((size_t)(o / CONVNET_LANES * 9 + pixel) * b->in + i) * CONVNET_LANES +
           o % CONVNET_LANES;
}

CONVNET_FN size_t convnet_block_weights(const convnet_block *b)
{
    return (size_t)9 * b->in * b->out;
}

/* Coordinates of an output: thread = ((row * H / 2 + y) * W / 2 + x) * out + channel. */
typedef struct convnet_place {
    uint32_t row, y, x, channel;
} convnet_place;

CONVNET_FN convnet_place convnet_find(uint32_t t, uint32_t height, uint32_t width,
                                      uint32_t channels)
{
    convnet_place p;

    p.channel = t % channels;
    t /= channels;
    p.x = t % width;
    t /= width;
    p.y = t % height;
    p.row = t / height;
    return p;
}

CONVNET_FN uint64_t convnet_convolve_threads(const convnet_job *job, uint32_t block)
{
    const convnet_block *b = &job->blocks[block];

    return (uint64_t)job->batch * (b->height / 2) * (b->width / 2) * b->out;
}

/* Loads the 4 x 4 input pixels of one pooled output, from (2 y - 1, 2 x - 1) on. */
CONVNET_FN void convnet_load_patch(const convnet_block *b, const float *input, convnet_place p,
                                   float patch[16])
{
    CONVNET_UNROLL
    for (uint32_t n = 0; n < 16; n++) {
        const uint32_t y = 2 * p.y + n / 4 - 1; /* -1 wraps to a large number */
        const uint32_t x = 2 * p.x + n % 4 - 1;

        patch[n] = y < b->height && x < b->width ? input[(size_t)y * b->row + (size_t)x * b->column]
                                                 : 0.0f;
    }
}

CONVNET_FN void convnet_convolve(const convnet_job *job, uint32_t block, uint32_t t)
{
    const convnet_block *b = &job->blocks[block];
    const convnet_place p = convnet_find(t, b->height / 2, b->width / 2, b->out);
    const size_t image = (size_t)b->height * b->width * b->in;
    const float *input = (block == 0 ? job->images : b->input) + p.row * image;
    const float *weights = job->weights + b->weights;
    float sum[4] = {0.0f, 0.0f, 0.0f, 0.0f};
    float most;
    uint8_t winner = 0;

    if (p.row >= *job->valid_rows) {
        return;
    }
    for (uint32_t i = 0; i < b->in; i++) {
        float patch[16];

        convnet_load_patch(b, input + (size_t)i * b->channel, p, patch);
        CONVNET_UNROLL
        for (uint32_t k = 0; k < 9; k++) {
            const float weight = weights[convnet_weight_at(b, p.channel, k, i)];

            CONVNET_UNROLL
            for (uint32_t n = 0; n < 4; n++) {
                sum[n] = fmaf(patch[(n / 2 + k / 3) * 4 + n % 2 + k % 3], weight, sum[n]);
            }
        }
    }
    most = sum[0];
    CONVNET_UNROLL
    for (uint8_t n = 1; n < 4; n++) {
        winner = sum[n] > most ? n : winner; /* the first of equal values */
        most = sum[n] > most ? sum[n] : most;
    }
    most += weights[convnet_block_weights(b) + p.channel];
    b->output[t] = most > 0.0f ? most : 0.0f;
    b->winner[t] = most > 0.0f ? winner : (uint8_t)CONVNET_CLOSED;
}

CONVNET_FN uint64_t convnet_logit_part_threads(const convnet_job *job, uint32_t block)
{
    (void)block;
    return (uint64_t)job->batch * job->panels * CONVNET_SLICES * CONVNET_LANES;
}

/* Computes one slice of a logit's sum. */
CONVNET_FN void convnet_logit_part(const convnet_job *job, uint32_t block, uint32_t t)
{
    const uint32_t lane = t % CONVNET_LANES;
    const uint32_t slice = t / CONVNET_LANES % CONVNET_SLICES;
    const uint32_t panel = t / CONVNET_LANES / CONVNET_SLICES % job->panels;
    const uint32_t row = t / CONVNET_LANES / CONVNET_SLICES / job->panels;
    const float *features = job->blocks[CONVNET_BLOCKS - 1].output + (size_t)row * job->features;
    const float *weights =
        job->weights + job->linear + (size_t)panel * job->features * CONVNET_LANES + lane;
    float sum = 0.0f;

    (void)block;
    if (row >= *job->valid_rows) {
        return;
    }
    for (uint32_t i = slice; i < job->features; i += CONVNET_SLICES) {
        sum = fmaf(features[i], weights[(size_t)i * CONVNET_LANES], sum);
    }
    job->logit_parts[t] = sum;
}

CONVNET_FN uint64_t convnet_logit_threads(const convnet_job *job, uint32_t block)
{
    (void)block;
    return (uint64_t)job->batch * job->panels * CONVNET_LANES;
}

/* Adds the slices and the bias. */
CONVNET_FN void convnet_logit(const convnet_job *job, uint32_t block, uint32_t t)
{
    const uint32_t class_count = job->panels * CONVNET_LANES;
    const float *parts = job->logit_parts +
                         (size_t)(t / CONVNET_LANES) * CONVNET_SLICES * CONVNET_LANES +
                         t % CONVNET_LANES;
    float sum = 0.0f;

    (void)block;
    if (t / class_count >= *job->valid_rows) {
        return;
    }
    for (uint32_t slice = 0; slice < CONVNET_SLICES; slice++) {
        sum += parts[slice * CONVNET_LANES];
    }
    job->logits[t] =
        sum + job->weights[job->linear + (size_t)job->features * class_count + t % class_count];
}

CONVNET_FN uint64_t convnet_judge_threads(const convnet_job *job, uint32_t block)
{
    (void)block;
    return job->batch;
}

/*
 * Computes the loss and the correctness of a row. Replaces its logits by the gradients of the mean
 * loss, or of the sum of the losses: probability minus truth for softmax cross-entropy. An invalid
 * label makes the loss NaN.
 */
CONVNET_FN void convnet_judge(const convnet_job *job, uint32_t block, uint32_t row)
{
    const uint32_t valid_rows = *job->valid_rows;
    const float divisor = job->means ? (float)valid_rows : 1.0f;
    float *logits = job->logits + (size_t)row * job->panels * CONVNET_LANES;
    uint32_t label = 0;
    uint32_t best = 0;
    float sum = 0.0f;
    float most;
    float own;

    (void)block;
    if (row >= valid_rows) {
        return;
    }
    label = (uint32_t)job->labels[row];
    own = label < job->classes ? logits[label] : NAN;
    for (uint32_t i = 1; i < job->classes; i++) {
        best = logits[i] > logits[best] ? i : best;
    }
    most = logits[best];
    for (uint32_t i = 0; i < job->classes; i++) {
        logits[i] = expf(logits[i] - most);
        sum += logits[i];
    }
    for (uint32_t i = 0; i < job->classes; i++) {
        logits[i] = (logits[i] / sum - (i == label ? 1.0f : 0.0f)) / divisor;
    }
    job->losses[row] = most - own + logf(sum);
    job->correct[row] = best == label;
}

CONVNET_FN uint64_t convnet_total_threads(const convnet_job *job, uint32_t block)
{
    (void)job;
    (void)block;
    return 1;
}

CONVNET_FN void convnet_total(const convnet_job *job, uint32_t block, uint32_t t)
{
    const uint32_t valid_rows = *job->valid_rows;
    const double divisor = job->means && valid_rows > 0 ? (double)valid_rows : 1.0;
    double loss = 0.0;
    uint32_t correct = 0;

    (void)block;
    (void)t;
    for (uint32_t row = 0; row < valid_rows; row++) {
        loss += (double)job->losses[row];
        correct += job->correct[row];
    }
    *job->loss_out = (float)(loss / divisor);
    *job->correct_out = (float)((double)correct / divisor);
}

/* ---- the backward pass -------------------------------------------------------------------- */

CONVNET_FN uint64_t convnet_flip_threads(const convnet_job *job, uint32_t block)
{
    return convnet_block_weights(&job->blocks[block]);
}

/* Transposes a weight, so that threads of neighbouring input channels read neighbouring weights. */
CONVNET_FN void convnet_flip(const convnet_job *job, uint32_t block, uint32_t t)
{
    const convnet_block *b = &job->blocks[block];
    const uint32_t i = t % b->in;
    const uint32_t o = t / b->in % b->out;

    b->flipped[t] = job->weights[b->weights + convnet_weight_at(b, o, t / b->in / b->out, i)];
}

CONVNET_FN uint64_t convnet_feature_slope_threads(const convnet_job *job, uint32_t block)
{
    (void)block;
    return (uint64_t)job->batch * job->features;
}

/* Computes the gradient of the loss with respect to a feature: the sum of the logits' gradients
 * times its weights. */
CONVNET_FN void convnet_feature_slope(const convnet_job *job, uint32_t block, uint32_t t)
{
    const uint32_t row = t / job->features;
    const float *slopes = job->logits + (size_t)row * job->panels * CONVNET_LANES;
    const float *weights = job->weights + job->linear + (size_t)(t % job->features) * CONVNET_LANES;
    float sum = 0.0f;

    (void)block;
    if (row >= *job->valid_rows) {
        return;
    }
    for (uint32_t k = 0; k < job->classes; k++) {
        sum = fmaf(slopes[k],
                   weights[(size_t)(k / CONVNET_LANES) * job->features * CONVNET_LANES +
                           k % CONVNET_LANES],
                   sum);
    }
    job->blocks[CONVNET_BLOCKS - 1].slope[t] = sum;
}

CONVNET_FN uint64_t convnet_gradient_threads(const convnet_job *job, uint32_t block)
{
    const convnet_block *b = &job->blocks[block];

    return (convnet_block_weights(b) + b->out) * job->parts;
}

/* Returns one output's contribution to the gradient of one of its weights: the output's gradient
 * times the weight's input.
 */
CONVNET_FN float convnet_seen(const convnet_block *b, const float *input, uint32_t winner,
                              convnet_place p, uint32_t pixel)
{
    const uint32_t y = 2 * p.y + winner / 2 + pixel / 3 - 1;
    const uint32_t x = 2 * p.x + winner % 2 + pixel % 3 - 1;

    return y < b->height && x < b->width ? input[(size_t)y * b->row + (size_t)x * b->column] : 0.0f;
}

/*
 * Computes the gradient of a weight or bias over a part of the rows: the sum, over the outputs of
 * its channel, of the output's gradient times the weight's input. The threads of biases follow the
 * threads of weights.
 */
CONVNET_FN void convnet_gradient(const convnet_job *job, uint32_t block, uint32_t t)
{
    const convnet_block *b = &job->blocks[block];
    const uint32_t weights = (uint32_t)convnet_block_weights(b);
    const uint32_t k = t % (weights + b->out);
    const uint32_t part = t / (weights + b->out);
    const bool is_bias = k >= weights;
    const uint32_t i = k / CONVNET_LANES % b->in;
    const uint32_t pixel = k / CONVNET_LANES / b->in % 9;
    const size_t image = (size_t)b->height * b->width * b->in;
    const float *input = (block == 0 ? job->images : b->input) + (size_t)i * b->channel;
    const uint32_t first = (uint32_t)((uint64_t)part * job->batch / job->parts);
    const uint32_t end = (uint32_t)((uint64_t)(part + 1) * job->batch / job->parts);
    convnet_place p;
    float sum = 0.0f;

    p.channel =
        is_bias ? k - weights : k / CONVNET_LANES / b->in / 9 * CONVNET_LANES + k % CONVNET_LANES;
    for (p.row = first; p.row < end && p.row < *job->valid_rows; p.row++) {
        for (p.y = 0; p.y < b->height / 2; p.y++) {
            for (p.x = 0; p.x < b->width / 2; p.x++) {
                const size_t at =
                    (((size_t)p.row * (b->height / 2) + p.y) * (b->width / 2) + p.x) * b->out +
                    p.channel;
                const uint32_t winner = b->winner[at];

                if (winner != CONVNET_CLOSED) {
                    sum = fmaf(b->slope[at],
                               is_bias ? 1.0f
                                       : convnet_seen(b, input + p.row * image, winner, p, pixel),
                               sum);
                }
            }
        }
    }
    job->gradients[part * job->linear + b->weights + k] = sum;
}

CONVNET_FN uint64_t convnet_input_slope_threads(const convnet_job *job, uint32_t block)
{
    const convnet_block *b = &job->blocks[block];

    return (uint64_t)job->batch * b->height * b->width * b->in;
}

/* Returns the contribution of one pooled pixel's outputs to the gradient of an input. An output
 * contributes zero if the input is outside its window.
 */
CONVNET_FN float convnet_sent_back(const convnet_block *b, convnet_place p, uint32_t cell_y,
                                   uint32_t cell_x)
{
    const size_t at =
        (((size_t)p.row * (b->height / 2) + cell_y) * (b->width / 2) + cell_x) * b->out;
    float sum = 0.0f;

    for (uint32_t o = 0; o < b->out; o++) {
        const uint32_t winner = b->winner[at + o];
        const uint32_t ky = p.y + 1 - (2 * cell_y + winner / 2); /* negative numbers wrap to large
                                                                    ones */
        const uint32_t kx = p.x + 1 - (2 * cell_x + winner % 2);

        if (winner != CONVNET_CLOSED && ky < 3 && kx < 3) {
            const size_t weight = ((size_t)(3 * ky + kx) * b->out + o) * b->in + p.channel;

            sum = fmaf(b->slope[at + o], b->flipped[weight], sum);
        }
    }
    return sum;
}

/* Computes the gradient of the loss with respect to an input. The input is in the windows of up to
 * 2 x 2 pooled pixels. */
CONVNET_FN void convnet_input_slope(const convnet_job *job, uint32_t block, uint32_t t)
{
    const convnet_block *b = &job->blocks[block];
    const convnet_place p = convnet_find(t, b->height, b->width, b->in);
    float sum = 0.0f;

    if (p.row >= *job->valid_rows) {
        return;
    }
    for (uint32_t n = 0; n < 4; n++) {
        const uint32_t cell_y = (p.y + 1) / 2 + n / 2 - 1;
        const uint32_t cell_x = (p.x + 1) / 2 + n % 2 - 1;

        if (cell_y < b->height / 2 && cell_x < b->width / 2) {
            sum += convnet_sent_back(b, p, cell_y, cell_x);
        }
    }
    b->input_slope[t] = sum;
}

/* SGD with momentum. */
CONVNET_FN void convnet_move(const convnet_job *job, size_t weight, float gradient)
{
    const float velocity = job->momentum * job->velocity[weight] + gradient;

    job->velocity[weight] = velocity;
    job->weights[weight] -= *job->learning_rate * velocity;
}

/* Returns the gradient of weight or bias t of the convolutions: the sum over the parts. */
CONVNET_FN float convnet_block_sum(const convnet_job *job, uint32_t t)
{
    float sum = 0.0f;

    for (uint32_t part = 0; part < job->parts; part++) {
        sum += job->gradients[part * job->linear + t];
    }
    return sum;
}

/*
 * Returns the gradient of weight or bias t of the linear layer: a sum over the rows, 0 in the
 * padding of a panel. The biases follow the weights.
 */
CONVNET_FN float convnet_linear_sum(const convnet_job *job, uint32_t t)
{
    const uint32_t padded = job->panels * CONVNET_LANES;
    const bool is_bias = t >= job->features * padded;
    const uint32_t feature = t / CONVNET_LANES % job->features;
    const uint32_t k = is_bias
                           ? t - job->features * padded
                           : t / CONVNET_LANES / job->features * CONVNET_LANES + t % CONVNET_LANES;
    const float *features = job->blocks[CONVNET_BLOCKS - 1].output;
    float sum = 0.0f;

    for (uint32_t row = 0; k < job->classes && row < *job->valid_rows; row++) {
        const float input = is_bias ? 1.0f : features[(size_t)row * job->features + feature];

        sum = fmaf(job->logits[(size_t)row * padded + k], input, sum);
    }
    return sum;
}

CONVNET_FN uint64_t convnet_update_blocks_threads(const convnet_job *job, uint32_t block)
{
    (void)block;
    return job->linear;
}

/* Updates a weight or bias of the convolutions. A no-op without valid rows. */
CONVNET_FN void convnet_update_blocks(const convnet_job *job, uint32_t block, uint32_t t)
{
    (void)block;
    if (*job->valid_rows > 0) {
        convnet_move(job, t, convnet_block_sum(job, t));
    }
}

CONVNET_FN uint64_t convnet_update_linear_threads(const convnet_job *job, uint32_t block)
{
    (void)block;
    return job->weight_count - job->linear;
}

/* Updates a weight or bias of the linear layer. A no-op without valid rows. */
CONVNET_FN void convnet_update_linear(const convnet_job *job, uint32_t block, uint32_t t)
{
    (void)block;
    if (*job->valid_rows > 0) {
        convnet_move(job, job->linear + t, convnet_linear_sum(job, t));
    }
}

/* ---- a batch that several devices share ---------------------------------------------------- */

CONVNET_FN uint64_t convnet_sum_blocks_threads(const convnet_job *job, uint32_t block)
{
    return convnet_update_blocks_threads(job, block);
}

CONVNET_FN void convnet_sum_blocks(const convnet_job *job, uint32_t block, uint32_t t)
{
    (void)block;
    job->sums[t] = convnet_block_sum(job, t);
}

CONVNET_FN uint64_t convnet_sum_linear_threads(const convnet_job *job, uint32_t block)
{
    return convnet_update_linear_threads(job, block);
}

/* Loss and correct rows are written by `total`. */
CONVNET_FN void convnet_sum_linear(const convnet_job *job, uint32_t block, uint32_t t)
{
    (void)block;
    job->sums[job->linear + t] = convnet_linear_sum(job, t);
    if (t == 0) {
        job->sums[job->weight_count + CONVNET_ROWS] = (float)*job->valid_rows;
    }
}

CONVNET_FN uint64_t convnet_update_by_sums_threads(const convnet_job *job, uint32_t block)
{
    (void)block;
    return job->weight_count;
}

/* Updates a weight or bias by the sums of all devices. A no-op if they had no valid rows. */
CONVNET_FN void convnet_update_by_sums(const convnet_job *job, uint32_t block, uint32_t t)
{
    const float *totals = job->sums + job->weight_count;
    const float rows = totals[CONVNET_ROWS];

    (void)block;
    if (rows > 0.0f) {
        convnet_move(job, t, job->sums[t] / rows);
    }
    if (t == 0) {
        *job->loss_out = rows > 0.0f ? totals[CONVNET_LOSS] / rows : 0.0f;
        *job->correct_out = rows > 0.0f ? totals[CONVNET_CORRECT] / rows : 0.0f;
    }
}

#endif
