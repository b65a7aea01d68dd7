/* SPDX-License-Identifier: Apache-2.0 */
/* The source stage: samples that user code reads. */
#ifndef SLUICE_SOURCE_CUSTOM_H
#define SLUICE_SOURCE_CUSTOM_H

#include <sluice/custom.h>

#include "stage.h"

typedef struct custom_source custom_source;

/* The arguments of the stage; name and version are in its parameter table. */
typedef struct custom_args {
    const char *name;
    uint64_t version;
    custom_source *made; /* owned by the stage once the dataset has it */
} custom_args;

/*
 * Copies and checks a caller's struct. `name` replaces the name in the struct, unless it is
 * NULL. `call` is the name of the calling function, for messages. Returns E_INVALID,
 * E_UNSUPPORTED or E_NO_MEMORY on failure.
 */
sluice_status custom_source_make(const sluice_source *source, const char *name, const char *call,
                                 custom_source **made_out);

/* Transfers the source to its stage: the stage's release frees it and calls its close(). */
void custom_source_own(custom_source *made);

/* Frees a source that no stage owns, without a call of close(). Accepts NULL. */
void custom_source_drop(custom_source *made);

extern const stage_def stage_source;

#endif
