/* SPDX-License-Identifier: Apache-2.0 */
#include "order.h"

#include <string.h>

#include "class_table.h"
#include "index_stages.h"
#include "rng_int.h"
#include "subset_table.h"
#include "weight_table.h"

/*
 * Limit on the number of positions. It leaves room for arithmetic with rank, world and batch size
 * past the last position.
 */
static const uint64_t MOST_POSITIONS = UINT64_C(1) << 62;

/*
 * Numbers of positions: on this rank, on the rank with the most, and on the rank with the fewest.
 */
typedef struct lengths {
    uint64_t own;
    uint64_t longest;
    uint64_t shortest;
} lengths;

static const void *stage_args_of(const sluice_dataset *dataset, uint32_t i)
{
    return dataset->stages[i].args.bytes;
}

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static uint64_t minus(uint64_t a, uint64_t b)
{
    return a > b ? a - b : 0;
}

/* The product; UINT64_MAX on overflow. */
static uint64_t times(uint64_t a, uint64_t b)
{
    uint64_t product;

    return __builtin_mul_overflow(a, b, &product) ? UINT64_MAX : product;
}

static uint64_t divide_up(uint64_t a, uint64_t b)
{
    return a / b + (a % b != 0);
}

static void after_shard(const order_step *step, lengths *l)
{
    l->own = divide_up(minus(l->own, step->rank), step->world);
    l->longest = divide_up(l->longest, step->world);
    l->shortest = l->shortest / step->world;
}

/*
 * The key of the random numbers of stage i. `own` is the seed in the stage's arguments, `seed` is
 * the run's seed.
 */
static uint64_t stage_key(const sluice_dataset *dataset, uint32_t i, uint64_t own, uint64_t seed)
{
    const uint64_t name = sli_hash_text(dataset->stages[i].def->name);

    return sli_mix_in(sli_mix_in(name, own == PARAM_SEED_RUN ? seed : own),
                      dataset_occurrence(dataset, i));
}

uint64_t order_shuffle_key(const sluice_dataset *dataset, uint32_t i, uint64_t seed)
{
    return stage_key(dataset, i, ((const shuffle_args *)stage_args_of(dataset, i))->seed, seed);
}

uint64_t order_source_key(const sluice_dataset *dataset, uint64_t seed)
{
    return stage_key(dataset, 0, PARAM_SEED_RUN, seed);
}

static void make_shuffle(const sluice_dataset *dataset, uint32_t i, const order_settings *settings,
                         order_step *step, const lengths *l)
{
    step->key = order_shuffle_key(dataset, i, settings->seed);
    step->permutation = permutation_of(l->own > 0 ? l->own : 1);
}

/*
 * Makes the shard step of one rank. For all ranks together no position is dropped; instead the
 * counts of later stages, which are per rank, are multiplied by world.
 */
static sluice_status make_shard(const shard_args *shard, const order_settings *settings,
                                order_step *step, lengths *l, uint64_t *ranks)
{
    step->rank = shard->rank == PARAM_RANK_RUN ? settings->rank : shard->rank;
    step->world = shard->world == PARAM_RANK_RUN ? settings->world : shard->world;
    if (shard->rank == PARAM_RANK_NONE) {
        step->kind = INDEX_NONE;
        return SLUICE_OK;
    }
    if (step->rank >= step->world) {
        return sli_fail(SLUICE_E_INVALID, "shard: rank=%u must be less than world=%u", step->rank,
                        step->world);
    }
    if (settings->all_ranks) {
        step->kind = INDEX_NONE;
        *ranks = times(*ranks, step->world);
        return SLUICE_OK;
    }
    after_shard(step, l);
    return SLUICE_OK;
}

/* Makes the step of a stage whose table was computed when the dataset was opened. */
static void make_choice(const sluice_dataset *dataset, uint32_t i, uint64_t seed, order_step *step,
                        lengths *l)
{
    const index_table *table = &dataset->tables[i];
    const void *args = stage_args_of(dataset, i);

    step->table = table->block;
    step->n = table->length;
    if (step->kind == INDEX_WEIGHTS) {
        step->key = stage_key(dataset, i, ((const weights_args *)args)->seed, seed);
    } else if (step->kind == INDEX_BALANCE) {
        step->key = stage_key(dataset, i, ((const balance_args *)args)->seed, seed);
    }
    *l = (lengths){table->length, table->length, table->length};
}

static sluice_status make_repeat(uint64_t n, order_step *step, lengths *l)
{
    step->n = n;
    if (times(l->longest, n) > MOST_POSITIONS) {
        return sli_fail(SLUICE_E_INVALID, "repeat: more samples than can be counted");
    }
    *l = (lengths){l->own * n, l->longest * n, l->shortest * n};
    return SLUICE_OK;
}

/* Makes the step of stage i. Its kind becomes INDEX_NONE if it changes nothing. */
static sluice_status make_step(const sluice_dataset *dataset, uint32_t i,
                               const order_settings *settings, order_step *step, lengths *l,
                               uint64_t *ranks)
{
    const split_members *split = &dataset->splits[i];
    const void *args = stage_args_of(dataset, i);

    memset(step, 0, sizeof(*step));
    step->kind = dataset->stages[i].def->index;
    step->before = l->own;
    switch (step->kind) {
    case INDEX_SHUFFLE:
        make_shuffle(dataset, i, settings, step, l);
        break;
    case INDEX_SHARD:
        return make_shard(args, settings, step, l, ranks);
    case INDEX_SPLIT:
        step->members = split->members;
        *l = (lengths){split->count, split->count, split->count};
        break;
    case INDEX_TAKE:
        step->n = times(((const count_args *)args)->n, *ranks);
        *l = (lengths){least(l->own, step->n), least(l->longest, step->n),
                       least(l->shortest, step->n)};
        break;
    case INDEX_SKIP:
        step->n = times(((const count_args *)args)->n, *ranks);
        *l = (lengths){minus(l->own, step->n), minus(l->longest, step->n),
                       minus(l->shortest, step->n)};
        break;
    case INDEX_REPEAT:
        return make_repeat(((const count_args *)args)->n, step, l);
    case INDEX_SUBSET:
    case INDEX_WEIGHTS:
    case INDEX_BALANCE:
        make_choice(dataset, i, settings->seed, step, l);
        break;
    case INDEX_OF_SOURCE:
    case INDEX_OF_PARTS:
    case INDEX_NONE:
        break;
    }
    return SLUICE_OK;
}

bool dataset_has_shard(const sluice_dataset *dataset)
{
    for (uint32_t i = 0; i < dataset->stage_count; i++) {
        if (dataset->stages[i].def->index == INDEX_SHARD) {
            return true;
        }
    }
    return false;
}

/* Adds a step that skips the first `n` positions. */
static void add_skip(sample_order *o, uint64_t n, lengths *l)
{
    o->steps[o->count++] = (order_step){.kind = INDEX_SKIP, .n = n, .before = l->own};
    *l = (lengths){minus(l->own, n), minus(l->longest, n), minus(l->shortest, n)};
}

static void add_shard(sample_order *o, const order_settings *settings, lengths *l)
{
    order_step *step = &o->steps[o->count++];

    *step = (order_step){
        .kind = INDEX_SHARD, .rank = settings->rank, .world = settings->world, .before = l->own};
    after_shard(step, l);
}

/*
 * Adds steps that skip the samples of the pass that are done, and shard the rest. So the pass can
 * be completed by another number of ranks.
 */
static void add_ends(const sluice_dataset *dataset, const order_settings *settings, sample_order *o,
                     lengths *l)
{
    const bool deals = settings->world > 1 && !settings->all_ranks && !dataset_has_shard(dataset);

    if (settings->done > 0) {
        add_skip(o, deals ? settings->done : settings->done / settings->world, l);
    }
    if (deals) {
        add_shard(o, settings, l);
    }
}

sluice_status order_make(const sluice_dataset *dataset, const order_settings *settings,
                         sample_order *order_out)
{
    const uint32_t stages = dataset_is_stream(dataset) ? 1 : dataset->stage_count;
    sample_order *o = order_out;
    lengths l = {dataset->source_count, dataset->source_count, dataset->source_count};
    uint64_t ranks = 1;

    o->count = 0;
    if (settings->parts != NULL) {
        o->steps[o->count++] = (order_step){.kind = INDEX_OF_PARTS, .parts = settings->parts};
        l = (lengths){settings->parts->length, settings->parts->length, settings->parts->length};
    }
    if (settings->world == 0 || settings->rank >= settings->world) {
        return sli_fail(SLUICE_E_INVALID, "rank is %u, and must be less than world, %u",
                        settings->rank, settings->world);
    }
    for (uint32_t i = 1; i < stages; i++) {
        order_step *step = &o->steps[o->count];
        sluice_status st = make_step(dataset, i, settings, step, &l, &ranks);

        if (st != SLUICE_OK) {
            return st;
        }
        o->count += step->kind != INDEX_NONE;
    }
    add_ends(dataset, settings, o, &l);
    o->length = l.own;
    o->longest = l.longest;
    o->shortest = l.shortest;
    return SLUICE_OK;
}

void order_make_own(source_order *own, const order_settings *settings, sample_order *o)
{
    const uint64_t done = settings->done / settings->world;
    const uint64_t length = settings->all_ranks ? own->length * settings->world : own->length;
    lengths l = {length, length, length};

    o->count = 1;
    o->steps[0] = (order_step){.kind = INDEX_OF_SOURCE, .own = own, .n = settings->all_ranks};
    if (done > 0) {
        add_skip(o, done, &l);
    }
    o->length = l.own;
    o->longest = l.longest;
    o->shortest = l.shortest;
}

/*
 * Maps a position after a stage to a position before it, for stages that may draw one several
 * times. *repetitions identifies all repetitions so far; 0: none.
 */
static uint64_t choose(const order_step *step, uint64_t pass, uint64_t position,
                       uint64_t *repetitions)
{
    uint64_t repetition = position + 1; /* for weights: the number of the draw */
    uint64_t chosen;

    if (step->kind == INDEX_SUBSET) {
        chosen = subset_table_at(step->table, position, &repetition);
    } else if (step->kind == INDEX_WEIGHTS) {
        chosen = weight_table_draw(step->table, step->key, pass, position);
    } else {
        chosen = class_table_at(step->table, step->key, step->n, pass, position, &repetition);
    }
    if (repetition != 0) {
        *repetitions = sli_mix_in(sli_mix_in(*repetitions, step->kind), repetition);
    }
    return chosen;
}

void order_at(const sample_order *o, uint64_t pass, uint64_t position, uint64_t *sample_out,
              uint64_t *pass_out)
{
    uint64_t repetitions = 0;

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
        case INDEX_OF_SOURCE:
            position = step->n != 0 ? step->own->of_all(step->own, position)
                                    : step->own->at(step->own, pass, position);
            break;
        case INDEX_OF_PARTS:
            step->parts->at(step->parts, pass, position, &position, &pass);
            break;
        case INDEX_SUBSET:
        case INDEX_WEIGHTS:
        case INDEX_BALANCE:
            position = choose(step, pass, position, &repetitions);
            break;
        case INDEX_TAKE:
        case INDEX_NONE:
            break;
        }
    }
    *sample_out = position;
    *pass_out = repetitions == 0 ? pass : sli_further_pass(pass, repetitions);
}
