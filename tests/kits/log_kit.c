/* SPDX-License-Identifier: Apache-2.0 */
#include "log_kit.h"

#include <pthread.h>
#include <string.h>

#include "event_int.h"
#include "text_int.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards the text and the counts */
static sli_text logged;
static unsigned counts[SLUICE_LOG_DEBUG + 1];
static void (*log_seen)(const char *message, void *user);
static void *log_user;

static void keep_message(sluice_log_level level, const char *message, void *user)
{
    (void)user;
    pthread_mutex_lock(&lock);
    sli_text_add(&logged, "%s\n", message);
    counts[level]++;
    pthread_mutex_unlock(&lock);
    if (log_seen != NULL) {
        log_seen(message, log_user);
    }
}

void kit_log_start(void (*seen)(const char *message, void *user), void *user)
{
    sli_text_free(&logged);
    sli_text_add(&logged, "%s", "");
    memset(counts, 0, sizeof(counts));
    log_seen = seen;
    log_user = user;
    sluice_log_set_callback(keep_message, NULL);
}

/* ---- waiting for a message ------------------------------------------------------------------- */

static sli_event awaited;
static const char *awaited_part;
static _Atomic bool has_come;

static void notify_awaited(const char *message, void *user)
{
    (void)user;
    if (strstr(message, awaited_part) != NULL) {
        atomic_store(&has_come, true);
        sli_event_notify(&awaited);
    }
}

static bool awaited_has_come(void *arg)
{
    (void)arg;
    return atomic_load(&has_come);
}

void kit_log_start_awaited(const char *part)
{
    atomic_store(&has_come, false);
    awaited_part = part;
    kit_log_start(notify_awaited, NULL);
}

void kit_log_await(void)
{
    (void)sli_event_await(&awaited, awaited_has_come, NULL, -1);
}

/* ---- the end --------------------------------------------------------------------------------- */

const char *kit_log_stop(void)
{
    sluice_log_set_callback(NULL, NULL);
    return logged.data;
}

unsigned kit_log_count(sluice_log_level level)
{
    return counts[level];
}
