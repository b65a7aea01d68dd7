/* SPDX-License-Identifier: Apache-2.0 */
#include "cpu_quota_int.h"
#include "testing.h"

typedef struct fake_file {
    const char *path, *text;
} fake_file;

/* The limits that a process sees whose /proc and /sys hold these files. */
static sli_cgroup_limits limits_of(const fake_file *files)
{
    const char *root = t_folder();
    sli_cgroup_limits limits;

    for (; files->path != NULL; files++) {
        t_write_file(t_path(root, files->path), files->text, strlen(files->text));
    }
    sli_cgroup_limits_read(root, &limits);
    return limits;
}

#define V2_MOUNT                                                                                   \
    {                                                                                              \
        "proc/self/mountinfo",                                                                     \
            "29 23 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw\n"                \
    }

/* A container is often limited by a group above the process's own. */
static void the_smallest_limit_up_to_the_root_counts(void)
{
    static const fake_file files[] = {
        V2_MOUNT,
        {"proc/self/cgroup", "0::/pod/app/main\n"},
        {"sys/fs/cgroup/pod/app/main/cpu.max", "max 100000\n"},
        {"sys/fs/cgroup/pod/app/main/memory.max", "8589934592\n"},
        {"sys/fs/cgroup/pod/app/cpu.max", "250000 100000\n"},
        {"sys/fs/cgroup/pod/cpu.max", "800000 100000\n"},
        {"sys/fs/cgroup/pod/memory.max", "4294967296\n"},
        {NULL, NULL},
    };
    const sli_cgroup_limits limits = limits_of(files);

    T_NEAR(limits.cpus, 2.5, 0);
    T_STR(limits.cpus_source, "cpu.max of /pod/app");
    T_EQ(limits.memory_bytes, 4294967296);
}

static void no_limit_is_told_as_none(void)
{
    static const fake_file none[] = {
        V2_MOUNT,
        {"proc/self/cgroup", "0::/\n"},
        {"sys/fs/cgroup/cpu.max", "max 100000\n"},
        {"sys/fs/cgroup/memory.max", "max\n"},
        {NULL, NULL},
    };
    static const fake_file nothing[] = {{NULL, NULL}};
    static const fake_file garbage[] = {
        {"proc/self/mountinfo", "cgroup2 - \n - \n\n29 23 0:26 / - cgroup2\n"},
        {"proc/self/cgroup", "0::\n:::\n0\n"},
        {NULL, NULL},
    };
    static const fake_file *const all[] = {none, nothing, garbage};

    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
        const sli_cgroup_limits limits = limits_of(all[i]);

        T_NEAR(limits.cpus, 0, 0);
        T_STR(limits.cpus_source, "");
        T_EQ(limits.memory_bytes, 0);
    }
}

static void version_1_and_a_hybrid_are_read(void)
{
    static const fake_file files[] = {
        {"proc/self/mountinfo",
         "30 23 0:27 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n"
         "31 23 0:28 / /sys/fs/cgroup/with\\040blank rw shared:9 - cgroup cgroup rw,memory\n"
         "32 23 0:29 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n"},
        {"proc/self/cgroup", "4:memory:/job\n3:cpu,cpuacct:/job\n0::/job\n"},
        {"sys/fs/cgroup/cpu,cpuacct/job/cpu.cfs_quota_us", "150000\n"},
        {"sys/fs/cgroup/cpu,cpuacct/job/cpu.cfs_period_us", "50000\n"},
        {"sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "-1\n"},
        {"sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000\n"},
        {"sys/fs/cgroup/with blank/job/memory.limit_in_bytes", "9223372036854771712\n"},
        {"sys/fs/cgroup/with blank/memory.limit_in_bytes", "1073741824\n"},
        {NULL, NULL},
    };
    const sli_cgroup_limits limits = limits_of(files);

    T_NEAR(limits.cpus, 3, 0);
    T_STR(limits.cpus_source, "cpu.cfs_quota_us of /job");
    T_EQ(limits.memory_bytes, 1073741824);
}

/* Without a namespace of its own, a container sees its group's long path but not its parents. */
static void a_mount_of_a_part_of_the_tree_is_understood(void)
{
    static const fake_file files[] = {
        {"proc/self/mountinfo",
         "30 23 0:27 /docker/1f /sys/fs/cgroup/cpu ro - cgroup cgroup rw,cpu\n"
         "31 23 0:28 /docker/1f /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory\n"},
        {"proc/self/cgroup", "4:memory:/docker/1f/sub\n3:cpu:/elsewhere\n"},
        {"sys/fs/cgroup/cpu/cpu.cfs_quota_us", "50000\n"},
        {"sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n"},
        {"sys/fs/cgroup/memory/sub/memory.limit_in_bytes", "4096000\n"},
        {NULL, NULL},
    };
    const sli_cgroup_limits limits = limits_of(files);

    T_NEAR(limits.cpus, 0.5, 0);
    T_STR(limits.cpus_source, "cpu.cfs_quota_us of /");
    T_EQ(limits.memory_bytes, 4096000);
}

const t_test cpu_quota_tests[] = {
    T_TEST(the_smallest_limit_up_to_the_root_counts),
    T_TEST(no_limit_is_told_as_none),
    T_TEST(version_1_and_a_hybrid_are_read),
    T_TEST(a_mount_of_a_part_of_the_tree_is_understood),
    T_END,
};
