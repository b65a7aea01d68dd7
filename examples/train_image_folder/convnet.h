/* SPDX-License-Identifier: Apache-2.0 */

/*
 * A small convolutional network on the CPU, so that the examples have something real to feed.
 * It needs nothing but C11 and libm, uses OpenMP where the compiler offers it, and owes nothing
 * to the rest of the project: read it only if you wonder what happens to a batch in the end.
 *
 *   images (batch, 3, H, W)
 *     -> 3 blocks of [3x3 convolution -> ReLU -> 2x2 max-pool], 16, 32 and 64 channels
 *     -> linear layer -> logits (batch, classes) -> softmax cross-entropy
 *
 * Training is SGD with momentum. Two runs of one build on one machine that see the same batches end
 * in the same weights, bit for bit, whatever the number of threads.
 */

#ifndef CONVNET_H
#define CONVNET_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** A network, its optimizer and its scratch memory. One thread at a time may use it. */
typedef struct convnet convnet;

/** What convnet_create() must know. No field has a default. */
typedef struct convnet_config {
    uint32_t batch;      /**< most rows in a batch, at least 1 */
    uint32_t height;     /**< pixels, a multiple of 8, 8 to 1024 */
    uint32_t width;      /**< pixels, a multiple of 8, 8 to 1024 */
    uint32_t classes;    /**< 1 to 65536 */
    float learning_rate; /**< 0.02 serves well with batches of 128 */
    float momentum;      /**< 0 to below 1; 0.9 is usual */
    uint64_t seed;       /**< of the initial weights */
} convnet_config;

/**
 * Makes a network with random weights and takes all the memory that it will ever need.
 *
 * Returns: NULL when a size is out of range or there is no memory. The caller destroys it.
 */
convnet *convnet_create(const convnet_config *config);

/** Frees a network. NULL is fine. */
void convnet_destroy(convnet *net);

/** Sets the learning rate of the steps to come, for schedules. */
void convnet_set_learning_rate(convnet *net, float learning_rate);

/**
 * Takes one training step on the first rows of a batch.
 *
 * @param images        (batch, 3, H, W) float32, normalised; read only in rows below valid_rows
 * @param labels        (batch) int32, 0 to classes - 1; read only in rows below valid_rows
 * @param valid_rows    0 to batch; with 0 nothing changes and both outputs are 0
 * @param loss_out      mean loss over the valid rows, before the step
 * @param accuracy_out  share of the valid rows, 0 to 1, whose largest logit was the right one
 */
void convnet_train_step(convnet *net, const float *images, const int32_t *labels,
                        uint32_t valid_rows, float *loss_out, float *accuracy_out);

/**
 * Judges the first rows of a batch, shaped as for convnet_train_step(); weights stay as they are.
 *
 * @param loss_sum  the rows' losses are added to it
 * @param correct   the number of right answers is added to it
 */
void convnet_evaluate(convnet *net, const float *images, const int32_t *labels, uint32_t valid_rows,
                      double *loss_sum, uint64_t *correct);

/**
 * Classifies one image; weights stay as they are.
 *
 * @param image              (3, H, W) float32, normalised as in training
 * @param probabilities_out  (classes) float32, which add up to 1
 */
void convnet_classify(convnet *net, const float *image, float *probabilities_out);

/** Digests all weights and biases, in order: equal digests mean equal networks. */
uint64_t convnet_digest(const convnet *net);

/**
 * Lends the weights and biases, for checks and for saving. They may be changed between calls. The
 * momentum, as many floats, lies behind them: together they are all that training goes on from.
 */
float *convnet_weights(convnet *net, size_t *count_out);

#ifdef __cplusplus
}
#endif

#endif
