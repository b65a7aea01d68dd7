/* SPDX-License-Identifier: Apache-2.0 */
/* Callbacks of a run that return a number that is not a status. */
#include "device_map_kit.h"
#include "last_call.h"
#include "testing.h"
#include "train_kit.h"

static const int numbers[] = {-4242, 4242};

/* What each callback returns; 0: OK. */
static sluice_status answer;
static uint64_t agree_calls;
static uint64_t agree_at; /* this call of agree answers */

static sluice_status eval(const sluice_step *step, void *user)
{
    (void)step;
    (void)user;
    return answer;
}

static sluice_status state(void *user, const char *folder, uint32_t rank, uint32_t world)
{
    (void)user;
    (void)folder;
    (void)rank;
    (void)world;
    return answer;
}

static sluice_status good_state(void *user, const char *folder, uint32_t rank, uint32_t world)
{
    (void)user;
    (void)folder;
    (void)rank;
    (void)world;
    return SLUICE_OK;
}

static sluice_status map(const sluice_step *step, const sluice_tensor *outputs, void *user)
{
    const sluice_status st = device_map_sum(step, outputs, user);

    return st == SLUICE_OK ? answer : st;
}

static sluice_status agree(int64_t value, int64_t *most_out, void *user)
{
    (void)user;
    *most_out = value;
    return agree_calls++ == agree_at ? answer : SLUICE_OK;
}

static sluice_status hook(sluice_hook *of, void *user)
{
    (void)of;
    (void)user;
    return answer;
}

static sluice_status stopping_hook(sluice_hook *of, void *user)
{
    (void)user;
    of->stop = true;
    return answer;
}

/* Runs, and expects the error that names the callback and the number. */
static void expect(kit *k, const char *callback)
{
    char words[100];

    T_STATUS(kit_run(k), SLUICE_E_CALLBACK);
    snprintf(words, sizeof(words), "%s returned %d, which is not a sluice_status", callback,
             (int)answer);
    T_CONTAINS(k->error, words);
    kit_fini(k);
}

static void numbers_of_a_step_and_of_eval_are_errors(void)
{
    static const sluice_mode modes[] = {SLUICE_MODE_DIRECT, SLUICE_MODE_DATA, SLUICE_MODE_GRAPH,
                                        SLUICE_MODE_LOOP};

    for (int i = 0; i < 2 * 4; i++) {
        sluice_dataset *dataset = NULL;
        kit k;

        answer = (sluice_status)numbers[i % 2];
        kit_init(&k);
        k.config.mode = modes[i / 2];
        k.step_at = 7;
        k.step_answer = answer;
        expect(&k, "step 7: the step function");
        kit_init(&k);
        k.config.mode = modes[i / 2];
        T_OK(sluice_dataset_parse("synthetic samples=20 shape=4,4,3 | batch 2", &dataset));
        k.validation.dataset = dataset;
        k.model.eval = eval;
        expect(&k, "validation after 100 steps: step 0: the step function");
        sluice_dataset_destroy(dataset);
    }
}

static void numbers_of_each_hook_are_errors(void)
{
    static const char *const names[] = {"train_begin", "epoch_begin", "step_begin", "records",
                                        "step_end",    "validation",  "epoch_end",  "train_end"};

    for (size_t i = 0; i < 2 * 8 * 2; i++) {
        const sluice_hook_fn fn = i < 2 * 8 ? hook : stopping_hook;
        sluice_callback callback;
        sluice_dataset *dataset = NULL;
        char name[60];
        kit k;

        answer = (sluice_status)numbers[i % 2];
        sluice_callback_init(&callback);
        /* The hooks follow each other in the struct, in this order. */
        (&callback.train_begin)[i / 2 % 8] = fn;
        kit_init(&k);
        k.callbacks = &callback;
        k.callback_count = 1;
        T_OK(sluice_dataset_parse("synthetic samples=20 shape=4,4,3 | batch 2", &dataset));
        kit_validate(&k, dataset);
        snprintf(name, sizeof(name), "hook %s of callback 0", names[i / 2 % 8]);
        expect(&k, name);
        sluice_dataset_destroy(dataset);
    }
}

static void numbers_of_save_and_load_are_errors(void)
{
    for (int i = 0; i < 2; i++) {
        char folder[300];
        kit k;

        answer = (sluice_status)numbers[i];
        snprintf(folder, sizeof(folder), "%s/%d", t_folder(), i);
        kit_init(&k);
        k.checkpoint.folder = folder;
        k.model.save = state;
        k.model.load = good_state;
        expect(&k, "model.save");
        kit_init(&k);
        k.checkpoint.folder = folder;
        k.model.save = good_state;
        T_OK(kit_run(&k));
        k.checkpoint.resume = true;
        k.config.epochs = 2;
        k.model.load = state;
        expect(&k, "model.load");
        for (int what = 0; what < 2; what++) { /* the mode check */
            kit_init(&k);
            k.config.check = true;
            k.model.save = what == 0 ? state : good_state;
            k.model.load = what == 0 ? good_state : state;
            expect(&k, what == 0 ? "model.save" : "model.load");
        }
    }
}

static void numbers_of_a_device_map_are_errors(void)
{
    for (int i = 0; i < 2; i++) {
        sluice_device_map of;
        const sluice_device_map *maps[] = {&of};
        kit k;

        answer = (sluice_status)numbers[i];
        device_map_init(&of, "sums", map, &device_map_sum_column);
        kit_init(&k);
        k.config.device_maps = maps;
        k.config.device_map_count = 1;
        expect(&k, "device map sums");
    }
}

static void numbers_of_agree_are_errors(void)
{
    for (int i = 0; i < 2; i++) {
        kit k;

        answer = (sluice_status)numbers[i];
        agree_calls = 0;
        agree_at = 0;
        kit_init(&k);
        k.config.agree = agree;
        k.config.world = 2;
        k.config.local_world = 1;
        expect(&k, "agree");
    }
}

/* A rank that has failed makes no further call, as after any error of agree. */
static void numbers_of_the_last_calls_of_agree_end_these(void)
{
    rank_failure own = {.rank = 0, .status = SLUICE_E_IO, .text = "a text of more than 7 bytes"};

    agree_at = UINT64_MAX;
    agree_calls = 0;
    T_TRUE(last_call_make(&own, agree, NULL, 60000));
    T_EQ(agree_calls, 1 + 4); /* the failure, and its text */
    for (int i = 0; i < 2 * 3; i++) {
        answer = (sluice_status)numbers[i % 2];
        agree_at = (uint64_t)i / 2;
        agree_calls = 0;
        T_TRUE(last_call_make(&own, agree, NULL, 60000));
        T_EQ(agree_calls, agree_at + 1);
    }
}

const t_test callback_statuses_tests[] = {
    T_HOST_TEST(numbers_of_a_step_and_of_eval_are_errors),
    T_TEST(numbers_of_each_hook_are_errors),
    T_TEST(numbers_of_save_and_load_are_errors),
    T_HOST_TEST(numbers_of_a_device_map_are_errors),
    T_TEST(numbers_of_agree_are_errors),
    T_HOST_TEST(numbers_of_the_last_calls_of_agree_end_these),
    T_END,
};
