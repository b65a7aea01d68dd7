/* SPDX-License-Identifier: Apache-2.0 */
/* What the trainer looks after while it waits: the stop token, the time limit, stalls. */
#include "clock_int.h"
#include "log_int.h"
#include "train_run.h"

const int64_t TRAIN_LOOK_NS = 10000000;

/* Who waits for whom, in one line. */
static void describe(const train_run *run, sli_text *text)
{
    bool waits = atomic_load_explicit(&run->program->waits_for_data, memory_order_relaxed);
    uint64_t done = atomic_load_explicit(&run->program->steps_done, memory_order_relaxed);

    sli_text_add(text,
                 "no step ended for %.1f s: ", (double)(sli_now_ns() - run->progress_ns) / 1e9);
    if (!waits) {
        sli_text_add(text, "the step function is running (step %llu)",
                     (unsigned long long)(run->plan.first_step + done));
        return;
    }
    sli_text_add(text, "step %llu waits for data; ",
                 (unsigned long long)(run->plan.first_step + done));
    sli_engine_describe_wait(run->channel.engine, done + 1, text);
}

/* Nothing moved for long: says so once, and in the end gives up if it is the data that are late. */
static sluice_status stalled(train_run *run, int64_t still_ms)
{
    bool too_long = still_ms >= run->config.stall_timeout_ms &&
                    atomic_load_explicit(&run->program->waits_for_data, memory_order_relaxed);
    sli_text text = {0};
    sluice_status st = SLUICE_OK;

    if (run->stall_warned && !too_long) {
        return SLUICE_OK;
    }
    describe(run, &text);
    if (!run->stall_warned) {
        run->stall_warned = true;
        sli_log(SLUICE_LOG_WARN, "%s", text.data != NULL ? text.data : "stalled");
    }
    if (too_long) {
        st = sli_fail(SLUICE_E_STALLED, "%s", text.data != NULL ? text.data : "stalled");
    }
    sli_text_free(&text);
    return st;
}

sluice_status train_watch(train_run *run)
{
    const sluice_train_config *config = &run->config;
    const int64_t now = sli_now_ns();
    const uint64_t done = atomic_load_explicit(&run->program->steps_done, memory_order_relaxed);

    if (config->stop != NULL &&
        atomic_load_explicit(&config->stop->requested, memory_order_acquire) != 0) {
        run->stop = true;
    }
    if (config->max_seconds > 0 && (double)(now - run->start_ns) / 1e9 >= config->max_seconds) {
        run->out_of_time = true;
    }
    if (run->stop || run->out_of_time) {
        run->program->ops->stop(run->program);
    }
    if (done != run->progress_steps || run->progress_ns == 0) {
        run->progress_steps = done;
        run->progress_ns = now;
        run->stall_warned = false;
        return SLUICE_OK;
    }
    return (now - run->progress_ns) / 1000000 >= config->stall_warning_ms
               ? stalled(run, (now - run->progress_ns) / 1000000)
               : SLUICE_OK;
}
