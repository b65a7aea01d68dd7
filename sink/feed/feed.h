/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The feed: a dataset's way to a device. It joins the plan, the placement, the queue and the
 * engine, and knows what they take before anything starts.
 */
#ifndef SLUICE_FEED_H
#define SLUICE_FEED_H

#include <sluice/ranks.h>

#include "engine_int.h"
#include "placement_int.h"
#include "plan_int.h"
#include "queue_int.h"

/* Stages of the profile after the plan's own. */
enum { FEED_COPY, FEED_GET_NEXT, FEED_STEP, FEED_STAGES };

typedef struct feed_config {
    sluice_device *device;
    sluice_dataset *dataset;
    sli_run_settings settings;
    uint32_t workers;      /* 0: by the placement */
    uint32_t slots;        /* 0: slot_count() of them, as far as they fit */
    uint64_t memory_bytes; /* also for samples of a stream; 0: a quarter of what the process may
                              use, without them */
    uint64_t history;      /* batches whose sample lists outlive the release of their slots */
    uint32_t held; /* batches that the consumer holds at once, each in a set of tensors of its
                      own; 0 is 1 */
    bool rewinds;  /* the engine can be rewound; see sli_engine_config */
} feed_config;

typedef struct data_feed {
    feed_config config;
    sli_plan *plan;
    sli_layout layout;
    sli_topology *topology;
    sli_placement *placement;
    sli_queue *queue;
    sli_queue_memory memory;
    uint64_t stream_bytes; /* that samples of a stream take at most */
    uint32_t held;         /* at least 1 */
    uint32_t slots;
    uint64_t passes;     /* of a stream, that are made; 0: without end. Set before the start */
    sli_profile profile; /* stages: the plan's, then FEED_*; threads: workers, then the device */
    const char *stage_names[16];
    sli_engine *engine;
} data_feed;

/* Rank and world of this process: from the config, or, if that is 0 of 0, from the launcher. */
sluice_status feed_find_ranks(uint32_t rank, uint32_t world, sluice_ranks *ranks_out);

/* Makes everything but threads that read. On failure nothing is left. */
sluice_status feed_open(const feed_config *config, data_feed *feed_out);

/* Starts the workers where the plan begins; `batches` are made, UINT64_MAX: without end. */
sluice_status feed_start(data_feed *feed, uint64_t batches);

/* Stops the workers; the queue is closed. */
void feed_stop(data_feed *feed);
void feed_close(data_feed *feed);

/* A cell of the profile: one of FEED_*, on the device's side. */
sli_counters *feed_counters(const data_feed *feed, uint32_t stage);

#endif
