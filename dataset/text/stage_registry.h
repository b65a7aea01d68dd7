/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All stages: those of the library (stage_table.h), and the named stages that the process has
 * registered, which stay until it ends.
 */
#ifndef SLUICE_STAGE_REGISTRY_H
#define SLUICE_STAGE_REGISTRY_H

#include "named_stage.h"

/* Maximum number of registered stages. */
enum { REGISTRY_MOST = 256 };

/*
 * All stages that pipeline texts can contain; NULL-terminated. The table is never freed nor
 * changed: a later call returns a table with the stages that were registered since.
 */
const stage_def *const *registry_stages(void);

/* The same plus the stages that only function calls can add; used to compare texts. */
const stage_def *const *registry_stages_with_calls(void);

/* Stages that a plugin registers; all of them are registered, or none. */
typedef struct registry_group {
    const char *origin; /* for messages; borrowed */
    named_stage *stages[REGISTRY_MOST];
    uint32_t count;
} registry_group;

/* True between registry_group_begin() and registry_group_end() on this thread. */
bool registry_group_is_open(void);

/*
 * Until registry_group_end(), sluice_stage_register() on this thread adds stages to the group,
 * which begins empty.
 */
void registry_group_begin(registry_group *group);

/*
 * Ends the group: with `status` OK registers its stages, otherwise frees them. Returns `status` or
 * an error. E_INVALID: a name was taken meanwhile, or there are too many stages; E_NO_MEMORY.
 */
sluice_status registry_group_end(registry_group *group, sluice_status status);

#endif
