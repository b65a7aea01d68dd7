/* SPDX-License-Identifier: Apache-2.0 */
/*
 * NVTX ranges for profilers such as Nsight Systems: one range per stage of a sample or a batch, in
 * the thread that runs it. Built if the NVTX headers are installed (SLI_HAVE_NVTX). Without a
 * profiler in the process a range costs a load and a branch.
 */
#ifndef SLUICE_NVTX_RANGES_INT_H
#define SLUICE_NVTX_RANGES_INT_H

#ifdef SLI_HAVE_NVTX

#include <stdatomic.h>
#include <stddef.h>

extern _Atomic(void *) sli_range_domain; /* NULL: no profiler is loaded */

void sli_range_push(const char *name);
void sli_range_pop(void);

/*
 * Loads the profiler, once per process. Must be called before the first range, since otherwise a
 * range could end that has not begun.
 */
void sli_ranges_start(void);

/* Ranges of a thread nest; each ends in the thread that began it. name is copied. */
static inline void sli_range_begin(const char *name)
{
    if (atomic_load_explicit(&sli_range_domain, memory_order_relaxed) != NULL) {
        sli_range_push(name);
    }
}

static inline void sli_range_end(void)
{
    if (atomic_load_explicit(&sli_range_domain, memory_order_relaxed) != NULL) {
        sli_range_pop();
    }
}

#else

static inline void sli_ranges_start(void)
{
}

static inline void sli_range_begin(const char *name)
{
    (void)name;
}

static inline void sli_range_end(void)
{
}

#endif

#endif
