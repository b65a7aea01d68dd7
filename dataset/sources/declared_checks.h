/* SPDX-License-Identifier: Apache-2.0 */
/* The columns of the source in front of another one (declared_source.h), and the check of the boxes
 * and points that it has read. */
#ifndef SLUICE_DECLARED_CHECKS_H
#define SLUICE_DECLARED_CHECKS_H

#include "box_tally.h"
#include "dataset_state.h"

/* How a source gives a column. */
typedef enum given_as {
    AS_ROW,         /* read() and read_plain() write it to its row */
    AS_FIRST_IMAGE, /* read() returns it */
    AS_OTHER_IMAGE  /* read_other() returns it */
} given_as;

typedef struct declared_column {
    given_as from; /* how the original source gives it */
    given_as to;
    sluice_column type; /* of the original source */
    size_t bytes;       /* of its row there; 0: it has none, or one of varying size */
    size_t offset;      /* of that row in sample_io.declared */
    column_role checks; /* ROLE_BOXES: of every source; ROLE_POINTS: of stage column, whose rows
                           must be checked; else ROLE_PLAIN */
    int length;         /* with checks: the column of its length; -1: none */
    bool is_declared;   /* with checks: a stage column has given it this role */
    bool counts;        /* with checks: this source has added that column, and counts its rows */
    size_t length_at;   /* with checks: offset of the length in sample_io.declared */
    uint32_t boxes;     /* with ROLE_BOXES: its number among the columns of boxes */
} declared_column;

typedef struct declared_source {
    source_ops ops;       /* those of the original source, with what this one does itself */
    const source_ops *of; /* the original source */
    void *source;
    uint32_t count;             /* number of its columns */
    int image;                  /* the first image; -1: there is none */
    size_t room;                /* bytes of sample_io.declared */
    const stage_schema *schema; /* its columns here; there may be lengths after those of `of` */
    box_tally tally;
    declared_column columns[SLUICE_MAX_COLUMNS];
} declared_source;

/* True for a column whose rows must be checked. */
static inline bool declared_is_checked(const declared_column *column)
{
    return column->checks != ROLE_PLAIN;
}

/*
 * Checks the boxes and points of a sample, whose rows are `rows` in the original source and `row`
 * here: writes or checks their lengths, sets the rows after them to zero, and applies the rule of
 * boxes. E_CORRUPT: the sample is bad.
 */
sluice_status declared_check(const declared_source *d, uint64_t sample, sample_io *io,
                             void *const *row, void *const *rows);

#endif
