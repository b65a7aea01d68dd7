/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which stage may follow which. One table has the refusals: what the stages so far have done (a
 * state), the stages that it refuses, and the message. A second one has the states that a stage
 * sets. What depends on columns or on values of arguments is checked by the infer() of a stage.
 */
#ifndef SLUICE_STAGE_ORDER_H
#define SLUICE_STAGE_ORDER_H

#include "stage.h"

/* What stages have in common: their kinds, and properties that the tables distinguish. */
#define ORDER_KIND(kind) (UINT32_C(1) << (kind))
enum {
    ORDER_ANY = 0xffff, /* all kinds */
    ORDER_DECLARES = 1 << 16,
    ORDER_READS_ALL = 1 << 17, /* processes all samples when the dataset is opened, so that these
                                  must be the same in every pass */
    ORDER_SUBSET = 1 << 18,    /* lists sample numbers of the source */
    ORDER_REORDERS = 1 << 19,  /* shuffles, shards, repeats or draws samples */
    ORDER_VARYING_PARTS = 1 << 20, /* a group whose samples differ between passes */
    ORDER_CHOSEN_PARTS = 1 << 21,  /* a group, not zip, with parts that select or order samples */
    ORDER_FILTER = 1 << 22,
    ORDER_RANDOM = 1 << 23,
    ORDER_FLIP = 1 << 24,  /* also one that is a stage of geometry */
    ORDER_TILES = 1 << 25, /* mosaic */
    ORDER_VIEWS = 1 << 26,
    ORDER_OF_BOXES = 1 << 27, /* a geometry that depends on boxes */
    ORDER_WARP = 1 << 28,
    ORDER_WHOLE_IMAGE = 1 << 29, /* a colour stage that GetNext cannot run */
    ORDER_MIX = 1 << 30          /* mixup, cutmix, and stages that hold these */
};

/* A refusal. The first row that matches a stage is its error. */
typedef struct order_row {
    stage_state after;   /* the state in which it refuses; STATE_NONE: in any */
    stage_state with;    /* and only if this one is set, too */
    stage_state unless;  /* and this one is not */
    uint32_t stages;     /* kinds and properties of the stages that it refuses: any of them */
    uint32_t except;     /* but none of these */
    const char *message; /* {stage}, {source}: names; {by}: what set the state; {views}: how many */
} order_row;

/* The table of refusals, for tests. */
const order_row *stage_order_rows(uint32_t *count_out);

/* E_INVALID: the stage cannot follow the stages so far. */
sluice_status stage_order_check(const dataset_stage *stage, const stage_schema *schema);

/* Sets the states that follow from the definition of a stage; its infer() sets the others. */
void stage_order_note(const dataset_stage *stage, stage_schema *schema);

#endif
