/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A rank of a training whose steps contain a collective of MPI. Rank 1 fails in step 13 or after
 * it. Each rank prints how its run ended, and the time since its last step.
 *
 *     mpirun -n 3 mpi_run KIND MODE abort|stay [AGREE_TIMEOUT_MS]
 *
 * KIND: none; slow: a hook of rank 1 takes 10 ms, and ranks that wait are warned of after 50 ms;
 * stopped: SIGSTOP stops rank 1 in a hook, for 2 s;
 * sample: one that cannot be read; step: before its collective; hook; save; open: a
 * pipeline; kill: SIGKILL in a step; exit: the process ends in a step; kill-open, kill-agree,
 * kill-save, kill-end: SIGKILL before the run opens, in its first agree, in save, and after its
 * last step.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <mpi.h>
#include <sluice/sluice.h>

enum { FAILING = 1, FAIL_STEP = 13, BATCH = 2, SAMPLES = 960 };

static MPI_Comm gradients;
static MPI_Comm agreeing;
static int rank;
static int world;
static const char *kind;
static double last_step; /* time at which it began */

static double now(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static bool fails_by(const char *what)
{
    return rank == FAILING && strcmp(kind, what) == 0;
}

/* Ends this process by SIGKILL if that is what this rank does in the phase. */
static void kill_in(const char *phase)
{
    if (fails_by(phase)) {
        raise(SIGKILL);
    }
}

static sluice_status agree(int64_t value, int64_t *most_out, void *user)
{
    (void)user;
    kill_in("kill-agree");
    return MPI_Allreduce(&value, most_out, 1, MPI_INT64_T, MPI_MAX, agreeing) == MPI_SUCCESS
               ? SLUICE_OK
               : SLUICE_E_IO;
}

static void end_all(sluice_status status, const char *text, void *user)
{
    (void)status;
    (void)user;
    fprintf(stderr, "rank %d aborts %.2f s after its last step began: %s\n", rank,
            now() - last_step, text);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

static sluice_status step(const sluice_step *s, void *user)
{
    const bool is_last = *s->step == FAIL_STEP;

    (void)user;
    last_step = now();
    s->outputs[0] = 1;
    if (is_last && fails_by("step")) {
        return sluice_fail(SLUICE_E_DEVICE, "the step of rank %d has no device", rank);
    }
    if (is_last) {
        kill_in("kill");
    }
    if (is_last && fails_by("exit")) {
        _exit(3);
    }
    MPI_Allreduce(MPI_IN_PLACE, s->outputs, 1, MPI_FLOAT, MPI_SUM, gradients);
    return SLUICE_OK;
}

static sluice_status read_sample(sluice_sample *sample, uint64_t index, void *user)
{
    void *room;
    sluice_status st;

    (void)user;
    if (index >= (uint64_t)FAIL_STEP * BATCH * (uint64_t)world && fails_by("sample")) {
        return sluice_fail(SLUICE_E_CORRUPT, "sample %llu is corrupt", (unsigned long long)index);
    }
    st = sluice_sample_room(sample, "number", NULL, &room);
    if (st == SLUICE_OK) {
        *(int64_t *)room = (int64_t)index;
    }
    return st;
}

static sluice_status end_step(sluice_hook *hook, void *user)
{
    const struct timespec pause = {.tv_nsec = 10000000};

    (void)user;
    if (hook->step == FAIL_STEP && fails_by("stopped")) {
        char command[60];

        snprintf(command, sizeof(command), "(sleep 2; kill -CONT %d) &", (int)getpid());
        if (system(command) == 0) {
            raise(SIGSTOP);
        }
    }
    if (fails_by("slow")) {
        nanosleep(&pause, NULL);
    }
    return hook->step >= FAIL_STEP && fails_by("hook")
               ? sluice_fail(SLUICE_E_IO, "the hook of rank %d has no disk", rank)
               : SLUICE_OK;
}

static sluice_status end_train(sluice_hook *hook, void *user)
{
    (void)hook;
    (void)user;
    kill_in("kill-end");
    return SLUICE_OK;
}

static sluice_status save(void *user, const char *folder, uint32_t number, uint32_t count)
{
    (void)user;
    (void)folder;
    (void)number;
    (void)count;
    kill_in("kill-save");
    return fails_by("save") ? sluice_fail(SLUICE_E_IO, "rank %d has no disk to save to", rank)
                            : SLUICE_OK;
}

static sluice_status open_dataset(sluice_dataset **dataset_out)
{
    static const sluice_column_spec columns[] = {{.name = "number", .dtype = SLUICE_I64}};
    sluice_source source;
    sluice_status st;

    if (fails_by("open")) {
        return sluice_dataset_parse("image_folder /nowhere/at/all | decode | batch 2", dataset_out);
    }
    sluice_source_init(&source);
    source.name = "numbers";
    source.columns = columns;
    source.column_count = 1;
    source.count = SAMPLES;
    source.read = read_sample;
    st = sluice_dataset_source(&source, dataset_out);
    return st == SLUICE_OK ? sluice_dataset_add(*dataset_out, "batch 2") : st;
}

static sluice_mode mode_of(const char *name)
{
    return strcmp(name, "direct") == 0  ? SLUICE_MODE_DIRECT
           : strcmp(name, "data") == 0  ? SLUICE_MODE_DATA
           : strcmp(name, "graph") == 0 ? SLUICE_MODE_GRAPH
                                        : SLUICE_MODE_LOOP;
}

static sluice_status train(char **argv, int argc)
{
    sluice_callback hooks;
    sluice_callback *callbacks[] = {&hooks};
    sluice_device *device = NULL;
    sluice_dataset *dataset = NULL;
    sluice_checkpointing checkpoint;
    sluice_train_config config;
    sluice_model model;
    sluice_status st = sluice_device_open("host:0", &device);

    sluice_callback_init(&hooks);
    hooks.step_end = end_step;
    hooks.train_end = end_train;
    sluice_model_init(&model);
    model.step = step;
    model.save = save;
    sluice_checkpointing_init(&checkpoint);
    checkpoint.folder = getenv("MPI_RUN_CHECKPOINTS");
    checkpoint.every_steps = 20;
    sluice_train_config_init(&config);
    config.dataset_sink_mode = true;
    config.sink_size = 10;
    config.epochs = 4;
    config.mode = mode_of(argv[2]);
    config.callbacks = callbacks;
    config.callback_count = 1;
    config.checkpoint = checkpoint.folder != NULL ? &checkpoint : NULL;
    config.stall_warning_ms = strcmp(kind, "slow") == 0 || strcmp(kind, "stopped") == 0 ? 50 : 0;
    config.agree = agree;
    config.abort = strcmp(argv[3], "abort") == 0 ? end_all : NULL;
    config.agree_timeout_ms = argc > 4 ? atoi(argv[4]) : 0;
    st = st == SLUICE_OK ? open_dataset(&dataset) : st;
    kill_in("kill-open");
    st = st == SLUICE_OK ? sluice_train(device, &model, dataset, &config, NULL) : st;
    sluice_dataset_destroy(dataset);
    sluice_device_close(device);
    return st;
}

int main(int argc, char **argv)
{
    sluice_status st;
    int provided;

    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &world);
    MPI_Comm_dup(MPI_COMM_WORLD, &gradients);
    MPI_Comm_dup(MPI_COMM_WORLD, &agreeing);
    if (argc < 4) {
        fprintf(stderr, "usage: mpirun -n 3 mpi_run KIND MODE abort|stay [AGREE_TIMEOUT_MS]\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    kind = argv[1];
    last_step = now();
    st = train(argv, argc);
    if (st < 0) {
        fprintf(stderr, "rank %d ended with %s %.2f s after its last step began: %s\n", rank,
                sluice_status_name(st), now() - last_step, sluice_last_error());
    }
    if (fails_by("sample") || fails_by("step")) {
        _exit(1); /* not by MPI_Finalize(), which would wait for the ranks in their steps */
    }
    MPI_Comm_free(&agreeing);
    MPI_Comm_free(&gradients);
    MPI_Finalize();
    return st < 0 ? 1 : 0;
}
