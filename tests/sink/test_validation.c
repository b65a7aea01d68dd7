/* SPDX-License-Identifier: Apache-2.0 */
/* Validation between sinks: when, of what, and what becomes of its results. */
#include <math.h>

#include "checkpoint_kit.h"
#include "log_kit.h"
#include "testing.h"

static const sluice_mode modes[] = {SLUICE_MODE_DIRECT, SLUICE_MODE_DATA, SLUICE_MODE_GRAPH,
                                    SLUICE_MODE_LOOP};
static const char *const result_names[] = {"label", "one"};

/* What the hook `validation` was told. */
typedef struct told {
    uint64_t steps[32];
    uint64_t epochs[32];
    double results[32][2];
    uint64_t samples[32];
    uint32_t count;
    uint32_t stop_at; /* validations */
} told;

static sluice_status note(sluice_hook *hook, void *user)
{
    told *t = user;

    T_EQ(hook->result_count, 2);
    T_STR(hook->result_names[1], "one");
    t->steps[t->count] = hook->step;
    t->epochs[t->count] = hook->epoch;
    t->results[t->count][0] = hook->results[0];
    t->results[t->count][1] = hook->results[1];
    t->samples[t->count] = hook->result_samples;
    t->count++;
    hook->stop = t->count == t->stop_at;
    return SLUICE_OK;
}

typedef struct setting {
    kit kit;
    told told;
    sluice_callback *made; /* of callbacks[1]; NULL: none */
    sluice_callback callbacks[2];
    sluice_dataset *dataset;
} setting;

/* 10 sinks of 30 steps; validation on 37 samples in batches of 5: the last holds 2. */
static void init(setting *s, const char *pipeline)
{
    memset((void *)s, 0, sizeof(*s));
    kit_init(&s->kit);
    T_OK(sluice_dataset_parse(pipeline, &s->dataset));
    s->kit.config.sink_size = 30;
    s->kit.config.epochs = 10;
    s->kit.validation.dataset = s->dataset;
    s->kit.model.eval = kit_eval;
    s->kit.model.result_names = result_names;
    s->kit.model.result_count = 2;
    s->kit.model.reads_valid_rows = true;
    s->callbacks[0].validation = note;
    s->callbacks[0].user = &s->told;
    s->kit.callbacks = s->callbacks;
    s->kit.callback_count = 1;
}

static void take_made(setting *s)
{
    s->callbacks[1] = *s->made;
    s->kit.callback_count = 2;
}

static void fini(setting *s)
{
    sluice_callback_destroy(s->made);
    kit_fini(&s->kit);
    sluice_dataset_destroy(s->dataset);
}

static const char pipeline[] = "synthetic samples=37 shape=4,4,3 classes=10 | batch 5";

static void every_sample_counts_once(void)
{
    static const char *const pipelines[] = {
        "synthetic samples=37 shape=4,4,3 classes=10 | batch 5",
        "synthetic samples=37 shape=4,4,3 classes=10 | batch 64",
        "synthetic samples=37 shape=4,4,3 classes=10 | shuffle | batch 1",
    };

    for (size_t i = 0; i < COUNT(pipelines) * COUNT(modes); i++) {
        setting s;

        init(&s, pipelines[i % COUNT(pipelines)]);
        s.kit.config.mode = modes[i / COUNT(pipelines)];
        T_OK(kit_run(&s.kit));
        T_EQ(s.told.count, 10); /* after each epoch */
        T_EQ(s.kit.report->stats.validations, 10);
        for (uint32_t v = 0; v < 10; v++) {
            T_EQ(s.told.steps[v], 30 * (v + 1));
            T_EQ(s.told.epochs[v], v); /* that has just been trained */
            T_EQ(s.told.samples[v], 37);
            T_NEAR(s.told.results[v][0], (3 * 45 + 21) / 37.0, 1e-12); /* labels are i % 10 */
            T_NEAR(s.told.results[v][1], 1, 1e-12);
        }
        fini(&s);
    }
}

/* A bad sample of the validation set is in the report and in the log, not among the training's. */
static void bad_samples_are_counted_and_reported(void)
{
    kit_source source;
    sluice_dataset *bad;
    char *report = NULL;
    setting s;

    init(&s, pipeline);
    kit_source_init(&source, 20);
    source.fail_at = 9;
    bad = kit_source_dataset(&source, 2);
    s.kit.validation.dataset = bad;
    s.kit.config.epochs = 2;
    s.kit.config.on_error = SLUICE_ON_ERROR_REPLACE;
    kit_log_start(NULL, NULL);
    T_OK(kit_run(&s.kit));
    T_CONTAINS(kit_log_stop(),
               "validation: 1 bad samples were replaced or zeroed, so its results "
               "are not of the whole dataset; the first: read: kit/9: told to fail");
    T_EQ(kit_log_count(SLUICE_LOG_WARN), 1); /* of the first validation alone */
    T_EQ(s.kit.report->stats.validations, 2);
    T_EQ(s.kit.report->stats.validation_bad_samples, 2);
    T_TRUE(s.kit.report->stats.validation_seconds > 0);
    T_EQ(s.kit.report->stats.replaced, 0);
    T_OK(sluice_report_text(s.kit.report, &report));
    T_CONTAINS(report, "validations: 2 in ");
    T_CONTAINS(report, " s, 2 bad samples replaced or zeroed\n");
    sluice_string_free(report);
    fini(&s);
    sluice_dataset_destroy(bad);
}

static void the_training_does_not_notice(void)
{
    kit plain;

    kit_init(&plain);
    plain.config.sink_size = 30;
    plain.config.epochs = 10;
    T_OK(kit_run(&plain));
    for (size_t m = 0; m < COUNT(modes); m++) {
        setting s;

        init(&s, pipeline);
        s.kit.config.mode = modes[m];
        s.kit.validation.every_steps = 7;
        s.kit.callbacks = NULL; /* the kit's own hooks */
        s.kit.callback_count = 0;
        T_OK(kit_run(&s.kit));
        T_EQ(s.kit.report->stats.validations, 42);
        kit_check_same(&plain, &s.kit, 0, 300);
        fini(&s);
    }
    kit_fini(&plain);
}

static void it_comes_when_it_is_asked_for(void)
{
    static const struct {
        sluice_validating when;
        uint32_t count;
        uint64_t steps[8];
    } cases[] = {
        {{.every_steps = 100}, 3, {100, 200, 300}},
        {{.every_steps = 130, .at_start = true, .at_end = true}, 4, {0, 130, 260, 300}},
        {{.every_epochs = 4}, 2, {120, 240}},
        {{.at_end = true}, 1, {300}},
        {{.at_start = true}, 1, {0}},
        {{.every_epochs = 5, .at_end = true}, 2, {150, 300}},
    };

    for (size_t c = 0; c < COUNT(cases); c++) {
        setting s;

        init(&s, pipeline);
        s.kit.validation = cases[c].when;
        s.kit.validation.dataset = s.dataset;
        T_OK(kit_run(&s.kit));
        T_EQ(s.told.count, cases[c].count);
        for (uint32_t v = 0; v < cases[c].count; v++) {
            T_EQ(s.told.steps[v], cases[c].steps[v]);
        }
        fini(&s);
    }
}

static void only_some_batches_can_be_judged(void)
{
    setting s;

    init(&s, pipeline);
    s.kit.validation.max_batches = 3;
    s.kit.config.epochs = 1;
    T_OK(kit_run(&s.kit));
    T_EQ(s.told.samples[0], 15);
    T_NEAR(s.told.results[0][0], (45 + 10) / 15.0, 1e-12);
    fini(&s);
}

static void a_hook_can_stop_the_run_by_its_results(void)
{
    setting s;

    init(&s, pipeline);
    s.told.stop_at = 4;
    T_STATUS(kit_run(&s.kit), SLUICE_STOPPED);
    T_EQ(s.told.count, 4);
    T_EQ(s.kit.report->stats.steps, 120);
    fini(&s);
}

/* ---- early stopping -------------------------------------------------------------------------- */

/* A result that is best at the third validation: 5 4 3 4 5 6 ... */
static sluice_status worsening(const sluice_step *step, void *user)
{
    kit *k = user;
    const double epochs = (double)atomic_load(&k->calls) / 30;

    step->outputs[1] = (float)((2 + fabs(epochs - 3)) * *step->valid_rows);
    return SLUICE_OK;
}

static void early_stopping_ends_a_run_that_gets_no_better(void)
{
    static const struct {
        double min_delta;
        uint64_t patience;
        uint64_t steps;
    } cases[] = {{0, 0, 120}, {0, 1, 120}, {0, 3, 180}, {10, 2, 90}};

    for (size_t c = 0; c < COUNT(cases); c++) {
        setting s;

        init(&s, pipeline);
        s.kit.model.eval = worsening;
        T_OK(sluice_early_stopping("one", false, cases[c].min_delta, cases[c].patience, &s.made));
        take_made(&s);
        T_STATUS(kit_run(&s.kit), SLUICE_STOPPED);
        T_EQ(s.kit.report->stats.steps, cases[c].steps);
        fini(&s);
    }
}

static void early_stopping_wants_a_result_that_is_there(void)
{
    sluice_callback *callback = NULL;
    setting s;

    T_STATUS(sluice_early_stopping(NULL, true, 0, 1, &callback), SLUICE_E_INVALID);
    T_STATUS(sluice_early_stopping("x", true, 0, 1, NULL), SLUICE_E_INVALID);
    init(&s, pipeline);
    T_OK(sluice_early_stopping("accuracy", true, 0, 1, &s.made));
    take_made(&s);
    T_STATUS(kit_run(&s.kit), SLUICE_E_INVALID);
    T_CONTAINS(s.kit.error, "no result of validation and no output of the step is named accuracy; "
                            "validation has label, one; the step has loss, label");
    T_EQ(atomic_load(&s.kit.calls), 0);
    fini(&s);
}

/* Best in the fourth epoch: |epoch - 3| + 2. */
static void worsen(kit *k, const sluice_step *step)
{
    const double epoch = (double)*step->epoch;

    (void)k;
    step->outputs[0] = (float)(2 + fabs(epoch - 3) + (*step->step % 2 == 0 ? 0.25 : -0.25));
}

/* As MindSpore's EarlyStopping(monitor="loss"), with and without a validation, which has other
 * results. The mode check's runs begin as the run does. */
static void early_stopping_takes_an_output_of_the_step(void)
{
    static const struct {
        uint64_t patience;
        bool validates;
        uint64_t steps;
    } cases[] = {{1, false, 150}, {3, false, 210}, {1, true, 150}};

    for (size_t c = 0; c < COUNT(cases); c++) {
        setting s;

        init(&s, pipeline);
        s.kit.in_step = worsen;
        s.kit.validation.dataset = cases[c].validates ? s.dataset : NULL;
        s.kit.config.check = true;
        s.kit.model.save = kit_save;
        s.kit.model.load = kit_load;
        T_OK(sluice_early_stopping("loss", false, 0.5, cases[c].patience, &s.made));
        take_made(&s);
        T_STATUS(kit_run(&s.kit), SLUICE_STOPPED);
        T_EQ(s.kit.report->stats.steps, cases[c].steps);
        s.kit.validation.dataset = s.dataset;
        fini(&s);
    }
}

static void keep_the_loss(kit *k, const sluice_step *step)
{
    (void)k;
    step->outputs[0] = 2;
}

/* A sum would be larger in the second epoch, as the first one has 10 steps in this run. */
static void early_stopping_compares_means(void)
{
    setting s;

    init(&s, pipeline);
    s.kit.validation.dataset = NULL;
    s.kit.in_step = keep_the_loss;
    s.kit.config.start_step = 20;
    T_OK(sluice_early_stopping("loss", true, 0, 1, &s.made));
    take_made(&s);
    T_STATUS(kit_run(&s.kit), SLUICE_STOPPED);
    T_EQ(s.kit.report->stats.steps, 40);
    s.kit.validation.dataset = s.dataset;
    fini(&s);
}

/* The runs of the mode check do not validate, but their hooks are told the results. */
static void early_stopping_goes_with_a_mode_check(void)
{
    setting s;

    init(&s, pipeline);
    s.kit.model.eval = worsening;
    s.kit.config.check = true;
    s.kit.model.save = kit_save;
    s.kit.model.load = kit_load;
    T_OK(sluice_early_stopping("one", false, 0, 1, &s.made));
    take_made(&s);
    T_STATUS(kit_run(&s.kit), SLUICE_STOPPED);
    fini(&s);
}

static void a_monitor_of_validation_wants_one(void)
{
    FILE *file = tmpfile();
    setting s;

    T_TRUE(file != NULL);
    init(&s, pipeline);
    s.kit.validation.dataset = NULL;
    T_OK(sluice_validation_monitor(file, &s.made));
    take_made(&s);
    T_STATUS(kit_run(&s.kit), SLUICE_E_INVALID);
    T_CONTAINS(s.kit.error, "the run has no validation, so nothing would be printed");
    T_EQ(atomic_load(&s.kit.calls), 0);
    s.kit.validation.dataset = s.dataset;
    fini(&s);
    fclose(file);
}

static void results_are_printed(void)
{
    char line[200] = "";
    FILE *file = tmpfile();
    setting s;

    init(&s, pipeline);
    T_OK(sluice_validation_monitor(file, &s.made));
    take_made(&s);
    s.kit.config.epochs = 1;
    T_OK(kit_run(&s.kit));
    rewind(file);
    CU_ASSERT_PTR_NOT_NULL_FATAL(fgets(line, sizeof(line), file));
    T_STR(line, "validation: step 30, label 4.2162, one 1.0000 (37 samples)\n");
    fclose(file);
    fini(&s);
}

/* ---- what is refused, and what fails --------------------------------------------------------- */

static void settings_that_make_no_sense_are_refused(void)
{
    setting s;

    init(&s, pipeline);
    s.kit.model.eval = NULL;
    T_STATUS(kit_run(&s.kit), SLUICE_E_INVALID);
    T_CONTAINS(s.kit.error, "model.eval is NULL");
    s.kit.model.eval = kit_eval;
    s.kit.validation.every_steps = 1;
    s.kit.validation.every_epochs = 1;
    T_STATUS(kit_run(&s.kit), SLUICE_E_INVALID);
    T_CONTAINS(s.kit.error, "set only one of them");
    s.kit.validation.dataset = NULL;
    T_STATUS(kit_run(&s.kit), SLUICE_E_INVALID);
    T_CONTAINS(s.kit.error, "validation.dataset is NULL");
    fini(&s);
    init(&s, pipeline);
    s.kit.model.reads_valid_rows = false;
    T_STATUS(kit_run(&s.kit), SLUICE_E_INVALID);
    T_CONTAINS(s.kit.error, "validation: the last batch of a pass is padded");
    fini(&s);
}

/* A mistake in the validation set is found before the first step, not after hours. */
static void the_validation_set_is_checked_before_the_first_step(void)
{
    static const struct {
        const char *pipeline;
        sluice_status status;
        const char *words;
    } wrong[] = {
        {"image_folder /nowhere | decode | resize 4,4 | batch 5", SLUICE_E_IO,
         "validation: image_folder: cannot open /nowhere"},
        {"synthetic samples=37 shape=4,4,3", SLUICE_E_INVALID, "validation: "},
        {"synthetic samples=37 shape=4,5,3 | batch 5", SLUICE_E_INVALID,
         "validation: column image is u8 (4, 5, 3) in the dataset, and the model needs u8 (4, 4, "
         "3)"},
        {"synthetic samples=4 shape=4,4,3 | batch 5 drop_remainder=true", SLUICE_E_INVALID,
         "validation: no valid data in the dataset"},
    };
    const sluice_column column = {
        .name = "image", .dtype = SLUICE_U8, .rank = 3, .shape = {4, 4, 3}};

    for (size_t i = 0; i < COUNT(wrong); i++) {
        setting s;

        init(&s, wrong[i].pipeline);
        s.kit.pipeline = "synthetic samples=100 shape=4,4,3 | batch 5";
        s.kit.model.inputs = &column;
        s.kit.model.input_count = 1;
        T_STATUS(kit_run(&s.kit), wrong[i].status);
        T_CONTAINS(s.kit.error, wrong[i].words);
        T_EQ(atomic_load(&s.kit.calls), 0);
        T_EQ(s.kit.hook_calls[KIT_TRAIN_BEGIN], 0);
        fini(&s);
    }
}

static sluice_status failing(const sluice_step *step, void *user)
{
    (void)step;
    (void)user;
    return SLUICE_E_CALLBACK;
}

static void an_eval_that_fails_ends_the_run(void)
{
    setting s;

    init(&s, pipeline);
    s.kit.model.eval = failing;
    T_STATUS(kit_run(&s.kit), SLUICE_E_CALLBACK);
    T_CONTAINS(s.kit.error, "validation after 30 steps: step 0: the step function returned");
    T_EQ(s.kit.report->stats.steps, 30);
    fini(&s);
}

static sluice_status failing_aloud(const sluice_step *step, void *user)
{
    (void)step;
    (void)user;
    return sluice_fail(SLUICE_E_CALLBACK, "no weights yet");
}

static void an_eval_that_fails_says_why(void)
{
    setting s;

    init(&s, pipeline);
    s.kit.model.eval = failing_aloud;
    T_STATUS(kit_run(&s.kit), SLUICE_E_CALLBACK);
    T_CONTAINS(s.kit.error, "the step function returned E_CALLBACK: no weights yet");
    fini(&s);
}

const t_test validation_tests[] = {
    T_TEST(every_sample_counts_once),
    T_TEST(bad_samples_are_counted_and_reported),
    T_TEST(the_training_does_not_notice),
    T_TEST(it_comes_when_it_is_asked_for),
    T_TEST(only_some_batches_can_be_judged),
    T_TEST(a_hook_can_stop_the_run_by_its_results),
    T_TEST(early_stopping_ends_a_run_that_gets_no_better),
    T_TEST(early_stopping_wants_a_result_that_is_there),
    T_TEST(early_stopping_takes_an_output_of_the_step),
    T_TEST(early_stopping_compares_means),
    T_TEST(early_stopping_goes_with_a_mode_check),
    T_TEST(a_monitor_of_validation_wants_one),
    T_TEST(results_are_printed),
    T_TEST(settings_that_make_no_sense_are_refused),
    T_TEST(the_validation_set_is_checked_before_the_first_step),
    T_HOST_TEST(an_eval_that_fails_ends_the_run),
    T_HOST_TEST(an_eval_that_fails_says_why),
    T_END,
};
