/* SPDX-License-Identifier: Apache-2.0 */
/* Creates a channel's report. It has a run's format; a step is the loop's work on one batch. */
#include <sluice/channel.h>

#include "alloc_int.h"
#include "channel_state.h"
#include "report_run.h"

/* Returns the status that the channel ended with: its last error, CLOSED after a pause, or OK if it
 * has not ended. */
static sluice_status find_end(sluice_channel *channel, sli_error *error)
{
    pthread_mutex_lock(&channel->lock);
    *error = channel->failure;
    if (error->status == SLUICE_OK && channel->stopped) {
        error->status = SLUICE_CLOSED;
    }
    pthread_mutex_unlock(&channel->lock);
    return error->status;
}

static void copy_seen(sluice_channel *channel, channel_seen *seen_out)
{
    pthread_mutex_lock(&channel->watch.lock);
    *seen_out = channel->watch.seen;
    pthread_mutex_unlock(&channel->watch.lock);
}

/* Creates the report of a started channel. seen: room for a copy of the channel's. */
static sluice_status make_report(sluice_channel *channel, channel_seen *seen,
                                 sluice_report **report_out)
{
    const run_counts counts = {
        .steps = atomic_load_explicit(&channel->given, memory_order_relaxed),
        .samples = atomic_load_explicit(&channel->samples, memory_order_relaxed),
        .step_times = atomic_load_explicit(&channel->step_times, memory_order_relaxed)};
    sli_profile profile = channel->data.profile; /* shallow copy: the counters stay shared */
    const report_run run = {.feed = &channel->data,
                            .profile = &profile,
                            .start = &channel->start,
                            .counts = &counts,
                            .mode_reason = "",
                            .is_running = true,
                            .micro_batches = 1,
                            .probe = &seen->waits,
                            .series = &seen->series};
    sli_error end;
    sluice_status st;

    sli_profile_stop(&profile);
    copy_seen(channel, seen);
    st = find_end(channel, &end);
    return report_make(&run, st, end.text, report_out);
}

sluice_status sluice_channel_report(sluice_channel *channel, sluice_report **report_out)
{
    static const char function[] = "sluice_channel_report";
    channel_seen *seen;
    sluice_status st;

    if (channel == NULL || report_out == NULL) {
        return sli_fail(SLUICE_E_INVALID, "%s: %s is NULL", function,
                        channel == NULL ? "channel" : "report_out");
    }
    st = sli_device_check(channel->data.config.device, function);
    if (st != SLUICE_OK) {
        return st;
    }
    if (!channel_is_started(channel)) {
        return channel_not_started(function);
    }
    seen = sli_calloc(1, sizeof(*seen));
    if (seen == NULL) {
        return sli_fail(SLUICE_E_NO_MEMORY, "a report");
    }
    st = make_report(channel, seen, report_out);
    sli_free(seen);
    return st;
}
