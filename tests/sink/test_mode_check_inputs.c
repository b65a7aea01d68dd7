/* SPDX-License-Identifier: Apache-2.0 */
/* Check mode notices data that change under it. */
#include "testing.h"
#include "train_kit.h"

static sluice_status keep_nothing(void *user, const char *folder, uint32_t rank, uint32_t world)
{
    (void)user;
    (void)folder;
    (void)rank;
    (void)world;
    return SLUICE_OK;
}

/* Outputs that are the same whatever the inputs are. */
static sluice_status indifferent(const sluice_step *step, void *user)
{
    (void)step;
    (void)user;
    return SLUICE_OK;
}

static void paint_anew(kit *k)
{
    kit_write_folder(k->user, 4, 24);
}

static void inputs_that_differ_between_two_runs_are_told(void)
{
    const char *folder = t_folder();
    char pipeline[400];
    kit k;

    kit_write_folder(folder, 4, 16);
    snprintf(pipeline, sizeof(pipeline), "image_folder %s | decode | center_crop 8 | batch 2",
             folder);
    for (int changes = 0; changes < 2; changes++) {
        kit_init(&k);
        k.pipeline = pipeline;
        k.user = (void *)(uintptr_t)folder;
        k.config.check = true;
        k.model.step = indifferent;
        k.model.save = keep_nothing;
        k.model.load = keep_nothing;
        k.act_in = KIT_TRAIN_END; /* of the first run of the check */
        k.act = changes > 0 ? paint_anew : NULL;
        T_STATUS(kit_run(&k), changes > 0 ? SLUICE_E_INVALID : SLUICE_OK);
        T_CONTAINS(k.error, changes > 0 ? "step 0: the inputs differ between two runs" : "");
        kit_fini(&k);
    }
}

const t_test mode_check_inputs_tests[] = {
    T_TEST(inputs_that_differ_between_two_runs_are_told),
    T_END,
};
