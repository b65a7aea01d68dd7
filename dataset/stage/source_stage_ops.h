/* SPDX-License-Identifier: Apache-2.0 */
/* The operations of the stage of a source (STAGE_SOURCE), around those of the source itself. */
#ifndef SLUICE_SOURCE_STAGE_OPS_H
#define SLUICE_SOURCE_STAGE_OPS_H

#include <stdbool.h>

#include "source.h"
#include "stage.h"

/* The sources that are made of other datasets, their parts. */
typedef enum group_kind {
    GROUP_NONE,
    GROUP_CONCAT, /* the samples of the parts, one part after another */
    GROUP_MIX,    /* the samples of all parts in turns, by weights */
    GROUP_ZIP     /* the columns of all parts side by side */
} group_kind;

typedef struct source_stage_ops {
    const source_ops *ops;
    group_kind group; /* the source is a group; its arguments begin with its parts */
    /*
     * Optional: chooses the operations for these arguments in place of `ops`, before the source is
     * opened. Returns E_NO_MEMORY or E_IO on failure.
     */
    sluice_status (*choose)(const void *args, const source_ops **ops_out);
    /*
     * Optional: sets the columns of a source whose columns are known only once it is open. Such a
     * source is opened when it is added, and has no infer().
     */
    sluice_status (*schema)(const void *source, stage_schema *schema);
    /* Optional, with `schema`: true if it sets the columns for these arguments; false if infer()
     * does. */
    bool (*opens_early)(const void *args);
    /*
     * True if its arguments are part of the identity of a run. For sources of files it is false,
     * since the files may be moved to another folder.
     */
    bool identifies;
    const char *path; /* name of the path argument, which is not part of the identity; NULL: all
                         arguments are part of it */
} source_stage_ops;

/* What a stage makes of other datasets, its parts; GROUP_NONE: it is not a group. */
static inline group_kind stage_group(const stage_def *def)
{
    return def->source != NULL ? def->source->group : GROUP_NONE;
}

#endif
