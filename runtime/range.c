/* SPDX-License-Identifier: Apache-2.0 */
/* Ranges by NVTX 3, whose headers are all of it: they load the tool that NVTX_INJECTION64_PATH
 * names, which is how tools have themselves loaded. */
#include "range_int.h"

#include <nvtx3/nvToolsExt.h>
#include <pthread.h>

_Atomic(void *) sli_range_domain;

static pthread_once_t once = PTHREAD_ONCE_INIT;

static void find_tool(void)
{
    /* NULL where there is no tool. Who uses ranges has come through the once, so the order of this
     * store and of what NVTX has written is given by that. */
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
