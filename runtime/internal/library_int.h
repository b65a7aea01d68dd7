/* SPDX-License-Identifier: Apache-2.0 */
/* Shared libraries that are opened when they are first needed. */
#ifndef SLUICE_LIBRARY_INT_H
#define SLUICE_LIBRARY_INT_H

#include <sluice/status.h>

/*
 * Opens a shared library by dlopen(), and retries for up to 10 s while no file descriptor is free.
 * The library stays open.
 *
 * name: names the library in messages. advice: how to install it; the end of a message.
 *
 * E_UNSUPPORTED: the library cannot be loaded; its fault is SLI_FAULT_LIBRARY. E_IO: no file
 * descriptor became free. After E_IO or E_NO_MEMORY, the call may be repeated. Callable from any
 * thread.
 */
sluice_status sli_library_open(const char *file, const char *name, const char *advice,
                               void **library_out);

#endif
