/* SPDX-License-Identifier: Apache-2.0 */
#include "callback_int.h"

#include <stdarg.h>
#include <stdio.h>

#include "format_int.h"
#include "status_int.h"

bool sli_is_status(sluice_status status)
{
    return sluice_status_name(status)[0] != '?';
}

sluice_status sli_callback_status(sluice_status returned, uint64_t before, const char *format, ...)
{
    char callback[SLI_ERROR_SIZE];
    va_list args;

    if (returned >= SLUICE_OK && sli_is_status(returned)) {
        return returned;
    }
    va_start(args, format);
    sli_print_args(callback, sizeof(callback), format, args);
    va_end(args);
    if (!sli_is_status(returned)) {
        return sli_fail_from(SLUICE_E_CALLBACK, before,
                             "%s returned %d, which is not a sluice_status", callback,
                             (int)returned);
    }
    return sli_fail_from(returned, before, "%s returned %s", callback,
                         sluice_status_name(returned));
}
