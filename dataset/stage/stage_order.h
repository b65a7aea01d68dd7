/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which stage may follow which. One table has the refusals: what the stages so far have done (a
 * state), the stages that it refuses, and the message. A second one has the states that a stage
 * sets. What depends on columns or on values of arguments is checked by the infer() of a stage.
 */
#ifndef SLUICE_STAGE_ORDER_H
#define SLUICE_STAGE_ORDER_H

#include "stage.h"

/* A refusal. The first row that matches a stage is its error. */
typedef struct order_row {
    stage_state after;   /* the state in which it refuses; STATE_NONE: in any */
    stage_state with;    /* and only if this one is set, too */
    stage_state unless;  /* and this one is not */
    uint64_t stages;     /* kinds and properties of the stages that it refuses: any of them */
    uint64_t except;     /* but none of these */
    const char *message; /* {stage}, {source}: names; {by}: what set the state; {views}: how many */
} order_row;

/* The table of refusals, for tests. */
const order_row *stage_order_rows(uint32_t *count_out);

/* E_INVALID: the stage cannot follow the stages so far. */
sluice_status stage_order_check(const dataset_stage *stage, const stage_schema *schema);

/* Sets the states that follow from the definition of a stage; its infer() sets the others. */
void stage_order_note(const dataset_stage *stage, stage_schema *schema);

#endif
