/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The batch schedule of a run: the pass of each batch, and its position in that pass. A run may
 * begin in the middle of a pass that earlier runs began with another batch size or number of ranks.
 * The rest of that pass is then divided into new batches; later passes begin at their first sample.
 */
#include "plan.h"

/*
 * Returns the number of batches in an order. It must be the same on every rank: otherwise
 * collectives would hang.
 */
uint64_t plan_batches_of(const sli_plan *plan, const sample_order *order)
{
    const uint64_t batch = plan->batch_size;

    return plan->drop_remainder ? order->shortest / batch
                                : order->longest / batch + (order->longest % batch != 0);
}

sluice_status plan_own_order(sli_plan *plan)
{
    const source_ops *source = dataset_source(plan->dataset);
    const source_order_bounds bounds = {plan->batch_size, plan->settings.rank,
                                        plan->settings.world};

    /* order_make() reports an invalid rank. */
    if (source->make_order == NULL || bounds.rank >= bounds.world) {
        return SLUICE_OK;
    }
    return source->make_order(plan->dataset->source, &bounds, &plan->details->orders.own);
}

sluice_status plan_make_order(const sli_plan *plan, const order_settings *settings,
                              sample_order *order_out)
{
    if (plan->details->orders.own == NULL) {
        order_settings all = *settings;

        all.parts = group_order_parts(plan->details->orders.group);
        return order_make(plan->dataset, &all, order_out);
    }
    order_make_own(plan->details->orders.own, settings, order_out);
    return SLUICE_OK;
}

/* Creates the order for the rest of the first pass, and computes its number of batches. */
static sluice_status make_rest(sli_plan *plan, const sli_position *position, uint32_t group)
{
    const order_settings settings = {.seed = plan->settings.seed,
                                     .rank = plan->settings.rank,
                                     .world = plan->settings.world,
                                     .done = position->done};
    sluice_status st = plan_make_order(plan, &settings, &plan->details->orders.rest);

    plan->begin = *position;
    plan->begin_batches = plan_batches_of(plan, &plan->details->orders.rest) / group * group;
    return st;
}

/*
 * Checks that the run fits the source's own order, which consists of whole batches and leaves out
 * no batch.
 */
static sluice_status check_own_order(const sli_plan *plan, const sli_position *position,
                                     uint32_t group)
{
    const uint64_t rows = (uint64_t)plan->batch_size * plan->settings.world;
    const char *argument = plan->dataset->schema.by[STATE_OWN_ORDER];

    if (plan->details->orders.own == NULL) {
        return SLUICE_OK;
    }
    if (position->done % rows != 0) {
        return sli_fail(SLUICE_E_INVALID,
                        "%s: %llu samples of the pass are done, and they must be whole batches of "
                        "%u rows on %u ranks; the order is bound to both",
                        argument, (unsigned long long)position->done, plan->batch_size,
                        plan->settings.world);
    }
    return plan->batches_per_pass % group == 0
               ? SLUICE_OK
               : sli_fail(SLUICE_E_INVALID,
                          "%s: a pass has %llu batches, and must have a multiple of the %u of a "
                          "step; its order leaves none out",
                          argument, (unsigned long long)plan->batches_per_pass, group);
}

/* Checks that a run with bucket begins after whole batches of all ranks. */
static sluice_status check_buckets(const sli_plan *plan, const sli_position *position)
{
    const uint64_t rows = (uint64_t)plan->batch_size * plan->settings.world;

    return plan->details->bucket.count == 0 || position->done % rows == 0
               ? SLUICE_OK
               : sli_fail(SLUICE_E_INVALID,
                          "bucket: %llu samples of the pass are done, and they must be whole "
                          "batches of %u rows on %u ranks; its batches are bound to both",
                          (unsigned long long)position->done, plan->batch_size,
                          plan->settings.world);
}

sluice_status sli_plan_begin(sli_plan *plan, const sli_position *position, uint32_t group)
{
    const uint64_t batches = plan->batches_per_pass / group * group;
    sluice_status st;

    if (sli_plan_uncounted(plan) != NULL) {
        plan->begin = *position;
        pass_lengths_begin(&plan->details->dealing.lengths, position->done, false);
        return check_buckets(plan, position);
    }
    if (batches == 0) {
        return sli_fail(SLUICE_E_INVALID,
                        "no valid data in the dataset: a pass has %llu batches, a step takes %u",
                        (unsigned long long)plan->batches_per_pass, group);
    }
    st = check_own_order(plan, position, group);
    if (st != SLUICE_OK) {
        return st;
    }
    plan->batches_per_pass = batches;
    st = make_rest(plan, position, group);
    if (st == SLUICE_OK && plan->begin_batches == 0) {
        st = make_rest(plan, &(sli_position){position->pass + 1, 0}, group);
    }
    return st;
}

sluice_status sli_plan_begin_after(sli_plan *plan, uint64_t batches, uint32_t group)
{
    sli_position position = {0, 0};

    if (sli_plan_uncounted(plan) == NULL) {
        position = sli_plan_position(plan, batches);
        return sli_plan_begin(plan, &position, group);
    }
    if (__builtin_mul_overflow(batches, (uint64_t)plan->batch_size * plan->settings.world,
                               &position.done)) {
        return sli_fail(SLUICE_E_INVALID,
                        "the run begins after %llu batches, more samples than 64 "
                        "bits can count",
                        (unsigned long long)batches);
    }
    plan->begin = position;
    pass_lengths_begin(&plan->details->dealing.lengths, position.done, true);
    return SLUICE_OK;
}

/* Returns the number of batches on each rank for `samples` samples over all ranks. */
uint64_t plan_batches_in(const sli_plan *plan, uint64_t samples)
{
    const uint64_t round = (uint64_t)plan->batch_size * plan->settings.world;

    return samples / round + (!plan->drop_remainder && samples % round != 0);
}

sluice_status plan_end_pass(const sli_plan *plan, uint64_t number, uint64_t samples, uint64_t *done)
{
    pass_lengths *lengths = &plan->details->dealing.lengths;
    const uint64_t left = samples > *done ? samples - *done : 0;
    const uint64_t whole = plan_batches_in(plan, samples) * plan->batch_size * plan->settings.world;

    *done = lengths->counts && *done > whole ? *done - whole : 0;
    if (*done > 0) { /* before the end of the pass is known to the host, which asks for it then */
        pass_lengths_skip(lengths, number + 1, *done);
    }
    return pass_lengths_add(lengths, number, left, plan_batches_in(plan, left));
}

bool plan_pass_is_empty(const sli_plan *plan, uint64_t samples, uint64_t done)
{
    return (done == 0 || plan->details->dealing.lengths.counts) &&
           plan_batches_in(plan, samples) == 0;
}

sluice_status plan_fail_short(const sli_plan *plan, uint64_t passes, uint64_t done)
{
    const uint64_t rows = (uint64_t)plan->batch_size * plan->settings.world;

    return sli_fail(SLUICE_E_INVALID,
                    "the run must begin after %llu batches, but the data end after %llu, in %llu "
                    "passes; begin earlier, or raise the number of epochs or passes",
                    (unsigned long long)(plan->begin.done / rows),
                    (unsigned long long)((plan->begin.done - done) / rows),
                    (unsigned long long)passes);
}

/* Returns the number of this rank's samples among `samples` samples over all ranks. */
static uint64_t share_of(const sli_plan *plan, uint64_t samples)
{
    const uint32_t rank = plan->settings.rank;

    return samples > rank ? (samples - rank - 1) / plan->settings.world + 1 : 0;
}

/* plan_locate() for a stream, or with filters, pack or bucket: passes may differ in length, and the
 * length of the current pass is unknown until it ends. */
static void locate_collected(const sli_plan *plan, uint64_t batch, batch_span *span_out)
{
    const collected_pass pass = pass_lengths_find(&plan->details->dealing.lengths, batch);

    *span_out = (batch_span){.pass = plan->begin.pass + pass.number,
                             .length = share_of(plan, pass.samples),
                             .first = (batch - pass.first_batch) * plan->batch_size,
                             .done = pass.done};
}

void plan_locate(const sli_plan *plan, uint64_t batch, batch_span *span_out)
{
    const uint64_t later = batch - plan->begin_batches;

    if (plan->details->dealing.has_choices || plan->details->dealing.is_stream) {
        locate_collected(plan, batch, span_out);
        return;
    }
    if (batch < plan->begin_batches) {
        *span_out = (batch_span){&plan->details->orders.rest, plan->details->orders.rest.length,
                                 plan->begin.pass, batch * plan->batch_size, plan->begin.done};
        return;
    }
    span_out->order = &plan->details->orders.rank;
    span_out->length = plan->details->orders.rank.length;
    span_out->pass = plan->begin.pass + 1 + later / plan->batches_per_pass;
    span_out->first = later % plan->batches_per_pass * plan->batch_size;
    span_out->done = 0;
}

sli_position sli_plan_position(const sli_plan *plan, uint64_t batches)
{
    batch_span span;

    plan_locate(plan, batches, &span);
    return (sli_position){span.pass, span.done + span.first * plan->settings.world};
}

uint64_t sli_plan_pass_end(const sli_plan *plan, uint64_t pass)
{
    uint64_t samples;

    return pass_lengths_end(&plan->details->dealing.lengths, pass - plan->begin.pass, &samples);
}

sli_position sli_plan_position_in(const sli_plan *plan, uint64_t pass, uint64_t batches)
{
    pass_lengths *lengths = &plan->details->dealing.lengths;
    const uint64_t number = pass - plan->begin.pass;
    const uint64_t rows = (uint64_t)plan->batch_size * plan->settings.world;
    uint64_t samples = UINT64_MAX;
    uint64_t done = batches * rows;

    if (number > 0) {
        done -= pass_lengths_end(lengths, number - 1, &samples) * rows;
    }
    if (pass_lengths_end(lengths, number, &samples) != UINT64_MAX && done > samples) {
        done = samples; /* without the padding of the last batch */
    }
    return (sli_position){pass, done + pass_lengths_done(lengths, number)};
}

uint64_t sli_plan_passes(const sli_plan *plan, uint64_t batches)
{
    batch_span last;

    if (batches == 0) {
        return 0;
    }
    plan_locate(plan, batches - 1, &last);
    return last.pass - plan->begin.pass + 1;
}

uint64_t sli_plan_left(const sli_plan *plan)
{
    const uint64_t all = plan->samples_per_pass;

    return plan->begin.done < all ? all - plan->begin.done : 0;
}

const char *sli_plan_uncounted(const sli_plan *plan)
{
    return plan->details->dealing.is_stream     ? "a stream"
           : plan->details->pack.seq > 0        ? "a dataset with pack"
           : plan->details->bucket.count > 0    ? "a dataset with bucket"
           : plan->details->dealing.has_choices ? "a dataset with a filter"
                                                : NULL;
}

const char *sli_plan_rows(const sli_plan *plan)
{
    return plan->details->pack.seq > 0          ? "windows of documents"
           : plan->details->bucket.count > 0    ? "samples of similar length"
           : plan->details->dealing.has_choices ? "that filters keep"
                                                : "in sequence";
}

bool sli_plan_is_stream(const sli_plan *plan)
{
    return plan->details->dealing.is_stream;
}

bool sli_plan_reads_once(const sli_plan *plan)
{
    const sluice_dataset *dataset = plan->dataset;

    return plan->details->dealing.is_stream && dataset_source(dataset)->once(dataset->source);
}

bool sli_plan_pads(const sli_plan *plan, bool *rest_out)
{
    const uint64_t batch = plan->batch_size;
    const bool is_counted = sli_plan_uncounted(plan) == NULL;
    const bool whole = is_counted
                           ? plan->batches_per_pass * batch > plan->details->orders.rank.shortest
                           : !plan->drop_remainder;

    *rest_out =
        !whole && is_counted && plan->begin_batches * batch > plan->details->orders.rest.shortest;
    return whole || *rest_out;
}
