/* SPDX-License-Identifier: Apache-2.0 */
#include "load_kit.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "clock_int.h"
#include "testing.h"

static const double CALM_SHARE = 0.1;

enum { TRIES = 6, WRONG_TRIES = 3 };

/* The seconds for which a CPU of /proc/stat was busy, if the line is of one of these CPUs; else 0.
 * Time that a host took from a virtual machine (steal) counts. */
static double busy_of(const char *line, const cpu_set_t *cpus)
{
    long long t[8]; /* user, nice, system, idle, iowait, irq, softirq, steal */
    int cpu;

    if (strncmp(line, "cpu", 3) != 0 || !isdigit((unsigned char)line[3]) ||
        sscanf(line + 3, "%d %lld %lld %lld %lld %lld %lld %lld %lld", &cpu, &t[0], &t[1], &t[2],
               &t[3], &t[4], &t[5], &t[6], &t[7]) != 9 ||
        cpu >= CPU_SETSIZE || !CPU_ISSET((size_t)cpu, cpus)) {
        return 0;
    }
    return (double)(t[0] + t[1] + t[2] + t[5] + t[6] + t[7]) / (double)sysconf(_SC_CLK_TCK);
}

static double busy_seconds(const cpu_set_t *cpus)
{
    FILE *file = fopen("/proc/stat", "r");
    char line[400];
    double sum = 0;

    while (file != NULL && fgets(line, sizeof(line), file) != NULL) {
        sum += busy_of(line, cpus);
    }
    if (file != NULL) {
        fclose(file);
    }
    return sum;
}

static double own_seconds(void)
{
    struct timespec now = {0, 0};

    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

void load_kit_start(load_kit *load)
{
    CPU_ZERO(&load->cpus);
    (void)sched_getaffinity(0, sizeof(load->cpus), &load->cpus);
    load->at_ns = sli_now_ns();
    load->busy_s = busy_seconds(&load->cpus);
    load->own_s = own_seconds();
}

bool load_kit_is_calm(const load_kit *load)
{
    const double all_s = (double)(sli_now_ns() - load->at_ns) / 1e9 * CPU_COUNT(&load->cpus);
    const double others_s =
        (busy_seconds(&load->cpus) - load->busy_s) - (own_seconds() - load->own_s);

    return others_s <= CALM_SHARE * all_s;
}

/* A sanitizer takes time of its own: then a run shows races and bad memory, and no figures. */
static bool is_sanitized(void)
{
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
    return true;
#else
    return false;
#endif
}

load_result load_kit_try(bool (*is_right)(void *arg), void *arg)
{
    int wrong = 0;

    if (is_sanitized()) {
        return is_right(arg) ? LOAD_RIGHT : LOAD_UNKNOWN;
    }

    for (int i = 0; i < TRIES && wrong < WRONG_TRIES; i++) {
        load_kit load;

        load_kit_start(&load);
        if (is_right(arg)) {
            return LOAD_RIGHT;
        }
        wrong += load_kit_is_calm(&load);
    }
    return wrong == WRONG_TRIES ? LOAD_WRONG : LOAD_UNKNOWN;
}

void load_kit_needs_right(bool (*is_right)(void *arg))
{
    const load_result result = load_kit_try(is_right, NULL);

    T_TRUE(result != LOAD_WRONG);
    T_NEEDS(result == LOAD_RIGHT, "other processes, or a sanitizer, take time from the run");
}

bool load_kit_has_schedstat(void)
{
    FILE *file = fopen("/proc/thread-self/schedstat", "r");
    unsigned long long cpu_ns = 0;
    unsigned long long runqueue_ns = 0;
    unsigned long long slices = 0;
    const bool is_read =
        file != NULL && fscanf(file, "%llu %llu %llu", &cpu_ns, &runqueue_ns, &slices) == 3;

    if (file != NULL) {
        fclose(file);
    }
    return is_read && slices > 0;
}
