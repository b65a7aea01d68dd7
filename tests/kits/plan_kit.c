/* SPDX-License-Identifier: Apache-2.0 */
#include "plan_kit.h"

#include "dataset_kit.h"
#include "testing.h"

sli_plan *open_plan(sluice_dataset *dataset, const sli_run_settings *settings)
{
    sli_plan *plan = NULL;
    sluice_status st = sli_plan_open(dataset, settings, &plan);

    if (st != SLUICE_OK) {
        T_FAIL_("no plan: %.900s", sluice_last_error());
    }
    return plan;
}

sli_plan *plan_stages(const char *stages, bool prefer_device, sluice_dataset **dataset_out)
{
    const sli_run_settings settings = {.seed = 5, .world = 1, .prefer_device = prefer_device};
    char text[1000];

    snprintf(text, sizeof(text), "synthetic 100 20,30,3%s%s | batch 4",
             stages[0] != '\0' ? " | " : "", stages);
    *dataset_out = parsed(text);
    return open_plan(*dataset_out, &settings);
}

void close_plan(sli_plan *plan, sluice_dataset *dataset)
{
    sli_plan_close(plan);
    sluice_dataset_destroy(dataset);
}

uint64_t names_of_run(sluice_dataset *dataset)
{
    sli_plan *plan = open_plan(dataset, &(sli_run_settings){.world = 1});
    sli_dataset_identity identity;
    uint64_t names;

    T_OK(sli_plan_identity(plan, &identity));
    names = identity.names;
    sli_dataset_identity_free(&identity);
    close_plan(plan, dataset);
    return names;
}

char *explained(const sli_plan *plan)
{
    sli_text text = {0};
    char *taken = NULL;

    sli_plan_explain(plan, &text);
    T_OK(sli_text_take(&text, &taken));
    return taken;
}
