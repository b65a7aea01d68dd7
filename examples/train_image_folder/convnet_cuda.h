/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The network of convnet.h on a CUDA device: the same layers, the same initial weights for the same
 * seed and, except for the order of sums, the same numbers. Plain kernels, no libraries.
 *
 * A step only enqueues kernels. It allocates no memory, waits for nothing, and the host reads no
 * results, so it can be captured once and replayed. Equal steps give equal bits on the same kind of
 * device.
 *
 * Functions that can fail return NULL on success, else an error text; see also
 * convnet_cuda_create().
 */

#ifndef CONVNET_CUDA_H
#define CONVNET_CUDA_H

#include "convnet.h"

#ifdef __cplusplus
extern "C" {
#endif

/** A network in a device's memory. One stream at a time may use it. */
typedef struct convnet_cuda convnet_cuda;

/* One batch and its outputs. All addresses are in the device's memory. */
typedef struct convnet_cuda_batch {
    const float *images;        /**< (batch, 3, H, W), as for convnet_train_step() */
    const int32_t *labels;      /**< (batch) */
    const uint32_t *valid_rows; /**< 0 to batch */
    const float *learning_rate; /**< rate of a training step, used instead of the config's */
    float *loss_out;            /**< training: mean over the valid rows; evaluation: sum */
    float *correct_out;         /**< training: share of correct rows; evaluation: their number */
} convnet_cuda_batch;

/**
 * Creates a network with the same initial weights as convnet_create().
 *
 * @param device CUDA device ordinal
 * @param why_out error text if the function returns NULL; a static string
 */
convnet_cuda *convnet_cuda_create(const convnet_config *config, int device, const char **why_out);

/* Frees a network that is no longer in use. NULL is fine. */
void convnet_cuda_destroy(convnet_cuda *net);

/* Enqueues a training step on a cudaStream_t of the network's device, which must be current. */
const char *convnet_cuda_train_step(convnet_cuda *net, const convnet_cuda_batch *batch,
                                    void *stream);

/**
 * The first half of a training step, for a batch that several devices share: enqueues the
 * computation of the sums of this device's valid rows, of gradient, losses, correct rows and
 * number.
 *
 * @param sums_out   (*count_out) floats in device memory, owned by the network. The caller enqueues
 *                   what replaces them by the sums over all devices, in the same stream
 */
const char *convnet_cuda_train_gradient(convnet_cuda *net, const convnet_cuda_batch *batch,
                                        void *stream, float **sums_out, size_t *count_out);

/** The second half: enqueues the update by these sums. The outputs are means over all devices. */
const char *convnet_cuda_train_update(convnet_cuda *net, const convnet_cuda_batch *batch,
                                      void *stream);

/** Enqueues an evaluation; weights stay as they are. */
const char *convnet_cuda_evaluate(convnet_cuda *net, const convnet_cuda_batch *batch, void *stream);

/**
 * Copies weights and momentum to the host: as many floats, in the same order, as convnet_weights()
 * lends. No step may be running.
 */
const char *convnet_cuda_get(const convnet_cuda *net, float *weights);

/* Copies weights and momentum from the host, in the same order. */
const char *convnet_cuda_set(convnet_cuda *net, const float *weights);

#ifdef __cplusplus
}
#endif

#endif
