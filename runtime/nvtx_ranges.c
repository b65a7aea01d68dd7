/* SPDX-License-Identifier: Apache-2.0 */
/*
 * NVTX ranges by NVTX 3, a header-only library that loads the profiler named by
 * NVTX_INJECTION64_PATH.
 */
#include "nvtx_ranges_int.h"

#include <nvtx3/nvToolsExt.h>
#include <pthread.h>

_Atomic(void *) sli_range_domain;

static pthread_once_t once = PTHREAD_ONCE_INIT;

static void find_tool(void)
{
    /*
     * NULL without a profiler. Relaxed: every thread with ranges has called pthread_once(), which
     * orders this store and the writes of NVTX before its ranges.
     */
    atomic_store_explicit(&sli_range_domain, nvtxDomainCreateA("sluice"), memory_order_relaxed);
}

void sli_ranges_start(void)
{
    (void)pthread_once(&once, find_tool);
}

static nvtxDomainHandle_t domain(void)
{
    return atomic_load_explicit(&sli_range_domain, memory_order_relaxed);
}

void sli_range_push(const char *name)
{
    const nvtxEventAttributes_t range = {.version = NVTX_VERSION,
                                         .size = NVTX_EVENT_ATTRIB_STRUCT_SIZE,
                                         .messageType = NVTX_MESSAGE_TYPE_ASCII,
                                         .message.ascii = name};

    (void)nvtxDomainRangePushEx(domain(), &range);
}

void sli_range_pop(void)
{
    (void)nvtxDomainRangePop(domain());
}
