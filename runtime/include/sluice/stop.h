/* SPDX-License-Identifier: Apache-2.0 */
/** @file
 * Asking what runs for long to stop.
 */
#ifndef SLUICE_STOP_H
#define SLUICE_STOP_H

#include <sluice/status.h>

SLUICE_BEGIN_DECLS

/** A request to stop that any thread, or a signal handler, can make. */
typedef struct sluice_stop sluice_stop;

/** Returns: E_NO_MEMORY. The token is the caller's and outlives the runs that look at it. */
SLUICE_API_CHECKED sluice_status sluice_stop_create(sluice_stop **stop_out);

/** Frees a token. NULL is fine. */
SLUICE_API void sluice_stop_destroy(sluice_stop *stop);

/** Asks the runs with this token to stop: within one step, or one sample. Async-signal-safe. */
SLUICE_API void sluice_stop_request(sluice_stop *stop);

/** Takes a request back, for another run with the same token. */
SLUICE_API void sluice_stop_clear(sluice_stop *stop);

SLUICE_END_DECLS

#endif
