/* SPDX-License-Identifier: Apache-2.0 */
/* Adds stages that hold other stages, by calls that take these as texts. */
#include <sluice/nested.h>

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "dataset_state.h"
#include "status_int.h"
#include "text_int.h"

/* Stores an error that occurred before the stage could be added. */
static sluice_status keep_error(sluice_dataset *dataset, sluice_status status)
{
    sli_error_take(status, &dataset->error);
    return status;
}

/* Checks the arguments that the parser does not see. */
static sluice_status check_arguments(const char *stage, const char *const *stages,
                                     const double *weights, uint32_t count)
{
    if (stages == NULL || count == 0) {
        return sli_fail(SLUICE_E_INVALID, "sluice_dataset_%s: stages is NULL or count is 0", stage);
    }
    for (uint32_t i = 0; i < count; i++) {
        if (stages[i] == NULL) {
            return sli_fail(SLUICE_E_INVALID, "sluice_dataset_%s: stages[%u] is NULL", stage, i);
        }
        if (weights != NULL && !(weights[i] >= 1e-9 && weights[i] <= 1e6)) {
            return sli_fail(SLUICE_E_INVALID,
                            "sluice_dataset_%s: weights[%u] is %g; want 1e-9 to 1000000", stage, i,
                            weights[i]);
        }
    }
    return SLUICE_OK;
}

/* Adds "STAGE (STAGES) ...". p: of random_apply; NULL: the stage has none. */
static sluice_status add_nested(sluice_dataset *dataset, const char *stage, const double *p,
                                const char *const *stages, const double *weights, uint32_t count)
{
    char function[60];
    sli_text text = {0};
    char *taken = NULL;
    sluice_status st;

    snprintf(function, sizeof(function), "sluice_dataset_%s", stage);
    st = dataset_status(dataset, function);
    if (st == SLUICE_OK) {
        st = dataset_check_unused(dataset, stage);
    }
    if (st != SLUICE_OK) {
        return st;
    }
    st = p == NULL || (*p >= 0 && *p <= 1)
             ? check_arguments(stage, stages, weights, count)
             : sli_fail(SLUICE_E_INVALID, "%s: p=%g: want 0 to 1", stage, *p);
    if (st != SLUICE_OK) {
        return keep_error(dataset, st);
    }
    sli_text_add(&text, "%s", stage);
    if (p != NULL) {
        sli_text_add(&text, " p=");
        sli_text_add_real(&text, *p);
    }
    for (uint32_t i = 0; i < count; i++) {
        sli_text_add(&text, " ");
        if (weights != NULL) {
            const uint64_t billionths = (uint64_t)llrint(weights[i] * 1e9);

            sli_text_add(&text, "%" PRIu64 ".%09" PRIu64 ":", billionths / 1000000000,
                         billionths % 1000000000);
        }
        sli_text_add(&text, "(%s\n)", stages[i]); /* the line ends a comment of the caller's text */
    }
    st = sli_text_take(&text, &taken);
    if (st != SLUICE_OK) {
        return keep_error(dataset, st);
    }
    st = sluice_dataset_add(dataset, taken);
    sluice_string_free(taken);
    return st;
}

sluice_status sluice_dataset_random_apply(sluice_dataset *dataset, double p, const char *stages)
{
    return add_nested(dataset, "random_apply", &p, &stages, NULL, 1);
}

sluice_status sluice_dataset_random_choice(sluice_dataset *dataset, const char *const *stages,
                                           const double *weights, uint32_t count)
{
    return add_nested(dataset, "random_choice", NULL, stages, weights, count);
}

sluice_status sluice_dataset_random_order(sluice_dataset *dataset, const char *const *stages,
                                          uint32_t count)
{
    return add_nested(dataset, "random_order", NULL, stages, NULL, count);
}
