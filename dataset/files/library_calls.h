/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Functions of a library that is loaded by dlopen() when it is needed first, so that a process that
 * does not need it has neither its memory nor its start-up time.
 *
 * A library NAME has a header that lists its functions as NAME_CALLS(X), and a struct with a
 * pointer to each, declared by CALL_MEMBER; archive_calls.h is an example.
 */
#ifndef SLUICE_LIBRARY_CALLS_H
#define SLUICE_LIBRARY_CALLS_H

#include <stdbool.h>
#include <stddef.h>

#include <sluice/status.h>

/* A function, and where its pointer is stored. */
typedef struct library_call {
    const char *name;
    void *pointer;
} library_call;

typedef struct loaded_library {
    const char *file;    /* its soname */
    const char *name;    /* for messages */
    const char *package; /* of Debian */
    const library_call *calls;
    size_t count;
    bool is_loaded;
} loaded_library;

/* For the table of library_call and the struct of pointers of a library. */
#define CALL_MEMBER(name) __typeof__(&name) name;
#define CALL_ENTRY(name)  {#name, &calls.name},

/*
 * Loads a library, once. E_UNSUPPORTED: the library is missing, or lacks a function. E_IO: no file
 * descriptor became free within 10 s. After E_IO or E_NO_MEMORY, the call may be repeated. Callable
 * from any thread.
 */
sluice_status library_load(loaded_library *library);

#endif
