/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The parts of a group (concat, mix, zip): datasets of a source and stages that select and order
 * samples, choose or rename columns. A group is the source of a dataset.
 */
#ifndef SLUICE_DATASET_PARTS_H
#define SLUICE_DATASET_PARTS_H

#include "dataset_state.h"

/* Limits on the number of parts of a group, and on the nesting of groups. */
enum { PARTS_MOST = 64, PARTS_DEPTH = 8 };

typedef struct dataset_part {
    sluice_dataset *dataset; /* NULL: only the text of the part is known */
    char *text;              /* valid if `dataset` is NULL */
    uint64_t weight;         /* mix: its share of the samples, above 0; otherwise 1 */
    bool ends;               /* mix: a pass may end with this part */
} dataset_part;

/* The forms of the text of a source, and of the parts of a group. */
typedef enum source_form {
    SOURCE_WRITTEN,   /* as it is parsed */
    SOURCE_OF_STAGES, /* as it is among the stages of a state: places are "-", and arguments of
                         sources of files are left out */
    SOURCE_OF_DATA    /* places are "-", and all arguments follow on which the data depend */
} source_form;

/* Several copies of a stage's arguments share one object; it is used by one thread at a time. */
struct dataset_parts {
    const char *group; /* name of the group's stage, once it has parts */
    uint32_t references;
    bool owned;      /* the datasets are destroyed with this object */
    bool is_ordered; /* some part has stages that select or order samples */
    bool varies;     /* the samples at the positions of some part differ between passes */
    uint32_t depth;  /* 1, or more if a part is a group */
    uint32_t count;
    dataset_part items[PARTS_MOST];

    /* Appends the parts as text, each in parentheses. */
    void (*print)(const dataset_parts *parts, source_form form, sli_text *text);
};

/* The arguments of every group. */
typedef struct group_args {
    dataset_parts *parts;
} group_args;

/* Creates an object without parts, with one reference. */
sluice_status dataset_parts_create(dataset_parts **parts_out);

/* stage_def.retain, .release and .check of every group. */
void dataset_parts_retain(void *args);
void dataset_parts_release(void *args);
sluice_status dataset_parts_check(void *args);

/*
 * Adds a part, which must fit the parts before it. On success `parts` owns its text and, if
 * parts->owned, its dataset. E_INVALID: the part does not fit; the message begins with its number.
 */
sluice_status dataset_parts_add(const stage_def *def, dataset_parts *parts,
                                const dataset_part *part);

/* Checks that a stage may stand in a part. E_INVALID: it may not. */
sluice_status dataset_parts_allow(const stage_def *stage);

/* Parses a weight such as "3" or "0.7" into units of 1e-9. False: the text is not a weight. */
#define PARTS_WEIGHT_ONE UINT64_C(1000000000)
bool dataset_parts_weight(const char *text, size_t length, uint64_t *weight_out);

/* The greatest common divisor of the weights: the schedule depends on their ratio only. */
uint64_t dataset_parts_weight_unit(const dataset_parts *parts);

/* Appends the source in the form SOURCE_OF_STAGES or SOURCE_OF_DATA, for the identity of a run. */
void dataset_print_source(const sluice_dataset *dataset, source_form form, sli_text *text);

/* The parts of the dataset's source; NULL: the source is not a group. */
static inline const dataset_parts *dataset_group(const sluice_dataset *dataset)
{
    const dataset_stage *first = &dataset->stages[0];

    return stage_group(first->def) != GROUP_NONE
               ? ((const group_args *)(const void *)first->args.bytes)->parts
               : NULL;
}

/*
 * Appends the columns of a part to those of its group. An image after the first one becomes a
 * further image. `part` is used in messages. E_INVALID: a name occurs twice, there are too many
 * columns, or boxes lack the column of their length, or a column of boxes is missing.
 */
sluice_status parts_schema_join(const char *part, const stage_schema *columns, stage_schema *group);

/* Of the columns of the first part: drops column_info.rows, the number of rows before zeros, of
 * those that have it not in this part, too. */
void parts_schema_keep_rows(const stage_schema *columns, stage_schema *group);

/*
 * Checks that a part has the columns of the first part: their names, types, shapes and roles, in
 * order. `part` is used in messages. E_INVALID: they differ.
 */
sluice_status parts_schema_agree(const char *part, const stage_schema *columns,
                                 const stage_schema *first);

#endif
