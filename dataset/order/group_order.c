/* SPDX-License-Identifier: Apache-2.0 */
#include "group_order.h"

#include <stdio.h>

#include "alloc_int.h"
#include "rng_int.h"

/* Limit on the number of positions in a pass, as in order.c. */
static const uint64_t MOST_POSITIONS = UINT64_C(1) << 62;

static sluice_status too_many(void)
{
    return sli_fail(SLUICE_E_INVALID, "a group has more samples than can be counted");
}

/* ---- from position to sample ----------------------------------------------------------------- */

/* Finds the number in the group of the sample at a position of a pass of one part. */
static void find_sample(const group_part *part, uint64_t pass, uint64_t position,
                        uint64_t *sample_out, uint64_t *pass_out)
{
    order_at(&part->order->order, pass, position, sample_out, pass_out);
    *sample_out += part->first;
}

static void concat_at(const parts_order *base, uint64_t pass, uint64_t position,
                      uint64_t *sample_out, uint64_t *pass_out)
{
    const group_order *order = (const group_order *)(const void *)base;
    uint32_t low = 0;
    uint32_t high = order->count;

    while (high - low > 1) { /* the last part that begins at or before the position */
        const uint32_t middle = (low + high) / 2;

        if (order->parts[middle].begin <= position) {
            low = middle;
        } else {
            high = middle;
        }
    }
    find_sample(&order->parts[low], pass, position - order->parts[low].begin, sample_out, pass_out);
}

/*
 * A part of mix continues in each pass of the group where the previous one ended, and begins its
 * next pass whenever it ends. So the turns of a part are counted from the first pass of the group
 * on, modulo 2^64, more than the samples of any run.
 */
static void mix_at(const parts_order *base, uint64_t pass, uint64_t position, uint64_t *sample_out,
                   uint64_t *pass_out)
{
    const group_order *order = (const group_order *)(const void *)base;
    const group_part *part;
    uint64_t turn;
    uint32_t k;

    mix_schedule_at(order->schedule, position, &k, &turn);
    part = &order->parts[k];
    turn += pass * part->begin;
    find_sample(part, turn / part->length, turn % part->length, sample_out, pass_out);
}

/* ---- making an order ------------------------------------------------------------------------- */

static sluice_status place_concat(group_order *order)
{
    uint64_t length = 0;

    for (uint32_t k = 0; k < order->count; k++) {
        order->parts[k].begin = length;
        length += order->parts[k].length;
        if (length > MOST_POSITIONS) {
            return too_many();
        }
    }
    order->base.length = length;
    order->base.at = concat_at;
    return SLUICE_OK;
}

/* Returns the length of a pass: it ends with the first part that is marked `end` or, if none is,
 * with the last part. */
static uint64_t mix_length(const group_order *order, const dataset_parts *parts)
{
    uint64_t longest = 0;
    uint64_t marked = UINT64_MAX;
    bool has_end = false;

    for (uint32_t k = 0; k < order->count; k++) {
        const uint64_t length = mix_schedule_length(order->schedule, k, order->parts[k].length);

        longest = length > longest ? length : longest;
        marked = parts->items[k].ends && length < marked ? length : marked;
        has_end = has_end || parts->items[k].ends;
    }
    return has_end ? marked : longest;
}

static sluice_status place_mix(const dataset_parts *parts, group_order *order)
{
    const uint64_t unit = dataset_parts_weight_unit(parts);
    uint64_t weights[PARTS_MOST];
    sluice_status st;

    for (uint32_t k = 0; k < order->count; k++) {
        weights[k] = parts->items[k].weight / unit;
        if (order->parts[k].length == 0) {
            return sli_fail(SLUICE_E_INVALID,
                            "no valid data in the dataset: part %u of mix has no samples", k + 1);
        }
    }
    st = mix_schedule_make(weights, order->count, &order->schedule);
    if (st != SLUICE_OK) {
        return st;
    }
    order->bytes += order->schedule->period * sizeof(order->schedule->turns[0]);
    order->base.length = mix_length(order, parts);
    order->base.at = mix_at;
    if (order->base.length > MOST_POSITIONS) {
        return too_many();
    }
    for (uint32_t k = 0; k < order->count; k++) {
        order->parts[k].begin = mix_schedule_turns(order->schedule, k, order->base.length);
    }
    return SLUICE_OK;
}

/* Makes the orders of all parts, and numbers their samples. */
static sluice_status make_parts(const dataset_parts *parts, uint64_t seed, group_order *order)
{
    uint64_t first = 0;

    for (uint32_t k = 0; k < parts->count; k++) {
        group_part *part = &order->parts[k];
        sluice_status st = part_order_make(parts->items[k].dataset, seed, k, &part->order);

        if (st != SLUICE_OK) {
            return st;
        }
        order->count++;
        order->bytes += sizeof(*part->order);
        order->bytes += part->order->group != NULL ? part->order->group->bytes : 0;
        part->length = part->order->order.length;
        part->first = first;
        if (__builtin_add_overflow(first, parts->items[k].dataset->source_count, &first) ||
            first > MOST_POSITIONS) {
            return too_many();
        }
    }
    return SLUICE_OK;
}

sluice_status group_order_make(const sluice_dataset *dataset, uint64_t seed,
                               group_order **order_out)
{
    const dataset_parts *parts = dataset_group(dataset);
    const group_kind kind = stage_group(dataset->stages[0].def);
    group_order *order;
    sluice_status st;

    *order_out = NULL;
    if (kind != GROUP_CONCAT && kind != GROUP_MIX) {
        return SLUICE_OK;
    }
    order = sli_calloc(1, sizeof(*order));
    if (order == NULL) {
        return sli_fail(SLUICE_E_NO_MEMORY, "the order of a group");
    }
    order->bytes = sizeof(*order);
    st = make_parts(parts, seed, order);
    if (st == SLUICE_OK) {
        st = kind == GROUP_MIX ? place_mix(parts, order) : place_concat(order);
    }
    if (st != SLUICE_OK) {
        group_order_free(order);
        return st;
    }
    *order_out = order;
    return SLUICE_OK;
}

void group_order_free(group_order *order)
{
    if (order != NULL) {
        for (uint32_t k = 0; k < order->count; k++) {
            part_order_free(order->parts[k].order);
        }
        sli_free(order->schedule);
        sli_free(order);
    }
}

sluice_status part_order_make(const sluice_dataset *dataset, uint64_t seed, uint32_t number,
                              part_order **order_out)
{
    const uint64_t own_seed = sli_mix_in(sli_mix_in(sli_hash_text("part"), seed), number);
    part_order *order = sli_calloc(1, sizeof(*order));
    order_settings settings = {.seed = own_seed, .world = 1};
    sluice_status st;

    if (order == NULL) {
        return sli_fail(SLUICE_E_NO_MEMORY, "the order of a part");
    }
    st = group_order_make(dataset, own_seed, &order->group);
    if (st == SLUICE_OK) {
        settings.parts = group_order_parts(order->group);
        st = order_make(dataset, &settings, &order->order);
    }
    if (st != SLUICE_OK) {
        part_order_free(order);
        return st;
    }
    *order_out = order;
    return SLUICE_OK;
}

void part_order_free(part_order *order)
{
    if (order != NULL) {
        group_order_free(order->group);
        sli_free(order);
    }
}
