/* SPDX-License-Identifier: Apache-2.0 */
#include "report_memory.h"

#include <inttypes.h>

enum { POOLS = 8 };

typedef struct memory_pool {
    const char *key;
    const char *name;
    uint64_t bytes;
    bool may_be_absent; /* the text leaves it out if it is empty */
    bool on_device;
} memory_pool;

static void find_pools(const sluice_report *report, memory_pool pools_out[POOLS])
{
    const sluice_report_stats *stats = &report->stats;
    const report_memory *memory = &report->memory;
    const bool on_device = memory->slots_on_device;
    const memory_pool pools[POOLS] = {
        {"staging_bytes", "staging", stats->staging_bytes, false, false},
        {"slot_bytes", on_device ? "slots on the device" : "slots", stats->slot_bytes, false,
         on_device},
        {"device_map_bytes", on_device ? "device maps on the device" : "device maps",
         stats->device_map_bytes, true, on_device},
        {"cache_bytes", "cache", report->has_cache ? report->cache.bytes : 0, true, false},
        {"source_bytes", "source", memory->source, false, false},
        {"stream_bytes", "samples of the stream", memory->stream, true, false},
        {"row_bytes", "rows outside of batches", memory->rows, true, false},
        {"worker_bytes", "workers", memory->workers, false, false}};

    for (uint32_t i = 0; i < POOLS; i++) {
        pools_out[i] = pools[i];
    }
}

void report_collect_memory(const report_run *run, sluice_report *report)
{
    report_memory *memory = &report->memory;
    sli_engine_memory engine;

    sli_engine_memory_get(run->feed->engine, &engine);
    memory->rows = engine.rows;
    memory->workers = engine.workers;
    memory->source = sli_plan_source_memory(run->feed->plan);
    memory->stream = sli_plan_stream_held(run->feed->plan);
    memory->slots_on_device = !run->feed->config.device->caps.host_memory;
}

static uint64_t host_memory(const sluice_report *report)
{
    memory_pool pools[POOLS];
    uint64_t bytes = 0;

    find_pools(report, pools);
    for (uint32_t i = 0; i < POOLS; i++) {
        bytes += pools[i].on_device ? 0 : pools[i].bytes;
    }
    return bytes;
}

uint64_t report_other_memory(const sluice_report *report)
{
    const uint64_t pools = host_memory(report);

    return report->memory.peak_rss > pools ? report->memory.peak_rss - pools : 0;
}

void report_add_memory(const sluice_report *report, sli_text *text)
{
    memory_pool pools[POOLS];
    sli_text line = {0};

    find_pools(report, pools);
    for (uint32_t i = 0; i < POOLS; i++) {
        if (pools[i].bytes > 0 || !pools[i].may_be_absent) {
            sli_text_add(&line, "%s%.1f MB %s", i > 0 ? ", " : "", (double)pools[i].bytes / 1e6,
                         pools[i].name);
        }
    }
    sli_text_add_line(text, "memory: %s; %.1f MB peak resident, %.1f MB of it in none of these",
                      line.data != NULL ? line.data : "", (double)report->memory.peak_rss / 1e6,
                      (double)report_other_memory(report) / 1e6);
    text->failed = text->failed || line.failed;
    sli_text_free(&line);
}

void report_add_memory_json(const sluice_report *report, sli_text *text)
{
    memory_pool pools[POOLS];

    find_pools(report, pools);
    sli_text_add(text, ",\"memory\":{");
    for (uint32_t i = 0; i < POOLS; i++) {
        sli_text_add(text, "\"%s\":%" PRIu64 ",", pools[i].key, pools[i].bytes);
    }
    sli_text_add(text,
                 "\"host_bytes\":%" PRIu64 ",\"peak_rss_bytes\":%" PRIu64
                 ",\"other_bytes\":%" PRIu64 "}",
                 host_memory(report), report->memory.peak_rss, report_other_memory(report));
}
