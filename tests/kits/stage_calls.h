/* SPDX-License-Identifier: Apache-2.0 */
/* Each stage as text and by its call, with arguments that are not the defaults, and with those. */
#ifndef SLUICE_STAGE_CALLS_H
#define SLUICE_STAGE_CALLS_H

#include <stddef.h>

#include <sluice/dataset.h>

/* In `before` and `text` ${FOLDER} is a folder with the files of every source. */
typedef struct stage_call {
    const char *before; /* the stages before it; NULL: the stage is the source */
    const char *text;   /* of the stage */
    sluice_status (*call)(sluice_dataset *dataset); /* adds it; NULL for sources */
    sluice_status (*begin)(const char *folder, sluice_dataset **dataset_out); /* of sources */
    const char *after; /* stages that complete the pipeline; NULL: none */
} stage_call;

/* Tables of sources and of stages that work on images; each ends with an entry without a text. */
extern const stage_call source_calls[];
extern const stage_call image_calls[];

/* Case `index` of all tables; NULL after the last one. */
const stage_call *stage_call_at(size_t index);

#endif
