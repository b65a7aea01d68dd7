/* SPDX-License-Identifier: Apache-2.0 */
/* The report that the environment wants: where it goes, and when. */
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "overrides_kit.h"
#include "report_file.h"
#include "run_report.h"
#include "testing.h"

/* ---- the file -------------------------------------------------------------------------------- */

/* One object, and a line's end. */
static void expect_json(const char *text, const char *status)
{
    const size_t length = strlen(text);
    char begins[60];

    snprintf(begins, sizeof(begins), "{\"schema\":1,\"status\":\"%s\",", status);
    T_EQ(strncmp(text, begins, strlen(begins)), 0);
    T_TRUE(length > 2 && strcmp(text + length - 2, "}\n") == 0);
    T_EQ(overrides_count_of(text, "\"schema\":"), 1);
}

static void the_report_goes_where_the_environment_says(void)
{
    const char *folder = t_folder();
    char path[300];
    char said[400];
    kit k;

    overrides_begin();
    snprintf(path, sizeof(path), "%s/report", folder);
    setenv("SLUICE_REPORT", path, 1);
    overrides_init_run(&k);
    snprintf(said, sizeof(said), "environment: the report is written to SLUICE_REPORT=%s\n", path);
    T_STR(overrides_log_of(&k), said);
    T_OK(k.status);
    T_EQ(strncmp(overrides_contents(path), "bottleneck: none: too short to judge: 4 steps", 45), 0);
    T_CONTAINS(overrides_contents(path), "\n4 steps, 8 samples in ");
    CU_ASSERT_PTR_NOT_NULL(k.report); /* the caller has one all the same */
    kit_fini(&k);

    snprintf(path, sizeof(path), "%s/report.json", folder);
    setenv("SLUICE_REPORT", path, 1);
    overrides_init_run(&k);
    (void)overrides_log_of(&k);
    T_OK(k.status);
    expect_json(overrides_contents(path), "OK");
    kit_fini(&k);
    overrides_end();
}

/* Also of a caller who wants none. */
static void a_report_needs_no_caller_who_wants_it(void)
{
    const char *path = t_path(t_folder(), "r.json");
    sluice_device *device = NULL;
    sluice_dataset *dataset = NULL;
    kit k;

    overrides_begin();
    setenv("SLUICE_REPORT", path, 1);
    overrides_init_run(&k);
    T_OK(sluice_device_open("host:0", &device));
    T_OK(sluice_dataset_parse(k.pipeline, &dataset));
    kit_log_start(NULL, NULL);
    T_OK(sluice_train(device, &k.model, dataset, &k.config, NULL));
    (void)kit_log_stop();
    expect_json(overrides_contents(path), "OK");
    sluice_dataset_destroy(dataset);
    sluice_device_close(device);
    kit_fini(&k);
    overrides_end();
}

static void a_run_that_fails_has_its_report_too(void)
{
    const char *folder = t_folder();
    char path[300];
    sluice_report *report = NULL;
    kit k;

    overrides_begin();
    snprintf(path, sizeof(path), "%s/step.json", folder);
    setenv("SLUICE_REPORT", path, 1);
    overrides_init_run(&k);
    k.step_at = 2;
    k.step_answer = SLUICE_E_IO;
    (void)overrides_log_of(&k);
    T_STATUS(k.status, SLUICE_E_IO);
    expect_json(overrides_contents(path), "E_IO");
    T_CONTAINS(overrides_contents(path), "\"error\":\"step 2: the step function returned E_IO\"");
    kit_fini(&k);

    snprintf(path, sizeof(path), "%s/refused.json", folder); /* refused before it began */
    setenv("SLUICE_REPORT", path, 1);
    setenv("SLUICE_WORKERS", "many", 1);
    overrides_init_run(&k);
    (void)overrides_log_of(&k);
    T_STATUS(k.status, SLUICE_E_INVALID);
    expect_json(overrides_contents(path), "E_INVALID");
    T_CONTAINS(overrides_contents(path), "SLUICE_WORKERS is \\\"many\\\"");
    kit_fini(&k);

    snprintf(path, sizeof(path), "%s/nothing.json", folder); /* no run could be made */
    setenv("SLUICE_REPORT", path, 1);
    kit_log_start(NULL, NULL);
    T_STATUS(sluice_train(NULL, NULL, NULL, NULL, &report), SLUICE_E_INVALID);
    (void)kit_log_stop();
    T_STR(sluice_last_error(), "sluice_train: model is NULL");
    expect_json(overrides_contents(path), "E_INVALID");
    CU_ASSERT_PTR_NOT_NULL(report);
    sluice_report_destroy(report);
    overrides_end();
}

static void r_in_the_path_is_the_rank(void)
{
    const char *folder = t_folder();
    char path[300];
    kit k;

    overrides_begin();
    snprintf(path, sizeof(path), "%s/%%r-of-all-%%r%%d%%.json", folder);
    setenv("SLUICE_REPORT", path, 1);
    overrides_init_run(&k);
    k.config.rank = 1;
    k.config.world = 2;
    k.config.nan_guard = SLUICE_NAN_COUNT;
    (void)overrides_log_of(&k);
    T_OK(k.status);
    snprintf(path, sizeof(path), "%s/1-of-all-1%%d%%.json", folder);
    expect_json(overrides_contents(path), "OK");
    kit_fini(&k);
    overrides_end();
}

/* Runs as rank 1 of 2, with this path in SLUICE_REPORT. */
static void run_as_rank_1(const char *path)
{
    kit k;

    overrides_begin();
    setenv("SLUICE_REPORT", path, 1);
    overrides_init_run(&k);
    k.config.rank = 1;
    k.config.world = 2;
    k.config.nan_guard = SLUICE_NAN_COUNT;
    (void)overrides_log_of(&k);
    T_OK(k.status);
    kit_fini(&k);
    overrides_end();
}

static void reports_of_several_ranks_have_files_of_their_own(void)
{
    const char *folder = t_folder();
    const char *text;

    run_as_rank_1(t_path(folder, "report.json"));
    text = overrides_contents(t_path(folder, "report.1.json"));
    expect_json(text, "OK");
    T_CONTAINS(text, "\"rank\":1,\"world\":2,\"local_rank\":null,\"local_world\":null,\"host\":\"");
    CU_ASSERT_NOT_EQUAL(access(t_path(folder, "report.json"), F_OK), 0);
    run_as_rank_1(t_path(folder, "report"));
    text = overrides_contents(t_path(folder, "report.1"));
    T_TRUE(strncmp(text, "rank 1 of 2, process ", 21) == 0);
}

static void a_report_that_cannot_be_written_is_a_warning(void)
{
    static const struct {
        const char *path;
        const char *why;
    } cases[] = {{"/nowhere/report.json", "cannot write /nowhere/report.json: No such file"},
                 {"/dev/full", "cannot write /dev/full: No space left"},
                 {"/", "cannot write /: Is a directory"}};

    for (size_t i = 0; i < COUNT(cases); i++) {
        kit k;

        overrides_begin();
        setenv("SLUICE_REPORT", cases[i].path, 1);
        overrides_init_run(&k);
        if (i != 1 || access(cases[i].path, W_OK) == 0) {
            T_CONTAINS(overrides_log_of(&k), cases[i].why);
            T_OK(k.status);
            kit_check(&k);
        }
        kit_fini(&k);
        overrides_end();
    }
}

/* What does not depend on the report is known before the first step. */
static void a_path_that_cannot_be_written_is_said_before_the_run(void)
{
    static const struct {
        const char *path;
        const char *why;
    } cases[] = {{"/nowhere/report.json",
                  "SLUICE_REPORT: /nowhere/report.json cannot be written: No such file or "
                  "directory; the run goes on"},
                 {"/", "SLUICE_REPORT: / cannot be written: Is a directory; the run goes on"}};

    for (size_t i = 0; i < COUNT(cases); i++) {
        kit k;

        overrides_begin();
        setenv("SLUICE_REPORT", cases[i].path, 1);
        overrides_init_run(&k);
        k.step_at = 0; /* no step ends well */
        k.step_answer = SLUICE_E_IO;
        T_CONTAINS(overrides_log_of(&k), cases[i].why);
        kit_fini(&k);
        overrides_end();
    }
}

static char *renewed; /* the file in the last step */

static void look_at_the_file(kit *k, const sluice_step *step)
{
    const struct timespec nap = {0, 60000000};

    (void)k;
    (void)step;
    (void)nanosleep(&nap, NULL);
    snprintf(renewed, 65536, "%s", overrides_contents(getenv("SLUICE_REPORT")));
}

/* A run that is killed then leaves the last report. */
static void the_file_is_renewed_while_the_run_goes_on(void)
{
    const char *path = t_path(t_folder(), "r.json");
    const int64_t period = run_report_period_ns;
    kit k;

    renewed = calloc(1, 65536);
    overrides_begin();
    setenv("SLUICE_REPORT", path, 1);
    overrides_init_run(&k);
    k.in_step = look_at_the_file;
    run_report_period_ns = 1000000;
    (void)overrides_log_of(&k);
    run_report_period_ns = period;
    T_OK(k.status);
    expect_json(renewed, "OK");
    T_CONTAINS(renewed, "\"running\":true,");
    expect_json(overrides_contents(path), "OK");
    T_CONTAINS(overrides_contents(path), "\"running\":false,");
    kit_fini(&k);
    overrides_end();
    free(renewed);
}

/* What the process did before is not the run's. */
static void the_cpu_time_is_of_the_run(void)
{
    const char *path = t_path(t_folder(), "r.json");
    const clock_t begin = clock();
    const char *found;
    kit k;

    while ((double)(clock() - begin) < 0.5 * CLOCKS_PER_SEC) {
    }
    overrides_begin();
    setenv("SLUICE_REPORT", path, 1);
    overrides_init_run(&k);
    (void)overrides_log_of(&k);
    found = strstr(overrides_contents(path), "\"cpu_s_per_1000_samples\":");
    T_TRUE(found != NULL);
    T_TRUE(strtod(strchr(found, ':') + 1, NULL) * (double)k.report->stats.samples / 1000 < 0.4);
    kit_fini(&k);
    overrides_end();
}

/* The run does not wait for a reader that may never come. */
static void a_report_into_a_pipe_without_a_reader_is_a_warning(void)
{
    const char *path = t_path(t_folder(), "pipe");
    kit k;

    T_EQ(mkfifo(path, 0600), 0);
    overrides_begin();
    setenv("SLUICE_REPORT", path, 1);
    overrides_init_run(&k);
    T_CONTAINS(overrides_log_of(&k), "pipe: No such device or address");
    T_OK(k.status);
    kit_fini(&k);
    overrides_end();
}

static void *read_a_byte(void *arg)
{
    const int *reader = arg;
    struct pollfd wait = {.fd = *reader, .events = POLLIN};
    char byte;

    if (poll(&wait, 1, -1) == 1 && read(*reader, &byte, 1) == 1) {
        close(*reader);
    }
    return NULL;
}

/* SIGPIPE would end the process. */
static void a_report_whose_reader_ends_is_a_warning(void)
{
    const char *path = t_path(t_folder(), "pipe.json");
    pthread_t thread;
    sigset_t pending;
    int reader;
    kit k;

    T_EQ(mkfifo(path, 0600), 0);
    reader = open(path, O_RDONLY | O_NONBLOCK);
    T_TRUE(reader >= 0 && fcntl(reader, F_SETPIPE_SZ, 4096) >= 0);
    T_EQ(pthread_create(&thread, NULL, read_a_byte, &reader), 0);
    overrides_begin();
    setenv("SLUICE_REPORT", path, 1);
    overrides_init_run(&k);
    T_CONTAINS(overrides_log_of(&k), "pipe.json: Broken pipe");
    T_OK(k.status);
    kit_fini(&k);
    overrides_end();
    pthread_join(thread, NULL);
    T_EQ(sigpending(&pending), 0);
    T_EQ(sigismember(&pending, SIGPIPE), 0);
}

/* Neither the report nor the warning can be written there. */
static void a_reader_of_stderr_that_ends_does_not_end_the_run(void)
{
    const int before = dup(STDERR_FILENO);
    sigset_t pending;
    int ends[2];
    kit k;

    overrides_begin();
    overrides_init_run(&k);
    (void)overrides_log_of(&k);
    T_TRUE(before >= 0 && pipe(ends) == 0);
    close(ends[0]);
    dup2(ends[1], STDERR_FILENO);
    report_file_write("-", 0, 1, k.report);
    dup2(before, STDERR_FILENO);
    close(ends[1]);
    close(before);
    T_EQ(sigpending(&pending), 0);
    T_EQ(sigismember(&pending, SIGPIPE), 0);
    kit_fini(&k);
    overrides_end();
}

static void a_report_without_memory_is_a_warning(void)
{
    const char *path = t_path(t_folder(), "report");

    kit_log_start(NULL, NULL);
    report_file_write(path, 0, 1, NULL);
    T_CONTAINS(kit_log_stop(), "report: Cannot allocate memory");
    T_TRUE(access(path, F_OK) != 0);
}

/* So a process that is killed while it writes leaves the report before. */
static void a_file_is_replaced_when_the_new_one_is_complete(void)
{
    const char *folder = t_folder();
    char path[300];
    char link_path[300];
    char kept[300];
    struct stat info;
    kit k;

    snprintf(path, sizeof(path), "%s/r.json", folder);
    snprintf(kept, sizeof(kept), "%s/kept", folder);
    snprintf(link_path, sizeof(link_path), "%s/link.json", folder);
    t_write_file(path, "before", 6);
    T_EQ(chmod(path, 0640), 0);
    T_EQ(link(path, kept), 0);
    T_EQ(symlink(path, link_path), 0);
    overrides_begin();
    setenv("SLUICE_REPORT", path, 1);
    overrides_init_run(&k);
    (void)overrides_log_of(&k);
    T_OK(k.status);
    expect_json(overrides_contents(path), "OK");
    T_STR(overrides_contents(kept), "before"); /* not written into */
    T_EQ(stat(path, &info), 0);
    T_EQ(info.st_mode & 0777, 0640);
    kit_fini(&k);
    setenv("SLUICE_REPORT", link_path, 1); /* a link stays one */
    overrides_init_run(&k);
    (void)overrides_log_of(&k);
    T_OK(k.status);
    expect_json(overrides_contents(path), "OK");
    T_EQ(lstat(link_path, &info), 0);
    T_TRUE(S_ISLNK(info.st_mode));
    kit_fini(&k);
    overrides_end();
}

static void a_path_that_is_too_long_is_refused(void)
{
    char path[REPORT_PATH_SIZE + 1];
    kit k;

    overrides_begin();
    memset(path, 'x', sizeof(path) - 1);
    path[sizeof(path) - 1] = '\0';
    setenv("SLUICE_REPORT", path, 1);
    overrides_init_run(&k);
    T_STR(overrides_log_of(&k), "");
    T_STATUS(k.status, SLUICE_E_INVALID);
    T_CONTAINS(k.error, "environment: SLUICE_REPORT is \"xxx");
    T_CONTAINS(k.error, "must be a path of less than 4096 bytes");
    kit_fini(&k);
    overrides_end();
}

static void a_dash_is_stderr(void)
{
    const int before = dup(STDERR_FILENO);
    const char *path = t_file("stderr");
    int file;
    kit k;

    overrides_begin();
    file = open(path, O_CREAT | O_WRONLY, 0600);
    T_TRUE(before >= 0 && file >= 0);
    setenv("SLUICE_REPORT", "-", 1);
    overrides_init_run(&k);
    dup2(file, STDERR_FILENO);
    (void)overrides_log_of(&k); /* nothing but the report goes there */
    dup2(before, STDERR_FILENO);
    close(file);
    close(before);
    T_OK(k.status);
    T_EQ(strncmp(overrides_contents(path), "bottleneck: none: ", 18), 0);
    kit_fini(&k);
    overrides_end();
}

/* ---- threads --------------------------------------------------------------------------------- */

enum { THREADS = 4, RUNS = 3 };

static void *train_often(void *arg)
{
    sluice_status *status = arg;

    for (int i = 0; i < RUNS && *status == SLUICE_OK; i++) {
        kit k;

        overrides_init_run(&k);
        *status = kit_run(&k);
        if (*status == SLUICE_OK &&
            (k.report->queues[0].capacity != 6 || strcmp(k.report->mode, "direct") != 0)) {
            *status = SLUICE_E_CORRUPT;
        }
        kit_fini(&k);
    }
    return NULL;
}

/* Runs at once read the environment side by side and write whole reports. */
static void runs_in_several_threads_do_not_touch_each_other(void)
{
    const char *path = t_path(t_folder(), "report.json");
    sluice_status statuses[THREADS] = {SLUICE_OK};
    pthread_t threads[THREADS];

    overrides_begin();
    setenv("SLUICE_SLOTS", "6", 1);
    setenv("SLUICE_MODE", "direct", 1);
    setenv("SLUICE_REPORT", path, 1);
    kit_log_start(NULL, NULL);
    for (size_t i = 0; i < THREADS; i++) {
        T_EQ(pthread_create(&threads[i], NULL, train_often, &statuses[i]), 0);
    }
    for (size_t i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        T_STATUS(statuses[i], SLUICE_OK);
    }
    T_EQ(overrides_count_of(kit_log_stop(), "environment: SLUICE_SLOTS=6 "), THREADS * RUNS);
    expect_json(overrides_contents(path), "OK");
    overrides_end();
}

const t_test report_file_tests[] = {
    T_TEST(the_report_goes_where_the_environment_says),
    T_TEST(a_report_needs_no_caller_who_wants_it),
    T_TEST(a_run_that_fails_has_its_report_too),
    T_TEST(r_in_the_path_is_the_rank),
    T_TEST(reports_of_several_ranks_have_files_of_their_own),
    T_TEST(a_report_that_cannot_be_written_is_a_warning),
    T_TEST(a_path_that_cannot_be_written_is_said_before_the_run),
    T_TEST(the_cpu_time_is_of_the_run),
    T_TEST(the_file_is_renewed_while_the_run_goes_on),
    T_TEST(a_report_into_a_pipe_without_a_reader_is_a_warning),
    T_TEST(a_report_whose_reader_ends_is_a_warning),
    T_TEST(a_reader_of_stderr_that_ends_does_not_end_the_run),
    T_TEST(a_report_without_memory_is_a_warning),
    T_TEST(a_file_is_replaced_when_the_new_one_is_complete),
    T_TEST(a_path_that_is_too_long_is_refused),
    T_TEST(a_dash_is_stderr),
    T_TEST(runs_in_several_threads_do_not_touch_each_other),
    T_END,
};
