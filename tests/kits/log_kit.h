/* SPDX-License-Identifier: Apache-2.0 */
/* What the library logs, for tests that look at it. */
#ifndef SLUICE_LOG_KIT_H
#define SLUICE_LOG_KIT_H

#include <sluice/log.h>

/*
 * Collects messages from now on, instead of stderr; until kit_log_stop(). seen() is told of each as
 * it comes, by the thread that logs it; NULL: nobody is.
 */
void kit_log_start(void (*seen)(const char *message, void *user), void *user);

/*
 * The same, for kit_log_await(): on any thread it returns once a message that contains `part` has
 * come since the start.
 */
void kit_log_start_awaited(const char *part);
void kit_log_await(void);

/* All that was logged, a line each; good until the next start. */
const char *kit_log_stop(void);

/* How many messages of this level came since the last start. */
unsigned kit_log_count(sluice_log_level level);

#endif
