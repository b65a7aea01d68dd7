/* SPDX-License-Identifier: Apache-2.0 */
/* Finding what somebody meant by a name that is none of ours. */
#ifndef SLUICE_NAMES_H
#define SLUICE_NAMES_H

#include "stage.h"

/* What a name of another library is called here; NULL when we do not know it. */
const char *name_from_elsewhere(const char *name);

/* The stage, or the parameter, whose name is nearest; NULL when none is near. */
const char *name_nearest_stage(const char *name);
const char *name_nearest_param(const stage_def *def, const char *name);

#endif
