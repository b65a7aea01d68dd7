/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "thread_times_int.h"

#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "clock_int.h"
#include "small_file_int.h"

bool sli_schedstat_parse(const char *text, int64_t *runqueue_ns_out)
{
    int64_t numbers[3] = {0};
    const char *at = text;

    for (size_t i = 0; i < 3; i++) {
        if (i > 0 && *at++ != ' ') {
            return false;
        }
        if (!sli_digits_parse(&at, &numbers[i])) {
            return false;
        }
    }
    *runqueue_ns_out = numbers[1];
    return numbers[2] > 0 && (*at == '\n' || *at == '\0');
}

bool sli_schedstat_read(const char *root, int32_t id, int64_t *runqueue_ns_out)
{
    char path[4096];
    char text[128];
    const int length =
        snprintf(path, sizeof(path), "%s/proc/self/task/%d/schedstat", root, (int)id);

    return length > 0 && (size_t)length < sizeof(path) &&
           sli_small_file_read(path, text, sizeof(text)) &&
           sli_schedstat_parse(text, runqueue_ns_out);
}

/* Reads the clocks of thread `id`, whose CPU clock is `clock` if has_clock. */
static void read_times(bool has_clock, clockid_t clock, int32_t id, sli_thread_times *times_out)
{
    struct timespec cpu;

    memset(times_out, 0, sizeof(*times_out));
    times_out->id = id;
    times_out->at_ns = sli_now_ns();
    if (has_clock && clock_gettime(clock, &cpu) == 0) {
        times_out->has_cpu = true;
        times_out->cpu_ns = (int64_t)cpu.tv_sec * 1000000000 + cpu.tv_nsec;
    }
    times_out->has_runqueue = id > 0 && sli_schedstat_read("", id, &times_out->runqueue_ns);
}

void sli_thread_times_own(sli_thread_times *times_out)
{
    read_times(true, CLOCK_THREAD_CPUTIME_ID, (int32_t)gettid(), times_out);
}

void sli_thread_times_of(pthread_t handle, int32_t id, sli_thread_times *times_out)
{
    clockid_t clock = CLOCK_THREAD_CPUTIME_ID;
    const bool has_clock = pthread_getcpuclockid(handle, &clock) == 0;

    read_times(has_clock, clock, id, times_out);
}
