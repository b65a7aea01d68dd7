/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A fake of the few calls of NCCL that train_nccl makes, with the prototypes of NCCL's own header,
 * on the fake of CUDA. Ranks are processes of one machine, which rank 0 connects by an abstract
 * unix socket whose name is the unique id. A collective is a kernel, so it can be captured. Like a
 * real one it waits for ever for a rank that has ended.
 */
#include <errno.h>
#include <nccl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "fake_cuda.h"

struct ncclComm {
    int rank;
    int world;
    int *sockets; /* (world) of rank 0: to each other rank; of others: [0] to rank 0 */
    float *theirs;
    size_t capacity; /* floats in theirs */
};

const char *ncclGetErrorString(ncclResult_t result)
{
    return result == ncclSuccess ? "no error" : "an error of the fake";
}

/* ---- communicators --------------------------------------------------------------------------- */

/* Rank 0 listens from here on. */
static int listener = -1;

static socklen_t address_of(const ncclUniqueId *id, struct sockaddr_un *address)
{
    memset(address, 0, sizeof(*address));
    address->sun_family = AF_UNIX;
    memcpy(address->sun_path + 1, id->internal, 40);
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 41);
}

ncclResult_t ncclGetUniqueId(ncclUniqueId *id)
{
    struct sockaddr_un address;
    socklen_t length;

    memset(id, 0, sizeof(*id));
    snprintf(id->internal, sizeof(id->internal), "fake_nccl/%d", (int)getpid());
    length = address_of(id, &address);
    listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    return listener >= 0 && bind(listener, (const struct sockaddr *)&address, length) == 0 &&
                   listen(listener, 64) == 0
               ? ncclSuccess
               : ncclSystemError;
}

/* Waits for ever where another rank has ended, as a GPU would. */
static void transfer(int socket, void *data, size_t bytes, int is_send)
{
    char *at = data;

    while (bytes > 0) {
        const ssize_t done =
            is_send ? send(socket, at, bytes, MSG_NOSIGNAL) : recv(socket, at, bytes, 0);

        if (done > 0) {
            at += done;
            bytes -= (size_t)done;
        } else if (done == 0 || errno != EINTR) {
            for (;;) {
                pause();
            }
        }
    }
}

static ncclResult_t accept_ranks(struct ncclComm *comm)
{
    for (int i = 1; i < comm->world; i++) {
        const int socket = accept(listener, NULL, NULL);
        int rank = 0;

        if (socket < 0) {
            return ncclSystemError;
        }
        transfer(socket, &rank, sizeof(rank), 0);
        if (rank < 1 || rank >= comm->world || comm->sockets[rank] >= 0) {
            return ncclInvalidUsage;
        }
        comm->sockets[rank] = socket;
    }
    return ncclSuccess;
}

static ncclResult_t connect_to_rank_0(struct ncclComm *comm, const ncclUniqueId *id)
{
    struct sockaddr_un address;
    const socklen_t length = address_of(id, &address);

    comm->sockets[0] = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (comm->sockets[0] < 0 ||
        connect(comm->sockets[0], (const struct sockaddr *)&address, length) != 0) {
        return ncclSystemError;
    }
    transfer(comm->sockets[0], &comm->rank, sizeof(comm->rank), 1);
    return ncclSuccess;
}

ncclResult_t ncclCommInitRank(ncclComm_t *comm_out, int world, ncclUniqueId id, int rank)
{
    struct ncclComm *comm = calloc(1, sizeof(*comm));
    ncclResult_t result = ncclSystemError;

    if (comm != NULL) {
        comm->rank = rank;
        comm->world = world;
        comm->sockets = malloc((size_t)world * sizeof(int));
    }
    if (comm != NULL && comm->sockets != NULL) {
        memset(comm->sockets, -1, (size_t)world * sizeof(int));
        result = rank == 0 ? accept_ranks(comm) : connect_to_rank_0(comm, &id);
    }
    *comm_out = comm;
    return result;
}

ncclResult_t ncclCommDestroy(ncclComm_t comm)
{
    for (int i = 0; i < comm->world; i++) {
        if (comm->sockets[i] >= 0) {
            close(comm->sockets[i]);
        }
    }
    if (comm->rank == 0 && listener >= 0) {
        close(listener);
        listener = -1;
    }
    free(comm->theirs);
    free(comm->sockets);
    free(comm);
    return ncclSuccess;
}

/* ---- collectives ----------------------------------------------------------------------------- */

typedef struct reduction {
    struct ncclComm *comm;
    float *values;
    size_t count;
} reduction;

/* Rank 0 adds up in the order of the ranks. */
static void all_reduce_body(void *const *args, unsigned blocks, unsigned threads)
{
    const reduction *r = args[0];
    struct ncclComm *comm = r->comm;
    const size_t bytes = r->count * sizeof(float);

    (void)blocks;
    (void)threads;
    if (comm->rank != 0) {
        transfer(comm->sockets[0], r->values, bytes, 1);
        transfer(comm->sockets[0], r->values, bytes, 0);
        return;
    }
    for (int rank = 1; rank < comm->world; rank++) {
        transfer(comm->sockets[rank], comm->theirs, bytes, 0);
        for (size_t i = 0; i < r->count; i++) {
            r->values[i] += comm->theirs[i];
        }
    }
    for (int rank = 1; rank < comm->world; rank++) {
        transfer(comm->sockets[rank], r->values, bytes, 1);
    }
}

static const fake_kernel all_reduce = {"ncclAllReduce", all_reduce_body, 1, {sizeof(reduction)}};

/* In place, float sums only. */
ncclResult_t ncclAllReduce(const void *from, void *to, size_t count, ncclDataType_t type,
                           ncclRedOp_t operation, ncclComm_t comm, cudaStream_t stream)
{
    const dim3 one = {1, 1, 1};
    reduction r = {comm, to, count};
    void *args[] = {&r};

    if (from != to || type != ncclFloat || operation != ncclSum) {
        return ncclInvalidArgument;
    }
    if (count > comm->capacity) { /* no reduction is in flight: the first is waited for */
        free(comm->theirs);
        comm->theirs = malloc(count * sizeof(float));
        comm->capacity = comm->theirs != NULL ? count : 0;
    }
    return comm->capacity >= count &&
                   cudaLaunchKernel(&all_reduce, one, one, args, 0, stream) == cudaSuccess
               ? ncclSuccess
               : ncclSystemError;
}
