/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The operations of a plan that have rows of their own in the report: each has a number, by which
 * workers count their times (operation_clock.h).
 */
#ifndef SLUICE_PLAN_OPERATIONS_H
#define SLUICE_PLAN_OPERATIONS_H

#include <stdint.h>

/* The first operations of every plan. */
enum {
    OPERATION_NONE,   /* work in other stages of the profile, which has no rows */
    OPERATION_DECODE, /* the rest of the stage decode */
    OPERATION_OTHER,  /* the rest of the stage after it, the pixels */
    OPERATION_MASKS,
    OPERATION_BOXES,
    OPERATION_POINTS,
    OPERATION_CACHE,  /* adding to the cache */
    OPERATION_MOSAIC, /* painting a tile */
    OPERATION_ERASE,  /* erasing converted values */
    OPERATION_FIRST,  /* the first one of the pipeline's stages */
    PLAN_OPERATIONS = 64
};

typedef struct plan_operation {
    char name[64];  /* "" for OPERATION_NONE */
    uint32_t stage; /* of the profile */
} plan_operation;

typedef struct plan_operations {
    plan_operation of[PLAN_OPERATIONS]; /* (count) */
    uint32_t count;
    uint32_t left_out; /* operations without a number of their own: they share the last one */
} plan_operations;

#endif
