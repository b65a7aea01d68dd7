/* SPDX-License-Identifier: Apache-2.0 */
/* Plans, and what they say. A plan that cannot be made fails the test. */
#ifndef SLUICE_PLAN_KIT_H
#define SLUICE_PLAN_KIT_H

#include "plan.h"

sli_plan *open_plan(sluice_dataset *dataset, const sli_run_settings *settings);

/* The plan of "synthetic 100 20,30,3 | STAGES | batch 4", and its dataset. */
sli_plan *plan_stages(const char *stages, bool prefer_device, sluice_dataset **dataset_out);
void close_plan(sli_plan *plan, sluice_dataset *dataset);

/* The names in the identity of a run of a dataset, which it destroys. */
uint64_t names_of_run(sluice_dataset *dataset);

/* For sluice_string_free(). */
char *explained(const sli_plan *plan);

#endif
