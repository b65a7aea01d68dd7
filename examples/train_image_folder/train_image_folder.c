/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Trains a small network on a folder of pictures, in sinks of many steps for one launch.
 *
 *     train_image_folder TRAIN_DIR [TEST_DIR] [OPTIONS]
 *
 * Both folders hold one folder of pictures for each class. Without TEST_DIR a fifth of the pictures
 * in TRAIN_DIR is held out for the test. The network is convnet.h on the CPU, or with --device
 * cuda:0 convnet_cuda.h; everything that moves pictures to it is below: two datasets, two steps for
 * each kind of device, two hooks, two runs, a report.
 */
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sluice/sluice.h>

#include "class_names.h"
#include "classify.h"
#include "convnet.h"
#include "convnet_cuda.h"
#include "picture_stages.h"
#include "saved_net.h"
#include "train_options.h"

/* Exit codes. */
enum { EXIT_RUNTIME = 1, EXIT_USAGE = 2, EXIT_SIGNAL = 128 };

typedef struct trainer {
    train_options opt; /* from the command line */
    const char *program;

    /* created from the options */
    sluice_device *device;
    sluice_dataset *train_set;
    sluice_dataset *test_set;
    sluice_stop *stop;
    convnet *net;
    convnet_cuda *cuda_net; /* NULL on a host device; else `net` is its copy for saving */
    class_names classes;
    uint64_t batches; /* batches of the training pictures */
    uint64_t steps;   /* total number of steps of the training */

    /* results */
    double loss_sum; /* sums over the steps since the last printed line */
    double accuracy_sum;
    uint64_t summed;  /* steps in these sums */
    double said;      /* seconds of the run at the last printed line */
    uint64_t done;    /* steps of the whole training */
    uint64_t correct; /* test pictures that were classified correctly */
    uint64_t tested;
} trainer;

/* ---- the pictures ------------------------------------------------------------------------- */

/* Opens the source of the pictures: one folder for each class. */
static int open_part(const trainer *t, bool training, sluice_dataset **set_out)
{
    const char *dir = training || t->opt.test_dir == NULL ? t->opt.train_dir : t->opt.test_dir;
    int failed = sluice_dataset_parsef(set_out, "image_folder %s", dir);

    if (!failed && t->opt.test_dir == NULL) {
        failed = training ? sluice_dataset_add(*set_out, "split train 0.8")
                          : sluice_dataset_add(*set_out, "split test 0.2");
    }
    return failed;
}

static bool make_dataset(const trainer *t, bool training, sluice_dataset **set_out)
{
    const picture_form form = {.size = (uint32_t)t->opt.size,
                               .batch = (uint32_t)t->opt.batch,
                               .min_crop = t->opt.min_crop};

    return open_part(t, training, set_out) == SLUICE_OK &&
           picture_stages_add(*set_out, &form, training);
}

/* ---- the steps ---------------------------------------------------------------------------- */

/* The learning rate of a step: divided by 10 in the last quarter. */
static float learning_rate(uint64_t step, void *user)
{
    const trainer *t = user;
    const bool is_late = step >= t->steps - t->steps / 4;

    return (float)(is_late ? t->opt.learning_rate / 10 : t->opt.learning_rate);
}

/* The training step, called for each batch. Values that change from step to step are read through
 * the pointers in s.
 */
static sluice_status train_step(const sluice_step *s, void *user)
{
    const trainer *t = user;
    const float *images = sluice_step_input(s, "image")->data;   /* (batch, 3, size, size) */
    const int32_t *labels = sluice_step_input(s, "label")->data; /* (batch) */

    convnet_set_learning_rate(t->net, *s->learning_rate);
    convnet_train_step(t->net, images, labels, *s->valid_rows, &s->outputs[0], &s->outputs[1]);
    return SLUICE_OK;
}

/* The test step, called for each batch. Its outputs are the sum of the rows' losses and the number
 * of correct answers. The last batch may be padded with empty rows.
 */
static sluice_status test_step(const sluice_step *s, void *user)
{
    const trainer *t = user;
    double loss = 0.0;
    uint64_t correct = 0;

    convnet_evaluate(t->net, sluice_step_input(s, "image")->data,
                     sluice_step_input(s, "label")->data, *s->valid_rows, &loss, &correct);
    s->outputs[0] = (float)loss;
    s->outputs[1] = (float)correct;
    return SLUICE_OK;
}

/* The arguments of the same two steps on a CUDA device. These steps only enqueue kernels, which
 * later read through the pointers. */
static convnet_cuda_batch cuda_batch(const sluice_step *s)
{
    return (convnet_cuda_batch){.images = sluice_step_input(s, "image")->data,
                                .labels = sluice_step_input(s, "label")->data,
                                .valid_rows = s->valid_rows,
                                .learning_rate = s->learning_rate,
                                .loss_out = &s->outputs[0],
                                .correct_out = &s->outputs[1]};
}

static sluice_status cuda_status(const char *why)
{
    return why == NULL ? SLUICE_OK : sluice_fail(SLUICE_E_DEVICE, "network: %s", why);
}

static sluice_status cuda_train_step(const sluice_step *s, void *user)
{
    const trainer *t = user;
    const convnet_cuda_batch batch = cuda_batch(s);

    return cuda_status(convnet_cuda_train_step(t->cuda_net, &batch, s->stream));
}

static sluice_status cuda_test_step(const sluice_step *s, void *user)
{
    const trainer *t = user;
    const convnet_cuda_batch batch = cuda_batch(s);

    return cuda_status(convnet_cuda_evaluate(t->cuda_net, &batch, s->stream));
}

/* ---- hooks -------------------------------------------------------------------------------- */

static sluice_status say_plan(sluice_hook *hook, void *user)
{
    (void)user;
    printf("%s\n", hook->plan);
    fflush(stdout);
    return SLUICE_OK;
}

enum { SILENCE_S = 10 };

/* Without a terminal for the progress bar, prints a line of progress every SILENCE_S seconds. */
static void say_progress(trainer *t, double seconds)
{
    if (!isatty(STDERR_FILENO) && seconds - t->said >= SILENCE_S) {
        t->said = seconds;
        printf("training: %.0f s: step %llu of %llu\n", seconds, (unsigned long long)t->done,
               (unsigned long long)t->steps);
        fflush(stdout);
    }
}

/* True if a progress bar is drawn. With TERM=dumb, which supports no escape sequences, there is
 * none. */
static bool draws(void)
{
    const char *term = getenv("TERM");

    return isatty(STDOUT_FILENO) && (term == NULL || strcmp(term, "dumb") != 0);
}

/*
 * Called after each launch with its steps, on the thread that called sluice_train(). Prints a line
 * each time that the network has seen about as many pictures as the dataset has.
 */
static sluice_status say_losses(sluice_hook *hook, void *user)
{
    trainer *t = user;

    for (uint64_t i = 0; i < hook->record_count; i++) {
        const sluice_step_record *record = sluice_hook_record(hook, i);
        const uint64_t done = record->step + 1;

        t->loss_sum += (double)record->outputs[0];
        t->accuracy_sum += (double)record->outputs[1];
        t->summed++;
        if (done % t->batches == 0 || done == t->steps) {
            printf("%sstep %llu of %llu: loss %.6f, accuracy %.1f %%\n",
                   draws() ? "\r\033[K" : "", /* erases the progress bar */
                   (unsigned long long)done, (unsigned long long)t->steps,
                   t->loss_sum / (double)t->summed, 100.0 * t->accuracy_sum / (double)t->summed);
            fflush(stdout);
            t->loss_sum = t->accuracy_sum = 0.0;
            t->summed = 0;
            t->said = hook->seconds;
        }
        t->done = done;
    }
    say_progress(t, hook->seconds);
    return SLUICE_OK;
}

/* Adds up the test's records, whose outputs are sums. */
static sluice_status count_answers(sluice_hook *hook, void *user)
{
    trainer *t = user;

    for (uint64_t i = 0; i < hook->record_count; i++) {
        const sluice_step_record *record = sluice_hook_record(hook, i);

        t->tested += record->valid_rows;
        t->correct += (uint64_t)record->outputs[1];
    }
    return SLUICE_OK;
}

/* ---- the two runs ------------------------------------------------------------------------- */

static void configure(const trainer *t, sluice_train_config *config)
{
    sluice_train_config_init(config);
    config->dataset_sink_mode = true; /* an epoch is sink_size steps, run by the device itself */
    config->workers = (uint32_t)t->opt.workers;
    config->seed = (uint64_t)t->opt.seed;
    config->on_error = SLUICE_ON_ERROR_REPLACE; /* replaces a bad picture; the report names it */
    config->stop = t->stop;
}

/* ---- checkpoints -------------------------------------------------------------------------- */

/* Copies a network on a CUDA device to the one on the CPU. */
static sluice_status fetch_net(const trainer *t)
{
    size_t count;
    float *weights = convnet_weights(t->net, &count);

    return cuda_status(t->cuda_net == NULL ? NULL : convnet_cuda_get(t->cuda_net, weights));
}

static sluice_status save_net(void *user, const char *folder, uint32_t rank, uint32_t world)
{
    const trainer *t = user;
    sluice_status st = fetch_net(t);

    (void)rank;
    (void)world;
    return st == SLUICE_OK ? saved_net_write(folder, t->net, (uint32_t)t->opt.size, &t->classes)
                           : st;
}

static sluice_status load_net(void *user, const char *folder, uint32_t rank, uint32_t world)
{
    const trainer *t = user;
    sluice_status st = saved_net_read(folder, t->net);
    size_t count;

    (void)rank;
    (void)world;
    if (st != SLUICE_OK || t->cuda_net == NULL) {
        return st;
    }
    return cuda_status(convnet_cuda_set(t->cuda_net, convnet_weights(t->net, &count)));
}

/* ---- the runs ----------------------------------------------------------------------------- */

static sluice_status train(trainer *t)
{
    static const char *const outputs[] = {"loss", "accuracy"};
    sluice_callback own;
    sluice_callback *callbacks[2] = {&own, NULL};
    sluice_schedule rates;
    sluice_checkpointing checkpoint;
    sluice_train_config config;
    sluice_model model;
    sluice_report *report = NULL;
    char *text = NULL;
    sluice_status st = sluice_progress_bar(stderr, &callbacks[1]);

    if (st != SLUICE_OK) {
        return st;
    }
    sluice_model_init(&model);
    model.step = t->cuda_net != NULL ? cuda_train_step : train_step;
    model.user = t;
    model.output_names = outputs;
    model.output_count = 2;
    configure(t, &config);
    model.save = save_net;
    model.load = load_net;
    sluice_checkpointing_init(&checkpoint);
    checkpoint.folder = t->opt.checkpoints;
    checkpoint.every_epochs = 10;
    checkpoint.resume = true;
    config.checkpoint = t->opt.checkpoints != NULL ? &checkpoint : NULL;
    config.mode = t->opt.mode;
    sluice_schedule_init(&rates);
    rates.function = learning_rate;
    rates.user = t;
    config.learning_rate = &rates;
    config.epochs = (uint64_t)t->opt.epochs;
    config.sink_size = (int64_t)t->opt.sink_size;
    sluice_callback_init(&own);
    own.train_begin = say_plan;
    own.records = say_losses;
    own.user = t;
    config.callbacks = callbacks;
    config.callback_count = 2;
    st = sluice_train(t->device, &model, t->train_set, &config, &report);
    if (report != NULL && sluice_report_text(report, &text) == SLUICE_OK) {
        printf("\n%s\n", text);
    } else if (report != NULL && st >= 0) {
        st = SLUICE_E_NO_MEMORY; /* sluice_last_error() names the report */
    }
    sluice_string_free(text);
    sluice_report_destroy(report);
    sluice_callback_destroy(callbacks[1]);
    return st;
}

/* The test is also a run: one epoch, which is a pass, with a step that only evaluates. */
static sluice_status test(trainer *t)
{
    static const char *const outputs[] = {"loss", "correct"};
    sluice_callback callback;
    sluice_callback *const callbacks[] = {&callback};
    sluice_report_stats stats = {.struct_size = sizeof(stats)};
    sluice_report *report = NULL;
    sluice_train_config config;
    sluice_model model;
    sluice_status st;

    sluice_model_init(&model);
    model.step = t->cuda_net != NULL ? cuda_test_step : test_step;
    model.user = t;
    model.output_names = outputs;
    model.output_count = 2;
    model.reads_valid_rows = true;
    configure(t, &config);
    config.epochs = 1;
    sluice_callback_init(&callback);
    callback.records = count_answers;
    callback.user = t;
    config.callbacks = callbacks;
    config.callback_count = 1;
    st = sluice_train(t->device, &model, t->test_set, &config, &report);
    if (st == SLUICE_OK) {
        st = sluice_report_stats_get(report, &stats);
    }
    if (st == SLUICE_OK) {
        printf("test accuracy: %.1f %% (%llu of %llu)\n",
               100.0 * (double)t->correct / (double)t->tested, (unsigned long long)t->correct,
               (unsigned long long)t->tested);
    }
    if (stats.replaced > 0) {
        printf("%llu test pictures could not be read; others stood in for them\n",
               (unsigned long long)stats.replaced);
    }
    sluice_report_destroy(report);
    return st;
}

/* ---- getting ready ------------------------------------------------------------------------ */

/* Reads the class names. Labels are positions in the sorted names, so both folders must have the
 * same classes. */
static bool find_classes(trainer *t)
{
    const char *test_dir = t->opt.test_dir;
    class_names tested = {.count = 0};
    bool is_fine = class_names_read(&t->classes, t->opt.train_dir);

    if (is_fine && test_dir != NULL) {
        is_fine = class_names_read(&tested, test_dir) &&
                  class_names_agree(&t->classes, t->opt.train_dir, &tested, test_dir);
        class_names_free(&tested);
    }
    return is_fine;
}

/* Creates the network, and its copy on a CUDA device; false after printing an error. */
static bool make_network(trainer *t)
{
    const char *device = sluice_device_name(t->device);
    const char *why = NULL;
    const convnet_config config = {.batch = (uint32_t)t->opt.batch,
                                   .height = (uint32_t)t->opt.size,
                                   .width = (uint32_t)t->opt.size,
                                   .classes = t->classes.count,
                                   .learning_rate = (float)t->opt.learning_rate,
                                   .momentum = 0.9f,
                                   .seed = (uint64_t)t->opt.seed};

    t->net = convnet_create(&config);
    if (t->net == NULL) {
        fprintf(stderr, "no memory for the network; try a smaller --size\n");
        return false;
    }
    if (strncmp(device, "cuda:", 5) == 0) {
        t->cuda_net = convnet_cuda_create(&config, atoi(device + 5), &why);
    }
    if (why != NULL) {
        fprintf(stderr, "no network on %s: %s\n", device, why);
    }
    return why == NULL;
}

/* Number of training or test pictures; 0 if there are none or they cannot be listed. */
static uint64_t count_pictures(const trainer *t, bool training)
{
    const picture_form form = {.size = (uint32_t)t->opt.size, .batch = 1};
    sluice_dataset_info info = {.struct_size = sizeof(info)};
    sluice_dataset *set = NULL;
    bool is_listed = open_part(t, training, &set) == SLUICE_OK &&
                     picture_stages_add(set, &form, false) &&
                     sluice_dataset_inspect(set, &info) == SLUICE_OK;

    sluice_dataset_destroy(set);
    return is_listed ? info.samples : 0;
}

/* Prints why there is no batch of training or test pictures, in terms of the command line. */
static void say_what_is_missing(const trainer *t)
{
    char error[1024]; /* the dataset's error; counting samples below may replace the last error */
    const char *dir = t->opt.train_dir;
    uint64_t train;
    uint64_t test;

    snprintf(error, sizeof(error), "%s", sluice_last_error());
    train = count_pictures(t, true);
    test = count_pictures(t, false);
    if (train > 0 && train < (uint64_t)t->opt.batch) {
        fprintf(stderr,
                "%llu pictures of %s to train on are less than a batch of %.0f; use --batch "
                "%llu, or add pictures\n",
                (unsigned long long)train, dir, t->opt.batch, (unsigned long long)train);
    } else if (t->opt.test_dir == NULL && train + test > 0) {
        fprintf(stderr,
                "of the %llu pictures in %s, %llu are left to train on and %llu held out for "
                "the test (a fifth, by a hash of their names); add pictures, or name a folder "
                "of test pictures:\n   ",
                (unsigned long long)(train + test), dir, (unsigned long long)train,
                (unsigned long long)test);
        train_options_print_test(&t->opt, t->program);
    } else {
        fprintf(stderr, "%s\n", error);
    }
}

/* Opens the device and the datasets, and creates the network; false after printing an error. */
static bool prepare(trainer *t)
{
    sluice_dataset_info info = {.struct_size = sizeof(info)};
    sluice_dataset_info test_info = {.struct_size = sizeof(test_info)};

    if (sluice_device_open(t->opt.device_name, &t->device) != SLUICE_OK ||
        sluice_stop_create(&t->stop) != SLUICE_OK || !make_dataset(t, true, &t->train_set) ||
        !make_dataset(t, false, &t->test_set)) {
        fprintf(stderr, "%s\n", sluice_last_error());
        return false;
    }
    if (sluice_dataset_inspect(t->train_set, &info) != SLUICE_OK ||
        sluice_dataset_inspect(t->test_set, &test_info) != SLUICE_OK) {
        say_what_is_missing(t);
        return false;
    }
    if (!find_classes(t) || !make_network(t)) {
        return false;
    }
    printf("%u classes, %llu pictures to train on, %llu to test on\n", t->classes.count,
           (unsigned long long)info.samples, (unsigned long long)test_info.samples);
    if (t->classes.count == 1) {
        fprintf(stderr,
                "only one class, so every answer is right; there must be two classes or more, as "
                "%s/CLASS/FILE\n",
                t->opt.train_dir);
    }
    t->batches = info.batches;
    t->steps =
        (uint64_t)t->opt.epochs * (t->opt.sink_size > 0 ? (uint64_t)t->opt.sink_size : t->batches);
    return true;
}

/* ---- all of it ---------------------------------------------------------------------------- */

static sluice_stop *stop_on_signal;
static _Atomic int caught;

static void on_signal(int number)
{
    caught = number;
    sluice_stop_request(stop_on_signal);
}

static void on_report_signal(int number)
{
    (void)number;
    sluice_report_request();
}

/* Ctrl-C or SIGTERM ends a run after the current step, with its report; a second signal ends the
 * program. SIGUSR1 prints the report so far to stderr. */
static void catch_signals(sluice_stop *stop)
{
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = (int)SA_RESETHAND};
    struct sigaction report = {.sa_handler = on_report_signal, .sa_flags = SA_RESTART};

    stop_on_signal = stop;
    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    sigemptyset(&report.sa_mask);
    sigaction(SIGUSR1, &report, NULL);
}

/* Prints where the network is saved, and commands that use it. */
static void say_what_next(const trainer *t, bool is_done)
{
    printf(
        "\nthe network is saved in %s: a checkpoint every 10 epochs and at the end, the newest 3\n"
        "to train on%s:\n   ",
        t->opt.checkpoints, is_done ? ", twice as long" : "");
    train_options_print_resume(&t->opt, t->program, is_done ? 2 * t->opt.epochs : t->opt.epochs);
    printf("to classify a picture:\n   ");
    train_options_print_classify(&t->opt, t->program);
}

static int run(trainer *t)
{
    sluice_status st;

    if (!prepare(t)) {
        return EXIT_RUNTIME;
    }
    catch_signals(t->stop);
    st = train(t);
    if (st == SLUICE_OK) {
        st = fetch_net(t);
    }
    if (st == SLUICE_OK) {
        printf("network digest: %016llx\n", (unsigned long long)convnet_digest(t->net));
        st = test(t);
    }
    if (st >= 0 && t->opt.checkpoints != NULL) {
        say_what_next(t, st == SLUICE_OK);
    }
    if (st < 0) {
        fprintf(stderr, "%s\n", sluice_last_error());
    }
    return st < 0 ? EXIT_RUNTIME : st == SLUICE_STOPPED ? EXIT_SIGNAL + caught : EXIT_SUCCESS;
}

int main(int argc, char **argv)
{
    trainer t = {.program = argv[0]};
    const options_outcome outcome = train_options_read(&t.opt, argc, argv);
    int code;

    if (outcome != OPTIONS_VALID) {
        return outcome == OPTIONS_HELP ? EXIT_SUCCESS : EXIT_USAGE;
    }
    if (t.opt.classify) {
        return classify(t.opt.checkpoints, t.opt.words, t.opt.word_count) ? EXIT_SUCCESS
                                                                          : EXIT_RUNTIME;
    }
    code = run(&t);
    class_names_free(&t.classes);
    convnet_cuda_destroy(t.cuda_net);
    convnet_destroy(t.net);
    sluice_dataset_destroy(t.test_set);
    sluice_dataset_destroy(t.train_set);
    sluice_stop_destroy(t.stop);
    sluice_device_close(t.device);
    return code;
}
