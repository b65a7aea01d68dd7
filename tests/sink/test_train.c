/* SPDX-License-Identifier: Apache-2.0 */
/* Training that goes well: steps, launches, samples, outputs in every mode; what it leaves alone.
 */
#include <dirent.h>
#include <locale.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "testing.h"
#include "train_kit.h"

static const sluice_mode modes[] = {SLUICE_MODE_DIRECT, SLUICE_MODE_DATA, SLUICE_MODE_GRAPH,
                                    SLUICE_MODE_LOOP};

/* The first `steps` steps in direct mode on host:0, without a sink: what all others must equal. */
static void run_reference(kit *k, const char *pipeline, uint64_t steps)
{
    kit_init(k);
    k->pipeline = pipeline != NULL ? pipeline : k->pipeline;
    k->config.dataset_sink_mode = false;
    k->config.epochs = 0;
    k->config.max_steps = steps;
    T_OK(kit_run(k));
    kit_check(k);
    T_EQ(k->count, steps);
}

typedef struct table_row {
    bool sink_mode;
    int64_t sink_size;
    uint64_t epochs;
    uint64_t initial_epoch;
    uint64_t sinks;
    uint64_t steps;
} table_row;

static void check_row(const table_row *row, sluice_mode mode, const kit *reference)
{
    const bool per_step = mode == SLUICE_MODE_DIRECT || mode == SLUICE_MODE_DATA;
    const uint64_t first = row->initial_epoch * (uint64_t)row->sink_size;
    kit k;

    kit_init(&k);
    k.config.mode = mode;
    k.config.dataset_sink_mode = row->sink_mode;
    k.config.sink_size = row->sink_size;
    k.config.epochs = row->epochs;
    k.config.initial_epoch = row->initial_epoch;
    T_OK(kit_run(&k));
    kit_check(&k);
    kit_check_same(reference, &k, first, row->steps);
    T_EQ(k.report->stats.launches, mode == SLUICE_MODE_LOOP ? row->sinks : row->steps);
    T_EQ(k.report->stats.syncs, mode == SLUICE_MODE_DIRECT ? row->steps : row->sinks);
    T_EQ(k.report->stats.yields, 0);
    T_EQ(k.report->stats.epochs, row->sinks);
    T_EQ(k.report->produced, row->steps); /* not one batch more */
    T_EQ(k.hook_calls[KIT_EPOCH_BEGIN], row->sinks);
    T_EQ(k.hook_calls[KIT_EPOCH_END], row->sinks);
    T_EQ(k.hook_calls[KIT_STEP_BEGIN], per_step ? row->steps : row->sinks);
    T_EQ(k.hook_calls[KIT_STEP_END], per_step ? row->steps : row->sinks);
    for (size_t i = 0; i < k.count; i++) {
        T_EQ(k.steps[i].epoch, k.steps[i].step / (row->steps / row->sinks));
        T_EQ(k.steps[i].pass, k.steps[i].step / 100);
    }
    kit_fini(&k);
}

/* 100 batches a pass; a step's outputs depend on every batch before it and on their order. */
static void the_case_table_holds_in_every_mode(void)
{
    static const table_row rows[] = {
        {true, -1, 3, 0, 3, 300},  {true, 20, 3, 0, 3, 60},  {true, 30, 10, 0, 10, 300},
        {true, 250, 2, 0, 2, 500}, {true, 70, 3, 0, 3, 210}, {true, 70, 3, 1, 2, 140},
        {true, 1, 5, 0, 5, 5},
    };
    static const table_row off = {false, 20, 3, 0, 3, 300};
    kit reference;

    run_reference(&reference, NULL, 500);
    for (size_t i = 0; i < COUNT(rows); i++) {
        for (size_t m = 0; m < COUNT(modes); m++) {
            check_row(&rows[i], modes[m], &reference);
        }
    }
    check_row(&off, SLUICE_MODE_DIRECT, &reference);
    kit_fini(&reference);
}

static void bits_do_not_depend_on_device_workers_sink_size_or_mode(void)
{
    static const char *const devices[] = {"host:0", "host:0,copy=1", "host:0,spin_us=50",
                                          "host:0,copy=1,spin_us=0",
                                          "host:0,copy=1,latency_us=300"};
    static const uint32_t workers[] = {1, 2, 5};
    static const int64_t sizes[] = {1, 7, 100, -1};
    kit reference;

    run_reference(&reference, NULL, 130);
    for (size_t i = 0; i < COUNT(devices) * COUNT(workers) * COUNT(sizes) * COUNT(modes); i++) {
        const size_t d = i % COUNT(devices);
        const size_t w = i / COUNT(devices) % COUNT(workers);
        const size_t s = i / COUNT(devices) / COUNT(workers) % COUNT(sizes);
        const size_t m = i / COUNT(devices) / COUNT(workers) / COUNT(sizes);
        kit k;

        if ((d + w + s + m) % 3 != 0) {
            continue; /* each two of them still meet */
        }
        kit_init(&k);
        k.device = devices[d];
        k.config.workers = workers[w];
        k.config.sink_size = sizes[s];
        k.config.mode = modes[m];
        k.config.epochs = 0;
        k.config.max_steps = 130;
        T_OK(kit_run(&k));
        kit_check(&k);
        kit_check_same(&reference, &k, 0, 130);
        T_EQ(k.report->stats.digest, reference.report->stats.digest);
        kit_fini(&k);
    }
    kit_fini(&reference);
}

static void converting_on_the_device_gives_the_same_bits(void)
{
    static const char *const devices[] = {"host:0", "host:0,copy=1"};
    kit reference;

    run_reference(
        &reference,
        "synthetic samples=50 shape=9,7,3 | shuffle | random_horizontal_flip offload=host "
        "| normalize imagenet offload=host | to_chw offload=host | batch 3 "
        "drop_remainder=true",
        40);
    for (size_t i = 0; i < COUNT(devices) * COUNT(modes); i++) {
        kit k;

        kit_init(&k);
        k.device = devices[i % COUNT(devices)];
        k.config.mode = modes[i / COUNT(devices)];
        k.pipeline = "synthetic samples=50 shape=9,7,3 | shuffle | random_horizontal_flip "
                     "offload=device | normalize imagenet offload=device | to_chw offload=device "
                     "| batch 3 drop_remainder=true";
        k.config.epochs = 0;
        k.config.max_steps = 40;
        k.config.slots = 2; /* nothing is lent, so two do */
        T_OK(kit_run(&k));
        kit_check(&k);
        kit_check_same(&reference, &k, 0, 40);
        kit_fini(&k);
    }
    kit_fini(&reference);
}

static void files_are_trained_on_alike_in_every_mode(void)
{
    const char *folder = t_folder();
    char pipeline[500];
    kit reference;

    kit_write_folder(folder, 10, 8);
    snprintf(pipeline, sizeof(pipeline),
             "image_folder %s | shuffle | decode | random_resized_crop 6 | random_horizontal_flip "
             "| normalize imagenet | to_chw | batch 3 drop_remainder=true",
             folder);
    run_reference(&reference, pipeline, 25);
    for (size_t m = 0; m < COUNT(modes); m++) {
        kit k;

        kit_init(&k);
        k.pipeline = pipeline;
        k.config.mode = modes[m];
        k.config.sink_size = 5;
        k.config.epochs = 5;
        T_OK(kit_run(&k));
        kit_check(&k);
        kit_check_same(&reference, &k, 0, 25);
        kit_fini(&k);
    }
    T_TRUE(reference.steps[0].digest != reference.steps[6].digest);
    kit_fini(&reference);
}

static void a_resumed_run_sees_what_the_unbroken_one_saw(void)
{
    static const uint64_t starts[] = {1, 37, 60, 100, 131};
    kit reference;

    run_reference(&reference, NULL, 240);
    for (size_t i = 0; i < COUNT(starts) * COUNT(modes); i++) {
        const uint64_t start = starts[i % COUNT(starts)];
        kit k;

        kit_init(&k);
        k.config.mode = modes[i / COUNT(starts)];
        k.config.sink_size = 30;
        k.config.epochs = 8;
        k.config.start_step = start;
        T_OK(kit_run(&k));
        kit_check(&k);
        kit_check_same(&reference, &k, start, 240 - start);
        T_EQ(k.steps[0].epoch, start / 30);
        T_EQ(k.report->stats.epochs, 8 - start / 30);
        kit_fini(&k);
    }
    kit_fini(&reference);
}

/* Sink 2 begins at batch 20; the last needs batch 59, and nothing after it is read. */
static void sinks_go_on_where_the_last_one_stopped_and_read_no_further(void)
{
    for (size_t m = 0; m < COUNT(modes); m++) {
        kit_source source;
        kit k;

        kit_source_init(&source, 200);
        kit_init(&k);
        k.dataset = kit_source_dataset(&source, 2);
        k.config.mode = modes[m];
        k.config.sink_size = 20;
        k.config.epochs = 3;
        T_OK(kit_run(&k));
        kit_check(&k);
        T_EQ(k.steps[20].first_sample, 40);
        T_EQ(k.steps[20].epoch, 1);
        T_EQ(kit_source_end(&source), 120);
        for (uint64_t i = 0; i < 120; i++) {
            T_EQ(atomic_load(&source.reads[i]), 1);
        }
        sluice_dataset_destroy(k.dataset);
        kit_fini(&k);
    }
}

/* A run that is stopped has read what fits the queue beyond its last step, and no more. */
static void nothing_beyond_the_queue_is_read(void)
{
    static const char *const devices[] = {"host:0", "host:0,copy=1"};

    for (size_t i = 0; i < COUNT(modes) * COUNT(devices); i++) {
        kit_source source;
        kit k;

        kit_source_init(&source, 2000);
        kit_init(&k);
        k.device = devices[i % COUNT(devices)];
        k.dataset = kit_source_dataset(&source, 2);
        k.config.mode = modes[i / COUNT(devices)];
        k.config.slots = 3;
        k.step_at = 49; /* the fiftieth step */
        k.step_answer = SLUICE_STOPPED;
        T_STATUS(kit_run(&k), SLUICE_STOPPED);
        kit_check(&k);
        T_EQ(k.count, 50);
        /* Slots, and as many staging batches where there is staging. */
        T_TRUE(kit_source_end(&source) <= (50 + 3 * (1 + i % COUNT(devices))) * 2);
        sluice_dataset_destroy(k.dataset);
        kit_fini(&k);
    }
}

static void a_sink_beyond_the_output_capacity_stays_one_for_hooks(void)
{
    static const sluice_mode sunk[] = {SLUICE_MODE_GRAPH, SLUICE_MODE_LOOP};

    for (size_t m = 0; m < COUNT(sunk); m++) {
        kit k;

        kit_init(&k);
        k.config.mode = sunk[m];
        k.config.output_capacity = 7;
        k.config.sink_size = 30;
        k.config.epochs = 2;
        T_OK(kit_run(&k));
        kit_check(&k); /* and step_end was told of 30 records each */
        T_EQ(k.hook_calls[KIT_STEP_BEGIN], 2);
        T_EQ(k.hook_calls[KIT_STEP_END], 2);
        T_EQ(k.hook_calls[KIT_RECORDS], 10); /* 7 7 7 7 2, twice */
        T_EQ(k.report->stats.launches, sunk[m] == SLUICE_MODE_LOOP ? 10 : 60);
        T_EQ(k.report->stats.syncs, 10);
        kit_fini(&k);
    }
}

static void a_spinning_device_yields_and_loses_nothing(void)
{
    kit reference;
    kit k;

    run_reference(&reference, NULL, 20);
    kit_init(&k);
    k.device = "host:0,copy=1,latency_us=20000,spin_us=0";
    k.config.slots = 2; /* two steps take less than a copy */
    k.config.max_steps = 20;
    T_OK(kit_run(&k));
    kit_check(&k);
    kit_check_same(&reference, &k, 0, 20);
    T_TRUE(k.report->stats.yields > 0);
    T_EQ(k.report->stats.launches, 1 + k.report->stats.yields);
    T_EQ(k.report->stats.syncs, 1 + k.report->stats.yields);
    kit_fini(&k);
    kit_fini(&reference);
}

static void auto_is_the_strongest_legal_mode_and_says_why(void)
{
    kit k;

    kit_init(&k);
    T_OK(kit_run(&k));
    T_STR(k.report->mode, "loop");
    T_STR(k.report->mode_reason, "");
    k.config.mode = SLUICE_MODE_GRAPH;
    T_OK(kit_run(&k));
    T_STR(k.report->mode, "graph");
    T_STR(k.report->mode_reason, "asked for");
    k.config.mode = SLUICE_MODE_AUTO;
    k.config.dataset_sink_mode = false;
    k.config.sink_size = 0; /* ignored without sink mode */
    T_OK(kit_run(&k));
    T_STR(k.report->mode, "direct");
    T_STR(k.report->mode_reason, "dataset_sink_mode is off");
    T_EQ(k.count, 100);
    kit_fini(&k);
}

static void limits_of_steps_and_time_end_a_run(void)
{
    for (size_t m = 0; m < COUNT(modes); m++) {
        kit k;

        kit_init(&k);
        k.config.mode = modes[m];
        k.config.sink_size = 30;
        k.config.epochs = 10;
        k.config.max_steps = 45;
        T_OK(kit_run(&k));
        kit_check(&k);
        T_EQ(k.count, 45);
        T_EQ(k.report->stats.epochs, 1);
        T_EQ(k.hook_calls[KIT_EPOCH_END], 2); /* the second one is shorter */

        k.config.epochs = 0;
        k.config.max_steps = 0;
        k.config.max_seconds = 0.02;
        T_OK(kit_run(&k)); /* no stop was asked for: OK */
        kit_check(&k);
        kit_fini(&k);
    }
}

/* In direct mode each wait is short; the time is looked at all the same. */
static void time_ends_a_pass_of_any_length(void)
{
    for (size_t m = 0; m < COUNT(modes); m++) {
        kit k;

        kit_init(&k);
        k.pipeline = "synthetic samples=1000000000000 shape=2,2,1 | batch 1";
        k.config.mode = modes[m];
        k.config.output_capacity = 10;
        k.config.max_seconds = 0.02;
        k.callbacks = &(sluice_callback){.user = NULL};
        k.callback_count = 1;
        T_OK(kit_run(&k));
        T_EQ(k.report->stats.epochs, 0);
        kit_fini(&k);
    }
}

/* ---- several at once, and one after another -------------------------------------------------- */

typedef struct at_once {
    kit k;
    pthread_t thread;
} at_once;

static void *train_at_once(void *arg)
{
    kit_run(&((at_once *)arg)->k);
    return NULL;
}

static void trainings_at_once_do_not_touch_each_other(void)
{
    kit_source bad;
    at_once runs[4];
    kit reference;
    sluice_dataset *shared = NULL;

    run_reference(&reference, NULL, 300);
    T_OK(sluice_dataset_parse(reference.pipeline, &shared));
    kit_source_init(&bad, 100);
    bad.fail_at = 33;
    for (size_t i = 0; i < COUNT(runs); i++) {
        kit_init(&runs[i].k);
        runs[i].k.config.epochs = 3;
        runs[i].k.config.mode = modes[i];
        runs[i].k.dataset = i < 2 ? shared : NULL; /* two of them share it */
    }
    runs[1].k.device = "host:1,copy=1";
    runs[2].k.device = "host:2";
    runs[3].k.dataset = kit_source_dataset(&bad, 2);
    for (size_t i = 0; i < COUNT(runs); i++) {
        T_EQ(pthread_create(&runs[i].thread, NULL, train_at_once, &runs[i]), 0);
    }
    for (size_t i = 0; i < COUNT(runs); i++) {
        pthread_join(runs[i].thread, NULL);
    }
    for (size_t i = 0; i < 3; i++) {
        T_STR(runs[i].k.error, "");
        T_EQ(runs[i].k.status, SLUICE_OK);
        kit_check(&runs[i].k);
        kit_check_same(&reference, &runs[i].k, 0, 300);
    }
    T_EQ(runs[3].k.status, SLUICE_E_CORRUPT);
    T_CONTAINS(runs[3].k.error, "kit/33");
    kit_check(&runs[3].k);
    T_EQ(runs[3].k.count, 16);
    sluice_dataset_destroy(runs[3].k.dataset);
    sluice_dataset_destroy(shared);
    for (size_t i = 0; i < COUNT(runs); i++) {
        kit_fini(&runs[i].k);
    }
    kit_fini(&reference);
}

static long entries(const char *folder)
{
    DIR *dir = opendir(folder);
    long count = 0;

    while (dir != NULL && readdir(dir) != NULL) {
        count++;
    }
    if (dir != NULL) {
        closedir(dir);
    }
    return count;
}

static long resident_pages(void)
{
    FILE *file = fopen("/proc/self/statm", "r");
    long size = 0;
    long resident = 0;

    if (file != NULL) {
        if (fscanf(file, "%ld %ld", &size, &resident) != 2) {
            resident = 0;
        }
        fclose(file);
    }
    return resident;
}

/* Leaks of memory are found by the address sanitizer, which runs this, too. */
static void two_hundred_trainings_leave_nothing_behind(void)
{
    long files = 0;
    long threads = 0;
    long resident = 0;

    for (int i = 0; i < 200; i++) {
        kit k;

        kit_init(&k);
        k.config.mode = modes[i % (int)COUNT(modes)];
        k.device = i % 3 == 0 ? "host:0,copy=1" : "host:0";
        k.config.epochs = 0;
        k.config.max_steps = 10;
        T_OK(kit_run(&k));
        kit_fini(&k);
        if (i == 50) {
            files = entries("/proc/self/fd");
            threads = entries("/proc/self/task");
            resident = resident_pages();
        }
    }
    T_EQ(entries("/proc/self/fd"), files);
    /* The kernel takes a thread off its list shortly after it was joined. */
    for (int i = 0; i < 1000000 && entries("/proc/self/task") > threads; i++) {
        sched_yield();
    }
    T_TRUE(entries("/proc/self/task") <= threads);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
    T_TRUE(resident_pages() - resident < 256); /* 1 MiB: 150 trainings would not fit */
#else
    (void)resident;
#endif
}

/* ---- what belongs to the caller -------------------------------------------------------------- */

static void affinity_locale_and_signals_of_the_caller_stay(void)
{
    const char *locale = setlocale(LC_ALL, "C.UTF-8");
    cpu_set_t before;
    cpu_set_t after;
    sigset_t mask;
    sigset_t mask_after;
    kit k;

    T_EQ(sched_getaffinity(0, sizeof(before), &before), 0);
    pthread_sigmask(SIG_SETMASK, NULL, &mask);
    for (size_t m = 0; m < COUNT(modes); m++) {
        struct sigaction action;

        kit_init(&k);
        k.config.mode = modes[m];
        T_OK(kit_run(&k));
        kit_fini(&k);
        T_EQ(sched_getaffinity(0, sizeof(after), &after), 0);
        T_TRUE(CPU_EQUAL(&before, &after));
        pthread_sigmask(SIG_SETMASK, NULL, &mask_after);
        T_EQ(sigaction(SIGINT, NULL, &action), 0);
        T_TRUE(action.sa_handler == SIG_DFL);
        for (int signal_number = 1; signal_number < 32; signal_number++) {
            T_EQ(sigismember(&mask_after, signal_number), sigismember(&mask, signal_number));
        }
        if (locale != NULL) {
            T_STR(setlocale(LC_ALL, NULL), "C.UTF-8");
        }
    }
    setlocale(LC_ALL, "C");
}

static void a_device_of_the_parent_is_refused_in_a_child(void)
{
    sluice_device *device = NULL;
    sluice_dataset *dataset = NULL;
    sluice_report *report = NULL;
    int status = 0;
    pid_t child;
    kit k;

    kit_init(&k);
    T_OK(sluice_device_open("host:0", &device));
    T_OK(sluice_dataset_parse(k.pipeline, &dataset));
    child = fork();
    if (child == 0) {
        sluice_status st = sluice_train(device, &k.model, dataset, &k.config, &report);

        _exit(st == SLUICE_E_INVALID && strstr(sluice_last_error(), "before a fork") != NULL ? 0
                                                                                             : 1);
    }
    waitpid(child, &status, 0);
    T_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    child = fork();
    if (child == 0) { /* one of its own is fine */
        sluice_device *own = NULL;
        bool good = sluice_device_open("host:0", &own) == SLUICE_OK &&
                    sluice_train(own, &k.model, dataset, &k.config, NULL) == SLUICE_OK;

        _exit(good ? 0 : 1);
    }
    waitpid(child, &status, 0);
    T_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    sluice_dataset_destroy(dataset);
    sluice_device_close(device);
}

const t_test train_tests[] = {
    T_HOST_TEST(the_case_table_holds_in_every_mode),
    T_TEST(bits_do_not_depend_on_device_workers_sink_size_or_mode),
    T_TEST(converting_on_the_device_gives_the_same_bits),
    T_TEST(files_are_trained_on_alike_in_every_mode),
    T_TEST(a_resumed_run_sees_what_the_unbroken_one_saw),
    T_TEST(sinks_go_on_where_the_last_one_stopped_and_read_no_further),
    T_HOST_TEST(nothing_beyond_the_queue_is_read),
    T_HOST_TEST(a_sink_beyond_the_output_capacity_stays_one_for_hooks),
    T_TEST(a_spinning_device_yields_and_loses_nothing),
    T_TEST(auto_is_the_strongest_legal_mode_and_says_why),
    T_TEST(limits_of_steps_and_time_end_a_run),
    T_TEST(time_ends_a_pass_of_any_length),
    T_TEST(trainings_at_once_do_not_touch_each_other),
    T_TEST(two_hundred_trainings_leave_nothing_behind),
    T_TEST(affinity_locale_and_signals_of_the_caller_stay),
    T_TEST(a_device_of_the_parent_is_refused_in_a_child),
    T_END,
};
