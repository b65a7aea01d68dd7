/* SPDX-License-Identifier: Apache-2.0 */
#include "backoff_int.h"

#include <errno.h>
#include <stddef.h>
#include <time.h>

enum { FIRST_NS = 1000000, LONGEST_NS = 256000000 };

/* Set by tests while no other thread sleeps. */
static void (*sleep_instead)(int64_t ns, void *arg);
static void *sleep_arg;

void sli_backoff_replace_sleep(void (*sleep)(int64_t ns, void *arg), void *arg)
{
    sleep_instead = sleep;
    sleep_arg = arg;
}

static void sleep_ns(int64_t ns)
{
    struct timespec left = {.tv_sec = ns / 1000000000, .tv_nsec = ns % 1000000000};

    if (sleep_instead != NULL) {
        sleep_instead(ns, sleep_arg);
        return;
    }
    while (nanosleep(&left, &left) != 0 && errno == EINTR) {
    }
}

static bool is_set(const sli_interrupt *interrupt)
{
    return interrupt != NULL && interrupt->is_set(interrupt->arg);
}

bool sli_backoff_pause(sli_backoff *backoff, const sli_interrupt *interrupt)
{
    const int64_t doubled = backoff->pause_ns > 0 ? 2 * backoff->pause_ns : FIRST_NS;
    const int64_t left = backoff->limit_ns - backoff->slept_ns;

    if (left <= 0 || is_set(interrupt)) {
        return false;
    }
    backoff->pause_ns = doubled < LONGEST_NS ? doubled : LONGEST_NS;
    backoff->pause_ns = backoff->pause_ns < left ? backoff->pause_ns : left;
    sleep_ns(backoff->pause_ns);
    backoff->slept_ns += backoff->pause_ns;
    return !is_set(interrupt);
}
