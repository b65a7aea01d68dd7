/* SPDX-License-Identifier: Apache-2.0 */
#include "ring_simulation.h"

#include <stdlib.h>

#include "random_kit.h"

typedef struct state {
    const ring_simulation *s;
    size_t *order; /* (samples) of this pass */
    size_t next;   /* in order */
    uint32_t random;
    double free_at[RING_SIMULATION_WORKERS]; /* (workers) a heap, the first to be free on top */
    double *released;                        /* (slots) when each slot was released last */
    double busy;                             /* time that workers worked */
} state;

static void shuffle(state *t)
{
    for (size_t i = t->s->samples - 1; i > 0; i--) {
        const size_t j = test_below(&t->random, (uint32_t)i + 1);
        const size_t sample = t->order[i];

        t->order[i] = t->order[j];
        t->order[j] = sample;
    }
    t->next = 0;
}

static double next_cost(state *t)
{
    if (t->next == t->s->samples) {
        shuffle(t);
    }
    return t->s->costs[t->order[t->next++]];
}

/* The worker on top of the heap is free again at another time. */
static void replace_top(state *t, double free_at)
{
    const uint32_t workers = t->s->workers;
    uint32_t at = 0;

    for (uint32_t child = 1; child < workers; child = 2 * at + 1) {
        if (child + 1 < workers && t->free_at[child + 1] < t->free_at[child]) {
            child++;
        }
        if (t->free_at[child] >= free_at) {
            break;
        }
        t->free_at[at] = t->free_at[child];
        at = child;
    }
    t->free_at[at] = free_at;
}

/* Rows of a batch whose slot is free from `room` on; returns when the last is done. */
static double fill_batch(state *t, double room)
{
    double complete = 0;

    for (uint32_t row = 0; row < t->s->batch_size; row++) {
        const double cost = next_cost(t);
        const double done = (t->free_at[0] > room ? t->free_at[0] : room) + cost;

        t->busy += cost;
        complete = done > complete ? done : complete;
        replace_top(t, done);
    }
    return complete;
}

static double run(state *t)
{
    const ring_simulation *s = t->s;
    double mean = 0;
    double step_ns;
    double step_end = 0;

    for (size_t i = 0; i < s->samples; i++) {
        mean += s->costs[i] / (double)s->samples;
        t->order[i] = i;
    }
    shuffle(t);
    step_ns = s->step_share * mean * s->batch_size / s->workers;
    for (uint64_t batch = 0; batch < s->batches; batch++) {
        double *released = &t->released[batch % s->slots];
        const double complete = fill_batch(t, *released);
        const double step_start = complete > step_end ? complete : step_end;

        step_end = step_start + step_ns;
        *released = s->lends ? step_end : step_start;
    }
    return t->busy / (s->workers * step_end);
}

double ring_simulation_run(const ring_simulation *simulation)
{
    state t = {.s = simulation, .random = 1};
    double efficiency = -1;

    t.order = malloc(simulation->samples * sizeof(*t.order));
    t.released = calloc(simulation->slots, sizeof(*t.released));
    if (t.order != NULL && t.released != NULL) {
        efficiency = run(&t);
    }
    free(t.order);
    free(t.released);
    return efficiency;
}
