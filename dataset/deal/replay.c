/* SPDX-License-Identifier: Apache-2.0 */
#include "replay.h"

#include <inttypes.h>

#include "clock_int.h"
#include "log_int.h"

/* A replay that lasts longer is logged before it ends. */
static const int64_t LONG_NS = INT64_C(5000000000);

static uint64_t load(const _Atomic uint64_t *value)
{
    return atomic_load_explicit(value, memory_order_relaxed);
}

static void store(_Atomic uint64_t *value, uint64_t to)
{
    atomic_store_explicit(value, to, memory_order_relaxed);
}

void replay_begin(replay *r, const sli_plan *plan, uint64_t done)
{
    r->plan = plan;
    r->batches = done / ((uint64_t)plan->batch_size * plan->settings.world);
    r->before = load(&r->samples);
    r->begin_ns = sli_now_ns();
    r->warned = false;
    store(&r->begin_ticks, sli_ticks());
    store(&r->end_ticks, 0);
}

void replay_add(replay *r, uint64_t samples)
{
    int64_t passed_ns;

    store(&r->samples, load(&r->samples) + samples);
    if (r->warned) {
        return;
    }
    passed_ns = sli_now_ns() - r->begin_ns;
    if (passed_ns >= LONG_NS) {
        r->warned = true;
        sli_log(SLUICE_LOG_WARN,
                "replaying %" PRIu64 " batches that were done before the run (%s): %" PRIu64
                " samples in %.1f s so far; no batch is made meanwhile, and this time is not "
                "counted as data wait",
                r->batches, sli_plan_uncounted(r->plan), load(&r->samples) - r->before,
                (double)passed_ns / 1e9);
    }
}

/* Ends the replay in progress without a word. */
static void close_replay(replay *r)
{
    const uint64_t now = sli_ticks();

    store(&r->past_ticks, load(&r->past_ticks) + now - load(&r->begin_ticks));
    store(&r->end_ticks, now);
    r->begin_ns = 0;
}

void replay_end(replay *r, uint64_t passes)
{
    const uint64_t samples = load(&r->samples) - r->before;

    sli_log(r->warned ? SLUICE_LOG_WARN : SLUICE_LOG_INFO,
            "replayed %" PRIu64 " batches: %" PRIu64 " samples of %" PRIu64
            " pass%s in %.1f s; this time is not counted as data wait",
            r->batches, samples, passes, passes == 1 ? "" : "es",
            (double)(sli_now_ns() - r->begin_ns) / 1e9);
    close_replay(r);
}

void replay_abandon(replay *r)
{
    if (replay_is_open(r)) {
        close_replay(r);
    }
}

uint64_t replay_samples(const replay *r)
{
    return load(&r->samples);
}

bool replay_lasts(const replay *r)
{
    return load(&r->begin_ticks) != 0 && load(&r->end_ticks) == 0;
}

uint64_t replay_overlap(const replay *r, uint64_t start, uint64_t end)
{
    const uint64_t begin = load(&r->begin_ticks);
    const uint64_t ended = load(&r->end_ticks);
    const uint64_t first = begin > start ? begin : start;
    const uint64_t last = ended != 0 && ended < end ? ended : end;

    return begin != 0 && first < last ? last - first : 0;
}

uint64_t replay_ticks(const replay *r, uint64_t now)
{
    return load(&r->past_ticks) + (replay_lasts(r) ? replay_overlap(r, 0, now) : 0);
}
