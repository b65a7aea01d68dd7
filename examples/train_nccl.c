/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Data-parallel training on several GPUs by NCCL, with the network of convnet_cuda.h: train_mpi.c
 * on CUDA. It has run with one rank on one GPU.
 *
 *     mpirun -n 4 --bind-to none train_nccl PICTURES RUN [STEPS [RATE]]
 *     srun -n 4 train_nccl PICTURES RUN
 *     torchrun --no-python --nproc-per-node 4 train_nccl PICTURES RUN
 *
 * Each rank has the GPU of its local rank. The step enqueues three things, which Sluice captures
 * once and replays for each batch: the gradients of this rank's part of the batch, ncclAllReduce(),
 * and the update. `agree` and `end_all` must not use NCCL's communicator, on which a captured step
 * may wait for a rank that has failed. They use TCP, which needs no MPI: tcp_group.h says how the
 * ranks find each other.
 *
 * The order of ncclAllReduce's sums depends on the number of ranks, and so do the last bits of the
 * losses.
 */
#include <stdio.h>
#include <stdlib.h>

#include <cuda_runtime_api.h>
#include <nccl.h>
#include <sluice/sluice.h>

#include "convnet_cuda.h"
#include "rank_training.h"
#include "saved_net.h"
#include "tcp_group.h"

enum { EXIT_SKIPPED = 77 };

typedef struct trainer {
    rank_training training; /* what does not depend on the device; its network is a copy */
    sluice_device *device;
    tcp_group *group; /* for agree and end_all */
    ncclComm_t comm;  /* for steps */
    convnet_cuda *net;
} trainer;

static sluice_status cuda_status(const char *why)
{
    return why == NULL ? SLUICE_OK : sluice_fail(SLUICE_E_DEVICE, "network: %s", why);
}

static sluice_status nccl_status(ncclResult_t result, const char *call)
{
    return result == ncclSuccess ? SLUICE_OK
                                 : sluice_fail(SLUICE_E_DEVICE, "%s: %s; NCCL_DEBUG=WARN says more",
                                               call, ncclGetErrorString(result));
}

/* ---- what Sluice is told of the other ranks -------------------------------------------------- */

static sluice_status agree(int64_t value, int64_t *most_out, void *user)
{
    const trainer *t = user;

    return tcp_group_max(t->group, value, most_out);
}

/* Called if this rank fails, after Sluice has logged the error. The GPUs of the other ranks may
 * wait for this one in ncclAllReduce(), which nothing but the end of their processes ends. */
static void end_all(sluice_status status, const char *text, void *user)
{
    const trainer *t = user;

    (void)status;
    (void)text;
    tcp_group_abort(t->group);
}

/* ---- the network ----------------------------------------------------------------------------- */

/* Only enqueues; the kernels read through the pointers later, for each batch. */
static sluice_status step(const sluice_step *s, void *user)
{
    const trainer *t = user;
    const convnet_cuda_batch batch = {.images = sluice_step_input(s, "image")->data,
                                      .labels = sluice_step_input(s, "label")->data,
                                      .valid_rows = s->valid_rows,
                                      .learning_rate = s->learning_rate,
                                      .loss_out = &s->outputs[0],
                                      .correct_out = &s->outputs[1]};
    float *sums;
    size_t count;
    sluice_status st =
        cuda_status(convnet_cuda_train_gradient(t->net, &batch, s->stream, &sums, &count));

    if (st == SLUICE_OK) {
        st = nccl_status(ncclAllReduce(sums, sums, count, ncclFloat, ncclSum, t->comm, s->stream),
                         "ncclAllReduce");
    }
    return st == SLUICE_OK ? cuda_status(convnet_cuda_train_update(t->net, &batch, s->stream)) : st;
}

/* The network is the same on all ranks, so rank 0 saves it, and each rank loads that file. */
static sluice_status save(void *user, const char *folder, uint32_t rank, uint32_t world)
{
    const trainer *t = user;
    size_t count;
    sluice_status st;

    (void)world;
    if (rank != 0) {
        return SLUICE_OK;
    }
    st = cuda_status(convnet_cuda_get(t->net, convnet_weights(t->training.net, &count)));
    return st == SLUICE_OK
               ? saved_net_write(folder, t->training.net, RANK_TRAINING_SIZE, &t->training.classes)
               : st;
}

static sluice_status load(void *user, const char *folder, uint32_t rank, uint32_t world)
{
    const trainer *t = user;
    size_t count;
    sluice_status st = saved_net_read(folder, t->training.net);

    (void)rank;
    (void)world;
    return st == SLUICE_OK
               ? cuda_status(convnet_cuda_set(t->net, convnet_weights(t->training.net, &count)))
               : st;
}

/* ---- NCCL ------------------------------------------------------------------------------------ */

/* A first collective outside of any capture: NCCL connects the GPUs and allocates in it. */
static sluice_status warm_up(const trainer *t)
{
    float *word = NULL;
    cudaStream_t stream = NULL;
    sluice_status st = SLUICE_OK;

    if (cudaMalloc((void **)&word, sizeof(*word)) != cudaSuccess ||
        cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking) != cudaSuccess) {
        st = cuda_status(cudaGetErrorString(cudaGetLastError()));
    }
    if (st == SLUICE_OK) {
        st = nccl_status(ncclAllReduce(word, word, 1, ncclFloat, ncclSum, t->comm, stream),
                         "ncclAllReduce");
    }
    if (st == SLUICE_OK && cudaStreamSynchronize(stream) != cudaSuccess) {
        st = cuda_status(cudaGetErrorString(cudaGetLastError()));
    }
    if (stream != NULL) {
        (void)cudaStreamDestroy(stream);
    }
    (void)cudaFree(word);
    return st;
}

/* Makes the communicator. Its id is 128 bytes of rank 0. */
static sluice_status connect_gpus(trainer *t)
{
    const rank_training *ranks = &t->training;
    ncclUniqueId id = {{0}};
    sluice_status st = SLUICE_OK;

    if (ranks->rank == 0) {
        st = nccl_status(ncclGetUniqueId(&id), "ncclGetUniqueId");
    }
    if (st == SLUICE_OK) {
        st = tcp_group_broadcast(t->group, &id, sizeof(id));
    }
    if (st == SLUICE_OK) {
        st = nccl_status(ncclCommInitRank(&t->comm, (int)ranks->world, id, (int)ranks->rank),
                         "ncclCommInitRank");
    }
    return st == SLUICE_OK ? warm_up(t) : st;
}

/* ---- the run --------------------------------------------------------------------------------- */

/* Opens the GPU of this rank and makes the network on it. */
static sluice_status open_gpu(trainer *t)
{
    const char *why = NULL;
    sluice_status st = sluice_device_open("cuda:local", &t->device);
    int gpu;

    if (st != SLUICE_OK) {
        return st;
    }
    gpu = atoi(sluice_device_name(t->device) + 5); /* "cuda:N" */
    if (cudaSetDevice(gpu) != cudaSuccess) {
        return cuda_status(cudaGetErrorString(cudaGetLastError()));
    }
    t->net = convnet_cuda_create(&t->training.config, gpu, &why);
    return cuda_status(why);
}

static sluice_status run(trainer *t)
{
    sluice_ranks ranks;
    sluice_model model;
    sluice_status st;

    sluice_ranks_init(&ranks);
    st = sluice_ranks_find(&ranks);
    if (st == SLUICE_OK) {
        st = rank_training_open(&t->training, ranks.rank, ranks.world);
    }
    if (st == SLUICE_OK) {
        st = open_gpu(t);
    }
    if (st == SLUICE_OK) {
        st = tcp_group_open(ranks.rank, ranks.world, &t->group);
    }
    if (st == SLUICE_OK) {
        st = connect_gpus(t);
    }
    sluice_model_init(&model);
    model.step = step;
    model.save = save;
    model.load = load;
    model.user = t;
    return st == SLUICE_OK ? rank_training_run(&t->training, t->device, &model, agree, end_all)
                           : st;
}

static void clean_up(trainer *t)
{
    if (t->comm != NULL) {
        (void)ncclCommDestroy(t->comm);
    }
    convnet_cuda_destroy(t->net);
    sluice_device_close(t->device);
    rank_training_close(&t->training);
    tcp_group_close(t->group);
}

int main(int argc, char **argv)
{
    trainer t = {.net = NULL};
    sluice_status st;

    if (!rank_training_read(&t.training, argc, argv, "mpirun -n RANKS ")) {
        return 2;
    }
    st = run(&t);
    if (st < 0) {
        fprintf(stderr, "rank %u: %s\n", t.training.rank, sluice_last_error());
        if (t.group != NULL) {
            tcp_group_abort(t.group); /* the others may wait for this one */
        }
        return st == SLUICE_E_NO_DEVICE ? EXIT_SKIPPED : EXIT_FAILURE;
    }
    clean_up(&t);
    return EXIT_SUCCESS;
}
