/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SLUICE_BATCH_VIEW_H
#define SLUICE_BATCH_VIEW_H

#include <stdint.h>

#include "rng_int.h"
#include "row_program_int.h"
#include "stage.h"

/* A batch, for the batch maps of the library. */
typedef struct batch_view {
    const stage_schema *schema; /* the columns of the batch */
    uint8_t *const *columns;    /* (schema->column_count) */
    const uint32_t *rows;       /* (count) indices of the rows with a sample, ascending */
    uint32_t count;             /* at least 1 */
    uint8_t *saved;             /* memory of one row of the largest column */
    sli_row_program *programs;  /* of all rows of the batch: GetNext mixes the first image, which is
                                   not converted yet; NULL: the map does */
    sli_draws draws;            /* `sample` is the position of the batch */
} batch_view;

#endif
