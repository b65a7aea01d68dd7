/* SPDX-License-Identifier: Apache-2.0 */
/* What the environment says in place of the settings of a run or a channel. */
#include <stdlib.h>

#include "overrides.h"
#include "overrides_kit.h"
#include "testing.h"

/* ---- settings -------------------------------------------------------------------------------- */

static void without_variables_nothing_changes_and_nothing_is_said(void)
{
    static const char *const empty[] = {NULL, ""};

    for (size_t i = 0; i < COUNT(empty); i++) {
        kit k;

        overrides_begin();
        for (size_t v = 0; v < OVERRIDES_COUNT && empty[i] != NULL; v++) {
            setenv(overrides_names[v], empty[i], 1);
        }
        overrides_init_run(&k);
        k.config.workers = 1;
        k.config.slots = 5;
        k.config.mode = SLUICE_MODE_GRAPH;
        T_STR(overrides_log_of(&k), "");
        T_OK(k.status);
        T_EQ(k.report->worker_count, 1);
        T_EQ(k.report->queues[0].capacity, 5);
        T_STR(k.report->mode, "graph");
        kit_fini(&k);
        overrides_end();
    }
}

static void workers_are_as_many_as_the_environment_says(void)
{
    static const struct {
        uint32_t config;
        const char *value;
        uint32_t workers; /* 0: whatever fits */
        const char *said;
    } cases[] = {
        {0, "3", 3, "environment: SLUICE_WORKERS=3 in place of workers 0 (auto)\n"},
        {2, "3", 3, "environment: SLUICE_WORKERS=3 in place of workers 2\n"},
        {2, "0", 0, "environment: SLUICE_WORKERS=0 in place of workers 2\n"},
    };

    for (size_t i = 0; i < COUNT(cases); i++) {
        kit k;

        overrides_begin();
        setenv("SLUICE_WORKERS", cases[i].value, 1);
        overrides_init_run(&k);
        k.config.workers = cases[i].config;
        T_STR(overrides_log_of(&k), cases[i].said);
        T_OK(k.status);
        T_TRUE(cases[i].workers == 0 ? k.report->worker_count > 0
                                     : k.report->worker_count == cases[i].workers);
        T_EQ(k.config.workers, cases[i].config); /* the caller's stays as it is */
        kit_check(&k);
        kit_fini(&k);
        overrides_end();
    }
}

/* A name that is misspelt would be ignored without a word. */
static void variables_that_nothing_reads_are_named(void)
{
    kit k;

    overrides_begin();
    setenv("SLUICE_WORKER", "9", 1);
    setenv("SLUICE_EMPTY", "", 1);
    overrides_init_run(&k);
    T_STR(overrides_log_of(&k),
          "environment: SLUICE_WORKER has no effect: Sluice has no such variable; the reference "
          "lists them (docs/guide/reference.md)\n");
    T_OK(k.status);
    kit_fini(&k);
    unsetenv("SLUICE_WORKER");
    unsetenv("SLUICE_EMPTY");
    overrides_end();
}

static void slots_are_as_many_as_the_environment_says(void)
{
    kit k;

    overrides_begin();
    setenv("SLUICE_SLOTS", "9", 1);
    overrides_init_run(&k);
    k.config.slots = 4;
    T_STR(overrides_log_of(&k), "environment: SLUICE_SLOTS=9 in place of slots 4\n");
    T_OK(k.status);
    T_EQ(k.report->queues[0].capacity, 9);
    kit_fini(&k);
    overrides_end();
}

/* What the memory bound makes of the slots shows what was read. */
static void memory_is_bounded_as_the_environment_says(void)
{
    static const struct {
        const char *value;
        uint64_t slots;
    } cases[] = {
        {"6144", 3}, {"6K", 3}, {"1M", 7}, {"1G", 7}, {"0", 7}}; /* 32 rows in batches of 5 */

    for (size_t i = 0; i < COUNT(cases); i++) {
        char said[120];
        kit k;

        overrides_begin();
        setenv("SLUICE_MEMORY", cases[i].value, 1);
        kit_init(&k);
        k.pipeline = "synthetic samples=100 shape=8,8,3 | batch 5";
        k.config.workers = 2;
        snprintf(said, sizeof(said),
                 "environment: SLUICE_MEMORY=%s in place of memory_bytes 0 (auto)\n",
                 cases[i].value);
        T_STR(overrides_log_of(&k), said);
        T_OK(k.status);
        T_EQ(k.report->queues[0].capacity, cases[i].slots);
        kit_fini(&k);
        overrides_end();
    }
}

static void bytes_are_counted_in_powers_of_1024(void)
{
    static const struct {
        const char *value;
        uint64_t bytes;
    } cases[] = {{"7", 7},
                 {"3K", 3072},
                 {"5M", 5 * UINT64_C(1048576)},
                 {"2G", 2 * UINT64_C(1073741824)},
                 {"18446744073709551615", UINT64_MAX},
                 {"17179869183G", UINT64_C(17179869183) << 30}};

    for (size_t i = 0; i < COUNT(cases); i++) {
        char used[OVERRIDES_USED_SIZE];
        char want[100];
        uint32_t workers = 1;
        uint32_t slots = 2;
        uint64_t bytes = 3;
        const char *cores = NULL;

        overrides_begin();
        setenv("SLUICE_MEMORY", cases[i].value, 1);
        kit_log_start(NULL, NULL);
        T_OK(overrides_of_channel(&workers, &slots, &bytes, &cores, used));
        (void)kit_log_stop();
        T_TRUE(bytes == cases[i].bytes);
        T_EQ(workers, 1);
        T_EQ(slots, 2);
        snprintf(want, sizeof(want), "SLUICE_MEMORY=%s", cases[i].value);
        T_STR(used, want);
        overrides_end();
    }
}

static void cores_are_what_the_environment_says(void)
{
    char used[OVERRIDES_USED_SIZE];
    const char *cores = "all";
    uint32_t workers = 1;
    uint32_t slots = 2;
    uint64_t bytes = 3;

    overrides_begin();
    setenv("SLUICE_CORES", "0-3", 1);
    kit_log_start(NULL, NULL);
    T_OK(overrides_of_channel(&workers, &slots, &bytes, &cores, used));
    T_CONTAINS(kit_log_stop(), "SLUICE_CORES=0-3 in place of cores all");
    T_STR(cores, "0-3");
    T_STR(used, "SLUICE_CORES=0-3");
    setenv("SLUICE_CORES", "3-0", 1);
    T_STATUS(overrides_of_channel(&workers, &slots, &bytes, &cores, used), SLUICE_E_INVALID);
    T_CONTAINS(sluice_last_error(),
               "SLUICE_CORES is \"3-0\", and must be auto, all or a list of CPUs");
    unsetenv("SLUICE_CORES");
    overrides_end();
}

static void a_run_refuses_cores_that_it_may_not_use(void)
{
    kit k;

    kit_init(&k);
    k.config.max_steps = 1;
    k.config.cores = "4095";
    T_STATUS(kit_run(&k), SLUICE_E_INVALID);
    T_CONTAINS(sluice_last_error(), "cores: this process may not use CPU 4095");
    k.config.cores = "some";
    T_STATUS(kit_run(&k), SLUICE_E_INVALID);
    T_CONTAINS(sluice_last_error(), "cores is \"some\", and must be auto, all or a list of CPUs");
    k.config.cores = "all";
    T_OK(kit_run(&k));
    kit_fini(&k);
}

static void the_mode_is_what_the_environment_says(void)
{
    static const struct {
        const char *value;
        const char *mode;
    } cases[] = {{"auto", "loop"},
                 {"direct", "direct"},
                 {"data", "data"},
                 {"graph", "graph"},
                 {"loop", "loop"}};

    for (size_t i = 0; i < COUNT(cases); i++) {
        char said[100];
        kit k;

        overrides_begin();
        setenv("SLUICE_MODE", cases[i].value, 1);
        overrides_init_run(&k);
        k.config.mode = SLUICE_MODE_DATA;
        snprintf(said, sizeof(said), "environment: SLUICE_MODE=%s in place of mode data\n",
                 cases[i].value);
        T_STR(overrides_log_of(&k), said);
        T_OK(k.status);
        T_STR(k.report->mode, cases[i].mode);
        kit_check(&k);
        kit_fini(&k);
        overrides_end();
    }
}

static void without_sink_mode_the_mode_is_left_alone_and_that_is_said(void)
{
    kit k;

    overrides_begin();
    setenv("SLUICE_MODE", "loop", 1);
    overrides_init_run(&k);
    k.config.dataset_sink_mode = false;
    T_STR(overrides_log_of(&k),
          "environment: SLUICE_MODE=loop is not used: dataset_sink_mode is off\n");
    T_OK(k.status);
    T_STR(k.report->mode, "direct");
    kit_fini(&k);
    overrides_end();
}

static void a_value_that_makes_no_sense_is_refused_by_name(void)
{
    static const struct {
        const char *name;
        const char *value;
        const char *wanted;
    } cases[] = {
        {"SLUICE_WORKERS", "x", "must be a number from 0 to 1024"},
        {"SLUICE_WORKERS", "-1", "must be a number from 0 to 1024"},
        {"SLUICE_WORKERS", "+1", "must be a number from 0 to 1024"},
        {"SLUICE_WORKERS", " 1", "must be a number from 0 to 1024"},
        {"SLUICE_WORKERS", "1 ", "must be a number from 0 to 1024"},
        {"SLUICE_WORKERS", "1K", "must be a number from 0 to 1024"},
        {"SLUICE_WORKERS", "1025", "must be a number from 0 to 1024"},
        {"SLUICE_WORKERS", "4294967297", "must be a number from 0 to 1024"},
        {"SLUICE_SLOTS", "1", "or 2 to 1024"},
        {"SLUICE_SLOTS", "1025", "or 2 to 1024"},
        {"SLUICE_SLOTS", "4.5", "or 2 to 1024"},
        {"SLUICE_MEMORY", "K", "must be a number of bytes, such as 512M (K, M, G"},
        {"SLUICE_MEMORY", "1T", "must be a number of bytes"},
        {"SLUICE_MEMORY", "1KB", "must be a number of bytes"},
        {"SLUICE_MEMORY", "18446744073709551616", "must be a number of bytes"},
        {"SLUICE_MEMORY", "17179869184G", "must be a number of bytes"},
        {"SLUICE_MODE", "fast", "must be one of auto, direct, data, graph, loop"},
        {"SLUICE_MODE", "LOOP", "must be one of auto, direct, data, graph, loop"},
    };

    for (size_t i = 0; i < COUNT(cases); i++) {
        char words[100];
        kit k;

        overrides_begin();
        setenv(cases[i].name, cases[i].value, 1);
        overrides_init_run(&k);
        T_STR(overrides_log_of(&k), "");
        T_STATUS(k.status, SLUICE_E_INVALID);
        snprintf(words, sizeof(words), "environment: %s is \"%s\", ", cases[i].name,
                 cases[i].value);
        T_CONTAINS(k.error, words);
        T_CONTAINS(k.error, cases[i].wanted);
        T_EQ(k.hook_calls[KIT_TRAIN_BEGIN], 0);
        kit_check(&k);
        kit_fini(&k);
        overrides_end();
    }
}

/* Fine by itself, and refused later: the error says whose value it is. */
static void a_value_that_does_not_fit_the_run_is_named_too(void)
{
    kit k;

    overrides_begin();
    setenv("SLUICE_WORKERS", "2", 1);
    setenv("SLUICE_SLOTS", "2", 1);
    overrides_init_run(&k);
    (void)overrides_log_of(&k);
    T_STATUS(k.status, SLUICE_E_INVALID);
    T_STR(
        k.error,
        "slots=2 must be from 3 to 1024 on host:0 (environment: SLUICE_WORKERS=2 SLUICE_SLOTS=2)");
    kit_fini(&k);
    unsetenv("SLUICE_SLOTS");
    setenv("SLUICE_MEMORY", "100", 1);
    overrides_init_run(&k);
    (void)overrides_log_of(&k);
    T_STATUS(k.status, SLUICE_E_INVALID);
    T_CONTAINS(k.error, "more than the bound of 0.0001 MB");
    T_CONTAINS(k.error, "(environment: SLUICE_WORKERS=2 SLUICE_MEMORY=100)");
    kit_fini(&k);
    overrides_end();
}

/* ---- which runs ------------------------------------------------------------------------------ */

static sluice_status count_one(const sluice_step *step, void *user)
{
    (void)user;
    step->outputs[0] = (float)*step->valid_rows;
    return SLUICE_OK;
}

/* Validation has the settings of its run, and is no run that the environment speaks of. */
static void a_run_within_a_run_is_left_alone(void)
{
    const char *path = t_file("report");
    sluice_dataset *dataset = NULL;
    const char *log;
    kit k;

    overrides_begin();
    setenv("SLUICE_WORKERS", "2", 1);
    setenv("SLUICE_MODE", "graph", 1);
    setenv("SLUICE_REPORT", path, 1);
    T_OK(sluice_dataset_parse("synthetic samples=6 shape=4,4,3 | batch 2", &dataset));
    overrides_init_run(&k);
    k.model.eval = count_one;
    k.validation.dataset = dataset;
    k.validation.every_steps = 1;
    log = overrides_log_of(&k);
    T_OK(k.status);
    T_EQ(k.report->stats.validations, 4);
    T_EQ(overrides_count_of(log, "environment: "), 3);
    T_EQ(overrides_count_of(log, "SLUICE_WORKERS"), 1);
    T_EQ(overrides_count_of(log, "SLUICE_REPORT"), 1);
    T_STR(k.report->mode, "graph");
    T_CONTAINS(overrides_contents(path), "\n4 steps, ");
    kit_fini(&k);
    sluice_dataset_destroy(dataset);
    overrides_end();
}

static void each_run_of_a_process_looks_anew(void)
{
    kit k;

    overrides_begin();
    overrides_init_run(&k);
    k.config.workers = 2;
    setenv("SLUICE_SLOTS", "7", 1);
    T_EQ(overrides_count_of(overrides_log_of(&k), "SLUICE_SLOTS=7"), 1);
    T_EQ(k.report->queues[0].capacity, 7);
    setenv("SLUICE_SLOTS", "8", 1);
    T_EQ(overrides_count_of(overrides_log_of(&k), "SLUICE_SLOTS=8"), 1);
    T_EQ(k.report->queues[0].capacity, 8);
    unsetenv("SLUICE_SLOTS");
    T_STR(overrides_log_of(&k), "");
    T_EQ(k.report->queues[0].capacity, 16); /* the default: 32 rows in batches of 2 */
    kit_fini(&k);
    overrides_end();
}

/* ---- the channel ----------------------------------------------------------------------------- */

static sluice_status open_channel(sluice_device *device, sluice_dataset *dataset,
                                  sluice_channel_info *info)
{
    sluice_channel_config config;
    sluice_channel *channel = NULL;
    sluice_status st;

    sluice_channel_config_init(&config);
    config.workers = 1;
    st = sluice_channel_open(device, dataset, &config, &channel);
    if (st == SLUICE_OK) {
        info->struct_size = sizeof(*info);
        T_OK(sluice_channel_inspect(channel, info));
    }
    sluice_channel_close(channel);
    return st;
}

static void a_channel_is_overridden_by_the_same_variables(void)
{
    sluice_device *device = NULL;
    sluice_dataset *dataset = NULL;
    sluice_channel_info info;
    const char *log;

    overrides_begin();
    T_OK(sluice_device_open("host:0", &device));
    T_OK(sluice_dataset_parse("synthetic samples=100 shape=8,8,3 | batch 5", &dataset));
    setenv("SLUICE_WORKERS", "3", 1);
    setenv("SLUICE_SLOTS", "5", 1);
    setenv("SLUICE_MEMORY", "8M", 1);
    setenv("SLUICE_MODE", "fast", 1); /* which a channel has none of */
    kit_log_start(NULL, NULL);
    T_OK(open_channel(device, dataset, &info));
    log = kit_log_stop();
    T_STR(log, "environment: SLUICE_WORKERS=3 in place of workers 1\n"
               "environment: SLUICE_SLOTS=5 in place of slots 0 (auto)\n"
               "environment: SLUICE_MEMORY=8M in place of memory_bytes 0 (auto)\n");
    T_EQ(info.workers, 3);
    T_EQ(info.slots, 5);
    setenv("SLUICE_MEMORY", "100", 1);
    kit_log_start(NULL, NULL);
    T_STATUS(open_channel(device, dataset, &info), SLUICE_E_INVALID);
    T_CONTAINS(sluice_last_error(), "SLUICE_MEMORY=100)");
    setenv("SLUICE_WORKERS", "-3", 1);
    T_STATUS(open_channel(device, dataset, &info), SLUICE_E_INVALID);
    (void)kit_log_stop();
    T_CONTAINS(sluice_last_error(), "environment: SLUICE_WORKERS is \"-3\", and must be a number");
    sluice_dataset_destroy(dataset);
    sluice_device_close(device);
    overrides_end();
}

const t_test overrides_tests[] = {
    T_TEST(without_variables_nothing_changes_and_nothing_is_said),
    T_TEST(workers_are_as_many_as_the_environment_says),
    T_TEST(variables_that_nothing_reads_are_named),
    T_TEST(slots_are_as_many_as_the_environment_says),
    T_TEST(memory_is_bounded_as_the_environment_says),
    T_TEST(bytes_are_counted_in_powers_of_1024),
    T_TEST(cores_are_what_the_environment_says),
    T_TEST(a_run_refuses_cores_that_it_may_not_use),
    T_TEST(the_mode_is_what_the_environment_says),
    T_TEST(without_sink_mode_the_mode_is_left_alone_and_that_is_said),
    T_TEST(a_value_that_makes_no_sense_is_refused_by_name),
    T_TEST(a_value_that_does_not_fit_the_run_is_named_too),
    T_TEST(a_run_within_a_run_is_left_alone),
    T_TEST(each_run_of_a_process_looks_anew),
    T_TEST(a_channel_is_overridden_by_the_same_variables),
    T_END,
};
