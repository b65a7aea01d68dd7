/* SPDX-License-Identifier: Apache-2.0 */
/* Builds a stage with a name for one use in a text: calls the user's build(). */
#ifndef SLUICE_STAGE_BUILDER_H
#define SLUICE_STAGE_BUILDER_H

#include "named_stage.h"

/* stage_def.make of stages with a name. E_INVALID: the text has another version. */
sluice_status stage_builder_make(const stage_def *def, void *args);

#endif
