/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the machine does to the process: pressure (PSI), throttling by a CPU quota, page faults.
 * All are counters since the boot or the start of the process: read them twice and subtract.
 */
#ifndef SLUICE_MACHINE_LOAD_INT_H
#define SLUICE_MACHINE_LOAD_INT_H

#include <stdbool.h>
#include <stdint.h>

#include "thread_int.h"

/* The most groups whose counters are kept: the process's own and its nearest ancestors. */
enum { SLI_THROTTLED_GROUPS = 16 };

/* How often the CPU quota stopped one control group, from its cpu.stat. */
typedef struct sli_throttling {
    uint64_t group; /* inode of its folder; 0: unknown */
    int64_t periods;
    int64_t throttled_periods; /* periods in which the quota was used up */
    int64_t throttled_ns;      /* time in which CPUs of the group had to wait, over all CPUs */
} sli_throttling;

typedef struct sli_machine_load {
    int64_t at_ns; /* sli_now_ns() at the read */
    bool has_pressure;
    int64_t cpu_us; /* time in which some task waited for a CPU, for I/O, for memory */
    int64_t io_us;
    int64_t memory_us;
    bool has_busy;
    int64_t busy_ns; /* time in which these CPUs were busy with any process, or had to wait for the
                        host of a virtual machine */
    uint32_t group_count;
    sli_throttling groups[SLI_THROTTLED_GROUPS]; /* (group_count) groups that count throttling */
    int64_t major_faults;                        /* of the process */
    int64_t minor_faults;
} sli_machine_load;

/*
 * Reads /proc/pressure, the times of these CPUs in /proc/stat, the cpu.stat of the process's groups
 * (cgroup v1 and v2) and their visible ancestors, and the page faults of this process. What cannot
 * be read or parsed is left out. root is put before every path: "" for this machine, a folder in
 * tests.
 */
void sli_machine_load_read(const char *root, const sli_cpus *cpus, sli_machine_load *load_out);

/* Parses a file of /proc/pressure: the total of its line "some", in us. False: it has no total. */
bool sli_pressure_parse(const char *text, int64_t *total_us_out);

/* Parses a cpu.stat of cgroup v2 (throttled_usec) or v1 (throttled_time, in ns). False if it does
 * not count periods, throttled periods and throttled time. */
bool sli_throttling_parse(const char *text, sli_throttling *throttling_out);

/* Parses a line of /proc/stat: the number of a CPU, and the ticks for which it was busy, with those
 * that a host took from it (steal). False: it is not a line of one CPU. */
bool sli_busy_parse(const char *line, uint32_t *cpu_out, int64_t *ticks_out);

/* The change of a load over a run. */
typedef struct sli_load_change {
    bool has_pressure;
    double cpu_pressure; /* share of the time in which some task waited: 0..1 */
    double io_pressure;
    double memory_pressure;
    bool has_busy;
    double busy_cores; /* mean number of these CPUs that were busy */
    bool has_throttling;
    sli_throttling throttling; /* of the group that was throttled for the longest time */
    uint64_t major_faults;
    uint64_t minor_faults;
} sli_load_change;

/* Subtracts two loads. A counter that went back counts as unknown. */
void sli_machine_load_change(const sli_machine_load *start, const sli_machine_load *end,
                             sli_load_change *change_out);

#endif
