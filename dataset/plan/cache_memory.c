/* SPDX-License-Identifier: Apache-2.0 */
/* Creates the memory of a dataset's cache: private, or with the other ranks of the machine. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "log_int.h"
#include "plan.h"
#include "rank_cores_int.h"
#include "rank_exchange_int.h"
#include "status_int.h"

uint64_t sli_plan_cache_bytes(const sli_plan *plan, bool *shared_out)
{
    *shared_out = plan->details->cache.is_shared;
    return plan->details->cache.bytes;
}

/* A hash of the columns that entries have, which depends on the stages after the cache, too. */
static uint64_t columns_of(const sli_plan *plan)
{
    const struct plan_details *details = plan->details;
    const plan_cache *cache = &details->cache;
    const uint32_t count =
        cache->is_rows ? cache->kept_count : plan->dataset->source_schema.column_count;
    uint64_t hash = count;

    for (uint32_t i = 0; i < count; i++) {
        const uint32_t buffer = cache->is_rows ? cache->kept[i] : i;

        hash = sli_mix_in(hash, details->memory.buffers[buffer].needed ? buffer : UINT32_MAX);
    }
    return hash;
}

/*
 * The identity of what entries hold: the source, its samples, and the stages before the cache
 * except those of order.
 */
static uint64_t identity_of(const sli_plan *plan)
{
    const sluice_dataset *dataset = plan->dataset;
    uint64_t hash = dataset_names_hash(dataset);
    sli_text text = {0};

    for (uint32_t i = 0; i < plan->details->cache.stage; i++) {
        if (dataset->stages[i].def->kind != STAGE_INDEX) {
            sli_text_add(&text, "%s", " | ");
            dataset_print(dataset, i, i + 1, &text);
        }
    }
    if (!text.failed) {
        hash = sli_mix_in(hash, sli_hash_text(text.data));
    }
    sli_text_free(&text);
    return hash;
}

/* An entry for the columns and the first image of a sample, and one for each of its other files; or
 * one for all. */
static uint64_t parts_of(const sli_plan *plan)
{
    const stage_schema *source = &plan->dataset->source_schema;
    uint64_t parts = 1;

    for (uint32_t i = 0; i < source->column_count && !plan->details->cache.is_rows; i++) {
        parts += source->infos[i].role == ROLE_MASK || source->infos[i].role == ROLE_IMAGE;
    }
    return parts;
}

static cache_key key_of(const sli_plan *plan)
{
    const sluice_dataset *dataset = plan->dataset;

    return (cache_key){plan->details->cache.bytes, dataset->source_count, parts_of(plan),
                       identity_of(plan), columns_of(plan)};
}

static sluice_status create_private(sluice_dataset *dataset, const cache_key *key)
{
    return dataset->cache == NULL ? sample_cache_create(key, &dataset->cache) : SLUICE_OK;
}

sluice_status plan_cache_open(const sli_plan *plan)
{
    cache_key key;
    sluice_status st;

    if (plan->details->cache.stage == 0 || plan->details->cache.is_shared) {
        return SLUICE_OK;
    }
    key = key_of(plan);
    pthread_mutex_lock(&plan->dataset->lock);
    st = create_private(plan->dataset, &key);
    pthread_mutex_unlock(&plan->dataset->lock);
    return st;
}

/* ---- with other ranks ------------------------------------------------------------------------ */

/* What a rank sends. */
typedef struct cache_record {
    cache_key key;
    uint64_t has_memory; /* of local rank 0: it has created the memory */
} cache_record;

static sluice_status check_records(const cache_record *records, uint32_t count)
{
    for (uint32_t r = 1; r < count; r++) {
        if (memcmp(&records[r].key, &records[0].key, sizeof(records[0].key)) != 0) {
            return sli_fail(SLUICE_E_INVALID,
                            "local ranks 0 and %u cache different samples or columns, or "
                            "set different cache sizes",
                            r);
        }
    }
    return records[0].has_memory != 0
               ? SLUICE_OK
               : sli_fail(SLUICE_E_IO, "local rank 0 has no shared memory; its log says why");
}

/* Exchanges the records, and maps the memory of local rank 0. memory: on local rank 0, or NULL. */
static sluice_status exchange(const cache_key *key, const sluice_ranks *ranks, int64_t timeout_ms,
                              const sample_cache *memory, sample_cache **cache_out)
{
    const cache_record own = {*key, memory != NULL};
    cache_record records[SLI_EXCHANGE_RANKS];
    char job[SLI_JOB_KEY_SIZE];
    char name[SLI_JOB_KEY_SIZE + 40];
    int fd = -1;
    sluice_status st;

    snprintf(name, sizeof(name), "%s/cache/%016llx", sli_rank_job_key(ranks, job),
             (unsigned long long)key->identity);
    st = ranks->local_world <= SLI_EXCHANGE_RANKS
             ? sli_rank_exchange_descriptor(
                   name, ranks->local_rank, ranks->local_world, timeout_ms, &own, sizeof(own),
                   records, memory != NULL ? sample_cache_descriptor(memory) : -1, &fd)
             : sli_fail(SLUICE_E_INVALID, "%u ranks on a machine must be at most %d",
                        ranks->local_world, SLI_EXCHANGE_RANKS);
    if (st == SLUICE_OK) {
        st = check_records(records, ranks->local_world);
    }
    if (st == SLUICE_OK && ranks->local_rank > 0) {
        return sample_cache_attach(fd, key, cache_out);
    }
    if (fd >= 0) {
        close(fd);
    }
    return st;
}

/* Creates the cache with the other ranks; collective. */
static sluice_status share(const cache_key *key, const sluice_ranks *ranks, int64_t timeout_ms,
                           sample_cache **cache_out)
{
    sample_cache *cache = NULL;
    sli_error error = {.status = SLUICE_OK};
    sluice_status st;

    if (timeout_ms == 0) {
        return sli_fail(SLUICE_E_INVALID, "SLUICE_EXCHANGE_MS is 0");
    }
    if (ranks->local_world == 0) {
        return sli_fail(SLUICE_E_INVALID,
                        "the number of ranks on this machine is unknown; set SLUICE_LOCAL=R/W");
    }
    if (ranks->local_rank == 0) {
        st = sample_cache_create_shared(key, &cache);
        if (st != SLUICE_OK) {
            sli_error_take(st, &error);
        }
    }
    st = exchange(key, ranks, timeout_ms, cache, &cache);
    if (error.status != SLUICE_OK) {
        st = sli_error_raise(&error); /* why local rank 0 has no memory */
    }
    if (st != SLUICE_OK) {
        sample_cache_destroy(cache);
        return st;
    }
    *cache_out = cache;
    return SLUICE_OK;
}

/* Creates a private cache of this rank's part of the bytes. */
static void fall_back(sluice_dataset *dataset, const cache_key *key, uint32_t ranks)
{
    cache_key part = *key;
    char why[400];

    part.bytes = key->bytes / ranks;
    snprintf(why, sizeof(why), "%s", sluice_last_error());
    if (create_private(dataset, &part) == SLUICE_OK) {
        sli_log(SLUICE_LOG_WARN,
                "the ranks of this machine do not share their cache: %s. This rank has a private "
                "cache of 1/%u of the bytes, %.6g MB",
                why, ranks, (double)part.bytes / 1e6);
    } else {
        sli_log(SLUICE_LOG_WARN,
                "the ranks of this machine do not share their cache: %s. This rank has none: %s",
                why, sluice_last_error());
    }
}

/* The dataset's lock is held. */
static void share_locked(sluice_dataset *dataset, const cache_key *key, const sluice_ranks *ranks,
                         int64_t timeout_ms)
{
    if (share(key, ranks, timeout_ms, &dataset->cache) == SLUICE_OK) {
        dataset->cache_ranks = ranks->local_world;
    } else {
        fall_back(dataset, key, ranks->local_world > 0 ? ranks->local_world : ranks->world);
    }
}

sluice_status sli_plan_share_cache(const sli_plan *plan, const sluice_ranks *ranks)
{
    sluice_dataset *dataset = plan->dataset;
    const bool is_alone = ranks->world <= 1 || ranks->local_world == 1;
    int64_t timeout_ms = 0;
    cache_key key;
    sluice_status st;

    if (!plan->details->cache.is_shared) {
        return SLUICE_OK;
    }
    st = sli_rank_exchange_timeout(&timeout_ms);
    if (st != SLUICE_OK) {
        return st;
    }
    key = key_of(plan);
    st = sample_cache_check(&key);
    pthread_mutex_lock(&dataset->lock);
    if (st == SLUICE_OK && !dataset->cache_tried) {
        if (is_alone) {
            st = create_private(dataset, &key);
        } else {
            share_locked(dataset, &key, ranks, timeout_ms);
        }
        dataset->cache_tried = st == SLUICE_OK;
    }
    pthread_mutex_unlock(&dataset->lock);
    return st;
}
