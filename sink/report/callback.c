/* SPDX-License-Identifier: Apache-2.0 */
#include "callback.h"

#include "alloc_int.h"
#include "status_int.h"

sluice_status callback_create(const sluice_callback *hooks, void *user, const char *function,
                              sluice_callback **callback_out)
{
    sluice_callback *callback = sli_calloc(1, sizeof(*callback));

    if (callback == NULL) {
        sli_free(user);
        return sli_fail(SLUICE_E_NO_MEMORY, "%s: the callback", function);
    }
    *callback = *hooks;
    callback->struct_size = sizeof(*callback);
    callback->user = user;
    *callback_out = callback;
    return SLUICE_OK;
}

void sluice_callback_destroy(sluice_callback *callback)
{
    if (callback != NULL) {
        sli_free(callback->user);
        sli_free(callback);
    }
}
