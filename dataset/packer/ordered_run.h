/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parallel work with ordered results: workers make items in any order, and the caller's thread
 * takes them in order. The results therefore do not depend on the number of workers.
 */
#ifndef SLUICE_ORDERED_RUN_H
#define SLUICE_ORDERED_RUN_H

#include <stddef.h>
#include <stdint.h>

#include <sluice/status.h>
#include <sluice/stop.h>

typedef struct ordered_job {
    uint64_t first; /* items [first, end) are made; END_OF_DATA from make() ends the range early */
    uint64_t end;
    uint32_t workers;        /* 0: chosen by the number of cores and the CPU quota */
    size_t budget;           /* limit on the bytes of items that are ready but not taken; one item
                                is always admitted */
    const sluice_stop *stop; /* NULL: the run cannot be stopped */
    void *arg;

    /*
     * Makes an item on worker `worker`, which is below SLI_MAX_WORKERS. If it returns an error, the
     * run ends once all earlier items were taken. The thread's interrupt (thread_interrupt_int.h)
     * is set once a stop is requested or the run ends; then it may return CLOSED.
     */
    sluice_status (*make)(void *arg, uint32_t worker, uint64_t item, void **made_out,
                          size_t *bytes_out);

    /* Optional: called once on each worker's thread, after its last item. */
    void (*leave)(void *arg, uint32_t worker);

    /*
     * Takes an item, on the caller's thread. Ownership of `made` is transferred, even on failure. A
     * failure ends the run.
     */
    sluice_status (*take)(void *arg, uint64_t item, void *made);

    void (*drop)(void *made); /* frees an item that was made but will not be taken */

    /* Optional: cancels waits in make(). Called on the caller's thread when the run ends. */
    void (*cancel)(void *arg);
} ordered_job;

/*
 * Runs the job, and returns after all threads have ended. Returns STOPPED, E_NO_MEMORY, or a status
 * of make() or take(), including END_OF_DATA.
 */
sluice_status ordered_run(const ordered_job *job);

#endif
