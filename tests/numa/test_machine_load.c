/* SPDX-License-Identifier: Apache-2.0 */
/* Pressure and throttling, from recorded trees of /proc and /sys. */
#include "machine_load_int.h"
#include "testing.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

static const sli_cpus two_cpus = {{3}};

typedef struct fake_file {
    const char *path, *text;
} fake_file;

static void write_files(const char *root, const fake_file *files)
{
    for (; files->path != NULL; files++) {
        t_write_file(t_path(root, files->path), files->text, strlen(files->text));
    }
}

static sli_machine_load load_of(const char *root, const fake_file *files, int64_t at_ns)
{
    sli_machine_load load;

    write_files(root, files);
    sli_machine_load_read(root, &two_cpus, &load);
    load.at_ns = at_ns;
    return load;
}

#define PRESSURE(some, full)                                                                       \
    "some avg10=89.45 avg60=88.95 avg300=76.59 total=" some "\n"                                   \
    "full avg10=0.00 avg60=0.00 avg300=0.00 total=" full "\n"

/* Recorded on Linux 6.18 with a limit on /pod, of which /pod/app is a part. */
static const fake_file v2_start[] = {
    {"proc/self/mountinfo",
     "29 23 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw\n"},
    {"proc/self/cgroup", "0::/pod/app\n"},
    {"proc/pressure/cpu", PRESSURE("23013519126", "0")},
    {"proc/pressure/io", PRESSURE("3438460448", "1959643026")},
    {"proc/pressure/memory", PRESSURE("0", "0")},
    {"sys/fs/cgroup/pod/app/cpu.stat",
     "usage_usec 50\nuser_usec 40\nsystem_usec 10\nnr_periods 0\nnr_throttled 0\n"
     "throttled_usec 0\nnr_bursts 0\nburst_usec 0\n"},
    {"sys/fs/cgroup/pod/cpu.stat",
     "usage_usec 50\nuser_usec 40\nsystem_usec 10\nnr_periods 1000\nnr_throttled 700\n"
     "throttled_usec 5000000\nnr_bursts 0\nburst_usec 0\n"},
    {"sys/fs/cgroup/cpu.stat", "usage_usec 50\nuser_usec 40\nsystem_usec 10\n"},
    {NULL, NULL},
};

static const fake_file v2_end[] = {
    {"proc/pressure/cpu", PRESSURE("23014519126", "0")},
    {"proc/pressure/io", PRESSURE("3438560448", "1959643026")},
    {"sys/fs/cgroup/pod/cpu.stat",
     "usage_usec 50\nuser_usec 40\nsystem_usec 10\nnr_periods 1255\nnr_throttled 800\n"
     "throttled_usec 8200000\nnr_bursts 0\nburst_usec 0\n"},
    {NULL, NULL},
};

static const fake_file nothing[] = {{NULL, NULL}};

static void the_change_over_a_run_is_of_the_group_that_was_throttled(void)
{
    const char *root = t_folder();
    const sli_machine_load start = load_of(root, v2_start, 1000000000);
    const sli_machine_load end = load_of(root, v2_end, 5000000000);
    sli_load_change change;

    T_EQ(start.group_count, 2);
    T_TRUE(start.groups[0].group != start.groups[1].group);
    sli_machine_load_change(&start, &end, &change);
    T_TRUE(change.has_pressure);
    T_NEAR(change.cpu_pressure, 0.25, 1e-9);
    T_NEAR(change.io_pressure, 0.025, 1e-9);
    T_NEAR(change.memory_pressure, 0, 0);
    T_TRUE(change.has_throttling);
    T_EQ(change.throttling.periods, 255);
    T_EQ(change.throttling.throttled_periods, 100);
    T_EQ(change.throttling.throttled_ns, 3200000000);
}

static void version_1_counts_nanoseconds(void)
{
    static const fake_file files[] = {
        {"proc/self/mountinfo", "32 31 0:29 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n"
                                "41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n"},
        {"proc/self/cgroup", "4:memory:/job\n1:cpu:/job\n0::/\n"},
        {"sys/fs/cgroup/cpu/job/cpu.stat",
         "nr_periods 40\nnr_throttled 7\nthrottled_time 123456789\n"},
        {"sys/fs/cgroup/cpu/cpu.stat", "nr_periods 0\nnr_throttled 0\nthrottled_time 0\n"},
        {"sys/fs/cgroup/unified/cpu.stat", "usage_usec 5\nuser_usec 4\nsystem_usec 1\n"},
        {NULL, NULL},
    };
    const sli_machine_load load = load_of(t_folder(), files, 1);

    T_TRUE(!load.has_pressure);
    T_EQ(load.group_count, 2);
    T_EQ(load.groups[0].periods, 40);
    T_EQ(load.groups[0].throttled_periods, 7);
    T_EQ(load.groups[0].throttled_ns, 123456789);
    T_EQ(load.groups[1].periods, 0);
}

/* Of CPUs 0 and 1: busy is user, nice, system, irq, softirq and steal. */
static void busy_cores_are_those_of_the_process(void)
{
    static const fake_file first[] = {
        {"proc/stat", "cpu  9000 0 0 9000 0 0 0 0 0 0\ncpu0 100 10 20 1000 50 5 5 10 7 7\n"
                      "cpu1 200 0 0 2000 0 0 0 0 0 0\ncpu2 5 0 0 9 0 0 0 0 0 0\nintr 7 8\n"},
        {NULL, NULL}};
    static const fake_file second[] = {
        {"proc/stat", "cpu  9000 0 0 9000 0 0 0 0 0 0\ncpu0 200 20 30 1900 60 10 15 20 7 7\n"
                      "cpu1 300 0 0 2900 0 0 0 0 0 0\ncpu2 999 0 0 9 0 0 0 0 0 0\nintr 7 8\n"},
        {NULL, NULL}};
    static const fake_file without_cpu1[] = {
        {"proc/stat", "cpu  1 0 0 9 0 0 0 0 0 0\ncpu0 900 20 30 1900 60 10 15 20 7 7\n"},
        {NULL, NULL}};
    const char *root = t_folder();
    const double tick_s = 1.0 / (double)sysconf(_SC_CLK_TCK);
    const sli_machine_load start = load_of(root, first, 1000000000);
    const sli_machine_load end = load_of(root, second, 6000000000);
    const sli_machine_load other = load_of(root, without_cpu1, 9000000000);
    sli_load_change change;

    sli_machine_load_change(&start, &end, &change);
    T_TRUE(change.has_busy);
    T_NEAR(change.busy_cores, (145 + 100) * tick_s / 5, 1e-9);
    sli_machine_load_change(&end, &start, &change); /* time went back */
    T_TRUE(!change.has_busy);
    T_TRUE(!other.has_busy);
    sli_machine_load_change(&start, &other, &change);
    T_TRUE(!change.has_busy);
}

static void lines_of_proc_stat_are_checked(void)
{
    static const char *const bad[] = {"cpu 1 2 3 4 5 6 7 8\n",
                                      "cpu0 1 2 3 4 5 6 7\n",
                                      "cpu4096 1 2 3 4 5 6 7 8\n",
                                      "cpu0 1 2 3 4 5 6 7 x\n",
                                      "cpu0 9223372036854775807 2 3 4 5 6 7 8\n",
                                      "cp",
                                      ""};
    uint32_t cpu = 9;
    int64_t ticks = 9;

    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        T_TRUE(!sli_busy_parse(bad[i], &cpu, &ticks));
    }
    T_TRUE(cpu == 9 && ticks == 9);
    T_TRUE(sli_busy_parse("cpu17 1 2 3 4 5 6 7 8 9 10\n", &cpu, &ticks));
    T_EQ(cpu, 17);
    T_EQ(ticks, 1 + 2 + 3 + 6 + 7 + 8);
}

/* A run never fails because of its report. */
static void what_is_missing_or_went_back_is_unknown(void)
{
    const char *root = t_folder();
    const sli_machine_load none = load_of(root, nothing, 1);
    const sli_machine_load start = load_of(root, v2_start, 1000);
    sli_machine_load end = start;
    sli_load_change change;

    T_TRUE(!none.has_pressure);
    T_EQ(none.group_count, 0);
    sli_machine_load_change(&none, &start, &change);
    T_TRUE(!change.has_pressure && !change.has_throttling);

    sli_machine_load_change(&start, &end, &change); /* no time has passed */
    T_TRUE(!change.has_pressure);
    T_TRUE(change.has_throttling);
    T_EQ(change.throttling.throttled_periods, 0);

    end.at_ns = 500; /* the clock jumped */
    sli_machine_load_change(&start, &end, &change);
    T_TRUE(!change.has_pressure);

    end.at_ns = 2000;
    end.io_us--;
    end.groups[0].periods = -1;
    end.groups[1].group++; /* the process was moved to another group */
    end.minor_faults = start.minor_faults - 1;
    sli_machine_load_change(&start, &end, &change);
    T_TRUE(!change.has_pressure && !change.has_throttling);
    T_NEAR(change.cpu_pressure, 0, 0);
    T_EQ(change.minor_faults, 0);
}

/* Two clocks are read one after the other, so the share could be a bit above 1. */
static void a_share_is_at_most_one(void)
{
    sli_machine_load start = {.at_ns = 0, .has_pressure = true};
    sli_machine_load end = {.at_ns = 1000000, .has_pressure = true, .cpu_us = 1001};
    sli_load_change change;

    sli_machine_load_change(&start, &end, &change);
    T_NEAR(change.cpu_pressure, 1, 0);
}

static void a_file_that_is_cut_or_strange_is_unknown(void)
{
    static const char *const pressures[] = {
        "",
        "some",
        "some ",
        "some total=",
        "some avg10=0.00 total=12", /* cut inside the number */
        "some avg10=0.00 total=x\n",
        "some avg10=0.00 total=-5\n",
        "some avg10=0.00 total=99999999999999999999\n",
        "some avg10=0.00\nfull avg10=0.00 total=12\n",
        "full avg10=0.00 total=12\n",
        "awesome avg10=0.00 total=12\n",
    };
    static const char *const stats[] = {
        "",
        "nr_periods 5\n",
        "nr_periods 5\nnr_throttled 2\n",
        "nr_periods 5\nnr_throttled 2\nthrottled_usec 7",
        "nr_periods 5\nnr_throttled 2\nthrottled_usec 9223372036854775807\n",
        "nr_periods\nnr_throttled 2\nthrottled_usec 7\n",
        "nr_periods 5 6\nnr_throttled 2\nthrottled_usec 7\n",
        "xnr_periods 5\nnr_throttled 2\nthrottled_usec 7\n",
    };
    sli_throttling throttling;
    int64_t us = 0;

    for (size_t i = 0; i < COUNT(pressures); i++) {
        T_TRUE(!sli_pressure_parse(pressures[i], &us));
    }
    for (size_t i = 0; i < COUNT(stats); i++) {
        T_TRUE(!sli_throttling_parse(stats[i], &throttling));
    }
    T_TRUE(sli_pressure_parse("some total=12\n", &us));
    T_EQ(us, 12);
}

/* The counters of this process. */
static void page_faults_are_counted(void)
{
    sli_machine_load start;
    sli_machine_load end;
    sli_load_change change;
    const size_t size = 8 << 20;
    char *memory;

    sli_machine_load_read("", &two_cpus, &start);
    memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CU_ASSERT_FATAL(memory != MAP_FAILED);
    for (size_t i = 0; i < size; i += 4096) {
        ((volatile char *)memory)[i] = 1; /* new pages, which no compiler leaves out */
    }
    sli_machine_load_read("", &two_cpus, &end);
    munmap(memory, size);
    sli_machine_load_change(&start, &end, &change);
    T_TRUE(change.minor_faults > 0);
}

const t_test machine_load_tests[] = {
    T_TEST(the_change_over_a_run_is_of_the_group_that_was_throttled),
    T_TEST(busy_cores_are_those_of_the_process),
    T_TEST(lines_of_proc_stat_are_checked),
    T_TEST(version_1_counts_nanoseconds),
    T_TEST(what_is_missing_or_went_back_is_unknown),
    T_TEST(a_share_is_at_most_one),
    T_TEST(a_file_that_is_cut_or_strange_is_unknown),
    T_TEST(page_faults_are_counted),
    T_END,
};
