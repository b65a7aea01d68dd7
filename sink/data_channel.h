/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The channel: a dataset's way to a device. It joins the plan, the placement, the queue and the
 * engine, and knows what they take before anything starts.
 */
#ifndef SLUICE_DATA_CHANNEL_H
#define SLUICE_DATA_CHANNEL_H

#include <sluice/ranks.h>

#include "engine_int.h"
#include "placement_int.h"
#include "plan_int.h"
#include "queue_int.h"

/* Stages of the profile after the plan's own. */
enum { CHANNEL_COPY, CHANNEL_GET_NEXT, CHANNEL_STEP, CHANNEL_STAGES };

typedef struct channel_config {
    sluice_device *device;
    sluice_dataset *dataset;
    sli_run_settings settings;
    uint32_t workers;      /* 0: by the placement */
    uint32_t slots;        /* 0: as many as are useful and fit */
    uint64_t memory_bytes; /* 0: a quarter of what the process may use */
    uint64_t history; /* batches whose samples are asked for after their slots are given back */
} channel_config;

typedef struct data_channel {
    channel_config config;
    sli_plan *plan;
    sli_layout layout;
    sli_topology *topology;
    sli_placement *placement;
    sli_queue *queue;
    sli_queue_memory memory;
    uint32_t slots;
    uint64_t passes;     /* of a stream, that are made; 0: without end. Set before the start */
    sli_profile profile; /* stages: the plan's, then CHANNEL_*; threads: workers, then the device */
    const char *stage_names[16];
    sli_engine *engine;
} data_channel;

/* Who this is: as the config says, or, where that says nothing (0 of 0), the launcher. */
sluice_status channel_find_ranks(uint32_t rank, uint32_t world, sluice_ranks *ranks_out);

/* Makes everything but threads that read. On failure nothing is left. */
sluice_status channel_open(const channel_config *config, data_channel *channel_out);

/* Starts the workers where the plan begins; `batches` are made, UINT64_MAX: without end. */
sluice_status channel_start(data_channel *channel, uint64_t batches);

/* Stops the workers; the queue is closed. */
void channel_stop(data_channel *channel);
void channel_close(data_channel *channel);

/* A cell of the profile: one of CHANNEL_*, on the device's side. */
sli_counters *channel_counters(const data_channel *channel, uint32_t stage);

#endif
