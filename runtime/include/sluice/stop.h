/* SPDX-License-Identifier: Apache-2.0 */
/** @file
 * Cancellation tokens: a request to stop a run.
 */
#ifndef SLUICE_STOP_H
#define SLUICE_STOP_H

#include <sluice/status.h>

SLUICE_BEGIN_DECLS

/** A cancellation token. Any thread or a signal handler can request the stop. */
typedef struct sluice_stop sluice_stop;

/**
 * Creates a token, owned by the caller. It must outlive the runs that poll it.
 *
 * Returns: E_NO_MEMORY.
 * Threads: any.
 */
SLUICE_API_CHECKED sluice_status sluice_stop_create(sluice_stop **stop_out);

/**
 * Destroys a token. NULL is allowed.
 *
 * Threads: any, once no run polls the token and no other call uses it.
 */
SLUICE_API void sluice_stop_destroy(sluice_stop *stop);

/**
 * Requests a stop of the runs with this token, within one step or sample. Async-signal-safe.
 *
 * Threads: any, at any time, also in signal handlers.
 */
SLUICE_API void sluice_stop_request(sluice_stop *stop);

/** Clears the request, so that the token can be used for another run. Threads: any, at any time. */
SLUICE_API void sluice_stop_clear(sluice_stop *stop);

SLUICE_END_DECLS

#endif
