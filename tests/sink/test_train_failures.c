/* SPDX-License-Identifier: Apache-2.0 */
/* Runs that meet errors: of samples, of copies, of memory, of data that do not come. */
#include <pthread.h>
#include <sched.h>
#include <unistd.h>

#include "alloc_int.h"
#include "event_int.h"
#include "testing.h"
#include "train_kit.h"
#include "train_run.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static const sluice_mode modes[] = {SLUICE_MODE_DIRECT, SLUICE_MODE_DATA, SLUICE_MODE_GRAPH,
                                    SLUICE_MODE_LOOP};

/* ---- samples --------------------------------------------------------------------------------- */

static void batches_before_a_bad_sample_are_trained_on_then_it_is_named(void)
{
    static const char *const devices[] = {"host:0", "host:0,copy=1", "host:0,spin_us=5"};
    static const uint32_t workers[] = {1, 2, 5};

    for (size_t i = 0; i < COUNT(modes) * COUNT(devices) * COUNT(workers); i++) {
        kit_source source;
        kit k;

        kit_source_init(&source, 400);
        source.fail_at = 2 * 77 + 1;
        kit_init(&k);
        k.dataset = kit_source_dataset(&source, 2);
        k.config.mode = modes[i % COUNT(modes)];
        k.device = devices[i / COUNT(modes) % COUNT(devices)];
        k.config.workers = workers[i / COUNT(modes) / COUNT(devices)];
        k.config.sink_size = 30;
        k.config.epochs = 100;
        T_STATUS(kit_run(&k), SLUICE_E_CORRUPT);
        T_CONTAINS(k.error, "read: sample 155, kit/155: told to fail; on_error ");
        kit_check(&k);
        T_EQ(k.count, 77);
        T_EQ(k.report->stats.epochs, 2);
        T_EQ(k.hook_calls[KIT_EPOCH_END], 2); /* not of the epoch that the error ended */
        T_EQ(k.report->failed, 1);
        T_EQ(k.report->error_count, 1);
        T_STR(k.report->errors[0].name, "kit/155");
        sluice_dataset_destroy(k.dataset);
        kit_fini(&k);
    }
}

/* Of several bad samples that workers meet in any order the first in the order of rows counts. */
static void the_first_bad_sample_is_the_error(void)
{
    for (int i = 0; i < 40; i++) {
        kit_source source;
        kit k;

        kit_source_init(&source, 64);
        kit_init(&k);
        k.dataset = kit_source_dataset(&source, 8);
        k.config.workers = 4;
        source.fail_at = 35;
        T_STATUS(kit_run(&k), SLUICE_E_CORRUPT);
        T_CONTAINS(k.error, "kit/35");
        T_EQ(k.count, 4);
        sluice_dataset_destroy(k.dataset);
        kit_fini(&k);
    }
}

static void damaged_and_missing_files_are_named(void)
{
    static const unsigned char cut[] = {0xFF, 0xD8, 0xFF, 0xE0, 0x00, 0x10};
    const char *folder = t_folder();
    char pipeline[400];

    kit_write_folder(folder, 6, 8);
    t_write_file(t_path(folder, "a/004.jpg"), cut, sizeof(cut));
    snprintf(pipeline, sizeof(pipeline), "image_folder %s | decode | batch 2", folder);
    for (size_t m = 0; m < COUNT(modes); m++) {
        kit k;

        kit_init(&k);
        k.pipeline = pipeline;
        k.config.mode = modes[m];
        T_STATUS(kit_run(&k), SLUICE_E_CORRUPT);
        T_CONTAINS(k.error, "decode: sample 4, a/004.jpg: ");
        kit_check(&k);
        T_EQ(k.count, 2);
        k.config.on_error = SLUICE_ON_ERROR_REPLACE;
        T_OK(kit_run(&k));
        kit_check(&k);
        T_EQ(k.count, 6);
        T_EQ(k.report->stats.replaced, 1);
        T_STR(k.report->errors[0].name, "a/004.jpg");
        kit_fini(&k);
    }
}

/* It goes missing after the folder was read. */
static void remove_a_file(kit *k)
{
    unlink(k->user);
}

static void a_file_that_goes_missing_is_named(void)
{
    const char *folder = t_folder();
    char pipeline[400];
    char missing[400];

    snprintf(missing, sizeof(missing), "%s/b/005.jpg", folder);
    snprintf(pipeline, sizeof(pipeline), "image_folder %s | decode | batch 2", folder);
    for (size_t m = 0; m < COUNT(modes); m++) {
        kit k;

        kit_write_folder(folder, 6, 8);
        kit_init(&k);
        k.pipeline = pipeline;
        k.config.mode = modes[m];
        k.config.slots = 3;
        k.act_in = KIT_TRAIN_BEGIN; /* the queue holds the first six samples at most */
        k.act = remove_a_file;
        k.user = missing;
        T_STATUS(kit_run(&k), SLUICE_E_IO);
        T_CONTAINS(k.error, "read: sample 11, b/005.jpg: cannot open: No such file or directory");
        kit_check(&k);
        T_EQ(k.count, 5);
        kit_fini(&k);
    }
}

static void a_dataset_in_which_nothing_is_readable_is_an_error_under_every_policy(void)
{
    static const sluice_on_error policies[] = {SLUICE_ON_ERROR_FAIL, SLUICE_ON_ERROR_REPLACE,
                                               SLUICE_ON_ERROR_ZERO};
    const char *folder = t_folder();
    char pipeline[400];

    for (int i = 0; i < 4; i++) {
        char name[20];

        snprintf(name, sizeof(name), "a/%d.jpg", i);
        t_write_file(t_path(folder, name), "no picture", 10);
    }
    snprintf(pipeline, sizeof(pipeline), "image_folder %s | decode | resize 4,4 | batch 2", folder);
    for (size_t i = 0; i < COUNT(policies); i++) {
        kit k;

        kit_init(&k);
        k.pipeline = pipeline;
        k.config.epochs = 1000;
        k.config.on_error = policies[i];
        k.model.reads_mask = true;
        T_TRUE(kit_run(&k) < 0);
        if (policies[i] != SLUICE_ON_ERROR_FAIL) {
            T_EQ(k.status, SLUICE_E_INVALID);
            T_CONTAINS(k.error, "no valid data in the dataset");
        }
        kit_check(&k);
        kit_fini(&k);
    }
}

/* ---- copies ---------------------------------------------------------------------------------- */

static void batches_before_a_failed_copy_are_trained_on(void)
{
    for (size_t m = 0; m < COUNT(modes); m++) {
        kit k;

        kit_init(&k);
        k.device = "host:0,copy=1,fail_after=33";
        k.config.mode = modes[m];
        k.config.sink_size = 10;
        k.config.epochs = 10;
        T_STATUS(kit_run(&k), SLUICE_E_DEVICE);
        T_CONTAINS(k.error, "fail_after");
        kit_check(&k);
        T_EQ(k.count, 33);
        kit_fini(&k);
    }
}

/* ---- stalls ---------------------------------------------------------------------------------- */

static sli_event warned;
static _Atomic bool has_warned;

static void see_warning(const char *message, void *user)
{
    (void)user;
    if (strstr(message, "no step ended for") != NULL) {
        atomic_store(&has_warned, true);
        sli_event_notify(&warned);
    }
}

static bool was_warned(void *arg)
{
    (void)arg;
    return atomic_load(&has_warned);
}

static void release(kit *k)
{
    kit_source_release(k->user);
}

/* Batches of 2 from a source that blocks at this sample, until workers have to come back. */
static void init_blocked(kit *k, kit_source *source, uint64_t block_at)
{
    kit_source_init(source, 100);
    source->block_at = block_at;
    kit_init(k);
    k->dataset = kit_source_dataset(source, 2);
    k->act_in = KIT_TRAIN_END;
    k->act = release;
    k->user = source;
}

static void fini_blocked(kit *k)
{
    sluice_dataset_destroy(k->dataset);
    kit_fini(k);
}

/* One of two workers blocks at sample 21, and the other has begun 22: all before them are there. */
static void wait_until_all_but_one_are_there(kit *k, const sluice_step *step)
{
    const kit_source *source = k->user;

    while (*step->step == 0 &&
           !(atomic_load(&source->blocks) && atomic_load(&source->reads[22]) > 0)) {
        sched_yield();
    }
}

static void a_source_that_blocks_is_warned_of_then_given_up(void)
{
    static const char *const devices[] = {"host:0", "host:0,copy=1", "host:0,spin_us=5"};

    for (size_t i = 0; i < COUNT(modes) * COUNT(devices); i++) {
        const char *log;
        kit_source source;
        kit k;

        init_blocked(&k, &source, 21); /* of batch 10 */
        k.device = devices[i / COUNT(modes)];
        k.config.mode = modes[i % COUNT(modes)];
        k.config.workers = 2;
        k.config.slots = 16;
        k.config.sink_size = 7;
        k.config.epochs = 7;
        k.config.stall_warning_ms = 20;
        k.config.stall_timeout_ms = 60;
        k.in_step = wait_until_all_but_one_are_there;
        kit_log_start(NULL, NULL);
        T_STATUS(kit_run(&k), SLUICE_E_STALLED);
        log = kit_log_stop();
        T_CONTAINS(log, "step 10 waits for data; the batch at sample 20 of pass 0 has 1 of 2 rows");
        T_CONTAINS(log, "is in read of kit/21 for ");
        T_CONTAINS(k.error,
                   "step 10 waits for data; the batch at sample 20 of pass 0 has 1 of 2 rows");
        T_CONTAINS(k.error, "is in read of kit/21 for ");
        kit_check(&k);
        T_EQ(k.count, 10); /* steps of the launch that was given up are counted */
        fini_blocked(&k);
    }
}

static void a_stall_is_given_up_also_where_the_warning_would_come_later(void)
{
    kit_source source;
    kit k;

    init_blocked(&k, &source, 0);
    k.config.stall_timeout_ms = 20; /* and a warning after half a minute */
    kit_log_start(NULL, NULL);
    T_STATUS(kit_run(&k), SLUICE_E_STALLED);
    (void)kit_log_stop();
    T_CONTAINS(k.error, "step 0 waits for data; the batch at sample 0 of pass 0 has ");
    kit_check(&k);
    fini_blocked(&k);
}

static void wait_for_warning(kit *k, const sluice_step *step)
{
    (void)k;
    if (*step->step == 5) {
        (void)sli_event_await(&warned, was_warned, NULL, -1);
    }
}

/* In graph mode the host waits for the next batch meanwhile, which only the step can make room for.
 */
static void a_step_that_takes_long_is_warned_of_but_is_no_stall(void)
{
    static const sluice_mode launched[] = {SLUICE_MODE_DIRECT, SLUICE_MODE_GRAPH, SLUICE_MODE_LOOP};

    for (size_t m = 0; m < COUNT(launched); m++) {
        const char *log;
        kit k;

        kit_init(&k);
        k.config.mode = launched[m];
        k.config.stall_warning_ms = 300;
        k.config.stall_timeout_ms = 300; /* it would be one at once */
        k.in_step = wait_for_warning;
        atomic_store(&has_warned, false);
        kit_log_start(see_warning, NULL);
        T_OK(kit_run(&k));
        log = kit_log_stop();
        T_CONTAINS(log, "the step function is running (step 5)");
        kit_check(&k);
        kit_fini(&k);
    }
}

/* A source that takes long and comes back: a warning, and the run goes on. */
static void release_when_warned(const char *message, void *user)
{
    if (strstr(message, "step 10 waits for data") != NULL) {
        kit_source_release(user);
    }
}

static void data_that_come_late_are_trained_on(void)
{
    for (size_t m = 0; m < COUNT(modes); m++) {
        kit_source source;
        kit k;

        init_blocked(&k, &source, 21);
        k.config.mode = modes[m];
        k.config.stall_warning_ms = 10;
        kit_log_start(release_when_warned, &source);
        T_OK(kit_run(&k));
        T_CONTAINS(kit_log_stop(), "step 10 waits for data");
        kit_check(&k);
        T_EQ(k.count, 50);
        /* It lasted from the last step to the warning at least, and counts in every mode. */
        T_TRUE(k.report->stats.data_wait_share * k.report->stats.seconds > 0.009);
        fini_blocked(&k);
    }
}

static program_progress no_progress(const sink_program *program)
{
    (void)program;
    return (program_progress){.batches_done = 0};
}

/* What a hook takes, validation for one, is not time without a step. */
static void hooks_that_take_long_are_no_stall(void)
{
    static const program_ops ops = {.kind = "none", .progress = no_progress};
    const sluice_callback callbacks[] = {{.user = NULL}, {.epoch_begin = kit_ignore}};
    sink_program program = {.ops = &ops};
    train_run run = {.program = &program};
    sluice_hook hook = {.stop = false};

    run.config.stall_warning_ms = 1000;
    run.config.stall_timeout_ms = 2000;
    run.config.micro_batches = 1;
    for (uint32_t with = 1; with <= 2; with++) {
        run.config.callbacks = callbacks;
        run.config.callback_count = with;
        run.progress_ns = sli_now_ns() - 10 * INT64_C(1000000000);
        kit_log_start(NULL, NULL);
        T_OK(train_call_hooks(&run, HOOK_EPOCH_BEGIN, &hook));
        T_OK(train_watch(&run));
        if (with == 1) { /* nobody's hook was called: ten seconds without a step */
            T_CONTAINS(kit_log_stop(), "the step function is running");
        } else {
            T_STR(kit_log_stop(), "");
        }
        run.stall_warned = false;
    }
}

typedef struct stopper {
    kit *k;
    kit_source *source;
    sluice_stop *stop;
} stopper;

static void *stop_when_blocked(void *arg)
{
    const stopper *s = arg;

    while (!atomic_load(&s->source->blocks) || atomic_load(&s->k->calls) < 10) {
        sched_yield();
    }
    sluice_stop_request(s->stop);
    return NULL;
}

static void a_stop_ends_a_run_whose_source_blocks(void)
{
    static const char *const devices[] = {"host:0", "host:0,copy=1", "host:0,spin_us=5"};
    sluice_stop *stop = NULL;

    T_OK(sluice_stop_create(&stop));
    for (size_t i = 0; i < COUNT(modes) * COUNT(devices); i++) {
        stopper s = {.stop = stop};
        kit_source source;
        pthread_t thread;
        kit k;

        init_blocked(&k, &source, 21);
        s.k = &k;
        s.source = &source;
        k.device = devices[i / COUNT(modes)];
        k.config.mode = modes[i % COUNT(modes)];
        k.config.stop = stop;
        T_EQ(pthread_create(&thread, NULL, stop_when_blocked, &s), 0);
        T_STATUS(kit_run(&k), SLUICE_STOPPED);
        pthread_join(thread, NULL);
        kit_check(&k);
        T_EQ(k.count, 10);
        sluice_stop_clear(stop);
        fini_blocked(&k);
    }
    sluice_stop_destroy(stop);
}

static void a_limit_of_time_ends_a_run_whose_source_blocks(void)
{
    for (size_t m = 0; m < COUNT(modes); m++) {
        kit_source source;
        kit k;

        init_blocked(&k, &source, 21);
        k.config.mode = modes[m];
        k.config.max_seconds = 0.02;
        T_OK(kit_run(&k));
        kit_check(&k);
        T_TRUE(k.count <= 10);
        fini_blocked(&k);
    }
}

/* ---- memory ---------------------------------------------------------------------------------- */

/* Makes every allocation after the n-th fail, for n = 0, 1, ... until one run needs no more. */
static void run_out_of_memory(const char *device, sluice_mode mode, const char *pipeline)
{
    int64_t passes = 0;

    for (sluice_status st = SLUICE_E_NO_MEMORY; st != SLUICE_OK; passes++) {
        sluice_device *opened = NULL;
        sluice_dataset *dataset = NULL;
        sluice_report *report = NULL;
        char error[1024];
        kit k;

        kit_init(&k);
        k.config.mode = mode;
        k.config.max_steps = 6;
        k.config.workers = 2;
        T_OK(sluice_device_open(device, &opened));
        T_OK(sluice_dataset_parse(pipeline, &dataset));
        sli_alloc_fail_after(passes);
        st = sluice_train(opened, &k.model, dataset, &k.config, &report);
        sli_alloc_fail_after(-1);
        snprintf(error, sizeof(error), "%s", sluice_last_error());
        if (st != SLUICE_OK && st != SLUICE_E_NO_MEMORY) {
            T_FAIL_("after %lld allocations the run ends with %s: %s", (long long)passes,
                    sluice_status_name(st), error);
        }
        T_TRUE(st == SLUICE_OK || error[0] != '\0');
        if (report != NULL) {
            T_EQ(report->stats.status, st);
        }
        T_TRUE(st != SLUICE_OK || report != NULL);
        sluice_report_destroy(report);
        sluice_dataset_destroy(dataset);
        sluice_device_close(opened);
    }
    T_TRUE(passes > 20);
}

static void running_out_of_memory_anywhere_ends_the_run_with_that(void)
{
    for (size_t m = 0; m < COUNT(modes); m++) {
        run_out_of_memory(
            "host:0", modes[m],
            "synthetic samples=20 shape=5,5,3 | shuffle | normalize imagenet | batch 2");
        run_out_of_memory("host:0,copy=1", modes[m],
                          "synthetic samples=20 shape=5,5,3 | random_crop 4 | to_dtype f32 "
                          "offload=device | batch 2");
    }
}

static void running_out_of_memory_over_files_ends_the_run_with_that(void)
{
    const char *folder = t_folder();
    char pipeline[400];

    kit_write_folder(folder, 6, 8);
    snprintf(
        pipeline, sizeof(pipeline),
        "image_folder %s | split train 1 | decode | random_resized_crop 5 | normalize imagenet "
        "| to_chw | batch 2",
        folder);
    run_out_of_memory("host:0", SLUICE_MODE_LOOP, pipeline);
    run_out_of_memory("host:0,copy=1", SLUICE_MODE_DATA, pipeline);
}

/* The texts of a report, too. */
static void running_out_of_memory_in_a_report_is_said(void)
{
    sluice_status (*const texts[])(const sluice_report *, char **) = {sluice_report_text,
                                                                      sluice_report_json};
    kit k;

    kit_init(&k);
    T_OK(kit_run(&k));
    for (size_t i = 0; i < COUNT(texts); i++) {
        sluice_status st = SLUICE_E_NO_MEMORY;
        char *text = NULL;

        for (int64_t passes = 0; st != SLUICE_OK; passes++) {
            CU_ASSERT_PTR_NULL(text); /* outputs are set only on OK */
            sli_alloc_fail_after(passes);
            st = texts[i](k.report, &text);
            sli_alloc_fail_after(-1);
            T_TRUE(st == SLUICE_OK || st == SLUICE_E_NO_MEMORY);
        }
        sluice_string_free(text);
    }
    kit_fini(&k);
}

const t_test train_failures_tests[] = {
    T_TEST(batches_before_a_bad_sample_are_trained_on_then_it_is_named),
    T_TEST(the_first_bad_sample_is_the_error),
    T_TEST(damaged_and_missing_files_are_named),
    T_HOST_TEST(a_file_that_goes_missing_is_named),
    T_TEST(a_dataset_in_which_nothing_is_readable_is_an_error_under_every_policy),
    T_HOST_TEST(batches_before_a_failed_copy_are_trained_on),
    T_TEST(a_source_that_blocks_is_warned_of_then_given_up),
    T_TEST(a_stall_is_given_up_also_where_the_warning_would_come_later),
    T_TEST(a_step_that_takes_long_is_warned_of_but_is_no_stall),
    T_TEST(data_that_come_late_are_trained_on),
    T_TEST(hooks_that_take_long_are_no_stall),
    T_TEST(a_stop_ends_a_run_whose_source_blocks),
    T_TEST(a_limit_of_time_ends_a_run_whose_source_blocks),
    T_TEST(running_out_of_memory_anywhere_ends_the_run_with_that),
    T_TEST(running_out_of_memory_over_files_ends_the_run_with_that),
    T_TEST(running_out_of_memory_in_a_report_is_said),
    T_END,
};
