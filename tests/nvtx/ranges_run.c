/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A training in which every range occurs: one pass in sinks of 3 steps, then a validation on the
 * same data and a checkpoint.
 *
 *     ranges_run DEVICE PIPELINE FOLDER
 */
#include <stdio.h>

#include <sluice/sluice.h>

static sluice_status step(const sluice_step *s, void *user)
{
    (void)user;
    s->outputs[0] = 1;
    return SLUICE_OK;
}

static sluice_status save(void *user, const char *folder, uint32_t rank, uint32_t world)
{
    (void)user;
    (void)folder;
    (void)rank;
    (void)world;
    return SLUICE_OK;
}

int main(int argc, char **argv)
{
    static const char *const names[] = {"ones"};
    sluice_device *device = NULL;
    sluice_dataset *dataset = NULL;
    sluice_dataset *held_out = NULL;
    sluice_validating validation;
    sluice_checkpointing checkpoint;
    sluice_train_config config;
    sluice_model model;
    int failed;

    if (argc != 4) {
        fprintf(stderr, "usage: ranges_run DEVICE PIPELINE FOLDER\n");
        return 2;
    }
    sluice_model_init(&model);
    model.step = step;
    model.eval = step;
    model.save = save;
    model.load = save;
    model.result_names = names;
    model.result_count = 1;
    failed = sluice_device_open(argv[1], &device) < 0 ||
             sluice_dataset_parse(argv[2], &dataset) < 0 ||
             sluice_dataset_parse(argv[2], &held_out) < 0;
    sluice_train_config_init(&config);
    config.dataset_sink_mode = true;
    config.sink_size = 3;
    config.epochs = 2;
    sluice_validating_init(&validation);
    validation.dataset = held_out;
    validation.at_end = true;
    config.validation = &validation;
    sluice_checkpointing_init(&checkpoint);
    checkpoint.folder = argv[3];
    config.checkpoint = &checkpoint;
    failed = failed || sluice_train(device, &model, dataset, &config, NULL) < 0;
    if (failed) {
        fprintf(stderr, "%s\n", sluice_last_error());
    }
    sluice_dataset_destroy(held_out);
    sluice_dataset_destroy(dataset);
    sluice_device_close(device);
    return failed;
}
