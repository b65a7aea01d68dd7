/* SPDX-License-Identifier: Apache-2.0 */
/* Finds and opens format modules (format_module.h), when the first file of their kind is met. */
#ifndef SLUICE_FORMAT_MODULES_H
#define SLUICE_FORMAT_MODULES_H

#include "image_format.h"

enum { FORMAT_MODULES = 3 }; /* known to the library, whether they are installed or not */

/* Returns the number of the module for files that begin with these bytes; -1: there is none. */
int format_module_find(const uint8_t *bytes, size_t size);

/* The set of the module's format; it is known without opening the module. */
image_formats format_module_formats(int module);

/* The name of the module's format for messages, such as "WebP". */
const char *format_module_name(int module);

/*
 * Opens a module, once in a process. E_UNSUPPORTED: it is missing, is of another version of the
 * library, or a library that it needs is missing; its fault is SLI_FAULT_LIBRARY. E_IO: no file
 * descriptor became free. Also returns E_NO_MEMORY. After an error, the call may be repeated.
 * Callable from any thread.
 */
sluice_status format_module_open(int module, const image_format **format_out);

#endif
