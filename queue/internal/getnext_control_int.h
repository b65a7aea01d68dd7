/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the one-thread kernels of GetNext do: wait for batches, count steps, say how a launch ends.
 * The same ends in the same order as sink/host_program.c. Included by getnext.cu, by kernels that
 * do more at the same places (sink/cuda), and by whatever runs it on the CPU, which supplies the
 * clock and the pause declared below.
 *
 * Nothing here waits without a bound: a device that waits for what another stream brings has no
 * promise that it is brought meanwhile, so a wait that lasts becomes a yield, and the host waits.
 */
#ifndef SLUICE_GETNEXT_CONTROL_INT_H
#define SLUICE_GETNEXT_CONTROL_INT_H

#include "getnext_int.h"

enum {
    GETNEXT_FIRST_NAP_NS = 32, /* between two looks at the ring; doubled each time up to the last */
    GETNEXT_LAST_NAP_NS = 256,
    GETNEXT_STOP_LOOK_NS = 50000, /* between two looks at the stop word, which is in host memory */
    /* A look takes longer than this on any device, so one that has looked once for each of them
     * has waited long enough, whatever its clock says. */
    GETNEXT_LOOK_NS = 16,
    GETNEXT_LOOKS = 64
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

/* Ends the launch and tells the host. Returns false, what the loop's condition becomes. */
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

/* Has the host asked to stop? Looks only now and then. */
SLI_KERNEL_FN bool getnext_stop_seen(const sli_getnext *g, uint64_t now_ns)
{
    if (now_ns - g->state->looked_ns < GETNEXT_STOP_LOOK_NS) {
        return false;
    }
    g->state->looked_ns = now_ns;
    return sli_ring_load_acquire(g->stop) != 0;
}

/* Looks for a batch until it is there, for a bounded time; EMPTY when it is late, or when the host
 * has asked to stop. */
SLI_KERNEL_FN sli_ring_kind getnext_wait(const sli_getnext *g, uint64_t seq)
{
    sli_getnext_state *s = g->state;
    const uint64_t budget_ns = s->spin_ns;
    const uint64_t most = budget_ns / GETNEXT_LOOK_NS + GETNEXT_LOOKS;
    uint32_t nap_ns = GETNEXT_FIRST_NAP_NS;
    uint64_t looks = 1;
    sli_ring_kind kind = sli_ring_peek(&g->ring, seq);

    if (kind == SLI_RING_EMPTY) {
        const uint64_t start = getnext_now_ns();
        uint64_t now = start;

        while (kind == SLI_RING_EMPTY && now - start < budget_ns && looks < most &&
               !getnext_stop_seen(g, now)) {
            getnext_pause(nap_ns);
            nap_ns = nap_ns < GETNEXT_LAST_NAP_NS ? nap_ns * 2 : GETNEXT_LAST_NAP_NS;
            kind = sli_ring_peek(&g->ring, seq);
            looks++;
            now = getnext_now_ns();
        }
        s->waits++;
        s->wait_ns += now - start;
    }
    s->polls += looks;
    return kind;
}

/* Takes batch s->seq, which is there. */
SLI_KERNEL_FN bool getnext_take(const sli_getnext *g)
{
    sli_getnext_state *s = g->state;
    const uint8_t *slot = g->slots + sli_ring_slot(&g->ring, s->seq) * g->slot_bytes;

    /* volatile: this kernel began before the slot was written, so no cache may answer for it. */
    if (((const volatile sli_batch_header *)slot)->seq != s->seq) {
        return getnext_finish(g, SLI_GETNEXT_CORRUPT);
    }
    s->end = SLI_GETNEXT_GOES_ON;
    s->found_ns = getnext_now_ns();
    return true;
}

/* A launch that ends for want of a batch: was it asked to? */
SLI_KERNEL_FN bool getnext_give_up(const sli_getnext *g)
{
    return getnext_finish(g, sli_ring_load_acquire(g->stop) != 0 ? SLI_GETNEXT_STOPPED
                                                                 : SLI_GETNEXT_YIELD);
}

/* Finds batch s->seq, and those of the same turn behind it, and says whether the loop goes on. */
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
            return getnext_give_up(g); /* a loop of single batches takes those before it */
        }
    }
    return getnext_take(g);
}

/* At the start of a launch. A launch behind one that ended early does nothing. */
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
    s->looked_ns = getnext_now_ns();
    if (s->left == 0) {
        return getnext_finish(g, SLI_GETNEXT_DONE);
    }
    if (sli_ring_load_acquire(g->stop) != 0) {
        return getnext_finish(g, SLI_GETNEXT_STOPPED);
    }
    return getnext_find(g);
}

/* Counts the batch that was gathered, and whose step has ended. */
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

/* Behind that: the next batch, or the end of the launch. */
SLI_KERNEL_FN bool getnext_go_on(const sli_getnext *g)
{
    if (getnext_stop_seen(g, getnext_now_ns())) {
        return getnext_finish(g, SLI_GETNEXT_STOPPED);
    }
    return g->state->left == 0 ? getnext_finish(g, SLI_GETNEXT_DONE) : getnext_find(g);
}

/* After a batch was gathered, beside its step or behind it. */
SLI_KERNEL_FN bool getnext_next(const sli_getnext *g)
{
    if (g->state->end != SLI_GETNEXT_GOES_ON) {
        return false; /* in a graph without a loop */
    }
    getnext_count(g);
    return getnext_go_on(g);
}

#endif
