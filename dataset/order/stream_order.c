/* SPDX-License-Identifier: Apache-2.0 */
#include "stream_order.h"

#include <stdio.h>

#include "alloc_int.h"
#include "error_int.h"
#include "index_stages.h"
#include "order.h"
#include "rng_int.h"
#include "sample_mixer.h"
#include "stream_hold.h"

/* Limit on the bytes of images in a shuffle buffer. */
static const uint64_t MIXED_BYTES = UINT64_C(1) << 30;

/* One index stage. */
typedef struct stream_step {
    index_kind kind;
    const void *args;
    uint64_t count; /* take: number of samples passed on; skip: number of samples skipped */

    /* The following are used by shuffle only. */
    uint64_t key;
    sample_mixer mixer;
    sli_error end; /* result after the buffered samples: the end or an error; OK: the input has not
                      ended */
} stream_step;

struct stream_order {
    const sluice_dataset *dataset;
    void *pass;         /* the source's pass; NULL: no pass is open */
    uint64_t draws_key; /* key of the source's random draws */
    uint64_t number;    /* number of the source's next sample in the pass */
    uint32_t step_count;
    stream_step steps[];
};

/* ---- unsupported stages --------------------------------------------------------------------- */

/* The advice if an index stage is not supported for streams. */
static const char *instead_of(const sluice_dataset *dataset, index_kind kind)
{
    switch (kind) {
    case INDEX_SHARD:
        return "a stream distributes its samples over the ranks by itself; leave the stage out";
    case INDEX_REPEAT:
        return "a stream is read again until the last step; leave the stage out";
    default:
        return dataset_source(dataset)->instead;
    }
}

static bool takes_numbers(index_kind kind)
{
    return kind == INDEX_SUBSET || kind == INDEX_WEIGHTS || kind == INDEX_BALANCE;
}

sluice_status stream_order_check(const sluice_dataset *dataset)
{
    for (uint32_t i = 1; i < dataset->stage_count; i++) {
        const stage_def *def = dataset->stages[i].def;

        if (def->index == INDEX_SHARD || def->index == INDEX_REPEAT || takes_numbers(def->index)) {
            return sli_fail(SLUICE_E_UNSUPPORTED, "%s: not supported for a stream: %s%s", def->name,
                            takes_numbers(def->index) ? "it takes samples by their numbers; " : "",
                            instead_of(dataset, def->index));
        }
    }
    return SLUICE_OK;
}

/* ---- steps ---------------------------------------------------------------------------------- */

/* Gets the next sample after the first `steps` steps. */
static sluice_status next_after(stream_order *order, uint32_t steps, stream_item *item);

static sluice_status next_of_source(stream_order *order, stream_item *item)
{
    sluice_status st;

    item->number = order->number;
    st = dataset_source(order->dataset)->next(order->pass, item);
    order->number += st == SLUICE_OK;
    return st;
}

/* Fills the shuffle buffer until it is full or its input ends. */
static sluice_status fill_mixer(stream_order *order, uint32_t before, stream_step *step,
                                stream_item *item)
{
    sluice_status st = SLUICE_OK;

    while (st == SLUICE_OK && step->end.status == SLUICE_OK &&
           !sample_mixer_is_full(&step->mixer)) {
        st = next_after(order, before, item);
        if (st == SLUICE_OK) {
            st = sample_mixer_put(&step->mixer, item);
        } else if (st != SLUICE_CLOSED) {
            sli_error_take(st, &step->end); /* stored with its text, since another thread may have
                                               to raise it */
            st = SLUICE_OK;
        }
    }
    return st;
}

static sluice_status next_mixed(stream_order *order, uint32_t before, stream_item *item)
{
    stream_step *step = &order->steps[before];
    sluice_status st = fill_mixer(order, before, step, item);

    if (st != SLUICE_OK) {
        return st;
    }
    if (step->mixer.count == 0) {
        return sli_error_raise(&step->end);
    }
    sample_mixer_take(&step->mixer, item);
    return SLUICE_OK;
}

static sluice_status next_kept(stream_order *order, uint32_t before, stream_item *item)
{
    const sluice_dataset *dataset = order->dataset;
    const source_ops *source = dataset_source(dataset);
    sluice_status st;

    do {
        st = next_after(order, before, item);
    } while (st == SLUICE_OK && !split_keeps(order->steps[before].args,
                                             source_item_name(source, dataset->source, item)));
    return st;
}

static sluice_status next_taken(stream_order *order, uint32_t before, stream_item *item)
{
    stream_step *step = &order->steps[before];
    sluice_status st;

    if (step->count == ((const count_args *)step->args)->n) {
        return SLUICE_END_OF_DATA;
    }
    st = next_after(order, before, item);
    step->count += st == SLUICE_OK;
    return st;
}

static sluice_status next_after_skipped(stream_order *order, uint32_t before, stream_item *item)
{
    stream_step *step = &order->steps[before];
    sluice_status st = SLUICE_OK;

    while (st == SLUICE_OK && step->count < ((const count_args *)step->args)->n) {
        st = next_after(order, before, item);
        step->count += st == SLUICE_OK;
    }
    return st == SLUICE_OK ? next_after(order, before, item) : st;
}

static sluice_status next_after(stream_order *order, uint32_t steps, stream_item *item)
{
    if (steps == 0) {
        return next_of_source(order, item);
    }
    switch (order->steps[steps - 1].kind) {
    case INDEX_SHUFFLE:
        return next_mixed(order, steps - 1, item);
    case INDEX_SPLIT:
        return next_kept(order, steps - 1, item);
    case INDEX_TAKE:
        return next_taken(order, steps - 1, item);
    case INDEX_SKIP:
        return next_after_skipped(order, steps - 1, item);
    default:
        return next_after(order, steps - 1, item);
    }
}

sluice_status stream_order_next(stream_order *order, stream_item *item)
{
    return next_after(order, order->step_count, item);
}

/* ---- passes --------------------------------------------------------------------------------- */

static void begin_step(stream_step *step, uint64_t pass)
{
    step->count = 0;
    step->end.status = SLUICE_OK;
    if (step->kind == INDEX_SHUFFLE) {
        sample_mixer_begin(&step->mixer, ((const shuffle_args *)step->args)->buffer, MIXED_BYTES,
                           sli_mix_in(step->key, pass));
    }
}

/*
 * True if the order of the files is shuffled, too: shuffle must be the first stage, since an
 * earlier stage, such as take, must see the same samples in every pass.
 */
static bool mixes_files(const stream_order *order)
{
    return order->step_count > 0 && order->steps[0].kind == INDEX_SHUFFLE;
}

sluice_status stream_order_begin(stream_order *order, const stream_start *start)
{
    const sluice_dataset *dataset = order->dataset;
    stream_start own = *start;
    uint64_t key;

    for (uint32_t i = 0; i < order->step_count; i++) {
        begin_step(&order->steps[i], start->pass);
    }
    if (mixes_files(order)) {
        key = sli_mix_in(sli_hash_text("files"), order->steps[0].mixer.key);
        own.key = &key;
    }
    own.draws_key = order->draws_key;
    order->number = 0;
    return dataset_source(dataset)->begin(dataset->source, &own, &order->pass);
}

void stream_order_end(stream_order *order)
{
    if (order->pass != NULL) {
        dataset_source(order->dataset)->end(order->pass);
        order->pass = NULL;
    }
}

bool stream_order_in_pass(const stream_order *order)
{
    return order->pass != NULL;
}

uint64_t stream_order_memory(const stream_order *order)
{
    uint64_t bytes = 0;

    for (uint32_t i = 0; i < order->step_count; i++) {
        bytes += sample_mixer_memory(&order->steps[i].mixer);
    }
    return bytes;
}

uint64_t stream_order_most_memory(const sluice_dataset *dataset, uint32_t workers)
{
    const uint64_t largest = dataset_source(dataset)->largest(dataset->source);
    uint64_t bytes = stream_hold_memory(largest, workers);

    for (uint32_t i = 1; i < dataset->stage_count; i++) {
        if (dataset->stages[i].def->index == INDEX_SHUFFLE) {
            const shuffle_args *args = (const void *)dataset->stages[i].args.bytes;

            bytes += sample_mixer_most_memory(args->buffer, MIXED_BYTES, largest);
        }
    }
    return bytes;
}

/* ---- creation ------------------------------------------------------------------------------- */

sluice_status stream_order_create(const sluice_dataset *dataset, uint64_t seed,
                                  stream_order **order_out)
{
    stream_order *order =
        sli_calloc(1, sizeof(*order) + dataset->stage_count * sizeof(order->steps[0]));

    if (order == NULL) {
        return sli_fail(SLUICE_E_NO_MEMORY, "the order of a stream");
    }
    order->dataset = dataset;
    order->draws_key = order_source_key(dataset, seed);
    for (uint32_t i = 1; i < dataset->stage_count; i++) {
        if (dataset->stages[i].def->index != INDEX_NONE) {
            stream_step *step = &order->steps[order->step_count++];

            step->kind = dataset->stages[i].def->index;
            step->args = dataset->stages[i].args.bytes;
            if (step->kind == INDEX_SHUFFLE) {
                step->key = order_shuffle_key(dataset, i, seed);
            }
        }
    }
    *order_out = order;
    return SLUICE_OK;
}

void stream_order_destroy(stream_order *order)
{
    if (order == NULL) {
        return;
    }
    stream_order_end(order);
    for (uint32_t i = 0; i < order->step_count; i++) {
        sample_mixer_free(&order->steps[i].mixer);
    }
    sli_free(order);
}

/* ---- explain -------------------------------------------------------------------------------- */

/* True if the source can read its files in another order. */
static bool has_files(const sluice_dataset *dataset)
{
    return !dataset_source(dataset)->passes_vary;
}

void stream_order_explain(const sluice_dataset *dataset, sli_text *text)
{
    bool first = true;

    for (uint32_t i = 1; i < dataset->stage_count; i++) {
        const void *args = dataset->stages[i].args.bytes;
        const index_kind kind = dataset->stages[i].def->index;

        if (kind == INDEX_SHUFFLE) {
            sli_text_add(text, "%sshuffled within %llu samples, at most %llu MB of them",
                         !first               ? ", "
                         : has_files(dataset) ? "files in another order each pass, "
                                              : "",
                         (unsigned long long)((const shuffle_args *)args)->buffer,
                         (unsigned long long)(MIXED_BYTES >> 20));
        } else if (kind == INDEX_SPLIT) {
            sli_text_add(text, "%sthose that split keeps", first ? "" : ", ");
        } else if (kind == INDEX_TAKE || kind == INDEX_SKIP) {
            sli_text_add(text, "%s%s %llu", first ? "" : ", ",
                         kind == INDEX_TAKE ? "at most" : "without the first",
                         (unsigned long long)((const count_args *)args)->n);
        }
        first = first && kind == INDEX_NONE;
    }
    sli_text_add(text, "%s", first ? "as the stream gives them" : "");
}
