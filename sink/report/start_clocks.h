/* SPDX-License-Identifier: Apache-2.0 */
/* The clocks of threads and of the machine at the start of a run, which its report subtracts. */
#ifndef SLUICE_START_CLOCKS_H
#define SLUICE_START_CLOCKS_H

#include "machine_load_int.h"
#include "program.h"
#include "thread_int.h"
#include "topology_int.h"

/* Threads that run before the start: the caller, the device's thread, the callback watchdog. */
enum { START_CLOCKS_THREADS = 3 };

typedef struct start_clocks {
    int64_t ns;     /* of sli_now_ns(); 0: the clocks were not read */
    int64_t cpu_ns; /* of the process */
    uint32_t thread_count;
    sli_thread_times threads[START_CLOCKS_THREADS]; /* (thread_count) */
    sli_machine_load load;
} start_clocks;

/* Reads the clocks. Call it on the caller's thread, before the workers start. program and watchdog
 * may be NULL. */
void start_clocks_read(start_clocks *start, const sli_topology *topology,
                       const sink_program *program, const sli_thread *watchdog);

#endif
