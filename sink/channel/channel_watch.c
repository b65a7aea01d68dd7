/* SPDX-License-Identifier: Apache-2.0 */
#include "channel_watch.h"

#include <math.h>

#include "report_file.h"
#include "report_request.h"

static const double LOOK_SECONDS = 0.1;

void channel_watch_init(channel_watch *watch)
{
    pthread_mutex_init(&watch->lock, NULL);
}

void channel_watch_fini(channel_watch *watch)
{
    pthread_mutex_destroy(&watch->lock);
}

void channel_watch_begin(sluice_channel *channel)
{
    channel->watch.requests = report_requests();
}

/* ---- requests -------------------------------------------------------------------------------- */

/* Writes the report so far to stderr. */
static void write_report(sluice_channel *channel)
{
    const sli_run_settings *settings = &channel->data.config.settings;
    sluice_report *report = NULL;
    const sluice_status st = sluice_channel_report(channel, &report);

    report_file_write("-", settings->rank, settings->world, st == SLUICE_OK ? report : NULL);
    sluice_report_destroy(report);
}

/* ---- the series ------------------------------------------------------------------------------ */

static double seconds_of(const _Atomic uint64_t *ticks, double second)
{
    return second > 0 ? (double)atomic_load_explicit(ticks, memory_order_relaxed) / second : 0;
}

/* Seconds in which steps waited for data so far, as a report has them. second: in ticks. */
static double wait_seconds(const sluice_channel *channel, int64_t now_ns, double second)
{
    const data_feed *data = &channel->data;
    const double wait_s = seconds_of(&feed_counters(data, FEED_GET_NEXT)->wait_input_ticks, second);
    const double step_s = seconds_of(&feed_counters(data, FEED_STEP)->busy_ticks, second);
    const double all_s = (double)(now_ns - data->profile.start_ns) / 1e9;

    return atomic_load_explicit(&channel->step_times, memory_order_relaxed) > 0
               ? fmin(wait_s, fmax(0, all_s - step_s))
               : wait_s;
}

/* Looks at the workers and adds a row to the series, each if it is time to. */
static void look(sluice_channel *channel, uint64_t now)
{
    channel_watch *watch = &channel->watch;
    channel_seen *seen = &watch->seen;
    const double second = (double)sli_profile_ticks(&channel->data.profile, 1);
    const int64_t now_ns = sli_now_ns();

    watch->due_ticks = now + (uint64_t)(LOOK_SECONDS * second);
    pthread_mutex_lock(&watch->lock);
    wait_probe_poll(&seen->waits, channel->data.engine, now_ns);
    if (run_series_is_due(&seen->series, now_ns)) {
        const run_series_row row = {.batches =
                                        atomic_load_explicit(&channel->given, memory_order_relaxed),
                                    .wait_s = wait_seconds(channel, now_ns, second),
                                    .cpu_ns = sli_process_cpu_ns()};

        run_series_add(&seen->series, row, now_ns);
    }
    pthread_mutex_unlock(&watch->lock);
}

bool channel_watch_poll(sluice_channel *channel, uint64_t now)
{
    channel_watch *watch = &channel->watch;
    const uint64_t requests = report_requests();
    const bool asked = requests != watch->requests;
    const bool due = now >= watch->due_ticks;

    if (due) {
        look(channel, now);
    }
    if (asked) {
        watch->requests = requests;
        write_report(channel);
    }
    return asked || due;
}
