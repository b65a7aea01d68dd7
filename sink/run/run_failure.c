/* SPDX-License-Identifier: Apache-2.0 */
#include "run_failure.h"

#include "log_int.h"
#include "run_report.h"

static void warn_of_abort(uint64_t step, double seconds)
{
    sli_log(SLUICE_LOG_WARN, "config.abort has not returned for %.1f s (after %llu steps)", seconds,
            (unsigned long long)step);
}

/* True if this rank fails, and there may be other ranks, which do not know it. If the world is 0,
 * this rank has not found its number, and may be one of several. */
static bool is_own_failure(const train_run *run, const sli_error *error)
{
    return error->status < 0 && !run->nested && !run->ranks.failure_is_known &&
           (run->ranks.own.world != 1 || run->ranks.has_others);
}

static void report_failure(train_run *run, const sli_error *error)
{
    const sluice_train_config *config = &run->config;

    sli_log(SLUICE_LOG_ERROR, "rank %u of %u fails after %llu steps with %s: %s",
            run->ranks.own.rank, run->ranks.own.world, (unsigned long long)run->progress.step,
            sluice_status_name(error->status), error->text);
    run_report_write_early(run, error);
    if (config->abort != NULL) {
        watchdog_enter(&run->watch.callbacks, warn_of_abort, run->progress.step);
        config->abort(error->status, error->text, config->abort_user);
        watchdog_leave(&run->watch.callbacks);
    }
}

void train_part(train_run *run, const sli_error *error)
{
    if (is_own_failure(run, error) && !run->failure_told) {
        run->failure_told = true;
        report_failure(run, error);
    }
    agree_part(&run->ranks, error);
}
