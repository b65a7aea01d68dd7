/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of a plan that only this folder looks at. */
#ifndef SLUICE_PLAN_H
#define SLUICE_PLAN_H

#include <stdatomic.h>

#include "dataset_state.h"
#include "order.h"
#include "plan_int.h"
#include "profiler_int.h"

/* A stage that draws random numbers, or could, with the key of its draws. */
typedef struct plan_stage {
    const dataset_stage *stage;
    uint64_t key;
} plan_stage;

/* A stage that mirrors some rows. */
typedef struct plan_flip {
    const dataset_stage *stage;
    uint64_t key;
    bool on_device; /* by a flag of the row, for GetNext */
} plan_flip;

/* Geometry stages [first, first + count) that are done in one resampling; count may be 0. */
typedef struct plan_group {
    uint32_t first;
    uint32_t count;
} plan_group;

/* Stages of the profile, in the order of the table. */
enum { PLAN_READ, PLAN_DECODE, PLAN_PIXELS, PLAN_BATCH, PLAN_PROFILED };

struct plan_details {
    sample_order order;          /* of this rank */
    sample_order rest;           /* the same, of what is left of the run's first pass */
    sample_order all_ranks;      /* of all: where replacements are drawn from */
    const dataset_stage *decode; /* NULL: the source gives pixels */
    plan_stage geometry[DATASET_MAX_STAGES];
    uint32_t geometry_count;
    plan_group groups[DATASET_MAX_STAGES + 1];
    uint32_t group_count; /* at least 1 where there is an image */
    plan_flip flips[DATASET_MAX_STAGES];
    uint32_t flip_count;
    uint64_t replace_key;
    bool is_stream;
    _Atomic uint64_t stream_length; /* samples of a pass, over all ranks; UINT64_MAX: not known yet;
                                       stored by the engine's stream */
    _Atomic uint64_t stream_memory; /* bytes of samples that it held at most; stored as above */
    char pixels_name[64];           /* of the profile's stage of geometry and conversion */
    char notes[1200];               /* of the passes, for explain */
};

/*
 * What the geometry stages of a group come to for an image of this size: which part of it is
 * resized to what, and which window of that is seen. Also the inverse question that decode asks.
 */
typedef struct plan_window {
    int64_t x; /* the crop, within the image */
    int64_t y;
    uint32_t width;
    uint32_t height;
    uint32_t new_width;
    uint32_t new_height;
    int64_t window_x; /* of (new_width, new_height); may reach beyond */
    int64_t window_y;
    uint32_t window_width;
    uint32_t window_height;
    resize_filter filter;
} plan_window;

/* Where a batch of a run stands: row i of it is position first + i of the order, which is number
 * done + (first + i) * world + rank of the pass. */
typedef struct batch_place {
    const sample_order *order; /* not of a stream */
    uint64_t length;           /* positions of this rank in what it counts from */
    uint64_t pass;
    uint64_t first;
    uint64_t done;
} batch_place;

void plan_locate(const sli_plan *plan, uint64_t batch, batch_place *place_out);

/* Batches that an order makes, on every rank. */
uint64_t plan_batches_of(const sli_plan *plan, const sample_order *order);

/* E_INVALID a stage of the group that does not fit; *stage_out then says which. */
sluice_status plan_compose(const struct plan_details *details, const plan_group *group,
                           uint64_t sample, uint64_t pass, uint32_t width, uint32_t height,
                           plan_window *window_out, const char **stage_out);

/* The key of the draws of stage i of the dataset. */
uint64_t plan_stage_key(const sluice_dataset *dataset, uint32_t i, uint64_t seed);

#endif
