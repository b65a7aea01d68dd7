/* SPDX-License-Identifier: Apache-2.0 */
/* Hooks and ready-made callbacks in the runs of the mode check. */
#include <math.h>

#include "checked_run.h"
#include "testing.h"

static const sluice_mode modes[] = {SLUICE_MODE_DIRECT, SLUICE_MODE_DATA, SLUICE_MODE_GRAPH,
                                    SLUICE_MODE_LOOP};

/* Its lines of the check are cut by the run. */
static void a_log_of_json_lines_is_as_without(void)
{
    sluice_callback *callback = NULL;
    const char *path = t_file("log.jsonl");
    char line[200];
    int lines = 0;
    FILE *file;
    checked_run s;

    checked_init(&s);
    T_OK(sluice_json_log(path, &callback));
    s.kit.callbacks = callback;
    s.kit.callback_count = 1;
    T_OK(kit_run(&s.kit));
    sluice_callback_destroy(callback);
    file = fopen(path, "r");
    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    while (fgets(line, sizeof(line), file) != NULL) {
        char want[40];

        snprintf(want, sizeof(want), "{\"step\":%d,", lines++);
        T_CONTAINS(line, want);
    }
    fclose(file);
    T_EQ(lines, 90);
    checked_fini(&s);
}

static float rate; /* set by a hook, read by a step */

static sluice_status set_rate(sluice_hook *hook, void *user)
{
    (void)user;
    rate = 1.0F / (float)(hook->step + 1);
    return SLUICE_OK;
}

/* Wrong: what a hook has set is no address of the step's. */
static void use_rate(kit *k, const sluice_step *step)
{
    (void)k;
    step->outputs[0] = rate;
}

static void a_value_that_a_hook_sets_for_each_step_is_found(void)
{
    for (size_t m = 0; m < COUNT(modes); m++) {
        const bool per_sink = modes[m] == SLUICE_MODE_GRAPH || modes[m] == SLUICE_MODE_LOOP;
        char want[200];
        checked_run s;

        checked_init(&s);
        s.changes = (sluice_callback){.step_begin = set_rate};
        s.kit.callbacks = &s.changes;
        s.kit.callback_count = 1;
        s.kit.config.mode = modes[m];
        s.kit.in_step = use_rate;
        T_STATUS(kit_run(&s.kit), per_sink ? SLUICE_E_INVALID : SLUICE_OK);
        if (per_sink) {
            snprintf(want, sizeof(want),
                     "check: step 1: output loss is 0.5 in direct and 1 in %s mode: the step "
                     "depends on something other than what its addresses hold",
                     sluice_mode_name(modes[m]));
            T_CONTAINS(s.kit.error, want);
            T_EQ(s.kit.report->stats.steps, 0);
            T_EQ(s.loads, 3); /* also after it has found something */
            T_TRUE(s.kit.state == 0);
        }
        checked_fini(&s);
    }
}

static sluice_status stop_by_hook(sluice_hook *hook, void *user)
{
    hook->stop = user != NULL;
    return user != NULL ? SLUICE_OK : SLUICE_STOPPED;
}

/* It is asked again in the run, which stops there: by hook->stop, by its status. */
static void what_a_hook_asks_in_the_check_is_ignored(void)
{
    for (int i = 0; i < 2; i++) {
        checked_run s;

        checked_init(&s);
        s.changes.step_end = stop_by_hook;
        s.changes.user = i == 0 ? &s : NULL;
        s.kit.callbacks = &s.changes;
        s.kit.callback_count = 1;
        T_STATUS(kit_run(&s.kit), SLUICE_STOPPED);
        T_EQ(s.kit.report->stats.steps, 30);
        checked_fini(&s);
    }
}

/* No loss is better by infinity; the check has two of these passes of one batch. */
static void early_stopping_does_not_end_a_run_in_its_check(void)
{
    sluice_callback *stopping;
    checked_run s;

    T_OK(sluice_early_stopping("label", false, HUGE_VAL, 1, &stopping));
    checked_init(&s);
    s.kit.pipeline = "synthetic samples=6 shape=4,4,3 | batch 6";
    s.kit.config.sink_size = -1;
    s.kit.callbacks = stopping;
    s.kit.callback_count = 1;
    T_STATUS(kit_run(&s.kit), SLUICE_STOPPED);
    T_EQ(s.kit.report->stats.steps, 1);
    checked_fini(&s);
    sluice_callback_destroy(stopping);
}

const t_test check_hooks_tests[] = {
    T_TEST(a_log_of_json_lines_is_as_without),
    T_HOST_TEST(a_value_that_a_hook_sets_for_each_step_is_found),
    T_TEST(what_a_hook_asks_in_the_check_is_ignored),
    T_TEST(early_stopping_does_not_end_a_run_in_its_check),
    T_END,
};
