/* SPDX-License-Identifier: Apache-2.0 */
#include "library_calls.h"

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

/* How long loading is retried while no file descriptor is free. */
static const int64_t RETRY_NS = INT64_C(10000000000);

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards loading */

/* Loads the library and its functions. The caller holds the lock. */
static bool load_functions(const loaded_library *library)
{
    void *handle = dlopen(library->file, RTLD_NOW | RTLD_LOCAL);
    bool found = handle != NULL;

    for (size_t i = 0; i < library->count && found; i++) {
        void *function = dlsym(handle, library->calls[i].name);

        /* ISO C does not allow a cast of dlsym()'s object pointer to a function pointer. */
        memcpy(library->calls[i].pointer, &function, sizeof(function));
        found = function != NULL;
    }
    return found;
}

/* Reports the fault of a failed load. */
static sluice_status fail_library(const loaded_library *library, sli_fault fault, const char *text)
{
    if (fault == SLI_FAULT_MEMORY) {
        return sli_fail(SLUICE_E_NO_MEMORY,
                        "%s cannot be loaded (%s): free memory, or raise ulimit -v", library->name,
                        text);
    }
    if (fault == SLI_FAULT_DESCRIPTORS) {
        return sli_fail_with(SLUICE_E_IO, EMFILE, "%s cannot be loaded (%s): raise ulimit -n",
                             library->name, text);
    }
    return sli_fail(SLUICE_E_UNSUPPORTED,
                    "%s cannot be loaded (%s): install it, Debian's package is %s", library->name,
                    text, library->package);
}

/* Loads the library, and retries while no file descriptor is free. The caller holds the lock. */
static sluice_status load_with_retries(const loaded_library *library)
{
    sli_backoff backoff = {.limit_ns = RETRY_NS};
    char text[200];
    sli_fault fault;

    while (!load_functions(library)) {
        const char *said = dlerror();

        snprintf(text, sizeof(text), "%s", said != NULL ? said : library->file);
        fault = sli_fault_of_loader(text);
        if (fault != SLI_FAULT_DESCRIPTORS ||
            (sli_held_files_drop() == 0 && !sli_backoff_pause(&backoff, NULL))) {
            return fail_library(library, fault, text);
        }
    }
    return SLUICE_OK;
}

sluice_status library_load(loaded_library *library)
{
    sluice_status st = SLUICE_OK;

    pthread_mutex_lock(&lock);
    if (!library->is_loaded) {
        st = load_with_retries(library);
        library->is_loaded = st == SLUICE_OK;
    }
    pthread_mutex_unlock(&lock);
    return st;
}
