/* SPDX-License-Identifier: Apache-2.0 */
/* The log: one level and one callback for the process. */
#include "log_int.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "printable_int.h"

static const char *const level_names[] = {"off", "error", "warn", "info", "debug"};

/* -1: not yet read from the environment. */
static _Atomic int current_level = -1;

/* Set while no run is open (the header says so), so they need no lock. */
static sluice_log_fn callback;
static void *callback_user;

static int level_from_environment(void)
{
    const char *text = getenv("SLUICE_LOG");

    for (int i = 0; text != NULL && i <= SLUICE_LOG_DEBUG; i++) {
        if (strcmp(text, level_names[i]) == 0) {
            return i;
        }
    }
    return SLUICE_LOG_WARN;
}

void sluice_log_set_level(sluice_log_level level)
{
    atomic_store_explicit(&current_level, (int)level, memory_order_relaxed);
}

void sluice_log_set_callback(sluice_log_fn fn, void *user)
{
    callback = fn;
    callback_user = user;
}

void sli_log(sluice_log_level level, const char *format, ...)
{
    int shown = atomic_load_explicit(&current_level, memory_order_relaxed);
    char raw[1200];
    char message[sizeof(raw)];
    va_list args;

    if (shown < 0) {
        shown = level_from_environment();
        atomic_store_explicit(&current_level, shown, memory_order_relaxed);
    }
    if ((int)level > shown) {
        return;
    }
    va_start(args, format);
    vsnprintf(raw, sizeof(raw), format, args);
    va_end(args);
    sli_printable(raw, SLI_CONTINUED, message, sizeof(message));
    if (callback != NULL) {
        callback(level, message, callback_user);
    } else {
        fprintf(stderr, "sluice: %s: %s\n", level_names[level], message);
    }
}
