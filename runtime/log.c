/* SPDX-License-Identifier: Apache-2.0 */
/* The log: one level and one callback for the process. */
#include "log_int.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "format_int.h"
#include "printable_int.h"

static const char *const level_names[] = {"off", "error", "warn", "info", "debug"};

/* The enabled level; -1: not yet read from the environment. */
static _Atomic int current_level = -1;

/* The receiver of messages; fn NULL: stderr. */
typedef struct log_receiver {
    sluice_log_fn fn;
    void *user;
    uint64_t generation; /* number of receivers set before this one */
} log_receiver;

/* A call to a receiver, in progress; the struct is on the stack of the calling thread. */
typedef struct receiver_call {
    uint64_t generation; /* generation of the receiver */
    struct receiver_call *next;
} receiver_call;

/* The rank of this process, for lines on stderr. */
typedef struct log_rank {
    uint32_t runs; /* number of runs and channels that are open */
    uint32_t rank; /* of the one that was opened first; so is world */
    uint32_t world;
    bool mixed; /* one that was opened later had another rank or world */
} log_rank;

/* Guards call_ended, receiver, calls and own_rank. Not held while a receiver is called. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t call_ended = PTHREAD_COND_INITIALIZER;
static log_receiver receiver;
static receiver_call *calls;
static log_rank own_rank;

static _Thread_local bool inside_receiver;
static pthread_once_t fork_handlers = PTHREAD_ONCE_INIT;

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

/* True if a receiver of this generation or an earlier one is being called. */
static bool is_called(uint64_t generation)
{
    for (const receiver_call *call = calls; call != NULL; call = call->next) {
        if (call->generation <= generation) {
            return true;
        }
    }
    return false;
}

/* Fork handlers: a child process has no other threads, so it drops the calls in progress. */
static void lock_for_fork(void)
{
    pthread_mutex_lock(&lock);
}

static void unlock_in_parent(void)
{
    pthread_mutex_unlock(&lock);
}

static void unlock_in_child(void)
{
    calls = NULL;
    call_ended = (pthread_cond_t)PTHREAD_COND_INITIALIZER;
    pthread_mutex_unlock(&lock);
}

static void set_fork_handlers(void)
{
    (void)pthread_atfork(lock_for_fork, unlock_in_parent, unlock_in_child);
}

void sluice_log_set_callback(sluice_log_fn fn, void *user)
{
    uint64_t old;

    (void)pthread_once(&fork_handlers, set_fork_handlers);
    pthread_mutex_lock(&lock);
    old = receiver.generation;
    receiver = (log_receiver){fn, user, old + 1};
    while (!inside_receiver && is_called(old)) {
        pthread_cond_wait(&call_ended, &lock);
    }
    pthread_mutex_unlock(&lock);
}

/* Returns the receiver. If it is a callback, registers the call as in progress. */
static log_receiver begin_call(receiver_call *call)
{
    log_receiver to;

    (void)pthread_once(&fork_handlers, set_fork_handlers);
    pthread_mutex_lock(&lock);
    to = receiver;
    if (to.fn != NULL) {
        *call = (receiver_call){to.generation, calls};
        calls = call;
    }
    pthread_mutex_unlock(&lock);
    return to;
}

static void end_call(const receiver_call *call)
{
    receiver_call **at = &calls;

    pthread_mutex_lock(&lock);
    while (*at != NULL && *at != call) {
        at = &(*at)->next;
    }
    if (*at != NULL) { /* NULL in a child process that was forked during the call */
        *at = call->next;
    }
    pthread_cond_broadcast(&call_ended);
    pthread_mutex_unlock(&lock);
}

static void call_receiver(const log_receiver *to, sluice_log_level level, const char *message)
{
    const bool nested = inside_receiver;

    inside_receiver = true;
    to->fn(level, message, to->user);
    inside_receiver = nested;
}

void sli_log_enter_rank(uint32_t rank, uint32_t world)
{
    pthread_mutex_lock(&lock);
    if (own_rank.runs == 0) {
        own_rank = (log_rank){.rank = rank, .world = world};
    }
    own_rank.mixed = own_rank.mixed || own_rank.rank != rank || own_rank.world != world;
    own_rank.runs++;
    pthread_mutex_unlock(&lock);
}

void sli_log_leave_rank(void)
{
    pthread_mutex_lock(&lock);
    own_rank.runs--;
    pthread_mutex_unlock(&lock);
}

/* Prints the line on stderr, with the rank if there are several. */
static void print_line(sluice_log_level level, const char *message)
{
    log_rank own;

    pthread_mutex_lock(&lock);
    own = own_rank;
    pthread_mutex_unlock(&lock);
    if (own.runs > 0 && own.world > 1 && !own.mixed) {
        fprintf(stderr, "sluice[%u/%u]: %s: %s\n", own.rank, own.world, level_names[level],
                message);
    } else {
        fprintf(stderr, "sluice: %s: %s\n", level_names[level], message);
    }
}

void sli_log(sluice_log_level level, const char *format, ...)
{
    int shown = atomic_load_explicit(&current_level, memory_order_relaxed);
    char raw[1200];
    char message[sizeof(raw)];
    receiver_call call;
    log_receiver to;
    va_list args;

    if (shown < 0) {
        shown = level_from_environment();
        atomic_store_explicit(&current_level, shown, memory_order_relaxed);
    }
    if ((int)level > shown) {
        return;
    }
    va_start(args, format);
    sli_print_args(raw, sizeof(raw), format, args);
    va_end(args);
    sli_printable(raw, SLI_CONTINUED, message, sizeof(message));
    to = begin_call(&call);
    if (to.fn != NULL) {
        call_receiver(&to, level, message);
        end_call(&call);
    } else {
        print_line(level, message);
    }
}
