/* SPDX-License-Identifier: Apache-2.0 */
#include "generator_kit.h"

#include <poll.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "testing.h"

/* The state of a pass. */
typedef struct generator_pass {
    uint64_t number;
    uint64_t next;
} generator_pass;

static sluice_status open_pass(uint64_t number, void *user, void **pass_out)
{
    generator *g = user;
    generator_pass *pass;

    if (g->open_status != SLUICE_OK) {
        return sluice_fail(g->open_status, "the log is gone");
    }
    pass = calloc(1, sizeof(*pass));
    T_TRUE(pass != NULL);
    pass->number = number;
    atomic_fetch_add(&g->open, 1);
    atomic_fetch_add(&g->passes, 1);
    *pass_out = pass;
    return SLUICE_OK;
}

static void close_pass(void *pass, void *user)
{
    atomic_fetch_sub(&((generator *)user)->open, 1);
    free(pass);
}

static sluice_status wait_for_stop(const sluice_sample *sample)
{
    struct pollfd stop = {.fd = sluice_sample_stop_fd(sample), .events = POLLIN};

    T_TRUE(stop.fd >= 0);
    T_EQ(poll(&stop, 1, -1), 1);
    return SLUICE_CLOSED;
}

static void wait_at_gate(atomic_int *gate)
{
    int closed = GENERATOR_GATE;

    (void)atomic_compare_exchange_strong(gate, &closed, GENERATOR_AT_GATE);
    while (atomic_load(gate) != GENERATOR_OPEN) {
        sched_yield();
    }
    atomic_store(gate, GENERATOR_GATE);
}

static sluice_status give_words(sluice_sample *sample, uint64_t i, bool too_many)
{
    const uint64_t count = too_many ? GENERATOR_WORDS + 1 : i % (GENERATOR_WORDS + 1);
    void *room = NULL;
    const sluice_status st = sluice_sample_room(sample, "words", &count, &room);

    for (uint64_t k = 0; st == SLUICE_OK && k < count; k++) {
        ((uint16_t *)room)[k] = (uint16_t)(i + k + 1);
    }
    return st;
}

static sluice_status give(sluice_sample *sample, int64_t value, bool too_many)
{
    const uint64_t i = sluice_sample_number(sample);
    void *number = NULL;
    void *noise = NULL;
    sluice_status st = sluice_sample_room(sample, "number", NULL, &number);

    if (st == SLUICE_OK) {
        st = sluice_sample_room(sample, "noise", NULL, &noise);
    }
    if (st == SLUICE_OK) {
        *(int64_t *)number = value;
        *(int64_t *)noise = (int64_t)sluice_sample_random(sample, 3);
        st = give_words(sample, i, too_many);
    }
    return st;
}

static sluice_status make_fault(sluice_sample *sample, const generator *g, int64_t number)
{
    switch (g->is_bad != NULL || g->fails_at > 0 ? FAILS : g->fault) {
    case FAILS:
        return sluice_fail(SLUICE_E_IO, "the server %s is down", "x");
    case FAILS_SILENTLY:
        return SLUICE_E_CORRUPT;
    case GARBAGE:
        return (sluice_status)-4711;
    case OUT_OF_MEMORY:
        return sluice_fail(SLUICE_E_NO_MEMORY, "no room for anything");
    case LEAVES_ONE_OUT:
        return SLUICE_OK;
    default:
        return give(sample, number, g->fault == WRONG_SHAPE);
    }
}

static sluice_status next(sluice_sample *sample, void *opaque, void *user)
{
    generator *g = user;
    generator_pass *pass = opaque;
    const uint64_t samples =
        pass->number + 1 == g->empty_pass ? 0 : g->samples + pass->number * g->varies_by;
    const int64_t number = (int64_t)(pass->next + (g->repeats ? 0 : pass->number * 1000));
    sluice_status st;

    T_TRUE(opaque == sluice_sample_worker(sample));
    T_EQ(sluice_sample_number(sample), pass->next);
    atomic_fetch_add(&g->overlaps, atomic_fetch_add(&g->inside, 1) > 0);
    atomic_fetch_add(&g->calls, 1);
    if (g->samples > 0 && pass->next >= samples) {
        if (g->gate != NULL) {
            wait_at_gate(g->gate);
        }
        st = g->waits ? wait_for_stop(sample) : SLUICE_END_OF_DATA;
    } else if (g->fails_always || (g->fault != NO_FAULT && pass->next == GENERATOR_FAULTY) ||
               (g->is_bad != NULL && g->is_bad(pass->next)) ||
               (g->fails_at > 0 && (uint64_t)number + 1 == g->fails_at)) {
        st = make_fault(sample, g, number);
        pass->next++;
    } else {
        st = give(sample, number, false);
        pass->next++;
    }
    atomic_fetch_sub(&g->inside, 1);
    return st;
}

static void count_closed(void *user)
{
    atomic_fetch_add(&((generator *)user)->closed, 1);
}

static const sluice_column_spec columns[] = {
    {.name = "number", .dtype = SLUICE_I64},
    {.name = "words", .dtype = SLUICE_U16, .rank = 1, .shape = {GENERATOR_WORDS}, .ragged = 1},
    {.name = "noise", .dtype = SLUICE_I64},
};

sluice_source generator_source(generator *g)
{
    sluice_source source;

    sluice_source_init(&source);
    source.name = "my_stream";
    source.version = 1;
    source.columns = columns;
    source.column_count = 3;
    source.next = next;
    source.open_pass = open_pass;
    source.close_pass = close_pass;
    source.close = count_closed;
    source.user = g;
    return source;
}

sluice_dataset *generator_dataset(generator *g, const char *stages)
{
    const sluice_source source = generator_source(g);

    return custom_dataset(&source, stages);
}

/* ---- the same samples by their numbers ------------------------------------------------------- */

static sluice_status read_sample(sluice_sample *sample, uint64_t index, void *user)
{
    const generator *g = user;

    return g->is_bad != NULL && g->is_bad(index)
               ? sluice_fail(SLUICE_E_IO, "the server %s is down", "x")
               : give(sample, (int64_t)index, false);
}

sluice_dataset *generator_twin(generator *g, const char *stages)
{
    sluice_source source = generator_source(g);

    T_TRUE(g->repeats);
    source.next = NULL;
    source.open_pass = NULL;
    source.close_pass = NULL;
    source.count = g->samples;
    source.read = read_sample;
    return custom_dataset(&source, stages);
}
