/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A training whose step runs parallel regions of OpenMP, beside one worker:
 *
 *     openmp_run direct|data|graph|loop
 *
 * Exits with 1 when the step sees fewer CPUs than the process may use, or when a thread of its team
 * may use fewer. It ends soon under any wait policy unless threads that spin at a barrier keep
 * others of the team off the CPU.
 */
#include <omp.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>

#include <sluice/sluice.h>

enum { STEPS = 60, REGIONS = 20, ITEMS = 20000 };

typedef struct seen {
    int procs;   /* omp_get_num_procs() in the step, the fewest */
    int cpus;    /* CPUs that a thread of the team may use, the fewest */
    int threads; /* of the team, the most */
} seen;

static int allowed_cpus(void)
{
    cpu_set_t set;

    return sched_getaffinity(0, sizeof(set), &set) == 0 ? CPU_COUNT(&set) : -1;
}

static sluice_status step(const sluice_step *s, void *user)
{
    seen *saw = user;
    double sum = 0;
    int cpus = saw->cpus;
    int threads = saw->threads;

    for (int region = 0; region < REGIONS; region++) {
#pragma omp parallel for reduction(+ : sum)
        for (int i = 0; i < ITEMS; i++) {
            sum += i * 1e-9;
        }
    }
#pragma omp parallel reduction(min : cpus) reduction(max : threads)
    {
        const int own = allowed_cpus();

        cpus = own < cpus ? own : cpus;
        threads = omp_get_num_threads();
    }
    saw->cpus = cpus;
    saw->threads = threads;
    if (omp_get_num_procs() < saw->procs) {
        saw->procs = omp_get_num_procs();
    }
    s->outputs[0] = (float)sum;
    return SLUICE_OK;
}

static sluice_status train(const char *mode, seen *saw)
{
    sluice_device *device = NULL;
    sluice_dataset *dataset = NULL;
    sluice_model model;
    sluice_train_config config;
    sluice_status st;

    sluice_model_init(&model);
    model.step = step;
    model.user = saw;
    sluice_train_config_init(&config);
    config.max_steps = STEPS;
    config.epochs = 0;
    config.dataset_sink_mode = strcmp(mode, "direct") != 0;
    config.sink_size = 20;
    config.workers = 1;
    config.mode = strcmp(mode, "data") == 0    ? SLUICE_MODE_DATA
                  : strcmp(mode, "graph") == 0 ? SLUICE_MODE_GRAPH
                  : strcmp(mode, "loop") == 0  ? SLUICE_MODE_LOOP
                                               : SLUICE_MODE_AUTO;
    st = sluice_device_open("host:0", &device);
    if (st == SLUICE_OK) {
        st = sluice_dataset_parse("synthetic samples=512 shape=64,64,3 | batch 16", &dataset);
    }
    if (st == SLUICE_OK) {
        st = sluice_train(device, &model, dataset, &config, NULL);
    }
    sluice_dataset_destroy(dataset);
    sluice_device_close(device);
    return st;
}

int main(int argc, char **argv)
{
    const int allowed = allowed_cpus();
    seen saw = {allowed, allowed, 0};

    if (argc != 2) {
        fprintf(stderr, "usage: openmp_run direct|data|graph|loop\n");
        return 2;
    }
    if (train(argv[1], &saw) != SLUICE_OK) {
        fprintf(stderr, "%s\n", sluice_last_error());
        return 1;
    }
    printf("mode %s: the step sees %d of %d CPUs, each of its %d threads %d\n", argv[1], saw.procs,
           allowed, saw.threads, saw.cpus);
    return saw.procs == allowed && saw.cpus == allowed ? 0 : 1;
}
