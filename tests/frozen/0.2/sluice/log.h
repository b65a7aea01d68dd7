/* SPDX-License-Identifier: Apache-2.0 */
/** @file
 * Logging: warnings, and choices that the library made by itself.
 *
 * By default messages of level warn and above go to stderr, as "sluice: warn: ...", and while a run
 * or channel of rank 2 of 8 is open as "sluice[2/8]: warn: ...". The environment variable
 * SLUICE_LOG (`off|error|warn|info|debug`) sets the level at first use. An error that a call
 * returns is logged at level debug only: its text reaches the caller by sluice_last_error(). But if
 * there are several ranks, sluice_train() also logs the error of the rank that fails at level
 * error, before it returns.
 */
#ifndef SLUICE_LOG_H
#define SLUICE_LOG_H

#include <sluice/export.h>

SLUICE_BEGIN_DECLS

/** Severity of a message. A level enables itself and everything above it in this list. */
typedef enum sluice_log_level {
    SLUICE_LOG_OFF = 0,
    SLUICE_LOG_ERROR = 1,
    SLUICE_LOG_WARN = 2,
    SLUICE_LOG_INFO = 3,
    SLUICE_LOG_DEBUG = 4
} sluice_log_level;

/**
 * Receives one message, a line without its newline. Control characters in it are escaped.
 *
 * Called by the thread that logs, possibly by several at once. It must not call functions of the
 * library, except sluice_log_set_callback() and sluice_log_set_level().
 */
typedef void (*sluice_log_fn)(sluice_log_level level, const char *message, void *user);

/** Sets the level. Threads: any, at any time. */
SLUICE_API void sluice_log_set_level(sluice_log_level level);

/**
 * Sends messages to fn instead of stderr; NULL: restores stderr.
 *
 * When the call returns, the previous callback is not running in any thread and will not be called
 * again, so the data that its `user` points to can be freed. The call therefore waits for messages
 * in delivery: do not hold a lock that the previous callback acquires.
 *
 * A call from inside a callback does not wait: the previous callback gets no further message, but
 * it may still be running in this and other threads.
 *
 * Threads: any, at any time, also while other threads log.
 */
SLUICE_API void sluice_log_set_callback(sluice_log_fn fn, void *user);

SLUICE_END_DECLS

#endif
