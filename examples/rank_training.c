/* SPDX-License-Identifier: Apache-2.0 */
#include "rank_training.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

bool rank_training_read(rank_training *t, int argc, char **argv, const char *launch)
{
    if (argc < 3 || argc > 5) {
        fprintf(stderr, "usage: %s%s PICTURES RUN [STEPS [RATE]]\n", launch, argv[0]);
        return false;
    }
    *t = (rank_training){.pictures = argv[1],
                         .run = argv[2],
                         .steps = argc > 3 ? strtoull(argv[3], NULL, 10) : 200,
                         .rate = argc > 4 ? strtof(argv[4], NULL) : 0.02f};
    return true;
}

/* Each rank gets its part of each batch: row i of rank r of n is row i * n + r of the global one.
 */
static sluice_status open_pictures(rank_training *t)
{
    char text[200];

    snprintf(text, sizeof(text),
             "image_folder \"${PICTURES}\" | shuffle | decode | random_resized_crop %d | "
             "random_horizontal_flip | normalize 0.5 0.5 | to_chw | batch %u drop_remainder=true",
             RANK_TRAINING_SIZE, RANK_TRAINING_BATCH / t->world);
    setenv("PICTURES", t->pictures, 1);
    return sluice_dataset_parse(text, &t->dataset);
}

static sluice_status make_network(rank_training *t)
{
    if (!class_names_read(&t->classes, t->pictures) || t->classes.count == 0) {
        return sluice_fail(SLUICE_E_IO, "no classes in %s", t->pictures);
    }
    t->config = (convnet_config){.batch = RANK_TRAINING_BATCH / t->world,
                                 .height = RANK_TRAINING_SIZE,
                                 .width = RANK_TRAINING_SIZE,
                                 .classes = t->classes.count,
                                 .learning_rate = t->rate,
                                 .momentum = 0.9f,
                                 .seed = 1};
    t->net = convnet_create(&t->config);
    return t->net != NULL ? SLUICE_OK : sluice_fail(SLUICE_E_NO_MEMORY, "the network");
}

sluice_status rank_training_open(rank_training *t, uint32_t rank, uint32_t world)
{
    sluice_status st;

    t->rank = rank;
    t->world = world;
    if (RANK_TRAINING_BATCH % world != 0) {
        return sluice_fail(SLUICE_E_INVALID, "%u ranks cannot share batches of %d; use a divisor",
                           world, RANK_TRAINING_BATCH);
    }
    if (mkdir(t->run, 0777) != 0 && errno != EEXIST) {
        return sluice_fail(SLUICE_E_IO, "%s: %s", t->run, strerror(errno));
    }
    st = open_pictures(t);
    if (st == SLUICE_OK) {
        st = make_network(t);
    }
    return st == SLUICE_OK ? sluice_stop_create(&t->stop) : st;
}

/* ---- the run --------------------------------------------------------------------------------- */

static sluice_stop *stop_on_signal;

static void on_signal(int number)
{
    (void)number;
    sluice_stop_request(stop_on_signal);
}

static void on_report_signal(int number)
{
    (void)number;
    sluice_report_request();
}

/* SIGINT and SIGTERM stop the run; SIGUSR1 prints the report of this rank so far to stderr. NULL:
 * the first two end the program again. */
static void catch_signals(sluice_stop *stop)
{
    struct sigaction action = {.sa_handler = stop != NULL ? on_signal : SIG_DFL};
    struct sigaction report = {.sa_handler = on_report_signal, .sa_flags = SA_RESTART};

    stop_on_signal = stop;
    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    sigemptyset(&report.sa_mask);
    sigaction(SIGUSR1, &report, NULL);
}

/* Fills in the settings that do not depend on the ranks. */
static void configure(const rank_training *t, sluice_train_config *config)
{
    sluice_train_config_init(config);
    config->rank = t->rank; /* as Sluice itself finds them under mpirun, srun and torchrun */
    config->world = t->world;
    config->total_steps = t->steps;
    config->dataset_sink_mode = true;
    config->sink_size = 10;
    config->seed = 1;
    config->stop = t->stop;
}

sluice_status rank_training_run(rank_training *t, sluice_device *device, sluice_model *model,
                                sluice_agree_fn agree, sluice_abort_fn end_all)
{
    static const char *const outputs[] = {"loss", "accuracy"};
    sluice_callback *callbacks[2] = {NULL, NULL};
    sluice_schedule rates;
    sluice_checkpointing checkpoint;
    sluice_train_config config;
    char log[4096];
    sluice_status st;

    snprintf(log, sizeof(log), "%s/log.jsonl", t->run);
    st = sluice_json_log(log, &callbacks[0]);
    if (st == SLUICE_OK) {
        st = sluice_loss_monitor(stdout, 10, &callbacks[1]);
    }
    model->output_names = outputs;
    model->output_count = 2;
    sluice_checkpointing_init(&checkpoint);
    checkpoint.folder = t->run;
    checkpoint.every_steps = 50;
    checkpoint.resume = true;
    sluice_schedule_init(&rates);
    rates.table = &t->rate;
    rates.count = 1;
    configure(t, &config);
    config.learning_rate = &rates;
    config.checkpoint = &checkpoint;
    config.callbacks = callbacks;
    config.callback_count = 2;
    config.agree = agree;
    config.agree_user = model->user;
    config.abort = end_all;
    config.abort_user = model->user;
    if (st == SLUICE_OK) {
        catch_signals(t->stop);
        st = sluice_train(device, model, t->dataset, &config, NULL);
        catch_signals(NULL);
    }
    sluice_callback_destroy(callbacks[1]);
    sluice_callback_destroy(callbacks[0]);
    return st;
}

void rank_training_close(rank_training *t)
{
    sluice_stop_destroy(t->stop);
    sluice_dataset_destroy(t->dataset);
    convnet_destroy(t->net);
    class_names_free(&t->classes);
}
