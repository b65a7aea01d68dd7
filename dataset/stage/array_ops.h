/* SPDX-License-Identifier: Apache-2.0 */
/* The operations of a stage that computes new values of a column: an array stage (STAGE_ARRAY), or
 * a batch map of the library. */
#ifndef SLUICE_ARRAY_OPS_H
#define SLUICE_ARRAY_OPS_H

#include <stdint.h>

#include "stage.h"

enum { ARRAY_MOST_COLUMNS = 4 };

/* What a stage of several columns gets of a sample. */
typedef struct array_sample {
    const sluice_column *types; /* of the columns before the stage */
    const void *inputs[ARRAY_MOST_COLUMNS];
    void *outputs[ARRAY_MOST_COLUMNS]; /* of the first columns, as many as are written */
    uint64_t rows;                     /* real ones of the first input: all if it is not ragged */
    uint32_t width;                    /* of the image */
    uint32_t height;
} array_sample;

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
    /*
     * STAGE_ARRAY, instead of `column` and `compute`: computes from several columns at once.
     * columns() returns how many it reads, and their names; it recomputes the first `written` of
     * them, to which infer() gives new buffers in this order. The size of the image must be the
     * same for all samples.
     */
    uint32_t (*columns)(const void *args, const char **names_out);
    uint32_t written;
    sluice_status (*compute_columns)(const void *args, const array_sample *sample);
    /* Optional: a hash of what a file of the arguments contains, for the identity of a run. */
    uint64_t (*identity)(const void *args);
} array_ops;

#endif
