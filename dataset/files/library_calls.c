/* SPDX-License-Identifier: Apache-2.0 */
#include "library_calls.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "library_int.h"
#include "status_int.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards loading */

/* Loads the library and its functions. The caller holds the lock. */
static sluice_status load_functions(const loaded_library *library)
{
    char advice[100];
    void *handle;
    sluice_status st;

    snprintf(advice, sizeof(advice), "install it, Debian's package is %s", library->package);
    st = sli_library_open(library->file, library->name, advice, &handle);
    for (size_t i = 0; i < library->count && st == SLUICE_OK; i++) {
        void *function = dlsym(handle, library->calls[i].name);

        /* ISO C does not allow a cast of dlsym()'s object pointer to a function pointer. */
        memcpy(library->calls[i].pointer, &function, sizeof(function));
        if (function == NULL) {
            st = sli_fail_with(SLUICE_E_UNSUPPORTED, ELIBBAD, "%s has no function %s: %s",
                               library->file, library->calls[i].name, advice);
        }
    }
    return st;
}

sluice_status library_load(loaded_library *library)
{
    sluice_status st = SLUICE_OK;

    pthread_mutex_lock(&lock);
    if (!library->is_loaded) {
        st = load_functions(library);
        library->is_loaded = st == SLUICE_OK;
    }
    pthread_mutex_unlock(&lock);
    return st;
}
