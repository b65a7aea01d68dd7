/* SPDX-License-Identifier: Apache-2.0 */
#include "report_request.h"

#include <sluice/report.h>
#include <stdatomic.h>

static _Atomic uint64_t requests; /* lock-free, since signal handlers use it */

void sluice_report_request(void)
{
    atomic_fetch_add_explicit(&requests, 1, memory_order_relaxed);
}

uint64_t report_requests(void)
{
    return atomic_load_explicit(&requests, memory_order_relaxed);
}
