/* SPDX-License-Identifier: Apache-2.0 */
/* Arguments that are given, and have no effect where they are. */
#ifndef SLUICE_IDLE_ARGUMENTS_H
#define SLUICE_IDLE_ARGUMENTS_H

#include "dataset_state.h"
#include "text_int.h"

/* E_INVALID: an argument contradicts another one of the stage, so that it never has an effect. */
sluice_status idle_arguments_check(const stage_def *def, const void *args);

/* The stages that may be fused with decoding. */
typedef struct decode_fusion {
    bool resizes; /* a resize is among them */
    bool crops;   /* a crop is among them */
} decode_fusion;

/* What arguments may depend on, besides the stages. */
typedef struct idle_run {
    uint32_t world; /* number of ranks */
    decode_fusion decode;
} idle_run;

/* Appends the arguments of all stages without effect: "shuffle buffer=17 (WHY), ...". */
void idle_arguments_list(const sluice_dataset *dataset, const idle_run *run, sli_text *text);

#endif
