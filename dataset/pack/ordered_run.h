/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parallel work with ordered results: workers make items in any order, and the caller's thread
 * takes them in order. What it does with them therefore does not depend on the number of workers.
 */
#ifndef SLUICE_ORDERED_RUN_H
#define SLUICE_ORDERED_RUN_H

#include <stddef.h>
#include <stdint.h>

#include <sluice/status.h>
#include <sluice/stop.h>

typedef struct ordered_job {
    uint64_t first; /* items [first, end), or until make() returns END_OF_DATA */
    uint64_t end;
    uint32_t workers;        /* 0: by cores and CPU quota */
    size_t budget;           /* bound on the bytes of items that are ready and not taken; one
                                item is always admitted */
    const sluice_stop *stop; /* NULL: no stop requests */
    void *arg;

    /*
     * Makes an item, on worker `worker` (below SLI_MAX_WORKERS). An error ends the run once all
     * items before it were taken.
     */
    sluice_status (*make)(void *arg, uint32_t worker, uint64_t item, void **made_out,
                          size_t *bytes_out);

    /* Optional: the last call on the thread of a worker. */
    void (*leave)(void *arg, uint32_t worker);

    /*
     * Takes an item, on the caller's thread, and its ownership, even on failure. A failure ends the
     * run.
     */
    sluice_status (*take)(void *arg, uint64_t item, void *made);

    void (*drop)(void *made); /* frees an item that will not be taken */

    /* Optional: cancels pending waits in make(). Called on the caller's thread. */
    void (*cancel)(void *arg);
} ordered_job;

/*
 * Returns STOPPED, E_NO_MEMORY, or what make() and take() return, including END_OF_DATA. All
 * threads have ended by then.
 */
sluice_status ordered_run(const ordered_job *job);

#endif
