/* SPDX-License-Identifier: Apache-2.0 */
/* The CSV file of SLUICE_REPORT_SERIES: a row a second. */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "overrides_kit.h"
#include "testing.h"

static void sleep_in_step(kit *k, const sluice_step *step)
{
    const struct timespec nap = {0, 400000000};

    (void)k;
    (void)step;
    (void)nanosleep(&nap, NULL);
}

static void each_second_is_a_row_of_the_csv_file(void)
{
    const char *path = t_path(t_folder(), "r.csv");
    double row[5];
    kit k;

    overrides_begin();
    setenv("SLUICE_REPORT_SERIES", path, 1);
    overrides_init_run(&k);
    k.in_step = sleep_in_step;
    T_CONTAINS(overrides_log_of(&k), "a row a second is written to SLUICE_REPORT_SERIES=");
    T_OK(k.status);
    T_EQ(sscanf(overrides_contents(path),
                "t_s,batches,batches_per_s,data_wait_share,cores\n%lf,%lf,%lf,%lf,%lf\n", &row[0],
                &row[1], &row[2], &row[3], &row[4]),
         5);
    T_TRUE(row[0] >= 1 && row[1] >= 1 && row[1] <= 4);
    T_TRUE(row[2] > 0.5 && row[2] < 4 && row[3] <= 1 && row[4] >= 0);
    kit_fini(&k);
    setenv("SLUICE_REPORT_SERIES", "/nowhere/r.csv", 1);
    overrides_init_run(&k);
    T_CONTAINS(overrides_log_of(&k),
               "SLUICE_REPORT_SERIES: /nowhere/r.csv cannot be written: No such file");
    T_OK(k.status);
    kit_fini(&k);
    overrides_end();
}

static int pipe_reader;

/* Makes a pipe of the smallest size, and opens its end for reading; returns the path. */
static const char *make_pipe(void)
{
    const char *path = t_path(t_folder(), "pipe");

    T_EQ(mkfifo(path, 0600), 0);
    pipe_reader = open(path, O_RDONLY | O_NONBLOCK);
    T_TRUE(pipe_reader >= 0 && fcntl(pipe_reader, F_SETPIPE_SZ, 4096) >= 0);
    return path;
}

static void close_reader_in_step(kit *k, const sluice_step *step)
{
    if (pipe_reader >= 0) {
        close(pipe_reader);
        pipe_reader = -1;
    }
    sleep_in_step(k, step);
}

static void fill_pipe_in_step(kit *k, const sluice_step *step)
{
    const int writer = open(getenv("SLUICE_REPORT_SERIES"), O_WRONLY | O_NONBLOCK);

    while (write(writer, "x", 1) == 1) {
    }
    close(writer);
    sleep_in_step(k, step);
}

/* A reader that ends, or that reads nothing, neither ends the run nor holds it. */
static void rows_that_a_pipe_does_not_take_are_a_warning(void)
{
    static const struct {
        void (*in_step)(kit *k, const sluice_step *step);
        const char *why;
    } cases[] = {{close_reader_in_step, "pipe cannot be written: Broken pipe"},
                 {fill_pipe_in_step, "pipe cannot be written: Resource temporarily unavailable"}};

    for (size_t i = 0; i < COUNT(cases); i++) {
        const char *said;
        kit k;

        overrides_begin();
        setenv("SLUICE_REPORT_SERIES", make_pipe(), 1);
        overrides_init_run(&k);
        k.in_step = cases[i].in_step;
        said = overrides_log_of(&k);
        T_CONTAINS(said, cases[i].why);
        T_EQ(overrides_count_of(said, "cannot be written"), 1);
        T_OK(k.status);
        kit_fini(&k);
        overrides_end();
        if (pipe_reader >= 0) {
            close(pipe_reader);
        }
    }
}

static void rows_do_not_go_into_the_report(void)
{
    const char *path = t_path(t_folder(), "r.json");
    kit k;

    overrides_begin();
    setenv("SLUICE_REPORT", path, 1);
    setenv("SLUICE_REPORT_SERIES", path, 1);
    overrides_init_run(&k);
    T_CONTAINS(overrides_log_of(&k), "r.json; the run writes the report alone; give the rows");
    T_OK(k.status);
    T_EQ(strncmp(overrides_contents(path), "{\"schema\":1,\"status\":\"OK\",", 26), 0);
    kit_fini(&k);
    overrides_end();
}

const t_test series_file_tests[] = {
    T_TEST(each_second_is_a_row_of_the_csv_file),
    T_TEST(rows_that_a_pipe_does_not_take_are_a_warning),
    T_TEST(rows_do_not_go_into_the_report),
    T_END,
};
