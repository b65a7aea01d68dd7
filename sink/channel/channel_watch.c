/* SPDX-License-Identifier: Apache-2.0 */
#include "channel_watch.h"

#include "report_data.h"
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

/* Seconds in which steps waited for data so far, as a report has them. */
static double wait_seconds(const sluice_channel *channel, int64_t now_ns, double ns_per_tick)
{
    const data_feed *data = &channel->data;
    const sli_counters *get_next = feed_counters(data, FEED_GET_NEXT);
    const sli_counters *step = feed_counters(data, FEED_STEP);
    const uint64_t waits = atomic_load_explicit(&get_next->wait_input_ticks, memory_order_relaxed);
    const uint64_t steps = atomic_load_explicit(&step->busy_ticks, memory_order_relaxed);

    return report_data_wait((double)waits * ns_per_tick / 1e9,
                            (double)(now_ns - data->profile.start_ns) / 1e9,
                            (double)steps * ns_per_tick / 1e9,
                            atomic_load_explicit(&channel->step_times, memory_order_relaxed) > 0);
}

/* Looks at the workers and adds a row to the series, each if it is time to. */
static void look(sluice_channel *channel, uint64_t now)
{
    channel_watch *watch = &channel->watch;
    channel_seen *seen = &watch->seen;
    const double ns_per_tick = sli_profile_ns_per_tick_now(&channel->data.profile);
    const int64_t now_ns = sli_now_ns();

    watch->due_ticks = now + sli_profile_ticks(&channel->data.profile, LOOK_SECONDS);
    pthread_mutex_lock(&watch->lock);
    wait_probe_poll(&seen->waits, channel->data.engine, now_ns);
    if (run_series_is_due(&seen->series, now_ns)) {
        const run_series_row row = {.batches =
                                        atomic_load_explicit(&channel->given, memory_order_relaxed),
                                    .wait_s = wait_seconds(channel, now_ns, ns_per_tick),
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
