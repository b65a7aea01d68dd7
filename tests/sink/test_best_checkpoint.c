/* SPDX-License-Identifier: Apache-2.0 */
/* The checkpoint of the best validation. */
#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "testing.h"
#include "train_kit.h"

static const char *const names[] = {"loss", "accuracy"};

/* What validation gives, one after the other; 30 steps apart. */
static const float given[] = {5, 3, 4, 3, 2, 9, NAN, 8};

static sluice_status eval(const sluice_step *step, void *user)
{
    const kit *k = user;

    step->outputs[0] = given[(uintptr_t)k->user];
    step->outputs[1] = -given[(uintptr_t)k->user];
    return SLUICE_OK;
}

static sluice_status next(sluice_hook *hook, void *user)
{
    kit *k = user;

    (void)hook;
    k->user = (void *)((uintptr_t)k->user + 1);
    return SLUICE_OK;
}

static sluice_status save(void *user, const char *folder, uint32_t rank, uint32_t world)
{
    const kit *k = user;
    const size_t which = (uintptr_t)k->user;

    (void)rank;
    (void)world;
    t_write_file(t_path(folder, "which"), &which, sizeof(which));
    return SLUICE_OK;
}

static sluice_status load(void *user, const char *folder, uint32_t rank, uint32_t world)
{
    kit *k = user;
    size_t which = 0;
    FILE *file = fopen(t_path(folder, "which"), "rb");
    size_t got = file != NULL ? fread(&which, sizeof(which), 1, file) : 0;

    (void)rank;
    (void)world;
    if (file != NULL) {
        fclose(file);
    }
    k->user = (void *)(uintptr_t)which;
    return got == 1 ? SLUICE_OK : SLUICE_E_IO;
}

static void init(kit *k, const char *folder, sluice_dataset *dataset)
{
    static sluice_callback callback;

    kit_init(k);
    callback = (sluice_callback){.validation = next, .user = k};
    k->callbacks = &callback;
    k->callback_count = 1;
    k->config.sink_size = 30;
    k->config.epochs = 0;
    k->config.max_steps = 240;
    k->validation.dataset = dataset;
    k->validation.every_steps = 30;
    k->checkpoint.folder = folder;
    k->checkpoint.every_steps = 60;
    k->checkpoint.best = "loss";
    k->checkpoint.resume = true;
    k->model.eval = eval;
    k->model.result_names = names;
    k->model.result_count = 2;
    k->model.save = save;
    k->model.load = load;
}

/* The step of the best in the folder; UINT64_MAX: none. There is at most one. */
static uint64_t best_of(const char *folder)
{
    DIR *entries = opendir(folder);
    uint64_t best = UINT64_MAX;

    CU_ASSERT_PTR_NOT_NULL_FATAL(entries);
    for (const struct dirent *entry; (entry = readdir(entries)) != NULL;) {
        if (strncmp(entry->d_name, "best-", 5) == 0) {
            T_EQ(best, UINT64_MAX);
            best = strtoull(entry->d_name + 5, NULL, 10);
        }
    }
    closedir(entries);
    return best;
}

static sluice_dataset *one_sample(void)
{
    sluice_dataset *dataset;

    T_OK(sluice_dataset_parse("synthetic samples=1 shape=4,4,3 | batch 1", &dataset));
    return dataset;
}

static void the_model_with_the_smallest_result_is_kept(void)
{
    sluice_dataset *dataset = one_sample();
    const char *place = t_file("c");
    kit k;

    init(&k, place, dataset);
    T_OK(kit_run(&k));
    T_EQ(best_of(place), 150); /* 2, the fifth */
    T_EQ(access(t_path(place, "best-000000000150/DONE"), F_OK), 0);
    T_EQ(access(t_path(place, "best-000000000150/which"), F_OK), 0);
    T_EQ(k.report->stats.checkpoints, 4); /* the best is not one of them */
    kit_fini(&k);
    sluice_dataset_destroy(dataset);
}

static void the_largest_can_be_the_best(void)
{
    sluice_dataset *dataset = one_sample();
    char place[300];
    kit k;

    snprintf(place, sizeof(place), "%s/c", t_folder());
    init(&k, place, dataset);
    k.checkpoint.best = "accuracy";
    k.checkpoint.best_is_larger = true;
    T_OK(kit_run(&k));
    T_EQ(best_of(place), 150);
    kit_fini(&k);
    snprintf(place, sizeof(place), "%s/d", t_folder());
    init(&k, place, dataset);
    k.checkpoint.best_is_larger = true;
    T_OK(kit_run(&k));
    T_EQ(best_of(place), 180); /* 9; what is no number is never better */
    kit_fini(&k);
    sluice_dataset_destroy(dataset);
}

/* A resumed run knows what was best before it. */
static void the_best_is_remembered_over_a_resume(void)
{
    sluice_dataset *dataset = one_sample();
    const char *place = t_file("c");
    kit k;

    init(&k, place, dataset);
    k.config.max_steps = 60; /* 5, 3 */
    T_OK(kit_run(&k));
    T_EQ(best_of(place), 60);
    kit_fini(&k);
    init(&k, place, dataset);
    k.config.max_steps = 60; /* 4, 3: neither is better */
    T_OK(kit_run(&k));
    T_EQ(best_of(place), 60);
    kit_fini(&k);
    init(&k, place, dataset);
    k.config.max_steps = 60; /* 2, 9 */
    T_OK(kit_run(&k));
    T_EQ(best_of(place), 150);
    kit_fini(&k);
    sluice_dataset_destroy(dataset);
}

/* The newest of all is what a run goes on from, not the best. */
static void a_run_goes_on_from_the_newest(void)
{
    sluice_dataset *dataset = one_sample();
    const char *place = t_file("c");
    kit k;

    init(&k, place, dataset);
    k.config.max_steps = 90;
    T_OK(kit_run(&k));
    kit_fini(&k);
    init(&k, place, dataset);
    k.config.max_steps = 10;
    T_OK(kit_run(&k));
    T_EQ(k.report->stats.first_step, 90);
    kit_fini(&k);
    sluice_dataset_destroy(dataset);
}

static void a_best_that_cannot_be_is_refused(void)
{
    sluice_dataset *dataset = one_sample();
    const char *place = t_file("c");
    kit k;

    init(&k, place, dataset);
    k.checkpoint.best = "f1";
    T_STATUS(kit_run(&k), SLUICE_E_INVALID);
    T_CONTAINS(k.error, "checkpoint.best is f1, and validation has no such result");
    kit_fini(&k);
    init(&k, place, dataset);
    k.validation = (sluice_validating){.dataset = NULL};
    T_STATUS(kit_run(&k), SLUICE_E_INVALID);
    T_CONTAINS(k.error, "validation.dataset is NULL, which checkpoint.best needs");
    kit_fini(&k);
    init(&k, place, dataset);
    k.checkpoint = (sluice_checkpointing){.best = "loss"};
    T_STATUS(kit_run(&k), SLUICE_E_INVALID);
    T_CONTAINS(k.error, "checkpoint.folder is NULL, which checkpoint.best needs");
    kit_fini(&k);
    sluice_dataset_destroy(dataset);
}

const t_test best_checkpoint_tests[] = {
    T_TEST(the_model_with_the_smallest_result_is_kept), T_TEST(the_largest_can_be_the_best),
    T_TEST(the_best_is_remembered_over_a_resume),       T_TEST(a_run_goes_on_from_the_newest),
    T_TEST(a_best_that_cannot_be_is_refused),           T_END,
};
