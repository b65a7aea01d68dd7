/* SPDX-License-Identifier: Apache-2.0 */
/* What a report says of the threads of a run, those of its step among them, and of their CPUs. */
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdlib.h>

#include "testing.h"
#include "thread_int.h"
#include "train_kit.h"

static const sluice_mode modes[] = {SLUICE_MODE_DIRECT, SLUICE_MODE_DATA, SLUICE_MODE_GRAPH,
                                    SLUICE_MODE_LOOP};

/* ---- steps that start a thread, as OpenMP does ----------------------------------------------- */

/* The thread, which lives until the end of the test. */
static struct {
    pthread_t thread;
    bool started;
    bool binds; /* the step binds itself to one CPU before */
    sem_t end;
} team;

static void *wait_for_end(void *arg)
{
    (void)arg;
    sem_wait(&team.end);
    return NULL;
}

static void bind_to_one_cpu(void)
{
    sli_cpus allowed;
    cpu_set_t one;

    T_OK(sli_cpus_of_thread(&allowed));
    CPU_ZERO(&one);
    CPU_SET((size_t)sli_cpus_next(&allowed, 0), &one);
    T_EQ(sched_setaffinity(0, sizeof(one), &one), 0);
}

static void start_team(kit *k, const sluice_step *step)
{
    (void)k;
    (void)step;
    if (!team.started) {
        if (team.binds) {
            bind_to_one_cpu();
        }
        team.started = pthread_create(&team.thread, NULL, wait_for_end, NULL) == 0;
        T_TRUE(team.started);
    }
}

static void team_begin(bool binds)
{
    team.started = false;
    team.binds = binds;
    T_EQ(sem_init(&team.end, 0, 0), 0);
}

static void team_end(void)
{
    T_TRUE(team.started);
    sem_post(&team.end);
    pthread_join(team.thread, NULL);
    sem_destroy(&team.end);
}

/* ---- reports --------------------------------------------------------------------------------- */

/* The line of a report that begins with this name and a blank or a digit; "" there is none. */
static const char *row_of(const char *text, const char *name)
{
    static char row[400];
    const char *at = text;

    row[0] = '\0';
    while ((at = strstr(at, name)) != NULL) {
        if (at == text || at[-1] == '\n') {
            snprintf(row, sizeof(row), "%.*s", (int)strcspn(at, "\n"), at);
            return row;
        }
        at++;
    }
    return row;
}

/* The text of a report, its broken lines joined. */
static char *text_of(const kit *k)
{
    char *text = NULL;

    T_OK(sluice_report_text(k->report, &text));
    for (char *at = text; (at = strstr(at, "\n    ")) != NULL;) {
        *at = ' ';
        memmove(at + 1, at + 5, strlen(at + 5) + 1);
    }
    return text;
}

static void every_thread_of_a_run_has_a_row(void)
{
    char pipeline[400];
    char folder[300];

    snprintf(folder, sizeof(folder), "%s", t_folder());
    kit_write_folder(folder, 5, 8);
    snprintf(pipeline, sizeof(pipeline), "image_folder %s | decode | batch 2", folder);
    for (size_t m = 0; m < sizeof(modes) / sizeof(modes[0]); m++) {
        const bool data = modes[m] == SLUICE_MODE_DATA;
        char *text;
        kit k;

        kit_init(&k);
        k.pipeline = pipeline;
        k.device = "host:0,copy=1";
        k.config.mode = modes[m];
        k.config.dataset_sink_mode = modes[m] != SLUICE_MODE_DIRECT;
        k.config.workers = 1;
        T_OK(kit_run(&k));
        text = text_of(&k);
        T_CONTAINS(row_of(text, "sluice/w/0 "), " 0"); /* a CPU of its own */
        T_CONTAINS(row_of(text, "sluice/ra/0-3"), "sluice/ra/0-3 ");
        T_CONTAINS(row_of(text, "sluice/copier"), "sluice/copier ");
        T_CONTAINS(row_of(text, "sluice/copy "), "sluice/copy ");
        T_EQ(strstr(row_of(text, "sluice/device"), "runs the step; ") != NULL, !data);
        T_EQ(strstr(row_of(text, "caller"), "runs the step; ") != NULL, data);
        T_CONTAINS(row_of(text, "sluice/watchdog"), "sluice/watchdog ");
        T_CONTAINS(row_of(text, "caller"), "caller ");
        T_CONTAINS(text, "\nmemory of staging: node ");
        T_CONTAINS(text, "\nmemory of slots: node ");
        CU_ASSERT_PTR_NULL(strstr(text, " \n")); /* no blanks at the end of a line */
        sluice_string_free(text);
        kit_fini(&k);
    }
}

/* Workers of which each has a core share a row; none is left to the step then. */
static void a_row_says_which_cores_the_step_has(void)
{
    sli_cpus allowed;
    char want[100];
    char *text;
    kit k;

    T_OK(sli_cpus_of_thread(&allowed));
    kit_init(&k);
    T_OK(kit_run(&k)); /* a worker on each core */
    text = text_of(&k);
    T_CONTAINS(row_of(text, "sluice/device"), "runs the step; no core without a worker");
    if (k.report->core_count > 1) {
        snprintf(want, sizeof(want), "sluice/w/0-%u ", k.report->core_count - 1);
        T_CONTAINS(row_of(text, want), "one core each");
    }
    sluice_string_free(text);
    kit_fini(&k);
    kit_init(&k);
    k.config.workers = 1;
    T_OK(kit_run(&k));
    text = text_of(&k);
    snprintf(want, sizeof(want), "; %u of %u cores without a worker", k.report->core_count - 1,
             k.report->core_count);
    T_CONTAINS(row_of(text, "sluice/device"),
               k.report->core_count > 1 ? want : "no core without a worker");
    T_EQ(memcmp(&k.report->step.cpus, &allowed, sizeof(allowed)), 0);
    sluice_string_free(text);
    kit_fini(&k);
}

static void threads_that_a_step_starts_are_counted(void)
{
    char *text = NULL;
    kit k;

    kit_init(&k);
    k.in_step = start_team;
    team_begin(false);
    T_OK(kit_run(&k));
    team_end();
    T_EQ(k.report->step.count, 2);
    text = text_of(&k);
    T_CONTAINS(row_of(text, "sluice/device"), "runs the step, 2 threads; ");
    sluice_string_free(text);
    T_OK(sluice_report_json(k.report, &text));
    T_CONTAINS(text, ",\"step\":{\"thread\":\"sluice/device");
    T_CONTAINS(text, "\",\"threads\":2,\"cpus\":\"");
    sluice_string_free(text);
    kit_fini(&k);
}

static void more_threads_than_cpus_are_warned_of(void)
{
    char *text;
    kit k;

    kit_init(&k);
    k.in_step = start_team;
    team_begin(true);
    T_OK(kit_run(&k));
    team_end();
    text = text_of(&k);
    T_CONTAINS(text, "\nwarning: the step runs 2 threads on 1 CPU (");
    T_CONTAINS(text, "set OMP_NUM_THREADS=1, or allow more CPUs\n");
    if (k.report->core_count > 1) {
        T_CONTAINS(row_of(text, "sluice/device"), "; to be on "); /* the step has bound it */
    }
    sluice_string_free(text);
    kit_fini(&k);
}

/* ---- while a run is under way ---------------------------------------------------------------- */

static void start_team_and_wait(kit *k, const sluice_step *step)
{
    start_team(k, step);
    if (*step->step == 5) {
        kit_log_await();
    }
}

/* A team that waits for time slices looks like a step that hangs. */
static void a_warning_of_a_long_step_names_its_threads(void)
{
    const char *log;
    kit k;

    kit_init(&k);
    k.config.stall_warning_ms = 300;
    k.in_step = start_team_and_wait;
    team_begin(true);
    kit_log_start_awaited("no step ended for");
    T_OK(kit_run(&k));
    log = kit_log_stop();
    team_end();
    T_CONTAINS(log, "the step function is running (step 5) in 2 threads, which take turns on CPU ");
    kit_fini(&k);
}

/* ---- OpenMP that binds the caller ------------------------------------------------------------ */

static void *train_bound(void *arg)
{
    kit *k = arg;

    bind_to_one_cpu();
    T_OK(kit_run(k));
    return NULL;
}

/* On a thread that is bound to one CPU: does a run warn of the variable? */
static bool warns(const char *variable, const char *value)
{
    pthread_t thread;
    bool found;
    kit k;

    kit_init(&k);
    setenv(variable, value, 1);
    kit_log_start(NULL, NULL);
    T_EQ(pthread_create(&thread, NULL, train_bound, &k), 0);
    pthread_join(thread, NULL);
    found = strstr(kit_log_stop(), "OpenMP has bound it; unset ") != NULL;
    unsetenv(variable);
    kit_fini(&k);
    return found;
}

static void a_caller_that_openmp_has_bound_is_warned(void)
{
    static const char *const others[] = {"OMP_PROC_BIND", "OMP_PLACES", "GOMP_CPU_AFFINITY",
                                         "KMP_AFFINITY"};
    sli_cpus allowed;

    T_OK(sli_cpus_of_thread(&allowed));
    T_NEEDS(sli_cpus_count(&allowed) >= 2,
            "there is one CPU only, so nothing is bound to a part of them");
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
        unsetenv(others[i]);
    }
    T_TRUE(warns("OMP_PROC_BIND", "true"));
    T_TRUE(warns("OMP_PLACES", "cores"));
    T_TRUE(warns("GOMP_CPU_AFFINITY", "0 1"));
    T_TRUE(warns("KMP_AFFINITY", "compact"));
    T_TRUE(!warns("OMP_PROC_BIND", "FALSE"));
    T_TRUE(!warns("KMP_AFFINITY", "disabled"));
    T_TRUE(!warns("OMP_NUM_THREADS", "2"));
}

const t_test step_threads_tests[] = {
    T_TEST(every_thread_of_a_run_has_a_row),
    T_TEST(a_row_says_which_cores_the_step_has),
    T_TEST(threads_that_a_step_starts_are_counted),
    T_TEST(more_threads_than_cpus_are_warned_of),
    T_TEST(a_warning_of_a_long_step_names_its_threads),
    T_TEST(a_caller_that_openmp_has_bound_is_warned),
    T_END,
};
