/* SPDX-License-Identifier: Apache-2.0 */
/* The operations of a stage that computes new values of a column: an array stage (STAGE_ARRAY), or
 * a batch map of the library. */
#ifndef SLUICE_ARRAY_OPS_H
#define SLUICE_ARRAY_OPS_H

#include <stdint.h>

#include "stage.h"

typedef struct array_ops {
    /* Returns the name of the column that it recomputes. */
    const char *(*column)(const void *args);
    /*
     * Recomputes the column for one sample. from_type and to_type are the column's types before and
     * after the stage. E_CORRUPT: the new type cannot represent a value.
     */
    sluice_status (*compute)(const void *args, const sluice_column *from_type, const void *from,
                             const sluice_column *to_type, void *to);
    /*
     * STAGE_ARRAY, instead of `compute`: also changes the number of rows. *rows: in, how many rows
     * of `from` are real, all if the column is not ragged; out, how many of `to` are. `to` NULL:
     * only their number is needed.
     */
    sluice_status (*compute_rows)(const void *args, const sluice_column *from_type,
                                  const void *from, const sluice_column *to_type, void *to,
                                  uint64_t *rows);
} array_ops;

#endif
