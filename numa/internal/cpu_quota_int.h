/* SPDX-License-Identifier: Apache-2.0 */
/* CPU time and memory that the process's control group allows: what a container was given. */
#ifndef SLUICE_CPU_QUOTA_INT_H
#define SLUICE_CPU_QUOTA_INT_H

#include <stdint.h>

typedef struct sli_cgroup_limits {
    double cpus;           /* CPUs' worth of time; 0: no limit */
    char cpus_source[64];  /* "cpu.max of /group"; "" without a limit */
    uint64_t memory_bytes; /* 0: no limit */
} sli_cgroup_limits;

/*
 * The smallest limits on the way from the process's groups (versions 1 and 2) up to the roots that
 * it can see. What cannot be read is no limit. root stands before every path: "" for the machine,
 * a folder in tests.
 */
void sli_cgroup_limits_read(const char *root, sli_cgroup_limits *limits_out);

#endif
