/* SPDX-License-Identifier: Apache-2.0 */
/* The plan line names settings and arguments without effect, and what cuts sinks. */
#include <sluice/channel.h>

#include "checkpoint_kit.h"
#include "log_kit.h"
#include "testing.h"

static char plan[2000];

static sluice_status note_plan(sluice_hook *hook, void *user)
{
    (void)user;
    snprintf(plan, sizeof(plan), "%s", hook->plan);
    return SLUICE_OK;
}

static void run(kit *k)
{
    const sluice_callback own = {.train_begin = note_plan};

    k->callbacks = &own;
    k->callback_count = 1;
    T_OK(kit_run(k));
    kit_fini(k);
}

static void settings_without_effect_are_in_the_plan_line(void)
{
    kit k;

    kit_init(&k);
    k.config.record_samples = false;
    run(&k);
    T_TRUE(strstr(plan, "without effect") == NULL);
    kit_init(&k);
    k.config.record_samples = false;
    k.config.dataset_sink_mode = false;
    run(&k);
    T_TRUE(strstr(plan, "without effect") == NULL);
    kit_init(&k);
    k.pipeline = "synthetic samples=20 shape=4,4,3 | shuffle buffer=17 | batch 2";
    k.config.dataset_sink_mode = false;
    k.config.sink_size = 5;
    k.config.agree_timeout_ms = 5;
    k.checkpoint.best_is_larger = true;
    run(&k);
    T_CONTAINS(plan, "; without effect: shuffle buffer=17 (the source is read by index");
    T_CONTAINS(plan, ", sink_size (dataset_sink_mode is off), record_samples (no callback has the "
                     "hook records), agree_timeout_ms (agree");
    T_CONTAINS(plan, "checkpoint.best_is_larger (checkpoint.best is NULL)");
}

static void an_interval_that_cuts_sinks_is_in_the_plan_line(void)
{
    char folder[300];
    kit k;

    for (uint64_t every = 15; every <= 40; every += 25) {
        snprintf(folder, sizeof(folder), "%s/%u", t_folder(), (unsigned)every);
        kit_init(&k);
        k.config.sink_size = 40;
        k.config.epochs = 2;
        k.model.save = kit_save;
        k.checkpoint.folder = folder;
        k.checkpoint.every_steps = every;
        run(&k);
        if (every == 15) {
            T_CONTAINS(plan, "40 steps a sink at most, cut by checkpoints every 15 steps: 7 sinks "
                             "instead of 2, ");
        } else {
            T_TRUE(strstr(plan, "cut by") == NULL);
        }
    }
}

/* Validation after each sink of 40 steps cuts none; every 20 steps it does. */
static void an_interval_that_cuts_none_is_not_named(void)
{
    char folder[300];

    for (uint64_t every = 20; every <= 40; every += 20) {
        sluice_dataset *dataset = NULL;
        kit k;

        snprintf(folder, sizeof(folder), "%s/%u", t_folder(), (unsigned)every);
        T_OK(sluice_dataset_parse("synthetic samples=4 shape=4,4,3 | batch 2", &dataset));
        kit_init(&k);
        k.config.sink_size = 40;
        k.config.epochs = 2;
        kit_validate(&k, dataset);
        k.model.save = kit_save;
        k.checkpoint.folder = folder;
        k.checkpoint.every_steps = 15;
        k.validation.every_steps = every;
        run(&k);
        T_CONTAINS(plan, every == 20
                             ? ", cut by validation every 20 steps and checkpoints every 15 steps: "
                               "8 sinks instead of 2"
                             : ", cut by checkpoints every 15 steps: 7 sinks instead of 2");
        sluice_dataset_destroy(dataset);
    }
}

static void a_channel_logs_arguments_without_effect(void)
{
    sluice_device *device = NULL;
    sluice_dataset *dataset = NULL;
    sluice_channel *channel = NULL;
    sluice_channel_config config;

    T_OK(sluice_device_open("host:0", &device));
    T_OK(sluice_dataset_parse("synthetic samples=20 shape=4,4,3 | shuffle buffer=17 | batch 2",
                              &dataset));
    sluice_channel_config_init(&config);
    sluice_log_set_level(SLUICE_LOG_INFO);
    kit_log_start(NULL, NULL);
    T_OK(sluice_channel_open(device, dataset, &config, &channel));
    sluice_log_set_level(SLUICE_LOG_WARN);
    T_CONTAINS(kit_log_stop(), "channel: without effect: shuffle buffer=17 (the source is read by");
    sluice_channel_close(channel);
    sluice_dataset_destroy(dataset);
    sluice_device_close(device);
}

const t_test idle_settings_tests[] = {
    T_TEST(settings_without_effect_are_in_the_plan_line),
    T_TEST(an_interval_that_cuts_sinks_is_in_the_plan_line),
    T_TEST(an_interval_that_cuts_none_is_not_named),
    T_TEST(a_channel_logs_arguments_without_effect),
    T_END,
};
