/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ends long work on one sample when its run stops. A worker sets its interrupt; loops over lines of
 * an image poll it and break off. What they have written is then incomplete, so the function with
 * the loop returns SLUICE_CLOSED. An interrupt that is set stays set.
 */
#ifndef SLUICE_THREAD_INTERRUPT_INT_H
#define SLUICE_THREAD_INTERRUPT_INT_H

#include "backoff_int.h"

/* Sets the interrupt of the calling thread; NULL: its work is never interrupted. It must remain
 * valid until the next call. */
void sli_thread_interrupt(const sli_interrupt *interrupt);

/* True if the interrupt of the calling thread is set. Costs a few nanoseconds. */
bool sli_is_interrupted(void);

/* sli_is_interrupted() at every 16th line, else false. */
static inline bool sli_is_interrupted_at(uint32_t line)
{
    return line % 16 == 0 && sli_is_interrupted();
}

#endif
