/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "wait_probe.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const int64_t OFTEN_NS = 100000000;
static const int64_t SELDOM_NS = 1000000000;

/* The most workers that one poll looks at. */
enum { MOST_WORKERS = 16 };

bool wait_probe_count(const char *text, wait_counts *counts)
{
    char *end;
    long number;

    if (strncmp(text, "running", 7) == 0) {
        counts->running++;
        return true;
    }
    number = strtol(text, &end, 10);
    if (end == text || (*end != ' ' && *end != '\n')) {
        return false;
    }
    if (number == WAIT_FUTEX) {
        counts->locked++;
    } else {
        counts->asleep++; /* -1: blocked outside of a system call, as in a page fault */
    }
    return true;
}

/* Reads the system call of a thread. False: errno says why not. */
static bool read_call(int32_t thread, char *text, size_t size)
{
    char path[64];
    ssize_t length;
    int file;

    snprintf(path, sizeof(path), "/proc/self/task/%d/syscall", (int)thread);
    file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) {
        return false;
    }
    length = read(file, text, size - 1);
    text[length > 0 ? length : 0] = '\0';
    if (length <= 0) {
        const int cause = length < 0 ? errno : ESRCH;

        (void)close(file);
        errno = cause;
        return false;
    }
    (void)close(file);
    return true;
}

static void look_at(wait_probe *probe, const sli_engine *engine, uint32_t worker)
{
    sli_worker_stage at;
    sli_worker_stage after;
    wait_counts counts;
    char text[200];

    if (!sli_engine_worker_stage(engine, worker, &at) || at.thread == 0 ||
        at.stage >= WAIT_PROBE_STAGES) {
        return;
    }
    counts = probe->stages[at.stage];
    if (!read_call(at.thread, text, sizeof(text))) {
        probe->unreadable = errno == EACCES || errno == EPERM; /* else the thread has ended */
        return;
    }
    if (!wait_probe_count(text, &counts)) {
        probe->unreadable = true;
        return;
    }
    /* Counts only if the worker was in this stage all the time. */
    if (sli_engine_worker_stage(engine, worker, &after) && after.stage == at.stage &&
        after.since_ticks == at.since_ticks) {
        probe->stages[at.stage] = counts;
    }
}

void wait_probe_poll(wait_probe *probe, const sli_engine *engine, int64_t now_ns)
{
    sli_worker_stage at;

    if (engine == NULL || probe->unreadable || now_ns < probe->next_ns) {
        return;
    }
    if (probe->begin_ns == 0) {
        probe->begin_ns = now_ns;
    }
    probe->next_ns = now_ns + (now_ns - probe->begin_ns < SELDOM_NS ? OFTEN_NS : SELDOM_NS);
    for (uint32_t i = 0; i < MOST_WORKERS; i++) {
        if (!sli_engine_worker_stage(engine, probe->worker, &at)) {
            probe->worker = 0;
            break;
        }
        look_at(probe, engine, probe->worker++);
    }
}
