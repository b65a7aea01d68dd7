/* SPDX-License-Identifier: Apache-2.0 */
#include "sink_plan.h"

#include "status_int.h"

/* Computes the steps per epoch, and the first epoch boundary at or after the first step. */
static bool find_epochs(const sink_request *request, sink_plan *plan)
{
    plan->steps_per_epoch = sink_epochs_are_passes(request->sink_mode, request->sink_size)
                                ? request->batches_per_pass / request->micro_batches
                                : (uint64_t)request->sink_size;
    if (request->unknown) {
        plan->unknown = true;
        plan->epoch = request->pass;
        plan->epoch_step = request->within ? 0 : request->start_step;
        return true;
    }
    if (request->resumed && sink_epochs_are_passes(request->sink_mode, request->sink_size)) {
        plan->epoch = request->pass + 1;
        return !__builtin_add_overflow(
            request->start_step, request->batches / request->micro_batches, &plan->epoch_step);
    }
    return true;
}

/* Computes the first step and the step past the last; false if 64 bits cannot count them. */
static bool find_ends(const sink_request *request, sink_plan *plan)
{
    const uint64_t per_epoch = plan->steps_per_epoch;
    uint64_t batches;
    uint64_t done;

    if (__builtin_mul_overflow(request->initial_epoch, per_epoch, &done) ||
        __builtin_add_overflow(done, request->start_step, &plan->first_step)) {
        return false;
    }
    if (request->unknown) {
        plan->end_step = request->epochs > plan->epoch ? UINT64_MAX : plan->first_step;
    } else if (request->epochs > 0 && request->epochs < plan->epoch) {
        plan->end_step = plan->first_step;
    } else if (request->epochs > 0 &&
               (__builtin_mul_overflow(request->epochs - plan->epoch, per_epoch, &done) ||
                __builtin_add_overflow(done, plan->epoch_step, &plan->end_step))) {
        return false;
    }
    if (request->total_steps > 0 && request->total_steps < plan->end_step) {
        plan->end_step = request->total_steps;
    }
    return !__builtin_mul_overflow(plan->first_step, request->micro_batches, &batches) &&
           (plan->end_step == UINT64_MAX ||
            !__builtin_mul_overflow(plan->end_step, request->micro_batches, &batches));
}

static sluice_status nothing_left(const sink_request *request, const sink_plan *plan)
{
    if (request->total_steps > 0 && plan->end_step == request->total_steps) {
        return sli_fail(
            SLUICE_E_INVALID, "nothing left to do: %llu steps are done, and total_steps is %llu",
            (unsigned long long)plan->first_step, (unsigned long long)request->total_steps);
    }
    return sli_fail(SLUICE_E_INVALID,
                    "nothing left to do: %llu steps are done of %llu epochs of %llu steps",
                    (unsigned long long)plan->first_step, (unsigned long long)request->epochs,
                    (unsigned long long)plan->steps_per_epoch);
}

sluice_status sink_plan_make(const sink_request *request, sink_plan *plan_out)
{
    sink_plan plan = {.end_step = UINT64_MAX};

    if (!find_epochs(request, &plan) || !find_ends(request, &plan)) {
        return sli_fail(SLUICE_E_INVALID, "more steps than 64 bits can count");
    }
    for (int i = 0; i < SINK_BOUNDARIES; i++) {
        plan.boundaries[i] = request->boundaries[i];
    }
    if (plan.first_step >= plan.end_step && request->resumed) {
        plan.end_step = plan.first_step;
    } else if (plan.first_step >= plan.end_step) {
        return nothing_left(request, &plan);
    }
    plan.first_epoch = sink_plan_epoch(&plan, plan.first_step);
    if (request->max_steps > 0 && request->max_steps < plan.end_step - plan.first_step) {
        plan.end_step = plan.first_step + request->max_steps;
    }
    *plan_out = plan;
    return SLUICE_OK;
}

/* Steps from `step` to the end of its epoch. */
static uint64_t left_of_epoch(const sink_plan *plan, uint64_t step)
{
    if (plan->unknown) {
        return UINT64_MAX;
    }
    return step < plan->epoch_step
               ? plan->epoch_step - step
               : plan->steps_per_epoch - (step - plan->epoch_step) % plan->steps_per_epoch;
}

uint64_t sink_plan_length(const sink_plan *plan, uint64_t step)
{
    uint64_t left = left_of_epoch(plan, step);

    for (int i = 0; i < SINK_BOUNDARIES; i++) {
        const uint64_t boundary = plan->boundaries[i].steps;

        if (boundary > 0 && boundary - step % boundary < left) {
            left = boundary - step % boundary;
        }
    }
    return left < plan->end_step - step ? left : plan->end_step - step;
}

bool sink_plan_is_boundary(const sink_plan *plan, sink_boundary boundary, uint64_t step)
{
    const boundary_request *every = &plan->boundaries[boundary];

    if (every->steps > 0) {
        return step % every->steps == 0;
    }
    return every->epochs > 0 && sink_plan_begins_epoch(plan, step) &&
           sink_plan_epoch(plan, step) % every->epochs == 0;
}

bool sink_plan_begins_epoch(const sink_plan *plan, uint64_t step)
{
    return plan->unknown ? step == plan->epoch_step
                         : left_of_epoch(plan, step) == plan->steps_per_epoch;
}

uint64_t sink_plan_epoch(const sink_plan *plan, uint64_t step)
{
    if (step < plan->epoch_step) {
        return plan->epoch - 1;
    }
    return plan->unknown ? plan->epoch
                         : plan->epoch + (step - plan->epoch_step) / plan->steps_per_epoch;
}

uint64_t sink_plan_epoch_before(const sink_plan *plan, uint64_t step)
{
    const uint64_t epoch = sink_plan_epoch(plan, step);

    return epoch > 0 && sink_plan_begins_epoch(plan, step) ? epoch - 1 : epoch;
}

void sink_plan_end_epoch(sink_plan *plan, uint64_t step)
{
    plan->epoch = sink_plan_epoch(plan, step) + 1;
    plan->epoch_step = step;
}

void sink_plan_begin_in(sink_plan *plan, uint64_t pass, bool within)
{
    plan->epoch = pass;
    plan->first_epoch = pass;
    plan->epoch_step = within ? 0 : plan->first_step;
}

void sink_plan_end(sink_plan *plan, uint64_t step)
{
    sink_plan_end_epoch(plan, step);
    plan->end_step = step;
}
