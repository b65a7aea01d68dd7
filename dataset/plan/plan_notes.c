/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the passes of the planner: notes for explain, and keys of random numbers. */
#include <stdio.h>
#include <string.h>

#include "plan.h"

void plan_note(sli_plan *plan, const char *text)
{
    char *notes = plan->details->texts.notes;
    size_t used = strlen(notes);

    snprintf(notes + used, sizeof(plan->details->texts.notes) - used, "%s\n", text);
}

uint64_t plan_stage_key(const sluice_dataset *dataset, uint32_t i, uint64_t seed)
{
    return sli_mix_in(sli_mix_in(sli_hash_text(dataset->stages[i].def->name), seed),
                      dataset_occurrence(dataset, i));
}
