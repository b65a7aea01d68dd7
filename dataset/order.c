/* SPDX-License-Identifier: Apache-2.0 */
#include "order.h"

#include <string.h>

#include "index_stages.h"
#include "rng_int.h"

/* How many positions there are on this rank, on the longest, on the shortest. */
typedef struct lengths {
    uint64_t own;
    uint64_t longest;
    uint64_t shortest;
} lengths;

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static uint64_t minus(uint64_t a, uint64_t b)
{
    return a > b ? a - b : 0;
}

static void after_shard(const order_step *step, lengths *l)
{
    l->own = (minus(l->own, step->rank) + step->world - 1) / step->world;
    l->longest = (l->longest + step->world - 1) / step->world;
    l->shortest = l->shortest / step->world;
}

/* Fills a step of a stage; INDEX_NONE when it changes nothing. */
static sluice_status make_step(const sluice_dataset *dataset, uint32_t i,
                               const order_settings *settings, order_step *step, lengths *l)
{
    const void *args = dataset->stages[i].args.bytes;

    memset(step, 0, sizeof(*step));
    step->kind = dataset->stages[i].def->index;
    step->before = l->own;
    switch (step->kind) {
    case INDEX_SHUFFLE: {
        uint64_t seed = ((const shuffle_args *)args)->seed;

        seed = seed == SLUICE_SEED_OF_RUN ? settings->seed : seed;
        step->key =
            sli_mix_in(sli_mix_in(sli_hash_text("shuffle"), seed), dataset_occurrence(dataset, i));
        step->permutation = permutation_of(l->own > 0 ? l->own : 1);
        break;
    }
    case INDEX_SHARD: {
        const shard_args *shard = args;

        step->rank = shard->rank == SLUICE_OF_RUN ? settings->rank : shard->rank;
        step->world = shard->world == SLUICE_OF_RUN ? settings->world : shard->world;
        if (shard->rank == PARAM_RANK_NONE || settings->all_ranks) {
            step->kind = INDEX_NONE;
            break;
        }
        if (step->rank >= step->world) {
            return sli_fail(SLUICE_E_INVALID, "shard: rank %u of world %u", step->rank,
                            step->world);
        }
        after_shard(step, l);
        break;
    }
    case INDEX_SPLIT:
        step->members = dataset->splits[i].members;
        *l =
            (lengths){dataset->splits[i].count, dataset->splits[i].count, dataset->splits[i].count};
        break;
    case INDEX_TAKE:
        step->n = ((const count_args *)args)->n;
        *l = (lengths){least(l->own, step->n), least(l->longest, step->n),
                       least(l->shortest, step->n)};
        break;
    case INDEX_SKIP:
        step->n = ((const count_args *)args)->n;
        *l = (lengths){minus(l->own, step->n), minus(l->longest, step->n),
                       minus(l->shortest, step->n)};
        break;
    case INDEX_REPEAT:
        step->n = ((const count_args *)args)->n;
        if (__builtin_mul_overflow(l->own, step->n, &l->own) ||
            __builtin_mul_overflow(l->longest, step->n, &l->longest) ||
            __builtin_mul_overflow(l->shortest, step->n, &l->shortest)) {
            return sli_fail(SLUICE_E_INVALID, "repeat: more samples than can be counted");
        }
        break;
    case INDEX_NONE:
        break;
    }
    return SLUICE_OK;
}

static bool has_shard(const sluice_dataset *dataset)
{
    for (uint32_t i = 0; i < dataset->stage_count; i++) {
        if (dataset->stages[i].def->index == INDEX_SHARD) {
            return true;
        }
    }
    return false;
}

sluice_status order_make(const sluice_dataset *dataset, const order_settings *settings,
                         sample_order *order_out)
{
    sample_order *o = order_out;
    lengths l = {dataset->source_count, dataset->source_count, dataset->source_count};

    o->count = 0;
    if (settings->world == 0 || settings->rank >= settings->world) {
        return sli_fail(SLUICE_E_INVALID, "rank %u of world %u", settings->rank, settings->world);
    }
    for (uint32_t i = 1; i < dataset->stage_count; i++) {
        order_step *step = &o->steps[o->count];
        sluice_status st = make_step(dataset, i, settings, step, &l);

        if (st != SLUICE_OK) {
            return st;
        }
        o->count += step->kind != INDEX_NONE;
    }
    if (settings->world > 1 && !settings->all_ranks && !has_shard(dataset)) {
        order_step *step = &o->steps[o->count++];

        memset(step, 0, sizeof(*step));
        step->kind = INDEX_SHARD;
        step->rank = settings->rank;
        step->world = settings->world;
        step->before = l.own;
        after_shard(step, &l);
    }
    o->length = l.own;
    o->longest = l.longest;
    o->shortest = l.shortest;
    return SLUICE_OK;
}

void order_at(const sample_order *o, uint64_t pass, uint64_t position, uint64_t *sample_out,
              uint64_t *pass_out)
{
    for (uint32_t i = o->count; i-- > 0;) {
        const order_step *step = &o->steps[i];

        switch (step->kind) {
        case INDEX_SHUFFLE:
            position = permutation_at(&step->permutation, sli_mix_in(step->key, pass), position);
            break;
        case INDEX_SHARD:
            position = position * step->world + step->rank;
            break;
        case INDEX_SPLIT:
            position = step->members[position];
            break;
        case INDEX_SKIP:
            position += step->n;
            break;
        case INDEX_REPEAT:
            pass = pass * step->n + position / step->before;
            position %= step->before;
            break;
        case INDEX_TAKE:
        case INDEX_NONE:
            break;
        }
    }
    *sample_out = position;
    *pass_out = pass;
}
