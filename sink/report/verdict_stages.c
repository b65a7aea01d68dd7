/* SPDX-License-Identifier: Apache-2.0 */
/* Which stage of the workers takes most of their time, and why. */
#include <string.h>

#include "verdict.h"

/* A map is limited by its lock, or because it is serial, if workers wait for this share of its
 * time. */
static const double LOCK_SHARE = 0.3;

/* A stage is blocked if it sleeps for this share of the time that it is not in the run queue. */
static const double BLOCKED_SHARE = 0.5;

/* A process that uses this part of its cores is not held up by others. */
static const double OWN_SHARE = 0.85;

/* Other processes that use less of the cores do not matter. */
static const double OTHERS_SHARE = 0.1;

/* Samples of the system calls of a stage that are enough to say what it waits for. */
static const uint32_t ENOUGH_PROBES = 3;

bool verdict_is_steady(const verdict_facts *facts, const verdict_stage *stage)
{
    const sli_cache_counts *cache = &facts->data.cache;
    const uint64_t pass = facts->data.samples_per_pass;

    return !facts->data.has_cache || cache->is_full || cache->hits == 0 ||
           (pass > 0 && cache->hits + cache->misses <= pass) ||
           stage->samples > cache->misses + cache->misses / 8;
}

double verdict_busy(const verdict_facts *facts)
{
    double all = 0;

    for (uint32_t i = 0; i < facts->stage_count; i++) {
        all += verdict_is_steady(facts, &facts->stages[i]) ? facts->stages[i].busy_s : 0;
    }
    return all;
}

const verdict_stage *verdict_largest(const verdict_facts *facts)
{
    const verdict_stage *most = NULL;

    for (uint32_t i = 0; i < facts->stage_count; i++) {
        const verdict_stage *stage = &facts->stages[i];

        if (verdict_is_steady(facts, stage) && stage->busy_s > 0) {
            most = most == NULL || stage->busy_s > most->busy_s ? stage : most;
        }
    }
    return most;
}

/*
 * Share of the time, without the run queue, in which a function of the user waits for a lock of its
 * own, by samples of its system calls. With k workers under one lock it is (k - 1) / k.
 */
static double share_of_lock(const verdict_stage *stage)
{
    const wait_counts *waits = &stage->waits;
    const double locked = waits->locked >= ENOUGH_PROBES ? waits->locked : 0;
    const double off = (double)waits->locked + waits->asleep;
    const double ready = stage->cpu + stage->blocked;

    if ((stage->kind & SLI_STAGE_USER) == 0 || locked <= 0) {
        return 0;
    }
    return stage->has_shares && ready > 0 ? stage->blocked / ready * locked / off
                                          : locked / (off + waits->running);
}

bool verdict_only_sleeps(const verdict_facts *facts, const verdict_stage *stage)
{
    return facts->probed && stage->waits.asleep >= ENOUGH_PROBES &&
           stage->waits.asleep >= 5 * stage->waits.locked;
}

bool verdict_fills_cores(const verdict_facts *facts)
{
    return facts->cores.used >= OWN_SHARE * facts->cores.allowed;
}

bool verdict_others_hold(const verdict_facts *facts)
{
    const verdict_cores *cores = &facts->cores;

    return !verdict_fills_cores(facts) &&
           (!cores->has_others || cores->others >= OTHERS_SHARE * cores->allowed);
}

bool verdict_is_undivided(const verdict_stage *stage)
{
    return stage->has_clock && !stage->has_runqueue;
}

const char *verdict_cause(const verdict_facts *facts, const verdict_stage *stage)
{
    /* No worker more would find a core: whether the others sleep does not matter. */
    const bool is_full = verdict_is_undivided(stage) && verdict_fills_cores(facts);
    const bool is_user = (stage->kind & SLI_STAGE_USER) != 0;
    const bool is_read = (stage->kind & SLI_STAGE_READ) != 0;
    const double sleeps = stage->has_shares ? stage->blocked / (stage->cpu + stage->blocked) : 0;

    if (share_of_lock(stage) >= LOCK_SHARE ||
        (stage->locked_s > 0 && stage->locked_s >= LOCK_SHARE * stage->busy_s)) {
        return "lock";
    }
    if (!stage->has_shares && is_read) {
        return is_user ? "blocked" : "storage";
    }
    if (stage->has_shares && stage->cpu + stage->blocked > 0 && sleeps >= BLOCKED_SHARE &&
        !is_full) {
        return !is_user && is_read ? "storage" : "blocked";
    }
    return "cpu";
}

const verdict_operation *verdict_operation_of(const verdict_facts *facts,
                                              const verdict_stage *stage)
{
    const verdict_operation *most = NULL;

    for (uint32_t i = 0; i < facts->operation_count; i++) {
        const verdict_operation *operation = &facts->operations[i];

        if (&facts->stages[operation->stage] == stage && operation->share > 0 &&
            strcmp(operation->name, "other") != 0 && strcmp(operation->name, "others") != 0) {
            most = most == NULL || operation->share > most->share ? operation : most;
        }
    }
    return most;
}
