/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A named stage of user code (sluice_stage): its definition for the parser, made from the user's
 * table of parameters.
 *
 * Its argument struct begins with custom_args, map_args or batch_map_args. Then come the values of
 * the parameters, 8 bytes each. The parameter `version` is added to the user's parameters.
 */
#ifndef SLUICE_NAMED_STAGE_H
#define SLUICE_NAMED_STAGE_H

#include <sluice/plugin.h>

#include "source_stage_ops.h"
#include "stage.h"

enum { NAMED_ORIGIN_SIZE = 400 };

typedef struct named_stage {
    stage_def def; /* the first field, so that a pointer to it is a pointer to the stage */
    source_stage_ops source; /* SLUICE_STAGE_SOURCE: def.source */
    sluice_stage of; /* copy of the caller's struct; its texts and parameters point to the caller's
                        memory, so they must not be used */
    char *texts;     /* copies of all texts, zero-terminated, one after the other */
    stage_param params[SLUICE_MAX_PARAMETERS + 1];
    sluice_parameter_kind kinds[SLUICE_MAX_PARAMETERS];
    char version_text[16];
    char origin[NAMED_ORIGIN_SIZE]; /* who registered it, for messages */
} named_stage;

/*
 * Checks and copies the struct. `origin`: who registers it, such as "plugin a.so". Returns
 * E_INVALID or E_NO_MEMORY on failure.
 */
sluice_status named_stage_make(const sluice_stage *stage, const char *origin,
                               named_stage **named_out);
void named_stage_free(named_stage *named);

/* stage_def.make of named stages. Returns build()'s error; E_INVALID: the text has another version;
 * E_CALLBACK: build() returned an invalid status, or OK without a stage. */
sluice_status stage_builder_make(const stage_def *def, void *args);

#endif
