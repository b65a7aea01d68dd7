/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Work that is done by several threads and taken in order by one: workers make items, in any
 * order, and the caller takes them one after another, so that what it does with them does not
 * depend on how many workers there are.
 */
#ifndef SLUICE_ORDERED_RUN_H
#define SLUICE_ORDERED_RUN_H

#include <stddef.h>
#include <stdint.h>

#include <sluice/status.h>
#include <sluice/stop.h>

typedef struct ordered_job {
    uint64_t first; /* items [first, end); or until make() answers END_OF_DATA */
    uint64_t end;
    uint32_t workers;        /* 0: by cores and quota */
    size_t budget;           /* bytes of items that are made and not taken; one is always let in */
    const sluice_stop *stop; /* NULL: nobody can ask */
    void *arg;

    /* Makes an item, on worker `worker` (below SLI_MAX_WORKERS). An error ends the run when all
     * items before it are taken. */
    sluice_status (*make)(void *arg, uint32_t worker, uint64_t item, void **made_out,
                          size_t *bytes_out);

    /* Takes an item, on the caller's thread; it is the taker's, also on failure, which ends the
     * run. */
    sluice_status (*take)(void *arg, uint64_t item, void *made);

    void (*drop)(void *made); /* frees an item that nobody takes */

    /* Optional: nobody takes any more; who waits in make() returns. On the caller's thread. */
    void (*cancel)(void *arg);
} ordered_job;

/* STOPPED; E_NO_MEMORY; what make() and take() answer, END_OF_DATA too. All threads have ended when it returns. */
sluice_status ordered_run(const ordered_job *job);

#endif
