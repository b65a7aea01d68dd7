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
static bool read_line(FILE *file, char name[64], uint32_t *occurrence, uint64_t *key)
{
    return fscanf(file, "%63s %" SCNu32 " %" SCNx64, name, occurrence, key) == 3;
}

static FILE *open_keys(void)
{
    FILE *file = fopen(SLUICE_TEST_DATA "/draw_keys.txt", "r");

    T_TRUE(file != NULL);
    return file;
}

static void keys_of_stages_are_frozen(void)
{
    FILE *file = open_keys();
    static sluice_dataset dataset;
    char name[64];
    uint32_t occurrence;
    uint64_t key;

    while (read_line(file, name, &occurrence, &key)) {
        const stage_def *def = stage_find(registry_stages(), name);

        if (def == NULL || occurrence >= OCCURRENCES) {
            T_FAIL_("there is no stage %s, number %u", name, occurrence);
        }
        repeat_stage(&dataset, def);
        T_EQ(plan_stage_key(&dataset, occurrence, SEED), key);
    }
    T_TRUE(feof(file) != 0); /* a line of another form ends the loop, too */
    fclose(file);
}

/* How many lines of the file a stage has. */
static uint32_t count_lines(const char *stage)
{
    FILE *file = open_keys();
    char name[64];
    uint32_t occurrence;
    uint64_t key;
    uint32_t count = 0;

    while (read_line(file, name, &occurrence, &key)) {
        count += strcmp(name, stage) == 0;
    }
    fclose(file);
    return count;
}

/* A name makes the keys: without its lines a stage could be renamed, and draw other numbers. */
static void each_stage_that_draws_has_lines(void)
{
    static sluice_dataset dataset;
    char missing[2000] = "";
    size_t used = 0;

    for (const stage_def *const *def = registry_stages(); *def != NULL; def++) {
        repeat_stage(&dataset, *def);
        if (!(*def)->draws || count_lines((*def)->name) == OCCURRENCES) {
            continue;
        }
        for (uint32_t i = 0; i < OCCURRENCES && used < sizeof(missing); i++) {
            used +=
                (size_t)snprintf(missing + used, sizeof(missing) - used, "%s %u %016" PRIx64 "\n",
                                 (*def)->name, i, plan_stage_key(&dataset, i, SEED));
        }
    }
    if (used > 0) {
        T_FAIL_("stages that draw must have their keys in tests/data/draw_keys.txt; add\n%s",
                missing);
    }
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
    T_TEST(each_stage_that_draws_has_lines),
    T_TEST(other_stages_do_not_change_a_key),
    T_END,
};
