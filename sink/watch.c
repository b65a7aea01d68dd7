/* SPDX-License-Identifier: Apache-2.0 */
/* What the trainer looks after while it waits: the stop token, the time limit, stalls. */
#include "agree.h"
#include "clock_int.h"
#include "log_int.h"
#include "train_run.h"

const int64_t TRAIN_LOOK_NS = 10000000;

/* Does the next step not begin for want of its batch? Otherwise a step is running. */
static bool is_starved(const train_run *run)
{
    const program_progress progress = program_progress_of(run->program);

    return progress.waits_for_data || progress.batches_done + 1 == run->awaited_seq;
}

/* Who waits for whom, in one line. */
static void describe(const train_run *run, sli_text *text)
{
    const uint64_t done = program_progress_of(run->program).batches_done;
    const unsigned long long step = run->plan.first_step + done / run->config.micro_batches;

    sli_text_add(text,
                 "no step ended for %.1f s: ", (double)(sli_now_ns() - run->progress_ns) / 1e9);
    if (!is_starved(run)) {
        sli_text_add(text, "the step function is running (step %llu)", step);
        return;
    }
    sli_text_add(text, "step %llu waits for data; ", step);
    sli_engine_describe_wait(run->channel.engine, done + 1, text);
}

/* Nothing moved for long: says so once, and in the end gives up if it is the data that are late. */
static sluice_status stalled(train_run *run, bool too_long)
{
    sli_text text = {0};
    const char *what;
    sluice_status st = SLUICE_OK;

    describe(run, &text);
    what = text.failed || text.data == NULL ? "stalled" : text.data;
    if (!run->stall_warned) {
        run->stall_warned = true;
        sli_log(SLUICE_LOG_WARN, "%s", what);
    }
    if (too_long) {
        st = sli_fail(SLUICE_E_STALLED, "%s", what);
    }
    sli_text_free(&text);
    return st;
}

static sluice_status watch_for_stalls(train_run *run, int64_t now)
{
    const sluice_train_config *config = &run->config;
    const uint64_t done = program_progress_of(run->program).batches_done;
    int64_t still_ms;
    bool too_long;

    if (done != run->progress_batches || run->progress_ns == 0) {
        run->progress_batches = done;
        run->progress_ns = now;
        run->stall_warned = false;
        return SLUICE_OK;
    }
    still_ms = (now - run->progress_ns) / 1000000;
    too_long = still_ms >= config->stall_timeout_ms && is_starved(run);
    if (too_long || (still_ms >= config->stall_warning_ms && !run->stall_warned)) {
        return stalled(run, too_long);
    }
    return SLUICE_OK;
}

sluice_status train_wants_to_stop(train_run *run, sluice_status st)
{
    if (agree_asks(run)) {
        run->wish = run->wish > AGREE_STOP ? run->wish : AGREE_STOP;
    } else if (run->config.world > 1 && st >= 0) {
        return sli_fail(SLUICE_E_INVALID,
                        "a hook or the step asked to stop one of %u ranks, and the others would "
                        "wait for it; %s",
                        run->config.world,
                        run->nested ? "in a check or a validation none may stop"
                                    : "set config.agree");
    } else {
        run->stop = true;
    }
    return st;
}

/* Looks whether the run shall end: at once, or, with several ranks, where they agree. */
static void watch_for_ends(train_run *run, int64_t now)
{
    const sluice_train_config *config = &run->config;
    const bool stop = sli_stop_is_requested(config->stop);
    const bool late =
        config->max_seconds > 0 && (double)(now - run->start_ns) / 1e9 >= config->max_seconds;

    if (config->world > 1) {
        const int wish = stop ? AGREE_STOP : late ? AGREE_TIME_IS_OVER : AGREE_GO_ON;

        run->wish = run->wish > wish ? run->wish : wish;
        return;
    }
    run->stop = run->stop || stop;
    run->out_of_time = run->out_of_time || late;
    if (run->stop || run->out_of_time) {
        run->program->ops->stop(run->program);
    }
}

sluice_status train_watch(train_run *run)
{
    const int64_t now = sli_now_ns();

    watch_for_ends(run, now);
    return watch_for_stalls(run, now);
}
