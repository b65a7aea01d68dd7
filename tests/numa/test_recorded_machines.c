/* SPDX-License-Identifier: Apache-2.0 */
/* What the readers of /proc and /sys find on recorded machines, also if a file is damaged. */
#include "cpu_quota_int.h"
#include "machine_kit.h"
#include "testing.h"
#include "thread_times_int.h"

#include <ctype.h>
#include <unistd.h>

enum { THREAD = 12 }; /* whose schedstat the machines have */

/* What a machine is known to say. */
typedef struct known_machine {
    const char *name;
    double cpus; /* 0: no quota */
    const char *cpus_source;
    double cpu_pressure; /* negative: unknown */
    int64_t periods;     /* negative: unknown */
    int64_t throttled_periods;
    int64_t throttled_ns;
    int64_t runqueue_ns; /* of the thread; negative: unknown */
} known_machine;

static const known_machine known[] = {
    {"v2_quota", 0.5, "cpu.max of /train", 0.02, 100, 90, 15000000000, 7500000000},
    {"v1_quota", 0.2, "cpu.cfs_quota_us of /job", -1, 41, 41, 701242025, 3266014641},
    {"v2_parent", 1.5, "cpu.max of /pod", 0.4, 100, 75, 30000000000, 2500000000},
    {"neighbours", 0, "", 0.7796, -1, 0, 0, 3444334825},
    {"container", 0, "", -1, -1, 0, 0, -1},
};

/* The time of the thread in the run queue between start and end; -1: unknown. */
static int64_t runqueue_of(const machine_kit *machine)
{
    int64_t start = 0;
    int64_t end = 0;
    bool is_known;

    machine_kit_write(machine, false);
    is_known = sli_schedstat_read(machine->root, THREAD, &start);
    machine_kit_write(machine, true);
    is_known = is_known && sli_schedstat_read(machine->root, THREAD, &end);
    return is_known ? end - start : -1;
}

static void each_reader_finds_what_the_machine_has(void)
{
    for (size_t i = 0; i < COUNT(known); i++) {
        const known_machine *want = &known[i];
        sli_cgroup_limits limits;
        sli_load_change change;
        machine_kit machine;

        machine_kit_open(&machine, want->name);
        sli_cgroup_limits_read(machine.root, &limits);
        T_NEAR(limits.cpus, want->cpus, 1e-9);
        T_STR(limits.cpus_source, want->cpus_source);
        T_EQ(limits.memory_bytes, 0);
        T_EQ(runqueue_of(&machine), want->runqueue_ns);
        change = machine_kit_change(&machine);
        T_EQ(change.has_pressure, want->cpu_pressure >= 0);
        T_EQ(change.has_throttling, want->periods >= 0);
        if (change.has_pressure) {
            T_NEAR(change.cpu_pressure, want->cpu_pressure, 0.0001);
        }
        if (change.has_throttling) {
            T_EQ(change.throttling.periods, want->periods);
            T_EQ(change.throttling.throttled_periods, want->throttled_periods);
            T_EQ(change.throttling.throttled_ns, want->throttled_ns);
        }
    }
    T_EQ(COUNT(known), MACHINE_KIT_MACHINES);
}

/* ---- damage ----------------------------------------------------------------------------------
 */

typedef enum damage {
    DAMAGE_EMPTY,
    DAMAGE_CUT,      /* in the middle */
    DAMAGE_NO_END,   /* the last line has no end, and one digit less */
    DAMAGE_HUGE,     /* each number is the largest of 64 bits */
    DAMAGE_TOO_HUGE, /* or larger */
    DAMAGE_NEGATIVE, /* each number has a sign */
    DAMAGE_WORDS,    /* what strtod() takes for a number */
    DAMAGE_GONE,
    DAMAGES
} damage;

/* Copies a text; each number becomes `with`, or has it as its sign. */
static size_t replace_numbers(const machine_kit_file *file, const char *with, bool is_sign,
                              char *text, size_t size)
{
    size_t used = 0;

    for (size_t i = 0; i < file->size; i++) {
        const bool is_digit = isdigit((unsigned char)file->text[i]) != 0;
        const bool begins = is_digit && (i == 0 || !isdigit((unsigned char)file->text[i - 1]));

        T_TRUE(used + 40 < size);
        if (begins) {
            used += (size_t)snprintf(text + used, size - used, "%s", with);
        }
        if (!is_digit || is_sign) {
            text[used++] = file->text[i];
        }
    }
    return used;
}

static void write_damaged(const machine_kit *machine, const machine_kit_file *file, damage kind)
{
    char text[8192];
    size_t size = 0;

    if (kind == DAMAGE_GONE) {
        T_EQ(unlink(t_path(machine->root, file->path)), 0);
        return;
    }
    if (kind == DAMAGE_CUT || kind == DAMAGE_NO_END) {
        size = kind == DAMAGE_CUT ? file->size / 2 : file->size - 2;
        memcpy(text, file->text, size);
    } else if (kind != DAMAGE_EMPTY) {
        size = replace_numbers(file,
                               kind == DAMAGE_HUGE       ? "9223372036854775807"
                               : kind == DAMAGE_TOO_HUGE ? "99999999999999999999999999"
                               : kind == DAMAGE_NEGATIVE ? "-"
                                                         : "inf",
                               kind == DAMAGE_NEGATIVE, text, sizeof(text));
    }
    t_write_file(t_path(machine->root, file->path), text, size);
}

static void check_share(double share)
{
    T_TRUE(share >= 0 && share <= 1); /* nor is it NaN */
}

/* Reads the machine with one damaged file. A share is a share, and a time is not negative. */
static void check_damaged(const machine_kit *machine, const machine_kit_file *file, damage kind)
{
    sli_cgroup_limits limits;
    sli_machine_load start;
    sli_machine_load end;
    sli_load_change change;
    int64_t ns = 0;

    machine_kit_write(machine, false);
    if (!file->is_end) {
        write_damaged(machine, file, kind);
    }
    start = machine_kit_load(machine);
    machine_kit_write(machine, true);
    if (file->is_end) {
        write_damaged(machine, file, kind);
    }
    end = machine_kit_load(machine);
    sli_machine_load_change(&start, &end, &change);
    sli_cgroup_limits_read(machine->root, &limits);
    T_TRUE(limits.cpus >= 0 && limits.cpus < 1e6);
    check_share(change.cpu_pressure);
    check_share(change.io_pressure);
    check_share(change.memory_pressure);
    T_TRUE(change.throttling.periods >= 0 && change.throttling.throttled_ns >= 0);
    T_TRUE(change.throttling.throttled_periods >= 0 &&
           change.throttling.throttled_periods <= change.throttling.periods);
    T_TRUE(!sli_schedstat_read(machine->root, THREAD, &ns) || ns >= 0);
}

static void a_damaged_file_gives_no_impossible_value(void)
{
    for (size_t i = 0; i < MACHINE_KIT_MACHINES; i++) {
        machine_kit machine;

        machine_kit_open(&machine, machine_kit_names[i]);
        for (size_t k = 0; k < machine.count; k++) {
            for (int kind = 0; kind < DAMAGES; kind++) {
                check_damaged(&machine, &machine.files[k], (damage)kind);
            }
        }
    }
}

/* The file of a machine at its start. */
static const machine_kit_file *file_of(const machine_kit *machine, const char *path)
{
    for (size_t i = 0; i < machine->count; i++) {
        if (!machine->files[i].is_end && strcmp(machine->files[i].path, path) == 0) {
            return &machine->files[i];
        }
    }
    T_FAIL_("no %s", path);
    return NULL;
}

/* "50000 1000" of "50000 100000" would be a quota of 50 cores. */
static void a_damaged_quota_is_none(void)
{
    static const char *const paths[] = {"sys/fs/cgroup/train/cpu.max",
                                        "sys/fs/cgroup/cpu/job/cpu.cfs_quota_us",
                                        "sys/fs/cgroup/cpu/job/cpu.cfs_period_us"};

    for (size_t i = 0; i < COUNT(paths); i++) {
        machine_kit machine;

        machine_kit_open(&machine, i == 0 ? "v2_quota" : "v1_quota");
        for (int kind = 0; kind < DAMAGES; kind++) {
            sli_cgroup_limits limits;

            machine_kit_write(&machine, false);
            write_damaged(&machine, file_of(&machine, paths[i]), (damage)kind);
            sli_cgroup_limits_read(machine.root, &limits);
            if (limits.cpus > 0) {
                T_FAIL_("%s, damage %d: %g cores", paths[i], kind, limits.cpus);
            }
        }
    }
}

/* The nearest group with a quota is not the one that throttles. */
static void the_group_that_throttles_is_found_above_the_own_one(void)
{
    machine_kit machine;
    sli_load_change change;
    sli_machine_load load;

    machine_kit_open(&machine, "v2_parent");
    load = machine_kit_load(&machine);
    T_EQ(load.group_count, 3);
    change = machine_kit_change(&machine);
    T_TRUE(change.has_throttling);
    T_EQ(change.throttling.group, load.groups[2].group);
}

const t_test recorded_machines_tests[] = {
    T_TEST(each_reader_finds_what_the_machine_has),
    T_TEST(a_damaged_file_gives_no_impossible_value),
    T_TEST(a_damaged_quota_is_none),
    T_TEST(the_group_that_throttles_is_found_above_the_own_one),
    T_END,
};
