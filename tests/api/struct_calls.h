/* SPDX-License-Identifier: Apache-2.0 */
/* Every call that takes a struct with a struct_size. */
#ifndef SLUICE_STRUCT_CALLS_H
#define SLUICE_STRUCT_CALLS_H

#include <stddef.h>

#include <sluice/status.h>

typedef struct sized_call {
    const char *name;
    size_t size;                          /* of the struct */
    void (*fill)(void *any, size_t size); /* init and settings; NULL: the library fills it in */
    sluice_status (*call)(void *any);
    const char *then; /* what the call says of the rest of its arguments; NULL: it succeeds */
} sized_call;

extern const sized_call calls[];
extern const int call_count;

/* Opens and closes what the calls need, for each test. */
void open_all(void);
void close_all(void);

#endif
