/* SPDX-License-Identifier: Apache-2.0 */
/* The verdict of runs whose limit is provoked: maps, sources, steps and the host's own work. */
#include <pthread.h>
#include <time.h>

#include <sluice/custom.h>

#include "clock_int.h"
#include "load_kit.h"
#include "report_data.h"
#include "testing.h"
#include "train_kit.h"

static void nap(long us)
{
    const struct timespec time = {0, us * 1000};

    (void)nanosleep(&time, NULL);
}

static void spin(int64_t us)
{
    const int64_t end = sli_now_ns() + us * 1000;

    while (sli_now_ns() < end) {
    }
}

/* ---- functions of the user --------------------------------------------------------------------
 */

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

/* Writes the column that the maps below add. */
static sluice_status write_extra(sluice_sample *sample)
{
    void *room;
    sluice_status st = sluice_sample_room(sample, "extra", NULL, &room);

    if (st == SLUICE_OK) {
        memset(room, 0, 16);
    }
    return st;
}

static sluice_status sleep_in_map(sluice_sample *sample, void *user)
{
    (void)user;
    nap(2000);
    return write_extra(sample);
}

static sluice_status spin_in_map(sluice_sample *sample, void *user)
{
    (void)user;
    spin(500);
    return write_extra(sample);
}

static sluice_status sleep_in_mutex(sluice_sample *sample, void *user)
{
    (void)user;
    pthread_mutex_lock(&mutex);
    nap(1000);
    pthread_mutex_unlock(&mutex);
    return write_extra(sample);
}

static sluice_status read_slowly(sluice_sample *sample, uint64_t index, void *user)
{
    void *room;
    sluice_status st = sluice_sample_room(sample, "image", NULL, &room);

    (void)user;
    nap(3000);
    if (st == SLUICE_OK) {
        memset(room, (int)index, 48);
        st = sluice_sample_room(sample, "label", NULL, &room);
    }
    if (st == SLUICE_OK) {
        *(int32_t *)room = (int32_t)index;
    }
    return st;
}

static void sleep_in_step(kit *k, const sluice_step *step)
{
    (void)k;
    (void)step;
    nap(5000);
}

/* ---- runs -------------------------------------------------------------------------------------
 */

typedef struct provoked {
    const char *stage;
    const char *cause;
    const char *first;  /* change of the first advice; NULL: it depends on the number of cores */
    const char *absent; /* a change that must not be advised */
} provoked;

static bool advises(const sluice_report *report, const char *change)
{
    for (uint32_t i = 0; i < report->advice_count; i++) {
        if (strcmp(report->advice[i].change, change) == 0) {
            return true;
        }
    }
    return false;
}

static bool is_right(const sluice_report *report, const provoked *want)
{
    return strcmp(report->bottleneck, want->stage) == 0 &&
           strcmp(report->bottleneck_cause, want->cause) == 0 && report->advice_count > 0 &&
           (want->first == NULL || strcmp(report->advice[0].change, want->first) == 0) &&
           !advises(report, want->absent);
}

typedef struct provoked_run {
    kit *kit;
    const provoked *want;
    bool saves; /* to a new folder each time */
} provoked_run;

static bool run_is_right(void *arg)
{
    const provoked_run *run = arg;

    run->kit->checkpoint.folder = run->saves ? t_folder() : NULL;
    T_OK(kit_run(run->kit));
    return is_right(run->kit->report, run->want);
}

static void check(kit *k, const provoked *want)
{
    provoked_run run = {k, want, k->checkpoint.folder != NULL};
    load_result result;

    k->config.epochs = 0;
    k->config.max_seconds = 1.3;
    k->config.digest = false;
    result = load_kit_try(run_is_right, &run);
    if (result == LOAD_WRONG && k->report->machine.throttled_periods == 0) {
        T_FAIL_("%s/%s: says %s/%s (%s), advises %s", want->stage, want->cause,
                k->report->bottleneck, k->report->bottleneck_cause, k->report->bottleneck_why,
                k->report->advice_count > 0 ? k->report->advice[0].change : "nothing");
    }
    T_NEEDS(result == LOAD_RIGHT,
            "other processes, a CPU quota or a sanitizer take time from the runs");
}

/* To tell locks from sleep, the library reads what its threads wait for. */
static bool can_read_waits(void)
{
    FILE *file = fopen("/proc/thread-self/syscall", "r");
    const bool is_read = file != NULL && fgetc(file) != EOF;

    if (file != NULL) {
        fclose(file);
    }
    return is_read;
}

static void check_map(sluice_status (*function)(sluice_sample *sample, void *user), bool serial,
                      uint32_t workers, const provoked *want)
{
    static const char *const inputs[] = {"label"};
    static const sluice_column_spec outputs[] = {{"extra", SLUICE_F32, 1, {4}, 0, 0, NULL}};
    sluice_map map = {.struct_size = sizeof(map),
                      .name = "mymap",
                      .inputs = inputs,
                      .input_count = 1,
                      .outputs = outputs,
                      .output_count = 1,
                      .column_size = sizeof(sluice_column_spec),
                      .serial = serial,
                      .map = function};
    sluice_dataset *dataset = NULL;
    kit k;

    T_OK(sluice_dataset_parse("synthetic samples=1000 shape=4,4,3", &dataset));
    T_OK(sluice_dataset_map(dataset, &map));
    T_OK(sluice_dataset_add(dataset, "batch 8"));
    kit_init(&k);
    k.dataset = dataset;
    k.config.workers = workers;
    check(&k, want);
    kit_fini(&k);
    sluice_dataset_destroy(dataset);
}

static void a_sleeping_map_is_blocked_and_gains_by_workers(void)
{
    T_NEEDS(can_read_waits(), "/proc/thread-self/syscall cannot be read here");
    check_map(sleep_in_map, false, 2, &(provoked){"mymap", "blocked", "workers", "index"});
}

static void a_spinning_map_takes_the_cpu(void)
{
    check_map(spin_in_map, false, 1, &(provoked){"mymap", "cpu", NULL, "storage"});
}

static void a_serial_map_is_a_lock(void)
{
    check_map(spin_in_map, true, 2, &(provoked){"mymap", "lock", "code", "workers"});
}

static void a_map_with_a_mutex_gains_nothing_by_workers(void)
{
    T_NEEDS(can_read_waits(), "/proc/thread-self/syscall cannot be read here");
    check_map(sleep_in_mutex, false, 6, &(provoked){"mymap", "lock", "code", "workers"});
}

static void a_sleeping_source_is_blocked(void)
{
    static const sluice_column_spec columns[] = {{"image", SLUICE_U8, 1, {48}, 0, 0, NULL},
                                                 {"label", SLUICE_I32, 0, {0}, 0, 0, NULL}};
    sluice_source source;
    sluice_dataset *dataset = NULL;
    kit k;

    T_NEEDS(can_read_waits(), "/proc/thread-self/syscall cannot be read here");
    sluice_source_init(&source);
    source.name = "mysource";
    source.columns = columns;
    source.column_count = 2;
    source.count = 10000;
    source.read = read_slowly;
    T_OK(sluice_dataset_source(&source, &dataset));
    T_OK(sluice_dataset_add(dataset, "batch 4"));
    kit_init(&k);
    k.dataset = dataset;
    k.config.workers = 2;
    check(&k, &(provoked){"read", "blocked", "workers", "storage"});
    kit_fini(&k);
    sluice_dataset_destroy(dataset);
}

/* Steps sleep; the workers keep up with them. */
static void a_slow_step_is_of_the_device(void)
{
    kit k;

    kit_init(&k);
    k.in_step = sleep_in_step;
    check(&k, &(provoked){"step", "device", "code", "workers"});
    kit_fini(&k);
}

static sluice_status sleep_in_hook(sluice_hook *hook, void *user)
{
    (void)hook;
    (void)user;
    nap(10000);
    return SLUICE_OK;
}

static void slow_hooks_are_of_the_host(void)
{
    const sluice_callback callback = {.step_end = sleep_in_hook};
    kit k;

    kit_init(&k);
    k.callbacks = &callback;
    k.callback_count = 1;
    k.config.sink_size = 1;
    check(&k, &(provoked){"hooks", "host", "hooks", "workers"});
    kit_fini(&k);
}

static sluice_status save_slowly(void *user, const char *folder, uint32_t rank, uint32_t world)
{
    (void)user;
    (void)folder;
    (void)rank;
    (void)world;
    nap(100000);
    return SLUICE_OK;
}

static void slow_checkpoints_are_of_the_host(void)
{
    kit k;

    kit_init(&k);
    k.model.save = save_slowly;
    k.model.load = save_slowly;
    k.checkpoint.folder = t_folder();
    k.checkpoint.every_steps = 10;
    k.config.sink_size = 10;
    check(&k, &(provoked){"checkpoint", "host", "checkpoint", "workers"});
    kit_fini(&k);
}

static sluice_status evaluate_slowly(const sluice_step *step, void *user)
{
    nap(10000);
    return kit_eval(step, user);
}

static void slow_validations_are_of_the_host(void)
{
    sluice_dataset *dataset = NULL;
    kit k;

    T_OK(sluice_dataset_parse("synthetic samples=20 shape=4,4,3 | batch 5", &dataset));
    kit_init(&k);
    kit_validate(&k, dataset);
    k.validation.every_steps = 10;
    k.model.eval = evaluate_slowly;
    k.config.sink_size = 10;
    check(&k, &(provoked){"validation", "host", "validation", "workers"});
    kit_fini(&k);
    sluice_dataset_destroy(dataset);
}

const t_test verdict_runs_tests[] = {
    T_TEST(a_sleeping_map_is_blocked_and_gains_by_workers),
    T_TEST(a_spinning_map_takes_the_cpu),
    T_TEST(a_serial_map_is_a_lock),
    T_TEST(a_map_with_a_mutex_gains_nothing_by_workers),
    T_TEST(a_sleeping_source_is_blocked),
    T_TEST(a_slow_step_is_of_the_device),
    T_TEST(slow_hooks_are_of_the_host),
    T_TEST(slow_checkpoints_are_of_the_host),
    T_TEST(slow_validations_are_of_the_host),
    T_END,
};
