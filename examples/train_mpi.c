/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Data-parallel training on the ranks of MPI, with the network of convnet.h.
 *
 *     mpirun -n 4 train_mpi PICTURES RUN [STEPS [RATE]]
 *
 * PICTURES contains one folder of pictures for each class. Each rank computes the gradients of its
 * part of each batch, the ranks add them up, and all make the same update. The run ends after STEPS
 * (200) steps of the whole training, on Ctrl-C or on SIGTERM. RUN contains checkpoints and
 * log.jsonl with the loss of each step. When it is started again, it resumes, also with another
 * number of ranks: the global batch size stays the same. The losses and the network are the same,
 * bit for bit, on 1, 2, 4, 8 and 16 ranks.
 *
 * Sluice itself does not use MPI: the program passes two functions to it, `agree` and `end_all`.
 */
#include <stdio.h>
#include <stdlib.h>

#include <mpi.h>
#include <sluice/sluice.h>

#include "rank_training.h"
#include "saved_net.h"

typedef struct trainer {
    rank_training training; /* what does not depend on MPI */
    int rank;
    int world;
    MPI_Comm gradients; /* for collectives of steps */
    MPI_Comm agreeing;  /* for agree: a rank that fails calls agree while the others may be in a
                           collective of their step */
    float *received;    /* gradient of another rank */
} trainer;

/* ---- what Sluice is told of MPI -------------------------------------------------------------- */

/* Max-allreduce over all ranks. */
static sluice_status agree(int64_t value, int64_t *most_out, void *user)
{
    const trainer *t = user;

    return MPI_Allreduce(&value, most_out, 1, MPI_INT64_T, MPI_MAX, t->agreeing) == MPI_SUCCESS
               ? SLUICE_OK
               : sluice_fail(SLUICE_E_IO, "MPI_Allreduce failed");
}

/* Called if this rank fails, after Sluice has logged the error. The other ranks may wait for this
 * one in a step, so only MPI can end them. */
static void end_all(sluice_status status, const char *text, void *user)
{
    (void)status;
    (void)text;
    (void)user;
    MPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE);
}

/* ---- the network ----------------------------------------------------------------------------- */

/* What the ranks add up besides the gradient. */
typedef struct totals {
    double loss, correct, rows;
} totals;

/*
 * Adds up gradient and totals over all ranks. MPI_Allreduce(MPI_IN_PLACE, gradient, count,
 * MPI_FLOAT, MPI_SUM, ...) does that, too, and is faster with many ranks; but the order of its
 * sums, and so their last bits, depend on the number of ranks. This is the order that
 * convnet_train_gradient() documents: ranks r and r + world / 2 exchange and add their sums, then r
 * and r + world / 4, and so on. All ranks have the same bits in the end, as a + b = b + a.
 */
static void add_over_ranks(const trainer *t, float *gradient, size_t count, totals *sums)
{
    for (int half = t->world / 2; half > 0; half /= 2) {
        const int other = t->rank ^ half; /* the world is a power of two */
        totals theirs;

        MPI_Sendrecv(sums, 3, MPI_DOUBLE, other, 0, &theirs, 3, MPI_DOUBLE, other, 0, t->gradients,
                     MPI_STATUS_IGNORE);
        MPI_Sendrecv(gradient, (int)count, MPI_FLOAT, other, 0, t->received, (int)count, MPI_FLOAT,
                     other, 0, t->gradients, MPI_STATUS_IGNORE);
        sums->loss += theirs.loss;
        sums->correct += theirs.correct;
        sums->rows += theirs.rows;
        for (size_t i = 0; i < count; i++) {
            gradient[i] += t->received[i];
        }
    }
}

/* Runs on another thread than main(), but not while main() calls MPI: agree is called between
 * steps. So MPI_THREAD_SERIALIZED is sufficient, except after a stall of the step. */
static sluice_status step(const sluice_step *s, void *user)
{
    const trainer *t = user;
    convnet *net = t->training.net;
    const int chunks = CONVNET_MAX_CHUNKS / t->world;
    totals sums = {.rows = *s->valid_rows};
    uint64_t correct;
    size_t count;
    float *gradient = convnet_train_gradient(
        net, sluice_step_input(s, "image")->data, sluice_step_input(s, "label")->data,
        *s->valid_rows, (uint32_t)(chunks > 0 ? chunks : 1), &sums.loss, &correct, &count);

    sums.correct = (double)correct;
    add_over_ranks(t, gradient, count, &sums);
    convnet_set_learning_rate(net, *s->learning_rate);
    convnet_train_update(net, (float)(1 / sums.rows));
    s->outputs[0] = (float)(sums.loss / sums.rows); /* of all ranks, and so equal on all */
    s->outputs[1] = (float)(sums.correct / sums.rows);
    return SLUICE_OK;
}

/* The network is the same on all ranks, so rank 0 saves it, and each rank loads that file. */
static sluice_status save(void *user, const char *folder, uint32_t rank, uint32_t world)
{
    const trainer *t = user;

    (void)world;
    return rank == 0
               ? saved_net_write(folder, t->training.net, RANK_TRAINING_SIZE, &t->training.classes)
               : SLUICE_OK;
}

static sluice_status load(void *user, const char *folder, uint32_t rank, uint32_t world)
{
    const trainer *t = user;

    (void)rank;
    (void)world;
    return saved_net_read(folder, t->training.net);
}

/* ---- the run --------------------------------------------------------------------------------- */

static sluice_status run(trainer *t)
{
    sluice_device *device = NULL;
    sluice_model model;
    size_t count;
    sluice_status st = rank_training_open(&t->training, (uint32_t)t->rank, (uint32_t)t->world);

    if (st == SLUICE_OK) {
        st = sluice_device_open("host:0", &device);
    }
    if (st == SLUICE_OK) {
        (void)convnet_weights(t->training.net, &count);
        t->received = malloc(count * sizeof(float));
        st = t->received != NULL ? SLUICE_OK : sluice_fail(SLUICE_E_NO_MEMORY, "a gradient");
    }
    sluice_model_init(&model);
    model.step = step;
    model.save = save;
    model.load = load;
    model.user = t;
    if (st == SLUICE_OK) {
        st = rank_training_run(&t->training, device, &model, agree, end_all);
    }
    free(t->received);
    sluice_device_close(device);
    rank_training_close(&t->training);
    return st;
}

/* Initializes MPI and makes the two communicators. Returns false after printing an error. */
static bool start_mpi(trainer *t, int *argc, char ***argv)
{
    int provided;

    MPI_Init_thread(argc, argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &t->rank);
    MPI_Comm_size(MPI_COMM_WORLD, &t->world);
    MPI_Comm_dup(MPI_COMM_WORLD, &t->gradients);
    MPI_Comm_dup(MPI_COMM_WORLD, &t->agreeing);
    if (provided < MPI_THREAD_SERIALIZED) {
        fprintf(stderr, "this MPI calls from one thread only; MPI_THREAD_SERIALIZED is needed\n");
    }
    return provided >= MPI_THREAD_SERIALIZED;
}

int main(int argc, char **argv)
{
    trainer t = {.rank = 0};

    if (!start_mpi(&t, &argc, &argv)) {
        MPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE);
    }
    if (!rank_training_read(&t.training, argc, argv, "mpirun -n RANKS ")) {
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    if (run(&t) < 0) {
        fprintf(stderr, "rank %d: %s\n", t.rank, sluice_last_error());
        MPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE); /* the others may wait in start-up for this one */
    }
    MPI_Comm_free(&t.agreeing);
    MPI_Comm_free(&t.gradients);
    MPI_Finalize();
    return EXIT_SUCCESS;
}
