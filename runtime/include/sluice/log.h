/* SPDX-License-Identifier: Apache-2.0 */
/** @file
 * Messages that no return value carries: warnings, and what the library decided by itself.
 *
 * By default warnings and worse go to stderr. The environment variable SLUICE_LOG
 * (`off|error|warn|info|debug`) sets the level at first use. An error that a call returns is logged
 * at level debug only, for its text reaches the caller by sluice_last_error().
 */
#ifndef SLUICE_LOG_H
#define SLUICE_LOG_H

#include <sluice/export.h>

SLUICE_BEGIN_DECLS

/** How much a message matters; a level shows itself and everything above it in this list. */
typedef enum sluice_log_level {
    SLUICE_LOG_OFF = 0,
    SLUICE_LOG_ERROR = 1,
    SLUICE_LOG_WARN = 2,
    SLUICE_LOG_INFO = 3,
    SLUICE_LOG_DEBUG = 4
} sluice_log_level;

/**
 * Takes one message, a line without its newline.
 *
 * Called on whichever thread logs, several at once; must not call back into the library.
 */
typedef void (*sluice_log_fn)(sluice_log_level level, const char *message, void *user);

/** Sets the level. Any thread. */
SLUICE_API void sluice_log_set_level(sluice_log_level level);

/** Sends messages to fn instead of stderr; NULL goes back to stderr. Not while a run is open. */
SLUICE_API void sluice_log_set_callback(sluice_log_fn fn, void *user);

SLUICE_END_DECLS

#endif
