/* SPDX-License-Identifier: Apache-2.0 */
#include "library_int.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>

#include "backoff_int.h"
#include "descriptor_int.h"
#include "fault_int.h"
#include "status_int.h"

/* How long loading is retried while no file descriptor is free. */
static const int64_t RETRY_NS = INT64_C(10000000000);

/* Reports why a library cannot be loaded. */
static sluice_status fail_load(const char *name, const char *advice, sli_fault fault,
                               const char *text)
{
    if (fault == SLI_FAULT_MEMORY) {
        return sli_fail(SLUICE_E_NO_MEMORY,
                        "%s cannot be loaded (%s): free memory, or raise ulimit -v", name, text);
    }
    if (fault == SLI_FAULT_DESCRIPTORS) {
        return sli_fail_with(SLUICE_E_IO, EMFILE, "%s cannot be loaded (%s): raise ulimit -n", name,
                             text);
    }
    return sli_fail_with(SLUICE_E_UNSUPPORTED, ELIBACC, "%s cannot be loaded (%s): %s", name, text,
                         advice);
}

sluice_status sli_library_open(const char *file, const char *name, const char *advice,
                               void **library_out)
{
    sli_backoff backoff = {.limit_ns = RETRY_NS};
    char text[400];

    while ((*library_out = dlopen(file, RTLD_NOW | RTLD_LOCAL)) == NULL) {
        const char *said = dlerror();
        sli_fault fault;

        snprintf(text, sizeof(text), "%s", said != NULL ? said : file);
        fault = sli_fault_of_loader(text);
        if (fault != SLI_FAULT_DESCRIPTORS ||
            (sli_held_files_drop() == 0 && !sli_backoff_pause(&backoff, NULL))) {
            return fail_load(name, advice, fault, text);
        }
    }
    return SLUICE_OK;
}
