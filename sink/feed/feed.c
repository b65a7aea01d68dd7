/* SPDX-License-Identifier: Apache-2.0 */
#include "feed.h"

#include <stdio.h>
#include <string.h>

#include "format_int.h"
#include "nvtx_ranges_int.h"
#include "rank_cores_int.h"
#include "ranks_int.h"
#include "slot_count.h"
#include "status_int.h"

/* Default memory bound: 1 / MEMORY_SHARE of the memory that the process may use. */
enum { MEMORY_SHARE = 4 };

/* Sets local rank and local world if the launcher's rank and world match the config's. Otherwise
 * ignores the launcher's variables, even invalid ones, since the config sets rank and world. */
static void find_local(sluice_ranks *ranks)
{
    sluice_ranks by = {.struct_size = sizeof(by)};

    if (sluice_ranks_find(&by) == SLUICE_OK && by.world > 1 && by.rank == ranks->rank &&
        by.world == ranks->world) {
        ranks->local_rank = by.local_rank;
        ranks->local_world = by.local_world;
    }
}

sluice_status feed_find_ranks(const sluice_ranks *set, sluice_ranks *ranks_out)
{
    sluice_ranks ranks = {sizeof(ranks), set->rank, set->world, 0, 0, "config"};
    sluice_status st = SLUICE_OK;

    if (set->rank == 0 && set->world == 0) {
        st = sluice_ranks_find(&ranks);
    } else {
        find_local(&ranks);
    }
    if (st == SLUICE_OK && set->local_world > 0) {
        ranks.local_rank = set->local_rank;
        ranks.local_world = set->local_world;
    }
    if (st == SLUICE_OK) {
        st = sli_ranks_override_local(&ranks, ranks.world);
    }
    if (st == SLUICE_OK) {
        sli_ranks_warn(&ranks);
    }
    *ranks_out = ranks;
    return st;
}

static void queue_config(const data_feed *f, uint32_t slots, sli_queue_config *config)
{
    memset(config, 0, sizeof(*config));
    config->device = f->config.device;
    config->layout = &f->layout;
    config->conversion = f->plan->device_converts ? &f->plan->device_conversion : NULL;
    config->conversion_column = f->plan->image_column >= 0 ? (uint32_t)f->plan->image_column : 0;
    config->programs = sli_plan_programs(f->plan);
    config->outputs = f->plan->device_widens ? f->plan->outputs : NULL;
    config->output_count = f->plan->column_count;
    config->slots = slots;
    config->sets = f->held;
    /* A held batch can be up to `slots` batches older than the next batch. */
    config->history = f->config.history + (f->held > 1 ? slots : 0);
    config->node = f->placement != NULL ? f->placement->memory_node : -1;
}

/* True if slots are lent to the step. A lent slot stays occupied while the step runs, so one more
 * slot is needed. */
static bool lends(const data_feed *f)
{
    return f->config.device->caps.host_memory && !f->plan->device_converts &&
           !f->plan->device_widens;
}

/* Minimum number of slots: workers must be able to fill one slot while the maximum number of
 * batches is held. */
static uint32_t least_slots(const data_feed *f)
{
    return f->held + 1 + (lends(f) ? 1 : 0);
}

/* The default number of slots. Held batches that are lent from their slots are added to the slots
 * that workers fill ahead. */
static uint32_t default_slots(const data_feed *f, const slot_request *request)
{
    const uint32_t least = least_slots(f);
    const uint32_t slots = slot_count(request) + (lends(f) ? f->held - 1 : 0);

    return slots < least ? least : slots > SLI_MAX_SLOTS ? SLI_MAX_SLOTS : slots;
}

/* The configured number of slots, or the default for this device and its workers. */
static sluice_status wanted_slots(const data_feed *f, uint32_t *slots_out)
{
    slot_request request = {.workers = f->placement->worker_count,
                            .batch_size = f->plan->batch_size,
                            .slot_bytes = f->layout.slot_bytes,
                            .kernels = f->config.device->caps.kernels,
                            .lends = lends(f)};
    sluice_status st;

    if (f->config.slots > 0) {
        *slots_out = f->config.slots;
        return SLUICE_OK;
    }
    st = sli_device_available(f->config.device, &request.free_bytes);
    if (st == SLUICE_OK) {
        if (request.free_bytes > f->memory_limit) { /* the limit also covers staging */
            request.free_bytes = f->memory_limit;
        }
        *slots_out = default_slots(f, &request);
    }
    return st;
}

/* Subtracts the outputs of device maps from the memory bound. */
static sluice_status bound_maps(const data_feed *f, uint64_t *bound)
{
    if (f->map_bytes > 0 && f->map_bytes >= *bound) {
        return sli_fail(SLUICE_E_INVALID,
                        "outputs of device maps take %.6g MB for batches of %u, more than the "
                        "bound of %.6g MB; use a smaller batch, smaller outputs, or allow more "
                        "memory",
                        (double)f->map_bytes / 1e6, f->plan->batch_size, (double)*bound / 1e6);
    }
    *bound -= f->map_bytes;
    return SLUICE_OK;
}

/*
 * Computes the part of the memory bound that is available for slots. The memory for a stream's
 * samples counts against a bound that the user has set, but not against the default bound, which
 * its maximum may exceed.
 */
static sluice_status find_bound(data_feed *f, uint64_t *bound_out)
{
    const uint64_t bound = f->config.memory_bytes;

    f->map_bytes = device_maps_bytes(f->config.maps, f->plan->batch_size, f->held);
    f->stream_bytes = sli_plan_stream_memory(f->plan, f->placement->worker_count);
    if (bound > 0 && f->stream_bytes >= bound) {
        return sli_fail(SLUICE_E_INVALID,
                        "samples of the stream take up to %.6g MB with %u workers, more than the "
                        "bound of %.6g MB; lower max_sample=, the buffer= of shuffle or the "
                        "number of edges of bucket, or allow more memory",
                        (double)f->stream_bytes / 1e6, f->placement->worker_count,
                        (double)bound / 1e6);
    }
    *bound_out = bound > 0 ? bound - f->stream_bytes : f->memory_limit / MEMORY_SHARE;
    return bound_maps(f, bound_out);
}

/* bound: the part of the memory bound that was available for slots. */
static sluice_status refuse_slots(const data_feed *f, uint32_t slots, uint64_t bytes,
                                  uint64_t bound, bool may_be_fewer)
{
    const uint64_t samples = f->config.memory_bytes > 0 ? f->stream_bytes : 0;
    const uint64_t beside = samples + f->map_bytes;
    char what[120] = "";

    if (samples > 0) {
        sli_print(what, sizeof(what), " beside %.6g MB for samples of the stream",
                  (double)samples / 1e6);
    }
    if (f->map_bytes > 0) {
        const size_t at = strlen(what);

        sli_print(what + at, sizeof(what) - at, "%s %.6g MB for outputs of device maps",
                  at > 0 ? " and" : " beside", (double)f->map_bytes / 1e6);
    }
    return sli_fail(
        SLUICE_E_INVALID,
        "%u slots take %.6g MB%s, more than the bound of %.6g MB; use a smaller batch%s, "
        "or allow more memory",
        slots, (double)bytes / 1e6, what, (double)(bound + beside) / 1e6,
        may_be_fewer ? ", fewer slots" : "");
}

static sluice_status refuse_slot_count(const data_feed *f, uint32_t slots)
{
    char held[60] = "";

    if (f->held > 1) {
        snprintf(held, sizeof(held), ", where %u batches are held", f->held);
    }
    return sli_fail(SLUICE_E_INVALID, "slots=%u must be from %u to %d on %s%s", slots,
                    least_slots(f), SLI_MAX_SLOTS, sluice_device_name(f->config.device), held);
}

/* Chooses the configured number of slots. If none is configured, chooses the default number,
 * reduced to fit the memory bound. */
static sluice_status choose_slots(data_feed *f)
{
    const uint32_t least = least_slots(f);
    sli_queue_config config;
    uint64_t bound = 0;
    uint32_t slots = 0;
    uint64_t bytes;
    sluice_status st = find_bound(f, &bound);

    if (st == SLUICE_OK) {
        st = wanted_slots(f, &slots);
    }
    if (st != SLUICE_OK) {
        return st;
    }
    if (slots < least || slots > SLI_MAX_SLOTS) {
        return refuse_slot_count(f, slots);
    }
    for (;; slots--) {
        queue_config(f, slots, &config);
        sli_queue_memory_of(&config, &f->memory);
        bytes = f->memory.staging_bytes + f->memory.slot_bytes;
        if (bytes <= bound) {
            f->slots = slots;
            return SLUICE_OK;
        }
        if (slots == least || f->config.slots > 0) {
            break;
        }
    }
    return refuse_slots(f, slots, bytes, bound, f->config.slots > least);
}

/* Parses config.cores; if it is a list of CPUs, restricts the topology to them. */
static sluice_status choose_cores(data_feed *f, sli_cores_setting *setting_out)
{
    const char *cores = f->config.cores;

    if (!sli_cores_parse(cores, setting_out)) {
        return sli_fail(
            SLUICE_E_INVALID,
            "cores is \"%.200s\", and must be auto, all or a list of CPUs such as 0-7,16", cores);
    }
    return setting_out->kind == SLI_CORES_LIST
               ? sli_topology_restrict(f->topology, &setting_out->list, "cores")
               : SLUICE_OK;
}

static sluice_status plan_placement(data_feed *f)
{
    const sluice_ranks *ranks = &f->config.ranks;
    sli_placement_request request = {.workers = f->config.workers,
                                     .node = f->config.device->caps.node,
                                     .node_given = f->config.device->caps.node >= 0,
                                     .local_rank = ranks->local_rank,
                                     .local_world = ranks->local_world};
    sli_cores_setting cores;
    sli_rank_part part;
    bool divided = false;
    sluice_status st = sli_topology_open(NULL, &f->topology);

    if (st == SLUICE_OK) {
        st = choose_cores(f, &cores);
    }
    if (st == SLUICE_OK && f->topology->node_count > 1) {
        request.node = sli_topology_node_of_device(NULL, f->config.device);
    }
    if (st == SLUICE_OK) {
        st = sli_rank_cores(f->topology, ranks, request.node, &cores, &part, &divided);
    }
    if (st == SLUICE_OK) {
        request.part = divided ? &part : NULL;
        f->memory_limit = divided ? part.memory_limit : f->topology->memory_limit;
        st = sli_placement_plan(f->topology, &request, &f->placement);
    }
    return st;
}

/* Refuses a cache that is larger than this rank's part of the memory. */
static sluice_status check_cache(const data_feed *f)
{
    const uint32_t local = f->config.ranks.local_world;
    bool shared = false;
    const uint64_t bytes = sli_plan_cache_bytes(f->plan, &shared);
    const uint64_t part = shared && local > 1 ? bytes / local : bytes;

    return part <= f->memory_limit
               ? SLUICE_OK
               : sli_fail(SLUICE_E_INVALID,
                          "cache: %.6g MB%s are more than the %.6g MB of memory that this process "
                          "may use; lower its bytes",
                          (double)part / 1e6, part < bytes ? ", this rank's part," : "",
                          (double)f->memory_limit / 1e6);
}

static sluice_status make_profile(data_feed *f)
{
    static const char *const names[FEED_STAGES] = {"copy", "get_next", "device_maps", "step"};

    memcpy(f->stage_names, f->plan->stage_names, f->plan->stage_count * sizeof(char *));
    memcpy(f->stage_names + f->plan->stage_count, names, sizeof(names));
    return sli_profile_init(&f->profile, f->stage_names, f->plan->stage_count + FEED_STAGES,
                            f->placement->worker_count + 1);
}

sluice_status feed_open(const feed_config *config, data_feed *f)
{
    sli_queue_config queue;
    sluice_status st;

    sli_ranges_start();
    memset(f, 0, sizeof(*f));
    f->config = *config;
    f->held = config->held > 0 ? config->held : 1;
    f->config.settings.prefer_device = config->device->caps.kernels;
    f->config.settings.copies = !config->device->caps.host_memory;
    st = sli_plan_open(config->dataset, &f->config.settings, &f->plan);
    if (st == SLUICE_OK) {
        st = sli_plan_layout(f->plan, &f->layout);
    }
    if (st == SLUICE_OK) {
        st = device_maps_plan(f->config.maps, f->plan->seen, f->plan->column_count);
    }
    if (st == SLUICE_OK) {
        st = plan_placement(f);
    }
    if (st == SLUICE_OK) {
        st = check_cache(f);
    }
    if (st == SLUICE_OK) {
        st = choose_slots(f);
    }
    if (st == SLUICE_OK) {
        st = sli_plan_share_cache(f->plan, &f->config.ranks);
    }
    if (st == SLUICE_OK) {
        st = make_profile(f);
    }
    if (st == SLUICE_OK) {
        queue_config(f, f->slots, &queue);
        queue.copy_counters = feed_counters(f, FEED_COPY);
        st = sli_queue_create(&queue, &f->queue);
    }
    if (st == SLUICE_OK) {
        st = device_maps_open(f->config.maps, config->device, f->plan->batch_size, f->held);
    }
    if (st != SLUICE_OK) {
        feed_close(f);
    }
    return st;
}

sluice_status feed_start(data_feed *f, uint64_t batches)
{
    const sli_engine_config config = {.plan = f->plan,
                                      .queue = f->queue,
                                      .placement = f->placement,
                                      .profile = &f->profile,
                                      .batches = batches,
                                      .passes = f->passes,
                                      .rewinds = f->config.rewinds};

    sluice_status st;

    sli_profile_start(&f->profile);
    st = sli_queue_start(f->queue, &f->placement->copier_cpus);
    return st == SLUICE_OK ? sli_engine_start(&config, &f->engine) : st;
}

void feed_stop(data_feed *f)
{
    if (f->engine != NULL) {
        sli_engine_stop(f->engine);
    }
    if (f->queue != NULL) {
        sli_queue_stop(f->queue);
    }
    sli_profile_stop(&f->profile);
}

void feed_close(data_feed *f)
{
    sli_engine_destroy(f->engine);
    sli_queue_destroy(f->queue);
    sli_profile_fini(&f->profile);
    sli_placement_free(f->placement);
    sli_topology_close(f->topology);
    sli_plan_close(f->plan);
    memset(f, 0, sizeof(*f));
}

sli_counters *feed_counters(const data_feed *f, uint32_t stage)
{
    return sli_profile_cell(&f->profile, f->plan->stage_count + stage, f->placement->worker_count);
}
