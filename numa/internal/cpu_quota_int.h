/* SPDX-License-Identifier: Apache-2.0 */
/* CPU time and memory limits of the process's control group, as set for containers. */
#ifndef SLUICE_CPU_QUOTA_INT_H
#define SLUICE_CPU_QUOTA_INT_H

#include <stdint.h>

typedef struct sli_cgroup_limits {
    double cpus;           /* CPU seconds per second of wall time; 0: no limit */
    char cpus_source[64];  /* "cpu.max of /group"; "" without a limit */
    uint64_t cpus_group;   /* inode of the group with this limit; 0: no limit, or unknown */
    uint64_t memory_bytes; /* 0: no limit */
    uint64_t memory_group; /* inode of the group with this limit; 0: no limit, or unknown */
} sli_cgroup_limits;

/*
 * Reads the smallest limits of the process's groups (cgroup v1 and v2) and their visible ancestors.
 * A limit that cannot be read counts as no limit. root is a prefix of every path: "" for this
 * machine, a folder in tests.
 */
void sli_cgroup_limits_read(const char *root, sli_cgroup_limits *limits_out);

#endif
