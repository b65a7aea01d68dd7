/* SPDX-License-Identifier: Apache-2.0 */
/* File descriptors that run out, and back-off that does not sleep. */
#ifndef SLUICE_FAULT_KIT_H
#define SLUICE_FAULT_KIT_H

#include <stdatomic.h>
#include <stdint.h>

/* What back-off has asked for instead of sleeping. */
typedef struct fault_pauses {
    _Atomic uint64_t count;
    _Atomic int64_t slept_ns;
    uint64_t restore_at;     /* in this pause descriptors are there again; 0: in none */
    void (*also)(void *arg); /* called in each pause; NULL: nothing */
    void *arg;
} fault_pauses;

extern fault_pauses pauses;

/* Back-off sleeps no more; pauses are counted from 0. */
void fault_pauses_begin(void);

/* From now on this process cannot open another file. */
void fault_take_descriptors(void);

/* It can again; back-off sleeps again. */
void fault_pauses_end(void);

#endif
