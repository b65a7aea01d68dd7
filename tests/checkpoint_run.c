/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A training that can be killed at any moment and started again: 1998 steps in sinks of 37, a
 * checkpoint every 100, resumed. Each step appends "step digest weight" to a file.
 *
 *     checkpoint_run FOLDER FILE STEP_US [PIPELINE]
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <sluice/sluice.h>

typedef struct trained {
    float weight;
    long step_us;
    FILE *out;
} trained;

static sluice_status step(const sluice_step *s, void *user)
{
    const unsigned char *bytes = s->inputs[0].data;
    trained *m = user;
    const struct timespec pause = {0, 1000 * m->step_us};

    for (size_t i = 0; i < s->inputs[0].bytes; i++) {
        m->weight = 0.999F * m->weight + (float)bytes[i] * (1.0F / 4096);
    }
    s->outputs[0] = m->weight;
    nanosleep(&pause, NULL);
    return SLUICE_OK;
}

static sluice_status on_disk(trained *m, const char *folder, const char *how)
{
    char path[4096];
    FILE *file;
    size_t count = 0;

    snprintf(path, sizeof(path), "%s/weight", folder);
    file = fopen(path, how);
    if (file != NULL) {
        count = how[0] == 'w' ? fwrite(&m->weight, sizeof(m->weight), 1, file)
                              : fread(&m->weight, sizeof(m->weight), 1, file);
        count = fclose(file) == 0 ? count : 0;
    }
    return count == 1 ? SLUICE_OK : SLUICE_E_IO;
}

static sluice_status save(void *user, const char *folder, uint32_t rank, uint32_t world)
{
    (void)rank;
    (void)world;
    return on_disk(user, folder, "wb");
}

static sluice_status load(void *user, const char *folder, uint32_t rank, uint32_t world)
{
    (void)rank;
    (void)world;
    return on_disk(user, folder, "rb");
}

static sluice_status write_records(sluice_hook *hook, void *user)
{
    trained *m = user;

    for (uint64_t i = 0; i < hook->record_count; i++) {
        const sluice_step_record *r = sluice_hook_record(hook, i);

        fprintf(m->out, "%llu %016llx %a\n", (unsigned long long)r->step,
                (unsigned long long)r->digest, (double)r->outputs[0]);
    }
    fflush(m->out);
    return SLUICE_OK;
}

int main(int argc, char **argv)
{
    trained m = {0};
    sluice_callback callback;
    sluice_callback *const callbacks[] = {&callback};
    sluice_checkpointing checkpoint;
    sluice_device *device = NULL;
    sluice_dataset *dataset = NULL;
    sluice_train_config config;
    sluice_model model;
    int failed;

    if (argc < 4 || argc > 5 || (m.out = fopen(argv[2], "a")) == NULL) {
        fprintf(stderr, "usage: checkpoint_run FOLDER FILE STEP_US [PIPELINE]\n");
        return 2;
    }
    m.step_us = atol(argv[3]);
    sluice_model_init(&model);
    model.step = step;
    model.save = save;
    model.load = load;
    model.user = &m;
    sluice_train_config_init(&config);
    config.dataset_sink_mode = true;
    config.sink_size = 37;
    config.epochs = 54;          /* 1998 steps */
    config.output_capacity = 10; /* so that records come often */
    config.digest = true;
    sluice_callback_init(&callback);
    callback.records = write_records;
    callback.user = &m;
    config.callbacks = callbacks;
    config.callback_count = 1;
    sluice_checkpointing_init(&checkpoint);
    checkpoint.folder = argv[1];
    checkpoint.every_steps = 100;
    checkpoint.resume = true;
    config.checkpoint = &checkpoint;
    failed = sluice_device_open("host:0", &device) < 0 ||
             sluice_dataset_parse(argc == 5 ? argv[4]
                                            : "synthetic samples=900 shape=8,8,3 | shuffle | "
                                              "random_horizontal_flip 0.5 | batch 4",
                                  &dataset) < 0 ||
             sluice_train(device, &model, dataset, &config, NULL) < 0;
    if (failed) {
        fprintf(stderr, "%s\n", sluice_last_error());
    }
    sluice_dataset_destroy(dataset);
    sluice_device_close(device);
    fclose(m.out);
    return failed;
}
