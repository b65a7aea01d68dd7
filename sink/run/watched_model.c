/* SPDX-License-Identifier: Apache-2.0 */
#include "watched_model.h"

#include "log_int.h"

static void warn_of_save(uint64_t step, double seconds)
{
    sli_log(SLUICE_LOG_WARN, "model.save has not returned for %.1f s (after %llu steps)", seconds,
            (unsigned long long)step);
}

static void warn_of_load(uint64_t step, double seconds)
{
    (void)step;
    sli_log(SLUICE_LOG_WARN, "model.load has not returned for %.1f s", seconds);
}

static sluice_status watched_save(void *user, const char *folder, uint32_t rank, uint32_t world)
{
    train_run *run = user;
    sluice_status st;

    watchdog_enter(&run->watch.callbacks, warn_of_save, run->progress.step);
    st = run->model.save(run->model.user, folder, rank, world);
    watchdog_leave(&run->watch.callbacks);
    return st;
}

static sluice_status watched_load(void *user, const char *folder, uint32_t rank, uint32_t world)
{
    train_run *run = user;
    sluice_status st;

    watchdog_enter(&run->watch.callbacks, warn_of_load, run->progress.step);
    st = run->model.load(run->model.user, folder, rank, world);
    watchdog_leave(&run->watch.callbacks);
    return st;
}

sluice_model train_watched_model(train_run *run)
{
    sluice_model model = run->model;

    model.save = watched_save;
    model.load = watched_load;
    model.user = run;
    return model;
}

sluice_status train_start_watchdog(train_run *run)
{
    const sluice_train_config *config = &run->config;
    const bool calls_any = config->callback_count > 0 || run->checkpoint.folder != NULL ||
                           config->check || run->plan.mode == SLUICE_MODE_DATA ||
                           agree_asks(&run->ranks);

    return calls_any ? watchdog_start(&run->watch.callbacks, config->stall_warning_ms) : SLUICE_OK;
}
