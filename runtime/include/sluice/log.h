/* SPDX-License-Identifier: Apache-2.0 */
/** @file
 * Logging: warnings, and choices that the library made by itself.
 *
 * By default messages of level warn and above go to stderr. The environment variable SLUICE_LOG
 * (`off|error|warn|info|debug`) sets the level at first use. An error that a call returns is logged
 * at level debug only: its text reaches the caller by sluice_last_error().
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
 * Called by the thread that logs, possibly by several at once. It must not call the library.
 */
typedef void (*sluice_log_fn)(sluice_log_level level, const char *message, void *user);

/** Sets the level. Threads: any. */
SLUICE_API void sluice_log_set_level(sluice_log_level level);

/** Sends messages to fn instead of stderr; NULL: to stderr again. Not while a run is open. */
SLUICE_API void sluice_log_set_callback(sluice_log_fn fn, void *user);

SLUICE_END_DECLS

#endif
