/* SPDX-License-Identifier: Apache-2.0 */
/* Compares the figures of two sides. */
#include <math.h>
#include <stdlib.h>

#include "rank_sum.h"
#include "run_set.h"

static void judge_row(run_row *row, run_result *result)
{
    for (int side = 0; side < RUN_SIDES; side++) {
        result->medians[side] = row->counts[side] > 0
                                    ? rank_sum_median(row->values[side], row->counts[side])
                                    : (double)NAN;
    }
    result->ratio = result->medians[0] > 0 ? result->medians[1] / result->medians[0] : (double)NAN;
    result->spread = fmax(rank_sum_spread(row->values[0], row->counts[0]),
                          rank_sum_spread(row->values[1], row->counts[1]));
    result->p = rank_sum_test(row->values[0], row->counts[0], row->values[1], row->counts[1]);
    result->is_judged = rank_sum_least(row->counts[0], row->counts[1]) < RANK_SUM_LEVEL;
    result->changed = result->is_judged && result->p < RANK_SUM_LEVEL;
}

sluice_status run_set_judge(run_set *set, run_result **results_out)
{
    run_result *results = calloc(set->count + 1, sizeof(*results));
    double *p = calloc(set->count + 1, sizeof(*p));
    bool *changed = calloc(set->count + 1, sizeof(*changed));
    size_t tested = 0;
    bool is_complete = results != NULL && p != NULL && changed != NULL;

    for (size_t i = 0; i < set->count && is_complete; i++) {
        judge_row(&set->rows[i], &results[i]);
        is_complete = !isnan(results[i].p);
        if (i > 0 && results[i].is_judged) {
            p[tested++] = results[i].p;
        }
    }
    if (is_complete) {
        rank_sum_changed(p, tested, changed);
        for (size_t i = set->count; i-- > 1;) {
            results[i].changed = results[i].is_judged && changed[--tested];
        }
    }
    free(changed);
    free(p);
    *results_out = is_complete ? results : NULL;
    if (!is_complete) {
        free(results);
        return sluice_fail(SLUICE_E_NO_MEMORY, "memory is short for a comparison");
    }
    return SLUICE_OK;
}

bool run_is_slower(const run_result *first, double gate)
{
    return first->changed && first->ratio > 1 + gate / 100;
}
