/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The feed moves a dataset's batches to a device. It combines plan, placement, queue and engine,
 * and computes their memory before anything starts.
 */
#ifndef SLUICE_FEED_H
#define SLUICE_FEED_H

#include <sluice/ranks.h>

#include "device_maps.h"
#include "engine_int.h"
#include "placement_int.h"
#include "plan_int.h"
#include "queue_int.h"

/* Stages that the feed adds to the profile, after the plan's stages. */
enum { FEED_COPY, FEED_GET_NEXT, FEED_MAPS, FEED_STEP, FEED_STAGES };

typedef struct feed_config {
    sluice_device *device;
    sluice_dataset *dataset;
    sli_run_settings settings;
    uint32_t workers;      /* number of workers; 0: chosen by the placement */
    uint32_t slots;        /* number of slots; 0: slot_count(), reduced to fit the memory bound */
    uint64_t memory_bytes; /* bound, including outputs of maps and samples of a stream; 0: a quarter
                              of the memory that the process may use, excluding samples of a
                              stream */
    device_maps *maps;     /* from device_maps_read(); feed_open() plans and opens them, with a set
                              for each held batch. Closed by the caller */
    uint64_t history; /* number of latest batches whose sample lists outlive the release of their
                         slots */
    uint32_t held; /* maximum number of batches that the consumer holds at once, each in its own set
                      of tensors; 0 is 1 */
    bool rewinds;  /* the engine can be rewound; see sli_engine_config */
    sluice_ranks ranks; /* this rank; local_world 0: unknown. With several local ranks, opening the
                           first feed of a process is collective (sli_rank_cores()) */
    const char *cores;  /* "auto", "all" or a list of CPUs; NULL: auto */
} feed_config;

typedef struct data_feed {
    feed_config config;
    sli_plan *plan;
    sli_layout layout;
    sli_topology *topology;
    sli_placement *placement;
    sli_queue *queue;
    sli_queue_memory memory;
    uint64_t memory_limit; /* this rank's part of the memory that the process may use */
    uint64_t stream_bytes; /* upper bound of the memory for samples of a stream */
    uint64_t map_bytes;    /* outputs of device maps */
    uint32_t held;         /* at least 1 */
    uint32_t slots;
    uint64_t passes;     /* passes of a stream to produce; 0: no limit. Set before the start */
    sli_profile profile; /* stages: the plan's, then FEED_*; threads: workers, then the device's */
    const char *stage_names[16];
    sli_engine *engine;
} data_feed;

/* Finds the rank and world of this process: from the config or, if both are 0 there, from the
 * launcher's variables. Finds its local rank and local world: from SLUICE_LOCAL, else from the
 * config or, if local_world is 0 there, from the launcher that started this rank. `set` holds these
 * fields of the config. */
sluice_status feed_find_ranks(const sluice_ranks *set, sluice_ranks *ranks_out);

/* Opens the feed without starting the workers. On failure nothing remains allocated. */
sluice_status feed_open(const feed_config *config, data_feed *feed_out);

/* Starts the workers at the position where the plan begins. They produce `batches` batches, or run
 * without a limit if it is UINT64_MAX. */
sluice_status feed_start(data_feed *feed, uint64_t batches);

/* Stops the workers and closes the queue. */
void feed_stop(data_feed *feed);
void feed_close(data_feed *feed);

/* The device-side counters of a stage FEED_*. FEED_MAPS counts the maps of batches whose time is
 * known. */
sli_counters *feed_counters(const data_feed *feed, uint32_t stage);

#endif
