/* SPDX-License-Identifier: Apache-2.0 */

/*
 * A small convolutional network on the CPU, for the examples to train. It needs C11 and libm only,
 * uses OpenMP if the compiler has it, and does not depend on Sluice: to learn Sluice you need not
 * read it.
 *
 *   images (batch, 3, H, W)
 *     -> 3 blocks of [3x3 convolution -> ReLU -> 2x2 max-pool], 16, 32 and 64 channels
 *     -> linear layer -> logits (batch, classes) -> softmax cross-entropy
 *
 * Training is SGD with momentum. It is deterministic: runs of one build on one machine with the
 * same batches end with the same weights, bit for bit, for any number of threads.
 */

#ifndef CONVNET_H
#define CONVNET_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** A network, its optimizer and its scratch memory. Not thread-safe: one call at a time. */
typedef struct convnet convnet;

/** Settings of a network. Set every field: none has a default. */
typedef struct convnet_config {
    uint32_t batch;      /**< rows of a batch, at least 1 */
    uint32_t height;     /**< pixels, a multiple of 8, 8 to 1024 */
    uint32_t width;      /**< pixels, a multiple of 8, 8 to 1024 */
    uint32_t classes;    /**< 1 to 65536 */
    float learning_rate; /**< 0.02 works well with batches of 128 */
    float momentum;      /**< 0 to below 1; usually 0.9 */
    uint64_t seed;       /**< seed of the random initial weights */
} convnet_config;

/**
 * Creates a network with random weights. All memory is allocated here; later calls allocate none.
 *
 * Returns: NULL if a size is out of range or memory is short. The caller destroys the network.
 */
convnet *convnet_create(const convnet_config *config);

/** Frees a network. NULL is fine. */
void convnet_destroy(convnet *net);

/** Sets the learning rate of later steps, for schedules. */
void convnet_set_learning_rate(convnet *net, float learning_rate);

/**
 * Runs one training step on the first valid_rows rows of a batch.
 *
 * @param images        (batch, 3, H, W) float32, normalised; read only in rows below valid_rows
 * @param labels        (batch) int32, 0 to classes - 1; read only in rows below valid_rows
 * @param valid_rows    0 to batch; with 0 the weights do not change and both outputs are 0
 * @param loss_out      mean loss over the valid rows, before the step
 * @param accuracy_out  share of the valid rows, 0 to 1, that were classified correctly
 */
void convnet_train_step(convnet *net, const float *images, const int32_t *labels,
                        uint32_t valid_rows, float *loss_out, float *accuracy_out);

/** Largest number of chunks of a batch; also the largest useful number of threads. */
enum { CONVNET_MAX_CHUNKS = 16 };

/**
 * The first half of a training step, for a batch that several processes share: computes the sum of
 * the gradients of the first valid_rows rows, without changing the weights.
 *
 * Floating-point sums depend on their order. This one is a binary tree over chunks of rows: row i
 * belongs to chunk i % chunks. First chunk i + chunks / 2 is added to chunk i, for the lower half
 * of the chunks, then the same with half as many chunks, until one is left. If process r of n (a
 * power of two) has the rows r, r + n, r + 2 n, ... of the whole batch and chunks / n chunks, and
 * the processes then add up their sums in the same way, r and r + n / 2 first, the result has the
 * same bits as that of one process.
 *
 * @param chunks       a power of two, at most CONVNET_MAX_CHUNKS
 * @param loss_out     sum of the losses of the rows
 * @param correct_out  number of correctly classified rows
 * @param count_out    number of floats in the gradient
 *
 * Returns: (count) the gradient, owned by the network and valid until its next call other than
 *          convnet_train_update(). The caller replaces it by the sum over all processes.
 */
float *convnet_train_gradient(convnet *net, const float *images, const int32_t *labels,
                              uint32_t valid_rows, uint32_t chunks, double *loss_out,
                              uint64_t *correct_out, size_t *count_out);

/** The second half: updates the weights by the gradient times scale, 1 / the rows of all ranks. */
void convnet_train_update(convnet *net, float scale);

/**
 * Evaluates the first valid_rows rows of a batch, shaped as for convnet_train_step(). The weights
 * do not change.
 *
 * @param loss_sum  the losses of the rows are added to it
 * @param correct   the number of correctly classified rows is added to it
 */
void convnet_evaluate(convnet *net, const float *images, const int32_t *labels, uint32_t valid_rows,
                      double *loss_sum, uint64_t *correct);

/**
 * Classifies one image. The weights do not change.
 *
 * @param image              (3, H, W) float32, normalised as in training
 * @param probabilities_out  (classes) float32, which add up to 1
 */
void convnet_classify(convnet *net, const float *image, float *probabilities_out);

/** A hash of all weights and biases: equal for equal networks. */
uint64_t convnet_digest(const convnet *net);

/**
 * The weights and biases, for checks and for saving: owned by the network; may be changed between
 * calls. The momentum, as many floats, follows them: a checkpoint needs both.
 */
float *convnet_weights(convnet *net, size_t *count_out);

#ifdef __cplusplus
}
#endif

#endif
