/* SPDX-License-Identifier: Apache-2.0 */
/* Builds a named stage for one use in a text: calls the user's build(). */
#ifndef SLUICE_STAGE_BUILDER_H
#define SLUICE_STAGE_BUILDER_H

#include "named_stage.h"

/* stage_def.make of named stages. Returns build()'s error; E_INVALID: the text has another version;
 * E_CALLBACK: build() returned an invalid status, or OK without a stage. */
sluice_status stage_builder_make(const stage_def *def, void *args);

#endif
