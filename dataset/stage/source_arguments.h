/* SPDX-License-Identifier: Apache-2.0 */
/* Which arguments of a source are part of the identity of a run. */
#ifndef SLUICE_SOURCE_ARGUMENTS_H
#define SLUICE_SOURCE_ARGUMENTS_H

#include "stage.h"

typedef enum source_argument {
    ARGUMENT_DATA,  /* the data depend on its value */
    ARGUMENT_PLACE, /* a place of files, which may be moved: only whether it is given matters */
    ARGUMENT_NONE   /* the data do not depend on it, or the identity has what they depend on */
} source_argument;

/* Classifies an argument of a source. What is in no table is ARGUMENT_DATA. */
source_argument source_argument_of(const stage_def *def, const stage_param *param);

#endif
