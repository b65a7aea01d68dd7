/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ranges that profilers show, Nsight Systems for one: who does what when, in each thread. Made by
 * NVTX where the build has its headers (SLI_HAVE_NVTX). Without a tool in the process a range is a
 * load and a branch.
 */
#ifndef SLUICE_RANGE_INT_H
#define SLUICE_RANGE_INT_H

#ifdef SLI_HAVE_NVTX

#include <stdatomic.h>
#include <stddef.h>

extern _Atomic(void *) sli_range_domain; /* NULL: no tool wants any */

void sli_range_push(const char *name);
void sli_range_pop(void);

/* Looks for a tool, once in a process; before the first range of what the caller is about to start,
 * or a range might end that has not begun. */
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
