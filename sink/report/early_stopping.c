/* SPDX-License-Identifier: Apache-2.0 */
/* A ready-made callback that ends a run when a result of validation, or an output of the step, no
 * longer gets better. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include <sluice/train.h>

#include "alloc_int.h"
#include "callback.h"
#include "log_int.h"
#include "status_int.h"
#include "text_int.h"

typedef struct early_stopping {
    char monitor[64];
    double sign; /* 1: larger values are better; -1: smaller values are better */
    double min_delta;
    uint64_t patience;
    bool is_output; /* an output of the step is monitored, not a result of validation */
    uint32_t index; /* of that output or result */
    double sum;     /* of the output, over the steps of the epoch */
    uint64_t steps;
    double best; /* best value so far, times sign */
    uint64_t best_step;
    uint64_t worse; /* values since the best one; none of them improved it by more than min_delta */
} early_stopping;

static bool find_name(const char *const *names, uint32_t count, const char *name, uint32_t *at_out)
{
    for (uint32_t i = 0; i < count; i++) {
        if (strcmp(names[i], name) == 0) {
            *at_out = i;
            return true;
        }
    }
    return false;
}

static void add_names(sli_text *text, const char *const *names, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        sli_text_add(text, "%s%s", i > 0 ? ", " : "", names[i]);
    }
}

static sluice_status fail_unknown(const early_stopping *e, const sluice_hook *hook)
{
    sli_text known = {0};
    sluice_status st;

    if (hook->result_count > 0) {
        sli_text_add(&known, "validation has ");
        add_names(&known, hook->result_names, hook->result_count);
    } else {
        sli_text_add(&known, "the run has no validation");
    }
    sli_text_add(&known, "; the step has ");
    add_names(&known, hook->output_names, hook->output_count);
    st = sli_fail(SLUICE_E_INVALID,
                  "sluice_early_stopping: no result of validation and no output of the step is "
                  "named %s; %s",
                  e->monitor, known.data != NULL ? known.data : "");
    sli_text_free(&known);
    return st;
}

static sluice_status begin(sluice_hook *hook, void *user)
{
    early_stopping *e = user;

    e->is_output = !find_name(hook->result_names, hook->result_count, e->monitor, &e->index);
    if (e->is_output && !find_name(hook->output_names, hook->output_count, e->monitor, &e->index)) {
        return fail_unknown(e, hook);
    }
    e->best = -HUGE_VAL;
    e->worse = 0;
    e->sum = 0;
    e->steps = 0;
    return SLUICE_OK;
}

static void judge(early_stopping *e, sluice_hook *hook, double value)
{
    if (e->sign * value > e->best + e->min_delta) { /* never true for NaN */
        e->best = e->sign * value;
        e->best_step = hook->step;
        e->worse = 0;
    } else if (++e->worse >= e->patience) {
        sli_log(SLUICE_LOG_INFO, "early stopping: %s was best after %llu steps, %g", e->monitor,
                (unsigned long long)e->best_step, e->sign * e->best);
        hook->stop = true;
    }
}

static sluice_status judge_results(sluice_hook *hook, void *user)
{
    early_stopping *e = user;

    if (!e->is_output) {
        judge(e, hook, hook->results[e->index]);
    }
    return SLUICE_OK;
}

static sluice_status add_outputs(sluice_hook *hook, void *user)
{
    early_stopping *e = user;

    for (uint64_t i = 0; e->is_output && i < hook->record_count; i++) {
        e->sum += (double)sluice_hook_record(hook, i)->outputs[e->index];
        e->steps++;
    }
    return SLUICE_OK;
}

static sluice_status judge_epoch(sluice_hook *hook, void *user)
{
    early_stopping *e = user;

    if (e->is_output && e->steps > 0) {
        judge(e, hook, e->sum / (double)e->steps);
    }
    e->sum = 0;
    e->steps = 0;
    return SLUICE_OK;
}

sluice_status sluice_early_stopping(const char *monitor, bool larger_is_better, double min_delta,
                                    uint64_t patience, sluice_callback **callback_out)
{
    const sluice_callback hooks = {.train_begin = begin,
                                   .records = add_outputs,
                                   .validation = judge_results,
                                   .epoch_end = judge_epoch};
    early_stopping *e;

    if (monitor == NULL || callback_out == NULL || strlen(monitor) >= sizeof(e->monitor)) {
        return sli_fail(SLUICE_E_INVALID,
                        "sluice_early_stopping: monitor or callback_out is NULL, or the name is "
                        "longer than %zu",
                        sizeof(e->monitor) - 1);
    }
    e = sli_calloc(1, sizeof(*e));
    if (e == NULL) {
        return sli_fail(SLUICE_E_NO_MEMORY, "sluice_early_stopping");
    }
    snprintf(e->monitor, sizeof(e->monitor), "%s", monitor);
    e->sign = larger_is_better ? 1 : -1;
    e->min_delta = min_delta;
    e->patience = patience > 0 ? patience : 1;
    return callback_create(&hooks, e, "sluice_early_stopping", callback_out);
}
