/* SPDX-License-Identifier: Apache-2.0 */
#include "run_waits.h"

#include "clock_int.h"

double train_seconds_of(const train_run *run, uint64_t ticks)
{
    return (double)ticks * sli_profile_ns_per_tick_now(&run->feed.profile) / 1e9;
}

static uint64_t ended_waits(const train_run *run)
{
    const sli_counters *get_next = feed_counters(&run->feed, FEED_GET_NEXT);

    return atomic_load_explicit(&get_next->wait_input_ticks, memory_order_relaxed) +
           run->counts.host_wait_ticks;
}

double train_wait_seconds(const train_run *run)
{
    return train_seconds_of(run, ended_waits(run));
}

uint64_t train_current_wait(const train_run *run, uint64_t now)
{
    const program_progress progress = program_progress_of(run->program);
    const uint64_t entered = run->watch.host.since_ticks;
    const uint64_t since =
        progress.idle_since_ticks > entered ? progress.idle_since_ticks : entered;
    const bool waits =
        progress.waits_for_data || run->progress.awaited_seq == progress.batches_done + 1;

    return waits && run->watch.host.now == HOST_SINK && since < now
               ? now - since - sli_engine_replay_overlap(run->feed.engine, since, now)
               : 0;
}

double train_wait_seconds_so_far(const train_run *run)
{
    return train_seconds_of(run, ended_waits(run) + train_current_wait(run, sli_ticks()));
}
