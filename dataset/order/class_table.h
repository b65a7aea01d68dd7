/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Positions by class, for drawing all classes equally often. Each class goes through its members in
 * a random order, again and again, in another order each time, and goes on where the pass before
 * ended.
 */
#ifndef SLUICE_CLASS_TABLE_H
#define SLUICE_CLASS_TABLE_H

#include <stdint.h>

#include <sluice/status.h>

#include "permutation.h"

typedef struct class_range {
    uint64_t first; /* of its members */
    index_permutation permutation;
} class_range;

/* One block of memory, freed by sli_free(). */
typedef struct class_table {
    uint64_t classes;
    uint64_t bytes; /* of the block */
    class_range *ranges;
    uint32_t *members; /* by class, in their order */
} class_table;

/* The classes are the different values of labels; n is 1 to UINT32_MAX. E_NO_MEMORY. */
sluice_status class_table_make(const int64_t *labels, uint64_t n, class_table **table_out);

/*
 * The member at a position of a pass of `length`, and how often it stood in the pass before:
 * position p is of class p modulo the number of classes.
 */
uint64_t class_table_at(const class_table *table, uint64_t key, uint64_t length, uint64_t pass,
                        uint64_t position, uint64_t *repetition_out);

#endif
