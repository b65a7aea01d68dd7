/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzz target: any bytes as reports of runs, of one side and of two, as `sluice compare` reads
 * them. */
#include <math.h>
#include <stdlib.h>

#include "fuzz_target.h"
#include "run_set.h"

/* Each figure is compared: medians of finite values are finite, and p is a probability. */
static void check_results(run_set *set)
{
    run_result *results = NULL;

    if (run_set_judge(set, &results) != SLUICE_OK) {
        fuzz_fail("figures that cannot be compared");
    }
    for (size_t i = 0; i < set->count; i++) {
        for (int side = 0; side < RUN_SIDES; side++) {
            const size_t count = set->rows[i].counts[side];

            if (count > set->runs[side] ||
                (count > 0) != (isfinite(results[i].medians[side]) != 0)) {
                fuzz_fail("a figure of no run");
            }
        }
        if (!(results[i].p >= 0 && results[i].p <= 1) ||
            (results[i].changed && !results[i].is_judged)) {
            fuzz_fail("a probability that is none");
        }
    }
    if (set->rows[0].stage != NULL || set->rows[0].counts[0] != set->runs[0]) {
        fuzz_fail("a gate that is not of the run");
    }
    free(results);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *text = (const char *)data;
    run_set set = {0};

    if (run_set_add(&set, 0, text, size, "a") == SLUICE_OK &&
        run_set_add(&set, 1, text, size, "b") == SLUICE_OK) {
        check_results(&set);
    }
    run_set_free(&set);
    if (run_set_add(&set, -1, text, size, "both") == SLUICE_OK) {
        check_results(&set);
    }
    run_set_free(&set);
    return 0;
}
