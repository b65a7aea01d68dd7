/* SPDX-License-Identifier: Apache-2.0 */
/* What the process writes to standard error. */
#ifndef SLUICE_STDERR_KIT_H
#define SLUICE_STDERR_KIT_H

#include <stddef.h>

typedef struct stderr_kit {
    const char *path;
    int before;
} stderr_kit;

/* From here on standard error is a file. */
void stderr_kit_begin(stderr_kit *k);

/* text: what was written so far, at most size - 1 bytes. */
void stderr_kit_read(const stderr_kit *k, char *text, size_t size);

/* The same, and standard error is again what it was. */
void stderr_kit_end(const stderr_kit *k, char *text, size_t size);

#endif
