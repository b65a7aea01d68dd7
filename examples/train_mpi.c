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
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <mpi.h>
#include <sluice/sluice.h>

#include "class_names.h"
#include "convnet.h"

enum { SIZE = 32, BATCH = 64 }; /* side of a picture; global batch size */

typedef struct trainer {
    int rank;
    int world;
    MPI_Comm gradients; /* for collectives of steps */
    MPI_Comm agreeing;  /* for agree: a rank that fails calls agree while the others may be in a
                           collective of their step */
    convnet *net;
    float *received; /* gradient of another rank, as large as the network's */
} trainer;

static sluice_stop *stop;

static void on_signal(int number)
{
    (void)number;
    sluice_stop_request(stop);
}

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
    const int chunks = CONVNET_MAX_CHUNKS / t->world;
    totals sums = {.rows = *s->valid_rows};
    uint64_t correct;
    size_t count;
    float *gradient = convnet_train_gradient(
        t->net, sluice_step_input(s, "image")->data, sluice_step_input(s, "label")->data,
        *s->valid_rows, (uint32_t)(chunks > 0 ? chunks : 1), &sums.loss, &correct, &count);

    sums.correct = (double)correct;
    add_over_ranks(t, gradient, count, &sums);
    convnet_train_update(t->net, (float)(1 / sums.rows));
    s->outputs[0] = (float)(sums.loss / sums.rows); /* of all ranks, and so equal on all */
    s->outputs[1] = (float)(sums.correct / sums.rows);
    return SLUICE_OK;
}

static sluice_status file_failed(const char *path)
{
    return sluice_fail(SLUICE_E_IO, "%s: %s", path, strerror(errno));
}

/* The network is the same on all ranks, so rank 0 saves it, and each rank loads that file. */
static sluice_status save(void *user, const char *folder, uint32_t rank, uint32_t world)
{
    const trainer *t = user;
    size_t count;
    const float *weights = convnet_weights(t->net, &count);
    bool written;
    char path[4096];
    FILE *file;

    (void)world;
    if (rank != 0) {
        return SLUICE_OK;
    }
    snprintf(path, sizeof(path), "%s/net", folder);
    file = fopen(path, "wb");
    if (file == NULL) {
        return file_failed(path);
    }
    written = fwrite(weights, sizeof(float), 2 * count, file) == 2 * count;
    return fclose(file) == 0 && written ? SLUICE_OK : file_failed(path);
}

static sluice_status load(void *user, const char *folder, uint32_t rank, uint32_t world)
{
    const trainer *t = user;
    size_t count;
    float *weights = convnet_weights(t->net, &count);
    bool read;
    char path[4096];
    FILE *file;

    (void)rank;
    (void)world;
    snprintf(path, sizeof(path), "%s/net", folder);
    file = fopen(path, "rb");
    if (file == NULL) {
        return file_failed(path);
    }
    read = fread(weights, sizeof(float), 2 * count, file) == 2 * count && fgetc(file) == EOF;
    fclose(file);
    return read ? SLUICE_OK
                : sluice_fail(SLUICE_E_CORRUPT, "%s is not of a network with these classes", path);
}

/* ---- the run --------------------------------------------------------------------------------- */

static sluice_status open_pictures(const trainer *t, sluice_dataset **pictures_out)
{
    char text[200];

    snprintf(text, sizeof(text),
             "image_folder \"${PICTURES}\" | shuffle | decode | random_resized_crop %d | "
             "random_horizontal_flip | normalize 0.5 0.5 | to_chw | batch %d drop_remainder=true",
             SIZE, BATCH / t->world);
    return sluice_dataset_parse(text, pictures_out);
}

/* Each rank makes the same network: the weights are a function of the seed. */
static sluice_status make_network(trainer *t, const char *pictures, float rate)
{
    class_names classes;
    size_t count;
    convnet_config config = {.batch = (uint32_t)(BATCH / t->world),
                             .height = SIZE,
                             .width = SIZE,
                             .learning_rate = rate,
                             .momentum = 0.9f,
                             .seed = 1};

    if (!class_names_read(&classes, pictures)) {
        return sluice_fail(SLUICE_E_IO, "no classes in %s", pictures);
    }
    config.classes = classes.count;
    class_names_free(&classes);
    t->net = convnet_create(&config);
    if (t->net != NULL) {
        (void)convnet_weights(t->net, &count);
        t->received = malloc(count * sizeof(float));
    }
    return t->received != NULL ? SLUICE_OK : sluice_fail(SLUICE_E_NO_MEMORY, "the network");
}

static sluice_status train(trainer *t, sluice_device *device, sluice_dataset *pictures,
                           const char *folder, uint64_t steps)
{
    static const char *const outputs[] = {"loss", "accuracy"};
    sluice_callback *callbacks[2] = {NULL, NULL};
    sluice_checkpointing checkpoint;
    sluice_train_config config;
    sluice_model model;
    char log[4096];
    sluice_status st;

    snprintf(log, sizeof(log), "%s/log.jsonl", folder);
    st = sluice_json_log(log, &callbacks[0]);
    if (st == SLUICE_OK) {
        st = sluice_loss_monitor(stdout, 10, &callbacks[1]);
    }
    sluice_model_init(&model);
    model.step = step;
    model.user = t;
    model.output_names = outputs;
    model.output_count = 2;
    model.save = save;
    model.load = load;
    sluice_checkpointing_init(&checkpoint);
    checkpoint.folder = folder;
    checkpoint.every_steps = 50;
    checkpoint.resume = true;
    sluice_train_config_init(&config);
    config.rank =
        (uint32_t)t->rank; /* equal to what Sluice finds by itself under mpirun and srun */
    config.world = (uint32_t)t->world;
    config.total_steps = steps;
    config.dataset_sink_mode = true;
    config.sink_size = 10;
    config.seed = 1;
    config.checkpoint = &checkpoint;
    config.callbacks = callbacks;
    config.callback_count = 2;
    config.stop = stop;
    config.agree = agree;
    config.agree_user = t;
    config.abort = end_all;
    if (st == SLUICE_OK) {
        st = sluice_train(device, &model, pictures, &config, NULL);
    }
    sluice_callback_destroy(callbacks[1]);
    sluice_callback_destroy(callbacks[0]);
    return st;
}

static sluice_status run(trainer *t, const char *folder, uint64_t steps, float rate)
{
    sluice_device *device = NULL;
    sluice_dataset *pictures = NULL;
    sluice_status st = sluice_device_open("host:0", &device);

    if (st == SLUICE_OK) {
        st = open_pictures(t, &pictures);
    }
    if (st == SLUICE_OK) {
        st = make_network(t, getenv("PICTURES"), rate);
    }
    if (st == SLUICE_OK) {
        st = sluice_stop_create(&stop);
    }
    if (st == SLUICE_OK) {
        signal(SIGINT, on_signal);
        signal(SIGTERM, on_signal);
        st = train(t, device, pictures, folder, steps);
        signal(SIGINT, SIG_DFL);
        signal(SIGTERM, SIG_DFL);
    }
    sluice_stop_destroy(stop);
    free(t->received);
    convnet_destroy(t->net);
    sluice_dataset_destroy(pictures);
    sluice_device_close(device);
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
        return false;
    }
    if (BATCH % t->world != 0) {
        fprintf(stderr, "%d ranks cannot share batches of %d; use a divisor\n", t->world, BATCH);
        return false;
    }
    return true;
}

int main(int argc, char **argv)
{
    trainer t = {.net = NULL};
    sluice_status st = SLUICE_E_INVALID;

    if (!start_mpi(&t, &argc, &argv)) {
        MPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE);
    }
    if (argc < 3 || argc > 5) {
        fprintf(stderr, "usage: mpirun -n RANKS %s PICTURES RUN [STEPS [RATE]]\n", argv[0]);
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    setenv("PICTURES", argv[1], 1);
    mkdir(argv[2], 0777);
    st = run(&t, argv[2], argc > 3 ? strtoull(argv[3], NULL, 10) : 200,
             argc > 4 ? strtof(argv[4], NULL) : 0.02f);
    if (st < 0) {
        fprintf(stderr, "rank %d: %s\n", t.rank, sluice_last_error());
        MPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE); /* the others may wait in start-up for this one */
    }
    MPI_Comm_free(&t.agreeing);
    MPI_Comm_free(&t.gradients);
    MPI_Finalize();
    return EXIT_SUCCESS;
}
