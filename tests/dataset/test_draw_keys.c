/* SPDX-License-Identifier: Apache-2.0 */
/* The keys of random draws are frozen: with others, a run would draw other numbers from the same
 * seed. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "dataset_state.h"
#include "plan.h"
#include "stage_names.h"
#include "stage_registry.h"
#include "testing.h"

enum { OCCURRENCES = 3 };
static const uint64_t SEED = 7;

/* A dataset of so many equal stages; only what names them is there. */
static void repeat_stage(sluice_dataset *dataset, const stage_def *def)
{
    memset(dataset, 0, sizeof(*dataset));
    dataset->stage_count = OCCURRENCES;
    for (uint32_t i = 0; i < OCCURRENCES; i++) {
        dataset->stages[i].def = def;
    }
}

/* Each line of the file is a stage, how many of that name come before it, and the key with SEED. */
static void keys_of_stages_are_frozen(void)
{
    FILE *file = fopen(SLUICE_TEST_DATA "/draw_keys.txt", "r");
    static sluice_dataset dataset;
    char name[64];
    uint32_t occurrence;
    uint64_t key;
    int lines = 0;

    T_TRUE(file != NULL);
    for (; fscanf(file, "%63s %" SCNu32 " %" SCNx64, name, &occurrence, &key) == 3; lines++) {
        const stage_def *def = stage_find(registry_stages(), name);

        if (def == NULL || occurrence >= OCCURRENCES) {
            T_FAIL_("there is no stage %s, number %u", name, occurrence);
        }
        repeat_stage(&dataset, def);
        T_EQ(plan_stage_key(&dataset, occurrence, SEED), key);
    }
    T_EQ(lines, 252);
    fclose(file);
}

/* What comes before a stage does not change its key, but for stages of the same name. */
static void other_stages_do_not_change_a_key(void)
{
    static sluice_dataset dataset;
    const stage_def *flip = stage_find(registry_stages(), "random_horizontal_flip");
    uint64_t key;

    repeat_stage(&dataset, flip);
    key = plan_stage_key(&dataset, 1, SEED);
    T_TRUE(key != plan_stage_key(&dataset, 0, SEED));
    T_TRUE(key != plan_stage_key(&dataset, 1, SEED + 1));
    dataset.stages[1].def = stage_find(registry_stages(), "rotate");
    T_EQ(plan_stage_key(&dataset, 2, SEED), key);
}

const t_test draw_keys_tests[] = {
    T_TEST(keys_of_stages_are_frozen),
    T_TEST(other_stages_do_not_change_a_key),
    T_END,
};
