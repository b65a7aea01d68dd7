/* SPDX-License-Identifier: Apache-2.0 */
#include "channel_steps.h"

/* Longer steps are an error of the caller, and their sum might not fit the counters. */
static const double MOST_SECONDS = 1e9;

void channel_steps_count(sluice_channel *channel, uint64_t ticks)
{
    pthread_mutex_lock(&channel->lock);
    if (atomic_load_explicit(&channel->step_times, memory_order_relaxed) == 0) {
        sli_counters_item(feed_counters(&channel->data, FEED_STEP), ticks, 0);
    }
    pthread_mutex_unlock(&channel->lock);
}

static void publish(sluice_channel *channel, double seconds)
{
    sli_counters *step = feed_counters(&channel->data, FEED_STEP);
    const uint64_t ticks = sli_profile_ticks(&channel->data.profile, seconds);

    pthread_mutex_lock(&channel->lock);
    if (atomic_load_explicit(&channel->step_times, memory_order_relaxed) == 0) {
        sli_counters_clear_items(step);
    }
    sli_counter_add(&channel->step_times, 1);
    sli_counters_item(step, ticks, 0);
    pthread_mutex_unlock(&channel->lock);
}

sluice_status sluice_channel_step_time(sluice_channel *channel, double seconds)
{
    static const char function[] = "sluice_channel_step_time";

    if (channel == NULL) {
        return sli_fail(SLUICE_E_INVALID, "%s: channel is NULL", function);
    }
    if (!(seconds >= 0 && seconds <= MOST_SECONDS)) { /* also NaN */
        return sli_fail(SLUICE_E_INVALID, "%s: seconds is %g, and must be from 0 to %g", function,
                        seconds, MOST_SECONDS);
    }
    if (!channel_is_started(channel)) {
        return channel_not_started(function);
    }
    publish(channel, seconds);
    return SLUICE_OK;
}
