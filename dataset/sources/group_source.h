/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the sources concat, mix and zip: the open parts, with their columns. */
#ifndef SLUICE_GROUP_SOURCE_H
#define SLUICE_GROUP_SOURCE_H

#include "dataset_parts.h"
#include "group_order.h"

/* An open part of a group. */
typedef struct group_member {
    const sluice_dataset *dataset;
    const source_ops *ops;
    void *source;
    uint64_t first;        /* concat, mix: number of its first sample in the group */
    uint32_t first_column; /* zip: its first column in the group; otherwise 0 */
    uint32_t column_count;
    uint32_t columns[SLUICE_MAX_COLUMNS]; /* columns of the source that are those of the group, from
                                             first_column on */
    part_order *order;                    /* zip: its order; otherwise NULL */
} group_member;

typedef struct group_source {
    const char *name; /* of the stage */
    uint64_t count;   /* number of samples */
    uint32_t lead;    /* zip: the part that has the first image of the group; 0: there is none */
    uint32_t part_count;
    group_member parts[PARTS_MOST];
} group_source;

/* The state of a worker that a part's source keeps in sample_io. */
typedef struct group_slot {
    void *state;
    void (*state_free)(void *state);
} group_slot;

/*
 * Chooses among the tables of a group's operations, [all parts have read_plain][some part has
 * locate].
 */
const source_ops *group_choose(const dataset_parts *parts, const source_ops tables[2][2]);

/*
 * Makes the source of a group whose parts are open. E_UNSUPPORTED: a part is a stream. Also returns
 * E_NO_MEMORY.
 */
sluice_status group_make(const dataset_parts *parts, group_source **group_out);

/*
 * Creates a dataset whose source is a group: the work of sluice_dataset_concat(), _mix() and
 * _zip(). On success the dataset owns the parts; on an error the caller still does. weights: NULL,
 * or one for each part; bit i of `ends`: part i is marked.
 */
sluice_status group_begin(const stage_def *def, sluice_dataset *const *parts,
                          const uint64_t *weights, uint64_t ends, uint32_t count,
                          sluice_dataset **dataset_out);

/* Maps the group's row to that of a part; columns that the part does not have are left out. */
void group_row(const group_member *part, void *const *row, void *part_row[SLUICE_MAX_COLUMNS]);

/*
 * What group_lend() saves. It lends a worker's sample_io to a part's source, with the state from
 * the part's slot and a key of draws of its own; group_take_back() restores it.
 */
typedef struct group_loan {
    group_slot outer;
    uint64_t draws_key;
} group_loan;

void group_lend(sample_io *io, const group_slot *slot, uint32_t part, group_loan *loan);
void group_take_back(sample_io *io, group_slot *slot, const group_loan *loan);

/* Frees the state that a part's source has left in its slot. */
void group_slot_free(group_slot *slot);

/* Adds the number of the part to the text of the last error; keeps its errno. */
sluice_status group_name_part(const group_source *group, uint32_t part, sluice_status status);

/* Operations of every group. */
uint64_t group_count(const void *source);
uint64_t group_memory(const void *source);
void group_close(void *source);

/* Those of the part with key points; no pairs, if several parts say different ones. */
const struct point_pairs *group_flip_pairs(const void *source, uint32_t *column_out);

#endif
