/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The one-thread kernels of GetNext: they wait for batches, count steps and decide how a launch
 * ends, in the same order as sink/host/host_program.c. Included by getnext.cu, by kernels that add
 * work at the same points (sink/cuda), and by code that runs them on the CPU; that code defines the
 * clock and the pause declared below.
 *
 * Every wait is bounded: a kernel has no guarantee that work of another stream progresses while it
 * waits. At the bound the launch ends with a yield, and the host waits instead.
 */
#ifndef SLUICE_GETNEXT_CONTROL_INT_H
#define SLUICE_GETNEXT_CONTROL_INT_H

#include "getnext_int.h"

enum {
    GETNEXT_FIRST_BACKOFF_NS = 32, /* first back-off between polls of the ring; doubles */
    GETNEXT_LAST_BACKOFF_NS = 256,
    GETNEXT_STOP_POLL_NS = 50000, /* interval between polls of the stop word, in host memory */
    /*
     * A poll takes at least this long on any device. A wait is therefore limited to spin_ns /
     * GETNEXT_POLL_NS + GETNEXT_POLLS polls: that never shortens it, but ends it even if the clock
     * does not advance.
     */
    GETNEXT_POLL_NS = 16,
    GETNEXT_POLLS = 64
};

#if defined(__CUDACC__)
SLI_KERNEL_FN uint64_t getnext_now_ns(void)
{
    uint64_t now;

    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
    return now;
}

SLI_KERNEL_FN void getnext_pause(uint32_t ns)
{
    __nanosleep(ns);
}
#else
static uint64_t getnext_now_ns(void);
static void getnext_pause(uint32_t ns);
#endif

/* Ends the launch and reports to the host. Returns false, the new value of the loop's condition. */
SLI_KERNEL_FN bool getnext_finish(const sli_getnext *g, sli_getnext_end end)
{
    sli_getnext_state *s = g->state;
    sli_getnext_report *r = g->report;

    s->end = (uint32_t)end;
    r->end = (uint64_t)end;
    r->steps = s->steps;
    r->seq = s->seq;
    r->micro = s->micro;
    r->waits = s->waits;
    r->wait_ns = s->wait_ns;
    r->polls = s->polls;
    return false;
}

/* True if the host has requested a stop. Reads the stop word, in host memory, at most once per
 * GETNEXT_STOP_POLL_NS and returns false in between. */
SLI_KERNEL_FN bool getnext_stop_seen(const sli_getnext *g, uint64_t now_ns)
{
    if (now_ns - g->state->polled_ns < GETNEXT_STOP_POLL_NS) {
        return false;
    }
    g->state->polled_ns = now_ns;
    return sli_ring_load_acquire(g->stop) != 0;
}

/* Polls for a batch, for a bounded time. Returns EMPTY if the batch is late or a stop is
 * requested. */
SLI_KERNEL_FN sli_ring_kind getnext_wait(const sli_getnext *g, uint64_t seq)
{
    sli_getnext_state *s = g->state;
    const uint64_t budget_ns = s->spin_ns;
    const uint64_t most = budget_ns / GETNEXT_POLL_NS + GETNEXT_POLLS;
    uint32_t backoff_ns = GETNEXT_FIRST_BACKOFF_NS;
    uint64_t polls = 1;
    sli_ring_kind kind = sli_ring_peek(&g->ring, seq);

    if (kind == SLI_RING_EMPTY) {
        const uint64_t start = getnext_now_ns();
        uint64_t now = start;

        while (kind == SLI_RING_EMPTY && now - start < budget_ns && polls < most &&
               !getnext_stop_seen(g, now)) {
            getnext_pause(backoff_ns);
            backoff_ns =
                backoff_ns < GETNEXT_LAST_BACKOFF_NS ? backoff_ns * 2 : GETNEXT_LAST_BACKOFF_NS;
            kind = sli_ring_peek(&g->ring, seq);
            polls++;
            now = getnext_now_ns();
        }
        s->waits++;
        s->wait_ns += now - start;
    }
    s->polls += polls;
    return kind;
}

/* Makes batch s->seq, which has arrived, the current batch after checking its header. Returns
 * whether the loop continues. */
SLI_KERNEL_FN bool getnext_take(const sli_getnext *g)
{
    sli_getnext_state *s = g->state;
    const uint8_t *slot = g->slots + sli_ring_slot(&g->ring, s->seq) * g->slot_bytes;

    /*
     * volatile: the kernel started before the slot was written, so a cached value must not be used.
     */
    if (((const volatile sli_batch_header *)slot)->seq != s->seq) {
        return getnext_finish(g, SLI_GETNEXT_CORRUPT);
    }
    s->end = SLI_GETNEXT_GOES_ON;
    s->found_ns = getnext_now_ns();
    return true;
}

/* Ends a launch whose next batch is late: with STOPPED if a stop is requested, else with YIELD. */
SLI_KERNEL_FN bool getnext_give_up(const sli_getnext *g)
{
    return getnext_finish(g, sli_ring_load_acquire(g->stop) != 0 ? SLI_GETNEXT_STOPPED
                                                                 : SLI_GETNEXT_YIELD);
}

/*
 * Waits for batch s->seq and, if g->turn is above 1, for the next g->turn - 1 batches. Returns
 * whether the loop continues.
 */
SLI_KERNEL_FN bool getnext_find(const sli_getnext *g)
{
    const uint64_t seq = g->state->seq;

    switch (getnext_wait(g, seq)) {
    case SLI_RING_BATCH:
        break;
    case SLI_RING_END:
        return getnext_finish(g, SLI_GETNEXT_END_OF_DATA);
    case SLI_RING_ERROR:
        return getnext_finish(g, SLI_GETNEXT_FAILED);
    default:
        return getnext_give_up(g);
    }
    for (uint32_t i = 1; i < g->turn; i++) {
        if (getnext_wait(g, seq + i) != SLI_RING_BATCH) {
            return getnext_give_up(g); /* the host then launches the loop with single batches */
        }
    }
    return getnext_take(g);
}

/*
 * Begins a launch. Launches after one that ended early are no-ops. Returns whether the loop runs.
 */
SLI_KERNEL_FN bool getnext_begin(const sli_getnext *g)
{
    sli_getnext_state *s = g->state;
    const sli_getnext_command command = *g->command;

    if (s->collects != command.collects) {
        s->collects = command.collects;
        s->steps = 0;
        s->waits = 0;
        s->wait_ns = 0;
        s->polls = 0;
        s->end = s->end == SLI_GETNEXT_YIELD ? (uint32_t)SLI_GETNEXT_DONE : s->end;
    }
    if (s->end != SLI_GETNEXT_DONE) {
        return false;
    }
    s->left = command.steps;
    s->spin_ns = command.spin_ns;
    s->polled_ns = getnext_now_ns();
    if (s->left == 0) {
        return getnext_finish(g, SLI_GETNEXT_DONE);
    }
    if (sli_ring_load_acquire(g->stop) != 0) {
        return getnext_finish(g, SLI_GETNEXT_STOPPED);
    }
    return getnext_find(g);
}

/* Counts the gathered batch, and its step if the batch is the last one of the step. */
SLI_KERNEL_FN void getnext_count(const sli_getnext *g)
{
    sli_getnext_state *s = g->state;

    s->seq++;
    s->micro++;
    if (s->micro == g->micro_batches) {
        s->micro = 0;
        s->steps++;
        s->left--;
    }
}

/* After getnext_count(): waits for the next batch or ends the launch. */
SLI_KERNEL_FN bool getnext_go_on(const sli_getnext *g)
{
    if (getnext_stop_seen(g, getnext_now_ns())) {
        return getnext_finish(g, SLI_GETNEXT_STOPPED);
    }
    return g->state->left == 0 ? getnext_finish(g, SLI_GETNEXT_DONE) : getnext_find(g);
}

/* Runs after a batch is gathered, in parallel with its step or after it. */
SLI_KERNEL_FN bool getnext_next(const sli_getnext *g)
{
    if (g->state->end != SLI_GETNEXT_GOES_ON) {
        return false; /* the launch has already ended; a graph without a loop still runs this
                         kernel */
    }
    getnext_count(g);
    return getnext_go_on(g);
}

#endif
