/* SPDX-License-Identifier: Apache-2.0 */
#include "fault_int.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "format_int.h"
#include "status_int.h"

static const struct {
    int error;
    sli_fault fault;
} faults[] = {
    {EMFILE, SLI_FAULT_DESCRIPTORS},   {ENFILE, SLI_FAULT_DESCRIPTORS},
    {ENOMEM, SLI_FAULT_MEMORY},        {EIO, SLI_FAULT_STORAGE},
    {ESTALE, SLI_FAULT_STORAGE},       {ENOSPC, SLI_FAULT_STORAGE},
    {EDQUOT, SLI_FAULT_STORAGE},       {ETIMEDOUT, SLI_FAULT_STORAGE},
    {EREMOTEIO, SLI_FAULT_STORAGE},    {ENOTCONN, SLI_FAULT_STORAGE},
    {ENETDOWN, SLI_FAULT_STORAGE},     {ENETUNREACH, SLI_FAULT_STORAGE},
    {EHOSTDOWN, SLI_FAULT_STORAGE},    {EHOSTUNREACH, SLI_FAULT_STORAGE},
    {ECONNABORTED, SLI_FAULT_STORAGE}, {ECONNRESET, SLI_FAULT_STORAGE},
    {ELIBACC, SLI_FAULT_LIBRARY},      {ELIBBAD, SLI_FAULT_LIBRARY},
};

enum { FAULTS = sizeof(faults) / sizeof(faults[0]) };

sli_fault sli_fault_of_errno(int error)
{
    for (size_t i = 0; i < FAULTS; i++) {
        if (faults[i].error == error) {
            return faults[i].fault;
        }
    }
    return SLI_FAULT_NONE;
}

sli_fault sli_fault_of_last(sluice_status status)
{
    return status == SLUICE_E_NO_MEMORY ? SLI_FAULT_MEMORY : sli_fault_of_errno(sli_last_errno());
}

sli_fault sli_fault_of_text(const char *text)
{
    for (size_t i = 0; i < FAULTS; i++) {
        char cause[128] = ": ";

        if (strerror_r(faults[i].error, cause + 2, sizeof(cause) - 2) == 0 &&
            strstr(text, cause) != NULL) {
            return faults[i].fault;
        }
    }
    return SLI_FAULT_NONE;
}

sli_fault sli_fault_of_loader(const char *text)
{
    static const char *const without_errno[] = {
        "out of memory", "cannot create shared object descriptor",
        "failed to map segment from shared object"}; /* errors that mean out of memory but have no
                                                        errno text */

    for (size_t i = 0; i < sizeof(without_errno) / sizeof(without_errno[0]); i++) {
        if (sli_ends_in(text, without_errno[i])) {
            return SLI_FAULT_MEMORY;
        }
    }
    return sli_fault_of_text(text);
}
