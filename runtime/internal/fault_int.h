/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Classification of read errors: errors of the file, after which other files can be read, and
 * faults of the machine, which are independent of the file and may be transient.
 */
#ifndef SLUICE_FAULT_INT_H
#define SLUICE_FAULT_INT_H

#include <stdbool.h>

#include <sluice/status.h>

typedef enum sli_fault {
    SLI_FAULT_NONE,        /* an error of the file: ENOENT, EACCES, corrupt bytes */
    SLI_FAULT_DESCRIPTORS, /* the process or the system has no file descriptors left */
    SLI_FAULT_MEMORY,      /* ENOMEM, E_NO_MEMORY */
    SLI_FAULT_STORAGE,     /* the disk or the file server: EIO, ESTALE, ENOSPC and the like */
    SLI_FAULT_LIBRARY      /* a library or format module that is opened when needed: missing, or of
                              another version (ELIBACC, ELIBBAD) */
} sli_fault;

/* The class of an errno value. */
sli_fault sli_fault_of_errno(int error);

/* The class of this thread's last error, which a call has just returned as `status`. */
sli_fault sli_fault_of_last(sluice_status status);

/* True if a process-wide resource is exhausted or missing, so that reading another file fails, too.
 */
static inline bool sli_fault_is_of_process(sli_fault fault)
{
    return fault == SLI_FAULT_DESCRIPTORS || fault == SLI_FAULT_MEMORY ||
           fault == SLI_FAULT_LIBRARY;
}

/* The class of an error text that contains the text of an errno value, as sli_fail_errno() appends
 * it. Uses the process's locale. */
sli_fault sli_fault_of_text(const char *text);

/* The class of an error text of dlopen(). If the cause has an errno value, its text is at the end.
 */
sli_fault sli_fault_of_loader(const char *text);

#endif
