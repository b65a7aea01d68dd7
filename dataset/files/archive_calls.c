/* SPDX-License-Identifier: Apache-2.0 */
#include "archive_calls.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "backoff_int.h"
#include "descriptor_int.h"
#include "fault_int.h"
#include "status_int.h"

/* The soname is the same for all libarchive 3 releases. */
static const char library_name[] = "libarchive.so.13";
_Static_assert(ARCHIVE_VERSION_NUMBER >= 3000000 && ARCHIVE_VERSION_NUMBER < 4000000,
               "libarchive.so.13 is libarchive 3");

/* How long loading is retried while no file descriptor is free. */
static const int64_t RETRY_NS = INT64_C(10000000000);

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards the variables below */
static bool is_loaded;
static archive_calls calls;

const archive_calls *const archive_library = &calls;

/*
 * Looks up a function of the library. memcpy() is used because ISO C does not allow a cast of
 * dlsym()'s object pointer to a function pointer.
 */
static bool find_call(void *library, const char *name, void *call, size_t size)
{
    void *found = dlsym(library, name);

    memcpy(call, &found, size);
    return found != NULL;
}

/* Loads the library and its functions. The caller holds the lock. */
static bool load_library(void)
{
    void *library = dlopen(library_name, RTLD_NOW | RTLD_LOCAL);
    bool found = library != NULL;

#define FIND(name)                                                                                 \
    found = found && find_call(library, #name, (void *)&calls.name, sizeof(calls.name));
    ARCHIVE_CALLS(FIND)
#undef FIND
    return found;
}

static bool ends_in(const char *text, const char *end)
{
    const size_t length = strlen(text);

    return length >= strlen(end) && strcmp(text + length - strlen(end), end) == 0;
}

/*
 * Classifies an error text of dlopen(). If the cause has an errno value, its strerror() text is at
 * the end.
 */
static sli_fault fault_of_loader(const char *text)
{
    static const char *const without_errno[] = {
        "out of memory", "cannot create shared object descriptor",
        "failed to map segment from shared object"}; /* errors that mean out of memory but have no
                                                        errno text */

    for (size_t i = 0; i < sizeof(without_errno) / sizeof(without_errno[0]); i++) {
        if (ends_in(text, without_errno[i])) {
            return SLI_FAULT_MEMORY;
        }
    }
    return sli_fault_of_text(text);
}

/* Reports the fault of a failed load. */
static sluice_status fail_archive(sli_fault fault, const char *text)
{
    if (fault == SLI_FAULT_MEMORY) {
        return sli_fail(SLUICE_E_NO_MEMORY,
                        "libarchive cannot be loaded (%s): free memory, or raise ulimit -v", text);
    }
    if (fault == SLI_FAULT_DESCRIPTORS) {
        return sli_fail_with(SLUICE_E_IO, EMFILE,
                             "libarchive cannot be loaded (%s): raise ulimit -n", text);
    }
    return sli_fail(SLUICE_E_UNSUPPORTED,
                    "libarchive cannot be loaded (%s): install it, Debian's package is "
                    "libarchive13",
                    text);
}

/* Loads the library, and retries while no file descriptor is free. The caller holds the lock. */
static sluice_status load_with_retries(void)
{
    sli_backoff backoff = {.limit_ns = RETRY_NS};
    char text[200];
    sli_fault fault;

    while (!load_library()) {
        const char *said = dlerror();

        snprintf(text, sizeof(text), "%s", said != NULL ? said : library_name);
        fault = fault_of_loader(text);
        if (fault != SLI_FAULT_DESCRIPTORS ||
            (sli_held_files_drop() == 0 && !sli_backoff_pause(&backoff, NULL))) {
            return fail_archive(fault, text);
        }
    }
    return SLUICE_OK;
}

sluice_status archive_calls_load(void)
{
    sluice_status st = SLUICE_OK;

    pthread_mutex_lock(&lock);
    if (!is_loaded) {
        st = load_with_retries();
        is_loaded = st == SLUICE_OK;
    }
    pthread_mutex_unlock(&lock);
    return st;
}
