/* SPDX-License-Identifier: Apache-2.0 */
#include "idle_settings.h"

#include <stdio.h>
#include <string.h>

#include "idle_int.h"

static bool has_hooks(const sluice_callback *c)
{
    return c->train_begin != NULL || c->epoch_begin != NULL || c->step_begin != NULL ||
           c->records != NULL || c->step_end != NULL || c->validation != NULL ||
           c->epoch_end != NULL || c->train_end != NULL;
}

static bool reads_records(const train_run *run)
{
    for (uint32_t i = 0; i < run->config.callback_count; i++) {
        if (run->callbacks[i].records != NULL) {
            return true;
        }
    }
    return false;
}

void idle_settings_list(const train_run *run, sli_text *list)
{
    const sluice_train_config *config = &run->config;
    const sluice_checkpointing *checkpoint = &run->checkpoint;
    const struct {
        bool holds;
        const char *what;
        const char *why;
    } rules[] = {
        {!config->dataset_sink_mode && config->sink_size != -1 && config->sink_size != 0,
         "sink_size", "dataset_sink_mode is off"},
        {config->record_samples && !reads_records(run), "record_samples",
         "no callback has the hook records"},
        {config->agree_timeout_ms > 0 && config->agree == NULL, "agree_timeout_ms",
         "agree is NULL"},
        {checkpoint->best_is_larger && checkpoint->best == NULL, "checkpoint.best_is_larger",
         "checkpoint.best is NULL"},
    };

    sli_plan_idle(run->feed.plan, list);
    for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++) {
        if (rules[i].holds) {
            sli_idle_add(list, rules[i].what, rules[i].why);
        }
    }
    for (uint32_t i = 0; i < config->callback_count; i++) {
        if (!has_hooks(&run->callbacks[i])) {
            char what[30];

            snprintf(what, sizeof(what), "callbacks[%u]", i);
            sli_idle_add(list, what, "it has no hooks");
        }
    }
}

/* Sinks are counted up to this number. */
enum { SINKS_MOST = 100000 };

/* The sinks of the run; SINKS_MOST: that many or more. */
static uint64_t count_sinks(const sink_plan *plan)
{
    uint64_t count = 0;

    for (uint64_t step = plan->first_step; step < plan->end_step && count < SINKS_MOST; count++) {
        step += sink_plan_length(plan, step);
    }
    return count;
}

void idle_settings_cuts(const train_run *run, sli_text *text)
{
    static const char *const names[] = {
        [BOUNDARY_VALIDATION] = "validation", [BOUNDARY_CHECKPOINT] = "checkpoints"};
    const sink_plan *plan = &run->plan.sinks;
    sink_plan uncut = *plan;
    const char *between = ", cut by ";
    uint64_t with;
    uint64_t without;

    if (!run->config.dataset_sink_mode || plan->end_step == UINT64_MAX || plan->unknown) {
        return;
    }
    memset(uncut.boundaries, 0, sizeof(uncut.boundaries));
    with = count_sinks(plan);
    without = count_sinks(&uncut);
    if (with <= without) {
        return;
    }
    for (int i = 0; i < SINK_BOUNDARIES; i++) {
        sink_plan one = uncut;

        one.boundaries[i] = plan->boundaries[i];
        if (count_sinks(&one) > without) {
            sli_text_add(text, "%s%s every %llu steps", between, names[i],
                         (unsigned long long)plan->boundaries[i].steps);
            between = " and ";
        }
    }
    sli_text_add(text, ": %s%llu sinks instead of %llu", with == SINKS_MOST ? "at least " : "",
                 (unsigned long long)with, (unsigned long long)without);
}
