/* SPDX-License-Identifier: Apache-2.0 */
#include "core_division_int.h"

#include <string.h>

#include "alloc_int.h"
#include "status_int.h"

enum { WORDS = SLI_MAX_CPUS / 64 };

#define NONE UINT32_MAX

/* The state of a rank during the division. */
typedef struct rank_state {
    uint32_t owned;  /* number of its cores so far */
    uint32_t at;     /* its next core is searched for after this one; NONE: from the first one on */
    int32_t node;    /* node of its last core; before that, of the core to try first; -1: unknown */
    uint32_t next;   /* the core that it would get now; NONE: no core is free */
    uint32_t alike;  /* number of ranks for which is_alike() holds, with this one */
    uint32_t before; /* number of these ranks with lower numbers */
    bool near;       /* that core is on the rank's preferred node, and next to `at` */
} rank_state;

typedef struct division {
    const sli_core *cores;
    uint32_t core_count;
    const sli_rank_claim *claims;
    uint32_t ranks;
    sli_cpus overlap;   /* CPUs that several ranks may use */
    sli_cpus left;      /* CPUs of the overlap that are not assigned yet */
    bool *free;         /* (core_count) the core has CPUs of `left` */
    rank_state *states; /* (ranks) */
    sli_rank_part *parts;
} division;

static bool intersects(const sli_cpus *a, const sli_cpus *b)
{
    for (size_t i = 0; i < WORDS; i++) {
        if ((a->bits[i] & b->bits[i]) != 0) {
            return true;
        }
    }
    return false;
}

/* Identifies a memory limit that no control group sets: a hash of the allowed nodes. */
static uint64_t group_of_nodes(const sli_topology *topology)
{
    uint64_t hash = UINT64_C(0xCBF29CE484222325);

    for (uint32_t n = 0; n < topology->node_count; n++) {
        if (topology->nodes[n].memory_allowed) {
            hash = (hash ^ topology->nodes[n].id) * UINT64_C(0x100000001B3);
        }
    }
    return hash;
}

void sli_rank_claim_make(const sli_topology *topology, int32_t device_node,
                         sli_rank_claim *claim_out)
{
    memset(claim_out, 0, sizeof(*claim_out));
    claim_out->allowed = topology->allowed;
    claim_out->device_node = device_node;
    claim_out->quota_group = topology->quota_group;
    claim_out->quota = topology->quota;
    claim_out->memory_group =
        topology->memory_group != 0 ? topology->memory_group : group_of_nodes(topology);
    claim_out->memory_limit = topology->memory_limit;
}

static void find_overlap(division *d)
{
    sli_cpus once = {{0}};

    for (uint32_t r = 0; r < d->ranks; r++) {
        for (size_t i = 0; i < WORDS && !d->claims[r].takes_all; i++) {
            d->overlap.bits[i] |= once.bits[i] & d->claims[r].allowed.bits[i];
            once.bits[i] |= d->claims[r].allowed.bits[i];
        }
    }
}

/* True if the rank may use CPUs of this core that are in `left`. */
static bool contends(const division *d, uint32_t rank, uint32_t core)
{
    const sli_rank_claim *claim = &d->claims[rank];

    for (size_t i = 0; i < WORDS && !claim->takes_all; i++) {
        if ((claim->allowed.bits[i] & d->left.bits[i] & d->cores[core].cpus.bits[i]) != 0) {
            return true;
        }
    }
    return false;
}

/* Assigns to the rank all CPUs of the core that it may use, except those already assigned. */
static void give_core(division *d, uint32_t rank, uint32_t core)
{
    const sli_rank_claim *claim = &d->claims[rank];

    for (size_t i = 0; i < WORDS; i++) {
        const uint64_t gone = d->overlap.bits[i] & ~d->left.bits[i];
        const uint64_t cpus = claim->allowed.bits[i] & d->cores[core].cpus.bits[i] & ~gone;

        d->parts[rank].cpus.bits[i] |= cpus;
        d->left.bits[i] &= ~cpus;
    }
    d->free[core] = intersects(&d->cores[core].cpus, &d->left);
}

/* Assigns to each rank the CPUs that only it may use, and counts its cores without overlap. */
static void give_undisputed(division *d)
{
    for (uint32_t r = 0; r < d->ranks; r++) {
        for (size_t i = 0; i < WORDS && !d->claims[r].takes_all; i++) {
            d->parts[r].cpus.bits[i] = d->claims[r].allowed.bits[i] & ~d->overlap.bits[i];
        }
    }
    for (uint32_t c = 0; c < d->core_count; c++) {
        d->free[c] = intersects(&d->cores[c].cpus, &d->overlap);
        for (uint32_t r = 0; r < d->ranks && !d->free[c]; r++) {
            d->states[r].owned += intersects(&d->parts[r].cpus, &d->cores[c].cpus);
        }
    }
}

/* True if the two ranks contend for the same cores, and begin to look for them on the same node. */
static bool is_alike(const division *d, const sli_rank_claim *a, const sli_rank_claim *b)
{
    if (a->takes_all || b->takes_all || a->device_node != b->device_node) {
        return false;
    }
    for (size_t i = 0; i < WORDS; i++) {
        if (((a->allowed.bits[i] ^ b->allowed.bits[i]) & d->overlap.bits[i]) != 0) {
            return false;
        }
    }
    return true;
}

/* Counts the cores for which the rank contends, on a node (-1: on any), up to number `most`; the
 * core with that number, from 0, is *core_out. */
static uint32_t count_cores(const division *d, uint32_t rank, int32_t node, uint32_t most,
                            uint32_t *core_out)
{
    uint32_t count = 0;

    for (uint32_t c = 0; c < d->core_count && count <= most; c++) {
        if (d->free[c] && (node < 0 || d->cores[c].node == node) && contends(d, rank, c)) {
            *core_out = c;
            count++;
        }
    }
    return count;
}

/*
 * Returns the start core of the rank among the `count` cores for which it contends, on a node (-1:
 * on any). Ranks that are alike start at equal distances, so that each gets neighbouring cores.
 */
static uint32_t core_at_distance(const division *d, uint32_t rank, int32_t node, uint32_t count)
{
    const rank_state *state = &d->states[rank];
    uint32_t core = 0;

    (void)count_cores(d, rank, node, (uint32_t)((uint64_t)count * state->before / state->alike),
                      &core);
    return core;
}

/* Finds the core with which the rank starts. Returns false if it contends for none. */
static bool find_start(division *d, uint32_t rank)
{
    rank_state *state = &d->states[rank];
    int32_t node = d->claims[rank].device_node;
    uint32_t start = 0;
    uint32_t count = 0;

    state->alike = 0;
    state->before = 0;
    for (uint32_t r = 0; r < d->ranks; r++) {
        const bool same = r == rank || is_alike(d, &d->claims[r], &d->claims[rank]);

        state->alike += same;
        state->before += same && r < rank;
    }
    if (node >= 0) {
        count = count_cores(d, rank, node, NONE - 1, &start);
    }
    if (count == 0) {
        node = -1;
        count = count_cores(d, rank, node, NONE - 1, &start);
    }
    if (count == 0) {
        return false;
    }
    start = core_at_distance(d, rank, node, count);
    state->at = start - 1; /* NONE for core 0 */
    state->node = d->cores[start].node;
    return true;
}

/*
 * Finds the core that the rank would take now: on its device's node if possible, then on the node
 * of its last core, then after its last core, then from the first core on. If no such core is on
 * the node of its last core, it starts again by core_at_distance().
 */
static void find_next(division *d, uint32_t rank)
{
    const int32_t home = d->claims[rank].device_node;
    rank_state *state = &d->states[rank];
    unsigned best = UINT32_MAX;

    state->next = NONE;
    for (uint32_t c = 0; c < d->core_count && best > 0; c++) {
        const unsigned far = home >= 0 && d->cores[c].node != home;
        const unsigned moves = d->cores[c].node != state->node;
        const unsigned back = state->at != NONE && c <= state->at;
        const unsigned cost = 4 * far + 2 * moves + back;

        if (cost < best && d->free[c] && contends(d, rank, c)) {
            best = cost;
            state->next = c;
        }
    }
    if (state->next != NONE && d->cores[state->next].node != state->node) {
        uint32_t core;

        state->next = core_at_distance(d, rank, -1, count_cores(d, rank, -1, NONE - 1, &core));
    }
    state->near = best == 0 && state->next == state->at + 1; /* 0 after NONE */
}

/* Returns the rank that takes the next core: one with the fewest cores, of these one whose next
 * core is near; NONE: no rank can take a core. */
static uint32_t choose_rank(const division *d)
{
    uint32_t chosen = NONE;

    for (uint32_t r = 0; r < d->ranks; r++) {
        const rank_state *state = &d->states[r];
        const rank_state *best = chosen != NONE ? &d->states[chosen] : NULL;

        if (state->next != NONE && (best == NULL || state->owned < best->owned ||
                                    (state->owned == best->owned && state->near && !best->near))) {
            chosen = r;
        }
    }
    return chosen;
}

static void give_disputed(division *d)
{
    uint32_t rank;

    for (uint32_t r = 0; r < d->ranks; r++) {
        d->states[r].at = NONE;
        d->states[r].node = -1;
        (void)find_start(d, r);
        find_next(d, r);
    }
    while ((rank = choose_rank(d)) != NONE) {
        const uint32_t core = d->states[rank].next;

        give_core(d, rank, core);
        d->states[rank].owned++;
        d->states[rank].at = core;
        d->states[rank].node = d->cores[core].node;
        for (uint32_t r = 0; r < d->ranks; r++) {
            if (d->states[r].next == core) {
                find_next(d, r);
            }
        }
    }
}

/* Assigns to each rank without a core one that other ranks have, and to ranks that take all CPUs
 * all that they may use. */
static void give_shared(division *d)
{
    for (uint32_t r = 0; r < d->ranks; r++) {
        if (d->claims[r].takes_all) {
            d->parts[r].cpus = d->claims[r].allowed;
            continue;
        }
        d->left = d->overlap; /* assigned CPUs may be shared */
        for (uint32_t c = 0; c < d->core_count; c++) {
            d->free[c] = intersects(&d->cores[c].cpus, &d->overlap);
        }
        if (sli_cpus_next(&d->parts[r].cpus, 0) < 0 && find_start(d, r)) {
            give_core(d, r, d->states[r].at + 1); /* 0 after NONE */
        }
    }
}

/* Counts the cores of a rank with CPUs that other ranks use, too. */
static uint32_t count_shared_cores(const division *d, uint32_t rank)
{
    uint32_t count = 0;

    for (uint32_t c = 0; c < d->core_count; c++) {
        sli_cpus own = d->parts[rank].cpus;
        bool shared = false;

        for (size_t i = 0; i < SLI_MAX_CPUS / 64; i++) {
            own.bits[i] &= d->cores[c].cpus.bits[i];
        }
        for (uint32_t other = 0; other < d->ranks && !shared && sli_cpus_next(&own, 0) >= 0;
             other++) {
            shared = other != rank && intersects(&own, &d->parts[other].cpus);
        }
        count += shared;
    }
    return count;
}

/* Marks the ranks that share CPUs with other ranks. */
static void find_shared(division *d)
{
    for (uint32_t r = 0; r < d->ranks; r++) {
        sli_rank_part *part = &d->parts[r];

        for (uint32_t other = 0; other < d->ranks; other++) {
            part->sharing_ranks += other != r && intersects(&part->cpus, &d->parts[other].cpus);
        }
        part->shared = part->sharing_ranks > 0;
        if (part->shared) {
            part->shared_cores = count_shared_cores(d, r);
        }
    }
}

static void divide_limits(division *d)
{
    for (uint32_t r = 0; r < d->ranks; r++) {
        const sli_rank_claim *claim = &d->claims[r];
        uint32_t quota = 0;
        uint32_t memory = 0;

        for (uint32_t other = 0; other < d->ranks; other++) {
            quota += d->claims[other].quota_group == claim->quota_group;
            memory += d->claims[other].memory_group == claim->memory_group;
        }
        d->parts[r].quota = claim->quota > 0 ? claim->quota / quota : 0;
        d->parts[r].memory_limit = claim->memory_limit / memory;
    }
}

sluice_status sli_divide_cores(const sli_core *cores, uint32_t core_count,
                               const sli_rank_claim *claims, uint32_t ranks,
                               sli_rank_part *parts_out)
{
    division d = {.cores = cores,
                  .core_count = core_count,
                  .claims = claims,
                  .ranks = ranks,
                  .free = sli_calloc(core_count, sizeof(bool)),
                  .states = sli_calloc(ranks, sizeof(rank_state)),
                  .parts = parts_out};
    sluice_status st = SLUICE_OK;

    if (d.free == NULL || d.states == NULL) {
        st = sli_fail(SLUICE_E_NO_MEMORY, "division of %u cores among %u ranks", core_count, ranks);
    } else {
        memset(parts_out, 0, ranks * sizeof(*parts_out));
        find_overlap(&d);
        d.left = d.overlap;
        give_undisputed(&d);
        give_disputed(&d);
        give_shared(&d);
        find_shared(&d);
        divide_limits(&d);
    }
    sli_free(d.free);
    sli_free(d.states);
    return st;
}
