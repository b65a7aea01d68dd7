/* SPDX-License-Identifier: Apache-2.0 */
/* Environment variables that the driver reads once, when it is initialised. */
#ifndef SLUICE_CUDA_ENVIRONMENT_H
#define SLUICE_CUDA_ENVIRONMENT_H

#include <stdbool.h>

/*
 * Sets CUDA_MODULE_LOADING=EAGER before the library's first CUDA call, unless the variable is
 * already set, or the driver is already loaded: then it would have no effect.
 */
void cuda_load_eagerly(bool (*driver_is_loaded)(void));

/* True if the driver library is loaded. A process that has initialized CUDA has loaded it. */
bool cuda_driver_is_loaded(void);

/* Logs a warning if CUDA_DEVICE_MAX_CONNECTIONS is less than the number of streams of a run. */
void cuda_check_connections(void);

#endif
