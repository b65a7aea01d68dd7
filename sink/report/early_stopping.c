/* SPDX-License-Identifier: Apache-2.0 */
/* A ready-made callback that ends a run when validation no longer gets better. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include <sluice/train.h>

#include "alloc_int.h"
#include "callback.h"
#include "log_int.h"
#include "status_int.h"

typedef struct early_stopping {
    char result[64];
    double sign; /* 1: larger results are better; -1: smaller results are better */
    double min_delta;
    uint64_t patience;
    double best; /* best result so far, times sign */
    uint64_t best_step;
    uint64_t worse; /* validations since the best result; none of them improved it by more than
                       min_delta */
} early_stopping;

static sluice_status begin(sluice_hook *hook, void *user)
{
    early_stopping *e = user;

    (void)hook;
    e->best = -HUGE_VAL;
    e->worse = 0;
    return SLUICE_OK;
}

static sluice_status judge(sluice_hook *hook, void *user)
{
    early_stopping *e = user;
    uint32_t i = 0;
    double value;

    while (i < hook->result_count && strcmp(hook->result_names[i], e->result) != 0) {
        i++;
    }
    if (i == hook->result_count) {
        return sli_fail(SLUICE_E_INVALID, "early stopping: validation has no result %s", e->result);
    }
    value = e->sign * hook->results[i];
    if (value > e->best + e->min_delta) { /* never true for NaN */
        e->best = value;
        e->best_step = hook->step;
        e->worse = 0;
        return SLUICE_OK;
    }
    if (++e->worse >= e->patience) {
        sli_log(SLUICE_LOG_INFO, "early stopping: %s was best after %llu steps, %g", e->result,
                (unsigned long long)e->best_step, e->sign * e->best);
        hook->stop = true;
    }
    return SLUICE_OK;
}

sluice_status sluice_early_stopping(const char *result, bool larger_is_better, double min_delta,
                                    uint64_t patience, sluice_callback **callback_out)
{
    const sluice_callback hooks = {.train_begin = begin, .validation = judge};
    early_stopping *e;

    if (result == NULL || callback_out == NULL || strlen(result) >= sizeof(e->result)) {
        return sli_fail(SLUICE_E_INVALID,
                        "sluice_early_stopping: result or callback_out is NULL, or the name of "
                        "the result is longer than %zu",
                        sizeof(e->result) - 1);
    }
    e = sli_calloc(1, sizeof(*e));
    if (e == NULL) {
        return sli_fail(SLUICE_E_NO_MEMORY, "sluice_early_stopping");
    }
    snprintf(e->result, sizeof(e->result), "%s", result);
    e->sign = larger_is_better ? 1 : -1;
    e->min_delta = min_delta;
    e->patience = patience > 0 ? patience : 1;
    return callback_create(&hooks, e, "sluice_early_stopping", callback_out);
}
