/* SPDX-License-Identifier: Apache-2.0 */
/* Cancellation tokens. */
#include "stop_int.h"

#include "alloc_int.h"
#include "status_int.h"

sluice_status sluice_stop_create(sluice_stop **stop_out)
{
    sluice_stop *stop;

    if (stop_out == NULL) {
        return sli_fail(SLUICE_E_INVALID, "sluice_stop_create: stop_out is NULL");
    }
    stop = sli_calloc(1, sizeof(*stop));
    if (stop == NULL) {
        return sli_fail(SLUICE_E_NO_MEMORY, "a stop token");
    }
    *stop_out = stop;
    return SLUICE_OK;
}

void sluice_stop_destroy(sluice_stop *stop)
{
    sli_free(stop);
}

void sluice_stop_request(sluice_stop *stop)
{
    if (stop != NULL) {
        atomic_store_explicit(&stop->requested, 1, memory_order_release);
    }
}

void sluice_stop_clear(sluice_stop *stop)
{
    if (stop != NULL) {
        atomic_store_explicit(&stop->requested, 0, memory_order_release);
    }
}
