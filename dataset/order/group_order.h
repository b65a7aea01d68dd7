/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The order of a group (concat, mix): maps a position of a pass of the group to a position of a
 * pass of one part, and by the part's own stages to a sample. Samples of a group are numbered part
 * by part: all samples of the first part's source, then all of the second one's, and so on.
 */
#ifndef SLUICE_GROUP_ORDER_H
#define SLUICE_GROUP_ORDER_H

#include "dataset_parts.h"
#include "mix_schedule.h"
#include "order.h"

typedef struct group_order group_order;

/* The order of a part, over all ranks. */
typedef struct part_order {
    sample_order order;
    group_order *group; /* NULL: the dataset's source is not concat or mix */
} part_order;

typedef struct group_part {
    part_order *order;
    uint64_t length; /* number of positions in a pass of the part */
    uint64_t first;  /* number of its first sample in the group */
    uint64_t begin;  /* concat: its first position in a pass of the group; mix: number of its turns
                        in a pass of the group */
} group_part;

struct group_order {
    parts_order base;
    mix_schedule *schedule; /* NULL: concat */
    uint64_t bytes;         /* of memory */
    uint32_t count;
    group_part parts[PARTS_MOST];
};

/*
 * Makes the order of a dataset's group; *order_out is NULL if its source is not concat or mix: then
 * a position before the stages is the number of a sample. At least the dataset's source must be
 * open. E_INVALID: a part of mix has no samples, or there are more samples than can be counted.
 * Also returns E_NO_MEMORY.
 */
sluice_status group_order_make(const sluice_dataset *dataset, uint64_t seed,
                               group_order **order_out);
void group_order_free(group_order *order);

/* Makes the order of a part whose dataset is open. Its random numbers depend on `number`. */
sluice_status part_order_make(const sluice_dataset *dataset, uint64_t seed, uint32_t number,
                              part_order **order_out);
void part_order_free(part_order *order);

/* Returns the order for order_settings.parts; NULL if there is none. */
static inline const parts_order *group_order_parts(const group_order *order)
{
    return order != NULL ? &order->base : NULL;
}

#endif
