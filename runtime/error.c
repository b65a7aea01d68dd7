/* SPDX-License-Identifier: Apache-2.0 */
#include "error_int.h"

#include <stdbool.h>
#include <stdio.h>

void sli_error_take(sluice_status status, sli_error *error_out)
{
    const bool failed = status < 0;

    error_out->status = status;
    error_out->error_number = failed ? sli_last_errno() : 0;
    snprintf(error_out->text, sizeof(error_out->text), "%s", failed ? sluice_last_error() : "");
}

void sli_error_take_first(sluice_status status, sli_error *error)
{
    if (error->status >= 0) {
        sli_error_take(status, error);
    }
}

void sli_error_set(sluice_status status, const char *text, sli_error *error_out)
{
    error_out->status = status;
    error_out->error_number = 0;
    snprintf(error_out->text, sizeof(error_out->text), "%s",
             text != NULL ? text : sluice_status_text(status));
}

sluice_status sli_error_raise(const sli_error *error)
{
    return error->status < 0 ? sli_fail_kept(error->status, error->error_number, error->text)
                             : error->status;
}
