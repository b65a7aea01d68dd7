/* SPDX-License-Identifier: Apache-2.0 */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "log_int.h"
#include "testing.h"

static char logged[200];
static int logged_level;

static void keep_log(sluice_log_level level, const char *message, void *user)
{
    (void)user;
    logged_level = (int)level;
    snprintf(logged, sizeof(logged), "%s", message);
}

static void messages_below_the_level_are_dropped(void)
{
    sluice_log_set_callback(keep_log, NULL);
    sluice_log_set_level(SLUICE_LOG_WARN);
    logged[0] = '\0';
    sli_log(SLUICE_LOG_INFO, "quiet");
    T_STR(logged, "");
    sli_log(SLUICE_LOG_WARN, "loud %d", 7);
    T_STR(logged, "loud 7");
    T_EQ(logged_level, SLUICE_LOG_WARN);
    sluice_log_set_callback(NULL, NULL);
}

/* ---- set while other threads log ---------------------------------------------------------------
 */

enum { LOGGERS = 3, CHANGES = 200 };

static _Atomic bool logs;

static void *log_until_told(void *arg)
{
    (void)arg;
    while (atomic_load(&logs)) {
        sli_log(SLUICE_LOG_WARN, "a message");
        sched_yield();
    }
    return NULL;
}

/* A callback's own memory, which is freed once it is replaced. */
typedef struct message_count {
    _Atomic uint64_t messages;
} message_count;

static message_count *count_create(void)
{
    message_count *count = calloc(1, sizeof(*count));

    CU_ASSERT_PTR_NOT_NULL_FATAL(count);
    return count;
}

static void count_message(sluice_log_level level, const char *message, void *user)
{
    (void)level;
    (void)message;
    atomic_fetch_add(&((message_count *)user)->messages, 1);
}

static void count_others(sluice_log_level level, const char *message, void *user)
{
    count_message(level, message, user);
}

/* Under the thread and address sanitizers this sees a call of a callback that has been replaced. */
static void a_callback_is_replaced_while_threads_log(void)
{
    pthread_t threads[LOGGERS];
    message_count *count = count_create();

    sluice_log_set_level(SLUICE_LOG_WARN);
    sluice_log_set_callback(count_message, count);
    atomic_store(&logs, true);
    for (int i = 0; i < LOGGERS; i++) {
        T_EQ(pthread_create(&threads[i], NULL, log_until_told, NULL), 0);
    }
    for (int i = 0; i < CHANGES; i++) {
        message_count *before = count;

        count = count_create();
        sluice_log_set_callback(i % 2 == 0 ? count_others : count_message, count);
        free(before);
        while (i % 8 == 0 && atomic_load(&count->messages) == 0) { /* the new one is called */
            sched_yield();
        }
    }
    atomic_store(&logs, false);
    for (int i = 0; i < LOGGERS; i++) {
        pthread_join(threads[i], NULL);
    }
    sluice_log_set_callback(NULL, NULL);
    free(count);
}

static struct {
    _Atomic int inside; /* threads that are in the callback */
    _Atomic bool sets;  /* a thread is about to replace the callback */
    _Atomic bool ended; /* the last thing that the callback does */
} held;

static void *log_once(void *arg)
{
    sli_log(SLUICE_LOG_WARN, "%s", (const char *)arg);
    return NULL;
}

static void hold_message(sluice_log_level level, const char *message, void *user)
{
    (void)level;
    (void)message;
    (void)user;
    atomic_fetch_add(&held.inside, 1);
    while (!atomic_load(&held.sets)) {
        sched_yield();
    }
    usleep(20000); /* in which a call that did not wait would return */
    atomic_store(&held.ended, true);
}

static void the_callback_before_has_ended_when_the_call_returns(void)
{
    static char text[] = "a message";
    pthread_t thread;

    memset((void *)&held, 0, sizeof(held));
    sluice_log_set_callback(hold_message, NULL);
    T_EQ(pthread_create(&thread, NULL, log_once, text), 0);
    while (atomic_load(&held.inside) == 0) {
        sched_yield();
    }
    atomic_store(&held.sets, true);
    sluice_log_set_callback(NULL, NULL);
    T_TRUE(atomic_load(&held.ended));
    pthread_join(thread, NULL);
}

/* ---- set from inside a callback ----------------------------------------------------------------
 */

static void replace_itself(sluice_log_level level, const char *message, void *user)
{
    keep_log(level, message, user);
    sluice_log_set_callback(keep_log, NULL);
    sluice_log_set_callback(NULL, NULL);
    sluice_log_set_callback(keep_log, NULL);
}

static void a_callback_can_replace_itself(void)
{
    sluice_log_set_callback(replace_itself, NULL);
    sli_log(SLUICE_LOG_WARN, "first");
    T_STR(logged, "first");
    sli_log(SLUICE_LOG_WARN, "second");
    T_STR(logged, "second");
    sluice_log_set_callback(NULL, NULL);
}

/* Both are inside before one of them replaces it: neither may wait for the other. */
static void replace_together(sluice_log_level level, const char *message, void *user)
{
    (void)level;
    (void)message;
    (void)user;
    atomic_fetch_add(&held.inside, 1);
    while (atomic_load(&held.inside) < 2) {
        sched_yield();
    }
    sluice_log_set_callback(keep_log, NULL);
}

static void threads_inside_a_callback_replace_it_at_once(void)
{
    static char text[] = "a message";
    pthread_t threads[2];

    memset((void *)&held, 0, sizeof(held));
    sluice_log_set_callback(replace_together, NULL);
    for (int i = 0; i < 2; i++) {
        T_EQ(pthread_create(&threads[i], NULL, log_once, text), 0);
    }
    for (int i = 0; i < 2; i++) {
        pthread_join(threads[i], NULL);
    }
    sluice_log_set_callback(NULL, NULL);
}

/* ---- child processes ---------------------------------------------------------------------------
 */

/* The thread that is in the callback does not exist in the child, which must not wait for it. */
static void a_child_process_does_not_wait_for_threads_of_its_parent(void)
{
    static char text[] = "a message";
    pthread_t thread;
    int status = -1;
    pid_t child;

    memset((void *)&held, 0, sizeof(held));
    sluice_log_set_callback(hold_message, NULL);
    T_EQ(pthread_create(&thread, NULL, log_once, text), 0);
    while (atomic_load(&held.inside) == 0) {
        sched_yield();
    }
    child = fork();
    if (child == 0) {
        alarm(60);
        sluice_log_set_callback(keep_log, NULL);
        sli_log(SLUICE_LOG_WARN, "of the child");
        _exit(strcmp(logged, "of the child") == 0 ? 0 : 1);
    }
    atomic_store(&held.sets, true);
    T_EQ(waitpid(child, &status, 0), child);
    T_EQ(status, 0);
    pthread_join(thread, NULL);
    sluice_log_set_callback(NULL, NULL);
}

/* What a child process, which calls `body`, writes to stderr. */
static const char *stderr_of(void (*body)(void))
{
    static char text[400];
    int ends[2];
    ssize_t got;
    size_t length = 0;
    pid_t child;

    T_EQ(pipe(ends), 0);
    fflush(NULL);
    child = fork();
    if (child == 0) {
        dup2(ends[1], STDERR_FILENO);
        sluice_log_set_callback(NULL, NULL);
        sluice_log_set_level(SLUICE_LOG_WARN);
        body();
        _exit(0);
    }
    close(ends[1]);
    while ((got = read(ends[0], text + length, sizeof(text) - 1 - length)) > 0) {
        length += (size_t)got;
    }
    text[length] = '\0';
    close(ends[0]);
    T_EQ(waitpid(child, NULL, 0), child);
    return text;
}

static void log_as_ranks(void)
{
    sli_log(SLUICE_LOG_WARN, "none");
    sli_log_enter_rank(2, 8);
    sli_log(SLUICE_LOG_WARN, "one");
    sli_log_enter_rank(2, 8);
    sli_log(SLUICE_LOG_ERROR, "twice");
    sli_log_enter_rank(3, 8);
    sli_log(SLUICE_LOG_WARN, "mixed");
    sli_log_leave_rank();
    sli_log_leave_rank();
    sli_log_leave_rank();
    sli_log(SLUICE_LOG_WARN, "none");
    sli_log_enter_rank(0, 1);
    sli_log(SLUICE_LOG_WARN, "alone");
    sli_log_leave_rank();
    sli_log_enter_rank(0, 2);
    sli_log(SLUICE_LOG_WARN, "another");
}

static void lines_on_stderr_begin_with_the_rank(void)
{
    T_STR(stderr_of(log_as_ranks), "sluice: warn: none\n"
                                   "sluice[2/8]: warn: one\n"
                                   "sluice[2/8]: error: twice\n"
                                   "sluice: warn: mixed\n"
                                   "sluice: warn: none\n"
                                   "sluice: warn: alone\n"
                                   "sluice[0/2]: warn: another\n");
}

const t_test log_tests[] = {
    T_TEST(messages_below_the_level_are_dropped),
    T_TEST(a_callback_is_replaced_while_threads_log),
    T_TEST(the_callback_before_has_ended_when_the_call_returns),
    T_TEST(a_callback_can_replace_itself),
    T_TEST(threads_inside_a_callback_replace_it_at_once),
    T_TEST(a_child_process_does_not_wait_for_threads_of_its_parent),
    T_TEST(lines_on_stderr_begin_with_the_rank),
    T_END,
};
