/* SPDX-License-Identifier: Apache-2.0 */
#include "data_channel.h"

#include <string.h>

#include "range_int.h"
#include "status_int.h"

/*
 * Slots when nobody says: one more than the least evens out what batches cost. Slots that workers
 * and step touch in turn do so only up to about what a processor's cache holds; beyond, another one
 * only takes memory that must be cleared first.
 */
enum { DEFAULT_SLOTS = 4, CACHED_BYTES = 64 << 20 };

/* Where memory that nobody limited ends: this share of what the process may use. */
enum { MEMORY_SHARE = 4 };

sluice_status channel_find_ranks(uint32_t rank, uint32_t world, sluice_ranks *ranks_out)
{
    *ranks_out = (sluice_ranks){sizeof(*ranks_out), rank, world, 0, 0, "config"};
    return rank == 0 && world == 0 ? sluice_ranks_find(ranks_out) : SLUICE_OK;
}

static void queue_config(const data_channel *c, uint32_t slots, sli_queue_config *config)
{
    memset(config, 0, sizeof(*config));
    config->device = c->config.device;
    config->layout = &c->layout;
    config->conversion = c->plan->device_converts ? &c->plan->device_conversion : NULL;
    config->conversion_column = c->plan->image_column >= 0 ? (uint32_t)c->plan->image_column : 0;
    config->slots = slots;
    config->history = c->config.history;
    config->node = c->placement != NULL ? c->placement->memory_node : -1;
}

/* The most slots within the bound, or as many as were asked for. */
static sluice_status choose_slots(data_channel *c)
{
    const uint64_t bound = c->config.memory_bytes > 0 ? c->config.memory_bytes
                                                      : c->topology->memory_limit / MEMORY_SHARE;
    /* A slot that is lent to the step is not free while it runs, so one more is needed. */
    const bool lends = c->config.device->caps.host_memory && !c->plan->device_converts;
    const uint32_t least = lends ? 3 : 2;
    const bool large = lends && DEFAULT_SLOTS * c->layout.slot_bytes > CACHED_BYTES;
    uint32_t slots = c->config.slots > 0 ? c->config.slots : large ? least : DEFAULT_SLOTS;
    sli_queue_config config;
    uint64_t bytes;

    if (slots < least || slots > 1024) {
        return sli_fail(SLUICE_E_INVALID, "slots=%u: want %u to 1024 on %s", slots, least,
                        sluice_device_name(c->config.device));
    }
    for (;; slots--) {
        queue_config(c, slots, &config);
        sli_queue_memory_of(&config, &c->memory);
        bytes = c->memory.staging_bytes + c->memory.slot_bytes;
        if (bytes <= bound) {
            c->slots = slots;
            return SLUICE_OK;
        }
        if (slots == least || c->config.slots > 0) {
            break;
        }
    }
    return sli_fail(SLUICE_E_INVALID,
                    "%u slots take %.6g MB, more than the bound of %.6g MB; use a smaller batch%s, "
                    "or allow more memory",
                    slots, (double)bytes / 1e6, (double)bound / 1e6,
                    c->config.slots > least ? ", fewer slots" : "");
}

static sluice_status plan_placement(data_channel *c)
{
    const sli_placement_request request = {
        .workers = c->config.workers, .node = c->config.device->caps.node, .local_world = 1};
    sluice_status st = sli_topology_open(NULL, &c->topology);

    if (st == SLUICE_OK) {
        st = sli_placement_plan(c->topology, &request, &c->placement);
    }
    return st;
}

static sluice_status make_profile(data_channel *c)
{
    static const char *const names[CHANNEL_STAGES] = {"copy", "get_next", "step"};

    memcpy(c->stage_names, c->plan->stage_names, c->plan->stage_count * sizeof(char *));
    memcpy(c->stage_names + c->plan->stage_count, names, sizeof(names));
    return sli_profile_init(&c->profile, c->stage_names, c->plan->stage_count + CHANNEL_STAGES,
                            c->placement->worker_count + 1);
}

sluice_status channel_open(const channel_config *config, data_channel *c)
{
    sli_queue_config queue;
    sluice_status st;

    sli_ranges_start();
    memset(c, 0, sizeof(*c));
    c->config = *config;
    c->config.settings.prefer_device = config->device->caps.kernels;
    st = sli_plan_open(config->dataset, &c->config.settings, &c->plan);
    if (st == SLUICE_OK) {
        st = sli_layout_make(c->plan->wire, c->plan->column_count, c->plan->batch_size, &c->layout);
    }
    if (st == SLUICE_OK) {
        st = plan_placement(c);
    }
    if (st == SLUICE_OK) {
        st = choose_slots(c);
    }
    if (st == SLUICE_OK) {
        st = make_profile(c);
    }
    if (st == SLUICE_OK) {
        queue_config(c, c->slots, &queue);
        queue.copy_counters = channel_counters(c, CHANNEL_COPY);
        st = sli_queue_create(&queue, &c->queue);
    }
    if (st != SLUICE_OK) {
        channel_close(c);
    }
    return st;
}

sluice_status channel_start(data_channel *c, uint64_t batches)
{
    const sli_engine_config config = {.plan = c->plan,
                                      .queue = c->queue,
                                      .placement = c->placement,
                                      .profile = &c->profile,
                                      .batches = batches,
                                      .passes = c->passes};

    sluice_status st;

    sli_profile_start(&c->profile);
    st = sli_queue_start(c->queue, &c->placement->copier_cpus);
    return st == SLUICE_OK ? sli_engine_start(&config, &c->engine) : st;
}

void channel_stop(data_channel *c)
{
    if (c->engine != NULL) {
        sli_engine_stop(c->engine);
    }
    if (c->queue != NULL) {
        sli_queue_stop(c->queue);
    }
    sli_profile_stop(&c->profile);
}

void channel_close(data_channel *c)
{
    sli_engine_destroy(c->engine);
    sli_queue_destroy(c->queue);
    sli_profile_fini(&c->profile);
    sli_placement_free(c->placement);
    sli_topology_close(c->topology);
    sli_plan_close(c->plan);
    memset(c, 0, sizeof(*c));
}

sli_counters *channel_counters(const data_channel *c, uint32_t stage)
{
    return sli_profile_cell(&c->profile, c->plan->stage_count + stage, c->placement->worker_count);
}
