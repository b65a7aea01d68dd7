/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A run to be left alone, by the public headers alone: it checks its step, validates, stops early,
 * keeps checkpoints and a log, and is resumed.
 */
#include <sluice/sluice.h>

#include "testing.h"

static sluice_status judge(const sluice_step *s, void *user)
{
    (void)user;
    s->outputs[0] = (float)*s->valid_rows; /* a loss of 1 a sample, which gets no better */
    return SLUICE_OK;
}

static sluice_status fail_with_a_word(void *user, const char *folder, uint32_t rank, uint32_t world)
{
    (void)user;
    return sluice_fail(SLUICE_E_IO, "cannot read %s as %u of %u", folder, rank, world);
}

static sluice_status keep_nothing(void *user, const char *folder, uint32_t rank, uint32_t world)
{
    (void)user;
    (void)folder;
    return rank < world ? SLUICE_OK : SLUICE_E_INVALID;
}

/* Trains until the loss of validation has not got better twice, which is after three epochs. */
static void train_with_care(sluice_device *device, sluice_dataset *dataset, const char *folder,
                            uint64_t steps)
{
    enum { CALLBACKS = 3 };
    sluice_callback *callbacks[CALLBACKS] = {NULL};
    sluice_validating validation;
    sluice_checkpointing checkpoint;
    sluice_report_stats stats = {.struct_size = sizeof(stats)};
    sluice_train_config config;
    sluice_model model;
    sluice_report *report = NULL;
    FILE *lines = tmpfile();

    CU_ASSERT_PTR_NOT_NULL_FATAL(lines);
    T_OK(sluice_early_stopping("loss", false, 0, 2, &callbacks[0]));
    T_OK(sluice_validation_monitor(lines, &callbacks[1]));
    T_OK(sluice_json_log(t_path(folder, "log.jsonl"), &callbacks[2]));
    sluice_model_init(&model);
    model.step = judge;
    model.eval = judge;
    model.save = keep_nothing;
    model.load = keep_nothing;
    model.reads_valid_rows = true;
    sluice_train_config_init(&config);
    config.dataset_sink_mode = true;
    config.epochs = 100;
    config.callbacks = callbacks;
    config.callback_count = CALLBACKS;
    sluice_validating_init(&validation);
    validation.dataset = dataset;
    config.validation = &validation;
    sluice_checkpointing_init(&checkpoint);
    checkpoint.folder = folder;
    checkpoint.resume = true;
    config.checkpoint = &checkpoint;
    config.check = true;
    T_STATUS(sluice_train(device, &model, dataset, &config, &report), SLUICE_STOPPED);
    T_OK(sluice_report_stats_get(report, &stats));
    T_EQ(stats.first_step + stats.steps, steps);
    T_EQ(stats.validations, 3);
    T_EQ(stats.checkpoints, 1);
    sluice_report_destroy(report);
    model.load = fail_with_a_word;
    T_STATUS(sluice_train(device, &model, dataset, &config, NULL), SLUICE_E_IO);
    T_CONTAINS(sluice_last_error(), "model.load returned E_IO: cannot read");
    for (size_t i = 0; i < CALLBACKS; i++) {
        sluice_callback_destroy(callbacks[i]);
    }
    fclose(lines);
}

static void a_run_can_be_left_alone_and_resumed(void)
{
    sluice_device *device = NULL;
    sluice_dataset *dataset = NULL;
    const char *folder = t_folder();
    int32_t label = -1;
    void *const columns[] = {NULL, &label};

    T_OK(sluice_device_open("host:0", &device));
    T_OK(sluice_dataset_parse("synthetic samples=18 shape=4,4,3 | batch 4", &dataset));
    train_with_care(device, dataset, folder, 15);
    train_with_care(device, dataset, folder, 30);
    T_OK(sluice_dataset_get(dataset, 0, 0, 17, columns, NULL));
    T_EQ(label, 7);
    sluice_dataset_destroy(dataset);
    sluice_device_close(device);
}

const t_test careful_run_tests[] = {
    T_TEST(a_run_can_be_left_alone_and_resumed),
    T_END,
};
