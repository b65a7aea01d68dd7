/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One pass over a stream of images in batches of two, with a time-out for stalls. Each step appends
 * a line to standard output.
 *
 *     suspend_run SHARD MODE STALL_MS
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sluice/sluice.h>

static sluice_status step(const sluice_step *s, void *user)
{
    (void)user;
    printf("step %llu\n", (unsigned long long)*s->step);
    fflush(stdout);
    return SLUICE_OK;
}

static sluice_mode mode_of(const char *name)
{
    return strcmp(name, "direct") == 0  ? SLUICE_MODE_DIRECT
           : strcmp(name, "data") == 0  ? SLUICE_MODE_DATA
           : strcmp(name, "graph") == 0 ? SLUICE_MODE_GRAPH
                                        : SLUICE_MODE_LOOP;
}

int main(int argc, char **argv)
{
    sluice_device *device = NULL;
    sluice_dataset *dataset = NULL;
    sluice_train_config config;
    sluice_model model;
    char pipeline[1200];
    int failed;

    if (argc != 4) {
        fprintf(stderr, "usage: suspend_run SHARD MODE STALL_MS\n");
        return 2;
    }
    snprintf(pipeline, sizeof(pipeline),
             "webdataset %.1000s | decode | resize 8,8 | "
             "batch 2 drop_remainder=true",
             argv[1]);
    sluice_model_init(&model);
    model.step = step;
    sluice_train_config_init(&config);
    config.dataset_sink_mode = true;
    config.epochs = 1;
    config.mode = mode_of(argv[2]);
    config.stall_timeout_ms = atol(argv[3]);
    failed = sluice_device_open("host:0", &device) < 0 ||
             sluice_dataset_parse(pipeline, &dataset) < 0 ||
             sluice_train(device, &model, dataset, &config, NULL) < 0;
    if (failed) {
        fprintf(stderr, "%s\n", sluice_last_error());
    }
    sluice_dataset_destroy(dataset);
    sluice_device_close(device);
    return failed;
}
