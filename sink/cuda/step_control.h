/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The bodies of a sink program's kernels; see step_kernels.h. Included by step_kernels.cu and by
 * code that runs the bodies on the CPU. The including file supplies the functions that
 * getnext_control_int.h requires.
 */
#ifndef SLUICE_STEP_CONTROL_H
#define SLUICE_STEP_CONTROL_H

#if !defined(__CUDACC__)
#include <math.h>
#include <string.h>
#endif

#include "digest_int.h"
#include "getnext_control_int.h"
#include "step_kernels.h"

/* ---- the frame of a step --------------------------------------------------------------------- */

SLI_KERNEL_FN uint64_t step_epoch(const step_control *c, uint64_t step, uint64_t pass)
{
    if (c->epoch_is_pass) {
        return pass;
    }
    return step < c->epoch_step ? c->epoch - 1
                                : c->epoch + (step - c->epoch_step) / c->steps_per_epoch;
}

/* Initializes frame and trace of the step that begins with the current batch. */
SLI_KERNEL_FN void step_enter_first(const step_control *c, uint64_t step, uint64_t pass)
{
    step_frame *frame = c->frame;

    frame->step = step;
    frame->epoch = step_epoch(c, step, pass);
    frame->learning_rate = c->rates != NULL ? c->rates[c->getnext.state->steps] : 0;
    for (uint32_t i = 0; i < SLUICE_MAX_OUTPUTS; i++) {
        frame->outputs[i] = 0;
    }
    c->state->current.valid_rows = 0;
    c->state->current.digest = 0;
    c->state->current.gather_ns = 0;
    c->state->current.map_ns = 0;
    c->state->current.step_ns = 0;
}

/* Call once the next batch has arrived: writes the step's frame, before the batch is gathered. */
SLI_KERNEL_FN void step_enter(const step_control *c)
{
    const sli_getnext_state *s = c->getnext.state;
    /* volatile: this kernel began before the slot was written, so the read must not be served from
     * a cache. */
    const volatile sli_batch_header *header =
        (const volatile sli_batch_header *)(const void *)(c->getnext.slots +
                                                          sli_ring_slot(&c->getnext.ring, s->seq) *
                                                              c->getnext.slot_bytes);
    const uint64_t step = c->first_step + (s->seq - 1) / c->getnext.micro_batches;
    const uint64_t key = sli_mix_in(c->seed, step);

    if (s->micro == 0) {
        c->state->current.pass = header->pass;
        step_enter_first(c, step, c->state->current.pass);
        c->state->current.first_sample = header->first_sample;
    }
    c->state->valid_rows = header->valid_rows;
    c->state->current.valid_rows += header->valid_rows;
    c->frame->micro = s->micro;
    c->frame->random_key = s->micro == 0 ? key : sli_mix_in(key, s->micro);
    for (uint32_t i = 0; i < c->column_count; i++) {
        c->state->digests[i] = 0;
    }
}

/* Writes the frame of a batch of a channel, which has no learning rate and no outputs. */
SLI_KERNEL_FN void step_enter_batch(const batch_frame *b)
{
    b->frame->step = b->number;
    b->frame->epoch = b->header->pass;
    b->frame->random_key = b->random_key;
    b->frame->micro = 0;
    b->frame->learning_rate = 0;
}

/* ---- after a step ---------------------------------------------------------------------------- */

/* Folds the batch's digests into the step's digest, like the host device's program. */
SLI_KERNEL_FN void step_fold_digest(const step_control *c)
{
    step_state *state = c->state;
    uint64_t digest = 0;

    for (uint32_t i = 0; i < c->column_count; i++) {
        digest = sli_mix_in(digest, state->digests[i]);
    }
    digest = sli_mix_in(digest, state->valid_rows);
    state->current.digest =
        c->getnext.state->micro == 0 ? digest : sli_mix_in(state->current.digest, digest);
}

/* Stores the trace of the step that has ended. Returns false if the NaN guard ends the run. */
SLI_KERNEL_FN bool step_keep(const step_control *c)
{
    step_trace *trace = &c->traces[c->getnext.state->steps];
    bool finite = true;

    for (uint32_t i = 0; i < c->output_count; i++) {
        const float output = c->frame->outputs[i];

        finite = finite && isfinite(output);
        trace->outputs[i] = output;
    }
    trace->pass = c->state->current.pass;
    trace->first_sample = c->state->current.first_sample;
    trace->digest = c->state->current.digest;
    trace->valid_rows = c->state->current.valid_rows;
    trace->gather_ns = c->state->current.gather_ns;
    trace->map_ns = c->state->current.map_ns;
    trace->step_ns = c->state->current.step_ns;
    if (finite || c->nan_guard == SLUICE_NAN_IGNORE) {
        return true;
    }
    if (c->state->nan_steps++ == 0) {
        c->report->first_nan_step = c->frame->step;
    }
    return c->nan_guard != SLUICE_NAN_STOP;
}

/* Completes the batch after its step: updates times, digest, trace and counts. Returns false if the
 * NaN guard ends the run. */
SLI_KERNEL_FN bool step_leave(const step_control *c)
{
    const sli_getnext *g = &c->getnext;
    const uint64_t now = getnext_now_ns();
    const uint64_t seq = g->state->seq;
    const uint64_t gathered = g->state->gathered_ns;
    const uint64_t mapped = c->state->mapped_ns != 0 ? c->state->mapped_ns : gathered;
    bool good = true;

    c->state->current.gather_ns += gathered - g->state->found_ns;
    c->state->current.map_ns += mapped - gathered;
    c->state->current.step_ns += now - mapped;
    c->state->mapped_ns = 0;
    c->state->ended_ns = now;
    if (c->column_count > 0) {
        step_fold_digest(c);
    }
    if (g->state->micro + 1 == g->micro_batches) {
        good = step_keep(c);
    }
    getnext_count(g);
    sli_ring_store_relaxed(&c->report->batches_done, seq);
    return good;
}

/* ---- the kernels of one thread --------------------------------------------------------------- */

/* Reports how a launch ended to the host, after getnext_finish(). */
SLI_KERNEL_FN bool step_end_launch(const step_control *c)
{
    const uint32_t end = c->getnext.state->end;

    c->report->nan_steps = c->state->nan_steps;
    c->report->idle_ns = c->state->idle_ns;
    if (end != SLI_GETNEXT_DONE) {
        sli_ring_store_release(&c->report->ended, 1);
    }
    return false;
}

/* Begins a launch; returns whether a step follows. */
SLI_KERNEL_FN bool step_begin(const step_control *c)
{
    const sli_getnext_state *s = c->getnext.state;
    const bool first = s->collects != c->getnext.command->collects;

    if (!getnext_begin(&c->getnext)) {
        return step_end_launch(c);
    }
    if (!first && c->state->ended_ns != 0) {
        c->state->idle_ns += s->found_ns - c->state->ended_ns;
    }
    step_enter(c);
    return true;
}

/* Runs after each step of an iteration except the last; the iteration's next batch has arrived. */
SLI_KERNEL_FN void step_inner(const step_control *c)
{
    const sli_getnext *g = &c->getnext;

    if (g->state->end != SLI_GETNEXT_GOES_ON) {
        return; /* the rest of the iteration consumes no batch, and the run fails */
    }
    if (!step_leave(c)) {
        getnext_finish(g, SLI_GETNEXT_HALTED);
        step_end_launch(c);
    } else if (getnext_take(g)) {
        step_enter(c);
    } else {
        step_end_launch(c);
    }
}

/* Runs after the last step of an iteration; returns whether another iteration follows. */
SLI_KERNEL_FN bool step_next(const step_control *c)
{
    const sli_getnext *g = &c->getnext;

    if (g->state->end != SLI_GETNEXT_GOES_ON) {
        /* The launch has ended early; its later kernels still run in a graph without a loop or with
         * an unrolled one. */
        c->report->idle_turn = 1;
        return false;
    }
    if (!step_leave(c)) {
        getnext_finish(g, SLI_GETNEXT_HALTED);
        return step_end_launch(c);
    }
    if (c->one_batch) {
        getnext_finish(g, SLI_GETNEXT_DONE);
        return step_end_launch(c);
    }
    if (!getnext_go_on(g)) {
        return step_end_launch(c);
    }
    step_enter(c);
    return true;
}

/* Runs after the device maps of a batch, before its step. */
SLI_KERNEL_FN void step_mark(const step_control *c)
{
    c->state->mapped_ns = getnext_now_ns();
}

/* ---- the digest ------------------------------------------------------------------------------ */

/* Part of a column's digest that thread t of n computes. The gather is an earlier kernel, so its
 * writes are visible. */
SLI_KERNEL_FN uint64_t step_digest_share(const step_digest *d, uint32_t column, uint64_t t,
                                         uint64_t n)
{
    const uint8_t *bytes = d->columns[column];
    const uint64_t words = d->bytes[column] / 8;
    const uint64_t rest = d->bytes[column] % 8;
    uint64_t sum = 0;

    for (uint64_t i = t; i < words; i += n) {
        sum += sli_digest_word(((const uint64_t *)(const void *)bytes)[i], i);
    }
    if (rest > 0 && t == 0) {
        uint64_t last = 0;

        for (uint64_t i = 0; i < rest; i++) {
            last |= (uint64_t)bytes[words * 8 + i] << (8 * i);
        }
        sum += sli_digest_word(last, words);
    }
    return sum;
}

#endif
