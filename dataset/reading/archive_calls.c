/* SPDX-License-Identifier: Apache-2.0 */
#include "archive_calls.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "status_int.h"

/* The name under which every libarchive 3 is known to loaders. */
static const char library_name[] = "libarchive.so.13";
_Static_assert(ARCHIVE_VERSION_NUMBER >= 3000000 && ARCHIVE_VERSION_NUMBER < 4000000,
               "libarchive.so.13 is libarchive 3");

static pthread_once_t once = PTHREAD_ONCE_INIT;
static archive_calls calls;
static char missing[200]; /* "": nothing is */

const archive_calls *const archive_library = &calls;

/* A function of the library; ISO C knows no way from the pointer that the loader gives. */
static bool find(void *library, const char *name, void *call, size_t size)
{
    void *found = dlsym(library, name);

    memcpy(call, &found, size);
    return found != NULL;
}

static void note_missing(void)
{
    const char *text = dlerror();

    if (missing[0] == '\0') {
        snprintf(missing, sizeof(missing), "%s", text != NULL ? text : library_name);
    }
}

static void load(void)
{
    void *library = dlopen(library_name, RTLD_NOW | RTLD_LOCAL);

    if (library == NULL) {
        note_missing();
        return;
    }
#define FIND(name)                                                                                 \
    if (!find(library, #name, (void *)&calls.name, sizeof(calls.name))) {                          \
        note_missing();                                                                            \
    }
    ARCHIVE_CALLS(FIND)
#undef FIND
}

sluice_status archive_calls_load(void)
{
    pthread_once(&once, load);
    return missing[0] == '\0' ? SLUICE_OK
                              : sli_fail(SLUICE_E_UNSUPPORTED,
                                         "libarchive cannot be loaded (%s): install it, Debian's "
                                         "package is libarchive13",
                                         missing);
}
