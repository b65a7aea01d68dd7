/* SPDX-License-Identifier: Apache-2.0 */
#include "collected_kit.h"

#include <stdio.h>

#include "testing.h"

enum { STEPS = 30, EVERY = 4 };

const sluice_mode collected_modes[COLLECTED_MODES] = {SLUICE_MODE_AUTO, SLUICE_MODE_DATA,
                                                      SLUICE_MODE_GRAPH, SLUICE_MODE_LOOP};

void collected_run(kit *k, sluice_dataset *dataset, sluice_mode mode, uint64_t epochs,
                   uint64_t steps)
{
    kit_init(k);
    k->dataset = dataset;
    k->config.dataset_sink_mode = mode != SLUICE_MODE_AUTO;
    k->config.mode = mode;
    k->config.epochs = epochs;
    k->config.max_steps = steps;
    k->config.workers = (uint32_t)mode % 3 + 1;
    k->model.reads_valid_rows = true;
    kit_run(k);
    if (k->status != SLUICE_OK) {
        T_FAIL_("the run ends with %.900s", k->error);
    }
}

void collected_done(kit *k)
{
    sluice_dataset *dataset = k->dataset;

    kit_fini(k);
    sluice_dataset_destroy(dataset);
}

static sluice_status save(void *user, const char *folder, uint32_t rank, uint32_t world)
{
    (void)rank;
    (void)world;
    return kit_save_state(user, folder);
}

static sluice_status load(void *user, const char *folder, uint32_t rank, uint32_t world)
{
    (void)rank;
    (void)world;
    return kit_load_state(user, folder);
}

/* Trains up to `stop`, and resumes with another number of workers. */
static void run_in_two_parts(kit *k, sluice_dataset *dataset, uint64_t stop)
{
    char folder[400];

    kit_init(k);
    k->dataset = dataset;
    k->config.epochs = 0;
    k->config.max_steps = stop;
    snprintf(folder, sizeof(folder), "%s/%d", t_folder(), (int)stop);
    k->checkpoint.folder = folder;
    k->checkpoint.every_steps = EVERY;
    k->model.save = save;
    k->model.load = load;
    k->config.sink_size = EVERY;
    T_OK(kit_run(k));
    k->config.max_steps = STEPS - stop;
    k->config.workers = (uint32_t)(stop / EVERY % 3) + 1;
    k->checkpoint.resume = true;
    T_OK(kit_run(k));
    k->checkpoint.folder = NULL;
}

void collected_check_resumes(sluice_dataset *(*make)(const char *batch), const char *batch)
{
    kit whole;

    collected_run(&whole, make(batch), SLUICE_MODE_LOOP, 0, STEPS);
    for (uint64_t stop = EVERY; stop < STEPS; stop += EVERY) {
        kit k;

        run_in_two_parts(&k, make(batch), stop);
        T_EQ(k.count, STEPS - stop);
        T_EQ(k.steps[0].step, whole.steps[stop].step);
        for (size_t i = 0; i < k.count; i++) {
            T_EQ(k.steps[i].digest, whole.steps[stop + i].digest);
            T_EQ(k.steps[i].samples, whole.steps[stop + i].samples);
            T_EQ(k.steps[i].pass, whole.steps[stop + i].pass);
        }
        collected_done(&k);
    }
    collected_done(&whole);
}
