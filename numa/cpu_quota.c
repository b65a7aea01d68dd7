/* SPDX-License-Identifier: Apache-2.0 */
#include "cpu_quota_int.h"

#include <stdbool.h>
#include <string.h>

#include "cgroup_tree.h"
#include "small_file_int.h"

/*
 * Lower bound of values that mean "no limit": cgroup v1 reports the largest multiple of the page
 * size, which is above any real memory size.
 */
#define MEMORY_UNLIMITED (UINT64_C(1) << 60)

/* The kernel has far fewer CPUs than this: such a quota limits nothing. */
static const double CPUS_UNLIMITED = 1e6;

/* The longest period that the kernel accepts, in us. */
static const double LONGEST_PERIOD = 1e6;

/*
 * Parses so many numbers, which make up the first line of a file of the group. False: "max", -1, or
 * any other text, such as one that was cut.
 */
static bool read_numbers(const char *root, const char *folder, const char *name, uint32_t count,
                         double *numbers_out)
{
    char path[2 * CGROUP_PATH + 64];
    char line[128];
    const char *at = line;
    FILE *file;
    bool is_read;

    snprintf(path, sizeof(path), "%s/%s", folder, name);
    file = cgroup_open(root, path);
    if (file == NULL) {
        return false;
    }
    is_read = fgets(line, sizeof(line), file) != NULL;
    fclose(file);
    for (uint32_t i = 0; i < count && is_read; i++) {
        int64_t number = 0;

        is_read = sli_digits_parse(&at, &number) && *at++ == (i + 1 < count ? ' ' : '\n');
        numbers_out[i] = (double)number;
    }
    return is_read;
}

/* Sets limits->cpus if this limit is lower. Returns true if it is. */
static bool limit_cpus(double quota, double period, const char *name, const char *group,
                       sli_cgroup_limits *limits)
{
    if (quota <= 0 || period <= 0 || period > LONGEST_PERIOD || quota / period >= CPUS_UNLIMITED) {
        return false;
    }
    if (limits->cpus > 0 && quota / period >= limits->cpus) {
        return false;
    }
    limits->cpus = quota / period;
    snprintf(limits->cpus_source, sizeof(limits->cpus_source), "%s of %.40s", name,
             *group != '\0' ? group : "/");
    return true;
}

/* Sets limits->memory_bytes if this limit is lower. Returns true if it is. */
static bool limit_memory(double bytes, sli_cgroup_limits *limits)
{
    if (!(bytes > 0 && bytes < (double)MEMORY_UNLIMITED) ||
        (limits->memory_bytes > 0 && (uint64_t)bytes >= limits->memory_bytes)) {
        return false;
    }
    limits->memory_bytes = (uint64_t)bytes;
    return true;
}

/* Reads the limits of one group, which cgroup_each_group() visits. */
static void read_limits(const char *root, const char *folder, const char *group,
                        const char *controller, sli_cgroup_limits *limits)
{
    double numbers[2] = {0, 0};
    bool of_cpus = false;
    bool of_memory = false;

    if (controller == NULL) {
        of_cpus = read_numbers(root, folder, "cpu.max", 2, numbers) &&
                  limit_cpus(numbers[0], numbers[1], "cpu.max", group, limits);
        of_memory = read_numbers(root, folder, "memory.max", 1, numbers) &&
                    limit_memory(numbers[0], limits);
    } else if (strcmp(controller, "cpu") == 0) {
        of_cpus = read_numbers(root, folder, "cpu.cfs_quota_us", 1, &numbers[0]) &&
                  read_numbers(root, folder, "cpu.cfs_period_us", 1, &numbers[1]) &&
                  limit_cpus(numbers[0], numbers[1], "cpu.cfs_quota_us", group, limits);
    } else {
        of_memory = read_numbers(root, folder, "memory.limit_in_bytes", 1, numbers) &&
                    limit_memory(numbers[0], limits);
    }
    limits->cpus_group = of_cpus ? cgroup_inode(root, folder) : limits->cpus_group;
    limits->memory_group = of_memory ? cgroup_inode(root, folder) : limits->memory_group;
}

typedef struct limits_reader {
    const char *root;
    const char *controller;
    sli_cgroup_limits *limits;
} limits_reader;

static void visit_limits(const char *folder, const char *group, void *user)
{
    const limits_reader *reader = user;

    read_limits(reader->root, folder, group, reader->controller, reader->limits);
}

void sli_cgroup_limits_read(const char *root, sli_cgroup_limits *limits_out)
{
    static const char *const controllers[] = {NULL, "cpu", "memory"};

    memset(limits_out, 0, sizeof(*limits_out));
    for (size_t i = 0; i < sizeof(controllers) / sizeof(controllers[0]); i++) {
        limits_reader reader = {root, controllers[i], limits_out};

        cgroup_each_group(root, controllers[i], visit_limits, &reader);
    }
}
