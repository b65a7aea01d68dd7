/* SPDX-License-Identifier: Apache-2.0 */
/* What a step is given besides its batch: learning rate, random key; and the guard of what it
 * gives. */
#include <math.h>

#include "log_kit.h"
#include "testing.h"
#include "train_kit.h"

static const sluice_mode modes[] = {SLUICE_MODE_DIRECT, SLUICE_MODE_DATA, SLUICE_MODE_GRAPH,
                                    SLUICE_MODE_LOOP};

enum { STEPS = 60 };

/* ---- rates ----------------------------------------------------------------------------------- */

typedef struct seen {
    float rates[STEPS];
    uint64_t keys[STEPS];
} seen;

static void look(kit *k, const sluice_step *step)
{
    seen *s = k->user;

    if (*step->step < STEPS) {
        s->rates[*step->step] = *step->learning_rate;
        s->keys[*step->step] = *step->random_key;
    }
}

/* 60 steps in sinks of 7, in a mode; those from `first` on. */
static void init(kit *k, sluice_mode mode, seen *s, uint64_t first)
{
    memset(s, 0, sizeof(*s));
    kit_init(k);
    k->config.mode = mode;
    k->config.sink_size = 7;
    k->config.epochs = 0;
    k->config.start_step = first;
    k->config.max_steps = STEPS - first;
    k->in_step = look;
    k->user = s;
}

static float by_step(uint64_t step, void *user)
{
    return *(float *)user / (float)(1 + step);
}

static void rates_follow_a_function(void)
{
    float start = 3;

    for (size_t m = 0; m < COUNT(modes); m++) {
        seen s;
        kit k;

        init(&k, modes[m], &s, 20);
        k.learning_rate.function = by_step;
        k.learning_rate.user = &start;
        T_OK(kit_run(&k));
        T_EQ(s.rates[19] == 0, 1);
        for (uint64_t i = 20; i < STEPS; i++) {
            T_EQ(s.rates[i] == start / (float)(1 + i), 1);
        }
        kit_fini(&k);
    }
}

static void rates_follow_a_table_whose_last_entry_stays(void)
{
    const float table[] = {5, 4, 3};

    for (size_t m = 0; m < COUNT(modes); m++) {
        seen s;
        kit k;

        init(&k, modes[m], &s, 0);
        k.learning_rate.table = table;
        k.learning_rate.count = COUNT(table);
        T_OK(kit_run(&k));
        for (uint64_t i = 0; i < STEPS; i++) {
            T_EQ(s.rates[i] == table[i < 3 ? i : 2], 1);
        }
        kit_fini(&k);
    }
}

static void without_a_schedule_the_rate_is_zero(void)
{
    seen s;
    kit k;

    init(&k, SLUICE_MODE_LOOP, &s, 0);
    s.rates[5] = 1;
    T_OK(kit_run(&k));
    T_EQ(s.rates[5] == 0, 1);
    kit_fini(&k);
}

static void schedules_that_make_no_sense_are_refused(void)
{
    const float table[] = {1};
    seen s;
    kit k;

    init(&k, SLUICE_MODE_LOOP, &s, 0);
    k.learning_rate.count = 1;
    T_STATUS(kit_run(&k), SLUICE_E_INVALID);
    T_CONTAINS(k.error, "learning_rate.table is NULL");
    k.learning_rate.table = table;
    k.learning_rate.function = by_step;
    T_STATUS(kit_run(&k), SLUICE_E_INVALID);
    T_CONTAINS(k.error, "a table and a function");
    kit_fini(&k);
}

/* ---- keys ------------------------------------------------------------------------------------ */

static void random_keys_are_functions_of_seed_and_step(void)
{
    seen whole;
    seen other;
    kit k;

    init(&k, SLUICE_MODE_LOOP, &whole, 0);
    T_OK(kit_run(&k));
    kit_fini(&k);
    for (uint64_t i = 1; i < STEPS; i++) {
        T_TRUE(whole.keys[i] != whole.keys[i - 1]);
    }
    for (size_t m = 0; m < COUNT(modes); m++) {
        init(&k, modes[m], &other, 33);
        T_OK(kit_run(&k));
        T_EQ(memcmp(whole.keys + 33, other.keys + 33, (STEPS - 33) * sizeof(uint64_t)), 0);
        kit_fini(&k);
    }
    init(&k, SLUICE_MODE_LOOP, &other, 0);
    k.config.seed = 1;
    T_OK(kit_run(&k));
    for (uint64_t i = 0; i < STEPS; i++) {
        T_TRUE(whole.keys[i] != other.keys[i]);
    }
    kit_fini(&k);
}

/* ---- outputs that are no numbers ------------------------------------------------------------- */

/* Steps 41 and 52 go wrong, in the loss and in the other output. */
static void spoil(kit *k, const sluice_step *step)
{
    (void)k;
    if (*step->step == 41) {
        step->outputs[0] = NAN;
    }
    if (*step->step == 52) {
        step->outputs[1] = -INFINITY;
    }
}

static void init_spoiled(kit *k, sluice_mode mode, sluice_nan_guard guard)
{
    static seen unused;

    init(k, mode, &unused, 10);
    k->in_step = spoil;
    k->config.nan_guard = guard;
}

static void a_loss_that_is_no_number_ends_the_run_at_its_step(void)
{
    for (size_t m = 0; m < COUNT(modes); m++) {
        kit k;

        init_spoiled(&k, modes[m], SLUICE_NAN_STOP);
        T_STATUS(kit_run(&k), SLUICE_E_NAN);
        T_CONTAINS(k.error, "step 41: output loss is nan");
        T_EQ(k.count, 32); /* steps 10 to 41 */
        T_EQ(k.report->stats.nan_steps, 1);
        T_EQ(k.report->stats.first_nan_step, 41);
        kit_fini(&k);
    }
}

static void the_guard_counts_when_it_is_told_to(void)
{
    for (size_t m = 0; m < COUNT(modes); m++) {
        char *text = NULL;
        kit k;

        init_spoiled(&k, modes[m], SLUICE_NAN_COUNT);
        T_OK(kit_run(&k));
        T_EQ(k.count, STEPS - 10);
        T_EQ(k.report->stats.nan_steps, 2);
        T_EQ(k.report->stats.first_nan_step, 41);
        T_OK(sluice_report_text(k.report, &text));
        T_CONTAINS(text, "not finite in 2 steps, first in step 41");
        sluice_string_free(text);
        T_OK(sluice_report_json(k.report, &text));
        T_CONTAINS(text, "\"nan_steps\":2,\"first_nan_step\":41,");
        sluice_string_free(text);
        kit_fini(&k);
    }
}

static void the_guard_can_be_told_to_look_away(void)
{
    kit k;

    init_spoiled(&k, SLUICE_MODE_LOOP, SLUICE_NAN_IGNORE);
    T_OK(kit_run(&k));
    T_EQ(k.report->stats.nan_steps, 0);
    T_EQ(k.report->stats.first_nan_step, UINT64_MAX);
    k.config.nan_guard = (sluice_nan_guard)3;
    T_STATUS(kit_run(&k), SLUICE_E_INVALID);
    T_CONTAINS(k.error, "nan_guard is 3");
    kit_fini(&k);
}

/* ---- inputs ---------------------------------------------------------------------------------- */

static void overwrite_inputs(kit *k, const sluice_step *step)
{
    (void)k;
    for (uint32_t i = 0; i < step->input_count; i++) {
        memset(step->inputs[i].data, 0xA5, step->inputs[i].bytes);
    }
}

/* Three passes of six batches, the last of each padded, in one of 16 ways. */
static void init_padded(kit *k, size_t way, void (*in_step)(kit *, const sluice_step *))
{
    static const char *const devices[] = {"host:0", "host:0,copy=1"};
    static const char *const pipelines[] = {
        "synthetic samples=23 shape=4,4,3 | shuffle | batch 4",
        "synthetic samples=23 shape=4,4,3 | to_dtype f16 offload=device | batch 4",
    };

    kit_init(k);
    k->device = devices[way % 2];
    k->pipeline = pipelines[way / 2 % 2];
    k->config.mode = modes[way / 4];
    k->config.epochs = 3;
    k->model.reads_valid_rows = true;
    k->in_step = in_step;
}

/* What it writes is in no later batch, not in padded rows either. The kit's state is a chain of the
 * bytes of all batches. */
static void a_step_may_write_into_its_inputs(void)
{
    for (size_t i = 0; i < 4 * COUNT(modes); i++) {
        kit reads;
        kit writes;

        init_padded(&reads, i, NULL);
        init_padded(&writes, i, overwrite_inputs);
        T_OK(kit_run(&reads));
        T_OK(kit_run(&writes));
        T_EQ(reads.count, 18);
        T_EQ(writes.count, reads.count);
        kit_check_same(&reads, &writes, 0, reads.count);
        kit_fini(&writes);
        kit_fini(&reads);
    }
}

/* The columns are named, once per process, before a step that does not check dereferences NULL. */
static void an_unknown_input_is_warned_of(void)
{
    static const sluice_tensor inputs[] = {{.name = "image"}, {.name = "label"}};
    const sluice_step step = {.inputs = inputs, .input_count = 2};

    kit_log_start(NULL, NULL);
    T_TRUE(sluice_step_input(&step, "label") == &inputs[1]);
    T_TRUE(sluice_step_input(&step, "images") == NULL);
    T_TRUE(sluice_step_input(&step, "images") == NULL);
    T_CONTAINS(kit_log_stop(), "the batch has no column images, so the result is NULL; its columns "
                               "are image, label");
    T_EQ(kit_log_count(SLUICE_LOG_WARN), 1);
}

const t_test step_view_tests[] = {
    T_TEST(an_unknown_input_is_warned_of),
    T_TEST(rates_follow_a_function),
    T_TEST(rates_follow_a_table_whose_last_entry_stays),
    T_TEST(without_a_schedule_the_rate_is_zero),
    T_TEST(schedules_that_make_no_sense_are_refused),
    T_TEST(random_keys_are_functions_of_seed_and_step),
    T_TEST(a_loss_that_is_no_number_ends_the_run_at_its_step),
    T_TEST(the_guard_counts_when_it_is_told_to),
    T_TEST(the_guard_can_be_told_to_look_away),
    T_TEST(a_step_may_write_into_its_inputs),
    T_END,
};
