/* SPDX-License-Identifier: Apache-2.0 */
#include "sink_plan.h"

#include "status_int.h"

static bool find_borders(const sink_request *request, sink_plan *plan)
{
    for (int i = 0; i < SINK_BORDERS; i++) {
        const border_request *border = &request->borders[i];

        plan->borders[i] = border->steps;
        if (border->steps == 0 &&
            __builtin_mul_overflow(border->epochs, plan->steps_per_epoch, &plan->borders[i])) {
            return false;
        }
    }
    return true;
}

sluice_status sink_plan_make(const sink_request *request, sink_plan *plan_out)
{
    sink_plan plan = {.end_step = UINT64_MAX};
    uint64_t done;

    plan.steps_per_epoch = request->sink_mode && request->sink_size > 0
                               ? (uint64_t)request->sink_size
                               : request->batches_per_pass;
    if (!find_borders(request, &plan) ||
        __builtin_mul_overflow(request->initial_epoch, plan.steps_per_epoch, &done) ||
        __builtin_add_overflow(done, request->start_step, &plan.first_step) ||
        (request->epochs > 0 &&
         __builtin_mul_overflow(request->epochs, plan.steps_per_epoch, &plan.end_step))) {
        return sli_fail(SLUICE_E_INVALID, "more steps than 64 bits can count");
    }
    if (plan.first_step >= plan.end_step && request->resumed) {
        plan.end_step = plan.first_step;
        *plan_out = plan;
        return SLUICE_OK;
    }
    if (plan.first_step >= plan.end_step) {
        return sli_fail(SLUICE_E_INVALID,
                        "nothing left to do: %llu steps are done of %llu epochs of %llu steps",
                        (unsigned long long)plan.first_step, (unsigned long long)request->epochs,
                        (unsigned long long)plan.steps_per_epoch);
    }
    if (request->max_steps > 0 && request->max_steps < plan.end_step - plan.first_step) {
        plan.end_step = plan.first_step + request->max_steps;
    }
    plan.passes = plan.end_step == UINT64_MAX ? UINT64_MAX
                                              : (plan.end_step - 1) / request->batches_per_pass -
                                                    plan.first_step / request->batches_per_pass + 1;
    *plan_out = plan;
    return SLUICE_OK;
}

uint64_t sink_plan_length(const sink_plan *plan, uint64_t step)
{
    uint64_t left = plan->steps_per_epoch - step % plan->steps_per_epoch;

    for (int i = 0; i < SINK_BORDERS; i++) {
        const uint64_t border = plan->borders[i];

        if (border > 0 && border - step % border < left) {
            left = border - step % border;
        }
    }
    return left < plan->end_step - step ? left : plan->end_step - step;
}

bool sink_plan_is_border(const sink_plan *plan, sink_border border, uint64_t step)
{
    return plan->borders[border] > 0 && step % plan->borders[border] == 0;
}

uint64_t sink_plan_epoch(const sink_plan *plan, uint64_t step)
{
    return step / plan->steps_per_epoch;
}
