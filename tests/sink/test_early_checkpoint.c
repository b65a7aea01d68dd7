/* SPDX-License-Identifier: Apache-2.0 */
/* A checkpoint that is due where validation is: written before it, and what a run resumes from when
 * validation did not end. */
#include <unistd.h>

#include "checkpoint_kit.h"
#include "testing.h"

static const char *const names[] = {"label", "one"};

/* A model whose `validation` and `epoch_end` hooks change it, and what they were called with. */
typedef struct tuned {
    kit kit;
    char folder[300];
    sluice_dataset *dataset;
    sluice_callback callbacks[3];
    uint64_t evals;   /* calls of eval in this run; one a validation */
    uint64_t fail_at; /* in this one (from 0) it fails; UINT64_MAX: never */
    bool early_seen;  /* the folder held an early checkpoint of step 60 in the call fail_at */
    uint64_t validated[8];
    uint64_t validations;
    uint64_t ended[8]; /* epochs */
    uint64_t ends;
    sluice_stop *stop; /* requested in the call fail_at in place of failing; NULL: it fails */
} tuned;

static sluice_status eval(const sluice_step *step, void *user)
{
    tuned *t = user;

    step->outputs[0] = (float)*step->valid_rows * t->kit.state;
    step->outputs[1] = (float)*step->valid_rows;
    if (t->evals++ != t->fail_at) {
        return SLUICE_OK;
    }
    t->early_seen = is_there(t->folder, "early-000000000060/DONE");
    if (t->stop != NULL) {
        sluice_stop_request(t->stop);
        return SLUICE_OK;
    }
    return sluice_fail(SLUICE_E_CALLBACK, "no test set today");
}

static sluice_status on_validation(sluice_hook *hook, void *user)
{
    tuned *t = user;

    t->validated[t->validations++] = hook->step;
    T_EQ(hook->epoch, hook->step / 30 - 1);
    t->kit.state += 1;
    return SLUICE_OK;
}

static sluice_status on_epoch_end(sluice_hook *hook, void *user)
{
    tuned *t = user;

    t->ended[t->ends++] = hook->epoch;
    t->kit.state *= 0.5F;
    return SLUICE_OK;
}

/* 4 epochs of 30 steps, which are sinks or passes; validation and a checkpoint after each. */
static void init(tuned *t, const char *folder, bool passes)
{
    memset((void *)t, 0, sizeof(*t));
    kit_init(&t->kit);
    snprintf(t->folder, sizeof(t->folder), "%s", folder);
    T_OK(sluice_dataset_parse("synthetic samples=4 shape=4,4,3 | batch 4", &t->dataset));
    t->fail_at = UINT64_MAX;
    t->callbacks[0].validation = on_validation;
    t->callbacks[0].epoch_end = on_epoch_end;
    t->callbacks[0].user = t;
    t->kit.pipeline = "synthetic samples=60 shape=4,4,3 | shuffle | batch 2";
    t->kit.config.sink_size = passes ? -1 : 30;
    t->kit.config.epochs = 4;
    t->kit.callbacks = t->callbacks;
    t->kit.callback_count = 1;
    t->kit.validation.dataset = t->dataset;
    t->kit.validation.every_epochs = 1;
    t->kit.checkpoint.folder = t->folder;
    t->kit.checkpoint.every_epochs = 1;
    t->kit.checkpoint.resume = true;
    t->kit.model.eval = eval;
    t->kit.model.result_names = names;
    t->kit.model.result_count = 2;
    t->kit.model.save = kit_save;
    t->kit.model.load = kit_load;
}

static void fini(tuned *t)
{
    kit_fini(&t->kit);
    sluice_dataset_destroy(t->dataset);
}

/* The model after 4 epochs without a break. */
static float unbroken(bool passes)
{
    tuned t;
    float state;

    init(&t, t_path(t_folder(), "c"), passes);
    T_OK(kit_run(&t.kit));
    T_EQ(t.validations, 4);
    T_EQ(t.kit.report->stats.checkpoints, 4);
    T_TRUE(is_there(t.folder, "step-000000000120/DONE"));
    T_TRUE(!is_there(t.folder, "early-000000000120")); /* it was replaced */
    state = t.kit.state;
    fini(&t);
    return state;
}

static void a_run_resumes_where_validation_failed(void)
{
    for (int passes = 0; passes < 2; passes++) {
        const float whole = unbroken(passes == 1);
        char folder[300];
        tuned t;

        snprintf(folder, sizeof(folder), "%s/c", t_folder());
        init(&t, folder, passes == 1);
        t.fail_at = 1;
        T_STATUS(kit_run(&t.kit), SLUICE_E_CALLBACK);
        T_TRUE(t.early_seen);
        T_TRUE(is_there(t.folder, "early-000000000060/DONE"));
        T_TRUE(!is_there(t.folder, "step-000000000060"));
        fini(&t);

        init(&t, folder, passes == 1);
        T_OK(kit_run(&t.kit));
        T_EQ(t.kit.report->stats.first_step, 60);
        T_EQ(t.kit.report->stats.steps, 60);
        T_EQ(t.validations, 3); /* the one that failed comes first */
        T_EQ(t.validated[0], 60);
        T_EQ(t.ends, 3);
        T_EQ(t.ended[0], 1);
        T_TRUE(t.kit.state == whole);
        T_TRUE(is_there(t.folder, "step-000000000060/DONE"));
        T_TRUE(!is_there(t.folder, "early-000000000060"));
        fini(&t);
    }
}

/* At the last step, too; started once more it has nothing left to do. */
static void the_last_validation_is_done_by_the_next_run(void)
{
    const float whole = unbroken(false);
    const char *folder = t_file("c");
    tuned t;

    init(&t, folder, false);
    t.fail_at = 3;
    T_STATUS(kit_run(&t.kit), SLUICE_E_CALLBACK);
    fini(&t);
    for (uint64_t run = 0; run < 2; run++) {
        init(&t, folder, false);
        T_OK(kit_run(&t.kit));
        T_EQ(t.kit.report->stats.steps, 0);
        T_EQ(t.validations, 1 - run);
        T_EQ(t.ends, 1 - run);
        T_TRUE(t.kit.state == whole);
        fini(&t);
    }
}

/* Validation runs after epoch_end, so a resumed run does not call that hook again. */
static void validation_at_the_end_has_its_checkpoint_before_it(void)
{
    float whole = 0;
    char folder[300];
    tuned t;

    for (uint64_t run = 0; run < 3; run++) {
        if (run < 2) {
            snprintf(folder, sizeof(folder), "%s/c", t_folder());
        }
        init(&t, folder, false);
        t.kit.config.epochs = 2;
        t.kit.validation.every_epochs = 0;
        t.kit.validation.at_end = true;
        t.kit.checkpoint.every_epochs = 0;
        t.fail_at = run == 1 ? 0 : UINT64_MAX;
        T_STATUS(kit_run(&t.kit), run == 1 ? SLUICE_E_CALLBACK : SLUICE_OK);
        T_EQ(t.early_seen, run == 1);
        T_EQ(t.validations, run != 1);
        T_EQ(t.ends, run == 2 ? 0 : 2);
        T_EQ(is_there(t.folder, "early-000000000060"), run == 1);
        T_EQ(is_there(t.folder, "step-000000000060"), run != 1);
        whole = run == 0 ? t.kit.state : whole;
        T_TRUE(run == 1 || t.kit.state == whole);
        fini(&t);
    }
}

static void a_validation_that_was_stopped_is_done_again(void)
{
    const float whole = unbroken(false);
    const char *folder = t_file("c");
    sluice_stop *stop = NULL;
    tuned t;

    T_OK(sluice_stop_create(&stop));
    init(&t, folder, false);
    T_OK(sluice_dataset_parse("synthetic samples=400 shape=4,4,3 | batch 4",
                              &t.kit.validation.dataset));
    t.kit.config.stop = stop;
    t.stop = stop;
    t.fail_at = 100; /* the first batch of the second validation */
    T_STATUS(kit_run(&t.kit), SLUICE_STOPPED);
    T_EQ(t.validations, 1);
    T_TRUE(!is_there(t.folder, "step-000000000060"));
    T_TRUE(is_there(t.folder, "early-000000000060/DONE"));
    sluice_dataset_destroy(t.kit.validation.dataset);
    fini(&t);
    init(&t, folder, false);
    T_OK(kit_run(&t.kit));
    T_EQ(t.validated[0], 60);
    T_TRUE(t.kit.state == whole);
    fini(&t);
    sluice_stop_destroy(stop);
}

/* Validation without a checkpoint that is due there, and the other way round, write no early one.
 */
static void boundaries_without_both_have_none(void)
{
    const char *folder = t_file("c");
    tuned t;

    init(&t, folder, false);
    t.kit.checkpoint.every_epochs = 3;
    t.fail_at = 1;
    T_STATUS(kit_run(&t.kit), SLUICE_E_CALLBACK);
    T_TRUE(!t.early_seen);
    T_TRUE(access(folder, F_OK) != 0);
    fini(&t);
}

static void an_early_checkpoint_without_resume_is_refused(void)
{
    const char *folder = t_file("c");
    tuned t;

    init(&t, folder, false);
    t.fail_at = 0;
    T_STATUS(kit_run(&t.kit), SLUICE_E_CALLBACK);
    fini(&t);
    init(&t, folder, false);
    t.kit.checkpoint.resume = false;
    T_STATUS(kit_run(&t.kit), SLUICE_E_INVALID);
    T_CONTAINS(t.kit.error, "holds checkpoints already");
    fini(&t);
}

/* The ready-made callbacks of the run that resumes: one line for each validation, and no epoch that
 * another run has run. */
static void monitors_and_logs_have_each_validation_once(void)
{
    char folder[300];
    char path[300];
    char text[4000] = "";
    FILE *times = tmpfile();
    FILE *log;
    uint32_t count = 0;
    tuned t;

    snprintf(folder, sizeof(folder), "%s/c", t_folder());
    snprintf(path, sizeof(path), "%s/log", t_folder());
    for (uint64_t run = 0; run < 2; run++) {
        sluice_callback *log_lines = NULL;
        sluice_callback *epoch_times = NULL;

        init(&t, folder, false);
        t.kit.config.epochs = 2;
        t.fail_at = run == 0 ? 1 : UINT64_MAX;
        T_OK(sluice_json_log(path, &log_lines));
        T_OK(sluice_time_monitor(times, &epoch_times));
        t.callbacks[1] = *log_lines;
        t.callbacks[2] = *epoch_times;
        t.kit.callback_count = 3;
        if (run == 1) { /* as a kill between the hook and the final checkpoint leaves it */
            log = fopen(path, "a");
            fputs("{\"validated\":60,\"samples\":4,\"results\":{}}\n", log);
            fclose(log);
        }
        T_STATUS(kit_run(&t.kit), run == 0 ? SLUICE_E_CALLBACK : SLUICE_OK);
        sluice_callback_destroy(log_lines);
        sluice_callback_destroy(epoch_times);
        fini(&t);
    }
    log = fopen(path, "r");
    while (fgets(text, sizeof(text), log) != NULL) {
        count += strstr(text, "{\"validated\":60,") != NULL;
    }
    fclose(log);
    T_EQ(count, 1);
    rewind(times);
    for (count = 0; fgets(text, sizeof(text), times) != NULL;) {
        count++;
    }
    fclose(times);
    T_EQ(count, 1); /* the first epoch; the second ended in the validation that failed */
}

const t_test early_checkpoint_tests[] = {
    T_TEST(a_run_resumes_where_validation_failed),
    T_TEST(the_last_validation_is_done_by_the_next_run),
    T_TEST(validation_at_the_end_has_its_checkpoint_before_it),
    T_TEST(a_validation_that_was_stopped_is_done_again),
    T_TEST(boundaries_without_both_have_none),
    T_TEST(an_early_checkpoint_without_resume_is_refused),
    T_TEST(monitors_and_logs_have_each_validation_once),
    T_END,
};
