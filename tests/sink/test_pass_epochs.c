/* SPDX-License-Identifier: Apache-2.0 */
/* Epochs that are passes of unknown length: streams, filters, pack and bucket. */
#include <sched.h>
#include <stdlib.h>
#include <unistd.h>

#include "checkpoint_kit.h"
#include "collected_kit.h"
#include "collected_sets.h"
#include "rank_runs.h"
#include "testing.h"

enum { EPOCHS = 3, STEPS_MOST = 100 };

/* What a run did, in order: "r STEP EPOCH PASS DIGEST", "v STEP EPOCH RESULT", "e STEP EPOCH". */
typedef struct diary {
    kit k;
    sli_text text;
    uint64_t validations;
    uint64_t epoch_ends[STEPS_MOST]; /* steps at which epochs have ended */
    uint64_t ends;
    uint64_t early; /* calls of epoch_end when steps of another pass had begun */
} diary;

static sluice_status on_records(sluice_hook *hook, void *user)
{
    diary *d = user;

    for (uint64_t i = 0; i < hook->record_count; i++) {
        const sluice_step_record *r = sluice_hook_record(hook, i);

        sli_text_add(&d->text, "r %llu %llu %llu %llx\n", (unsigned long long)r->step,
                     (unsigned long long)r->epoch, (unsigned long long)r->pass,
                     (unsigned long long)r->digest);
    }
    return SLUICE_OK;
}

static sluice_status on_validation(sluice_hook *hook, void *user)
{
    diary *d = user;

    d->validations++;
    sli_text_add(&d->text, "v %llu %llu %g\n", (unsigned long long)hook->step,
                 (unsigned long long)hook->epoch, hook->results[0]);
    return SLUICE_OK;
}

/* No step of the next pass may have run: the step function counts its calls. */
static sluice_status on_epoch_end(sluice_hook *hook, void *user)
{
    diary *d = user;

    d->early += atomic_load(&d->k.calls) != hook->step - d->k.config.start_step &&
                d->k.checkpoint.folder == NULL;
    d->epoch_ends[d->ends++] = hook->step;
    sli_text_add(&d->text, "e %llu %llu\n", (unsigned long long)hook->step,
                 (unsigned long long)hook->epoch);
    return SLUICE_OK;
}

static void diary_init(diary *d, sluice_mode mode, uint64_t epochs)
{
    memset((void *)d, 0, sizeof(*d));
    kit_init(&d->k);
    d->k.config.dataset_sink_mode = mode != SLUICE_MODE_AUTO;
    d->k.config.mode = mode;
    d->k.config.epochs = epochs;
    d->k.config.workers = (uint32_t)mode % 3 + 1;
    d->k.model.reads_valid_rows = true;
    d->k.model.save = kit_save;
    d->k.model.load = kit_load;
}

/* Runs, and adds what it does to the diary. */
static void diary_run(diary *d, sluice_dataset *dataset)
{
    const sluice_callback callback = {
        .records = on_records, .validation = on_validation, .epoch_end = on_epoch_end, .user = d};

    d->k.callbacks = &callback;
    d->k.callback_count = 1;
    d->k.dataset = dataset;
    kit_run(&d->k);
    if (d->k.status != SLUICE_OK) {
        T_FAIL_("the run ends with %.900s", d->k.error);
    }
    T_EQ(d->early, 0);
    sluice_dataset_destroy(dataset);
    T_EQ(atomic_load(&collected_generator.open), 0);
}

static void diary_fini(diary *d)
{
    kit_fini(&d->k);
    sli_text_free(&d->text);
}

/* ---- every mode ------------------------------------------------------------------------------ */

/* The steps of a run of as many steps, whose epochs are one: which passes they are in. */
static uint64_t find_ends(collected_maker make, const char *batch, uint64_t *ends)
{
    uint64_t count = 0;
    kit k;

    collected_run(&k, make(batch), SLUICE_MODE_DATA, 0, 60);
    for (uint64_t i = 1; i < k.count; i++) {
        if (k.steps[i].pass != k.steps[i - 1].pass) {
            ends[count++] = i;
        }
    }
    collected_done(&k);
    return count;
}

static void each_epoch_is_a_pass_in_every_mode(void)
{
    for (size_t m = 0; m < COLLECTED_MAKERS; m++) {
        const char *const batch = m % 2 == 0 ? "batch 3" : "batch 3 drop_remainder=true";
        uint64_t ends[STEPS_MOST];
        diary first;

        T_TRUE(find_ends(collected_makers[m], batch, ends) >= EPOCHS);
        for (size_t i = 0; i < COLLECTED_MODES; i++) {
            diary d;

            diary_init(&d, collected_modes[i], EPOCHS);
            d.k.config.slots = i % 2 == 0 ? 0 : 4;
            diary_run(&d, collected_makers[m](batch));
            T_EQ(d.ends, EPOCHS);
            T_EQ(memcmp(d.epoch_ends, ends, EPOCHS * sizeof(ends[0])), 0);
            T_EQ(d.k.report->stats.epochs, EPOCHS);
            T_EQ(d.k.report->stats.steps, ends[EPOCHS - 1]);
            if (i == 0) {
                first = d;
                continue;
            }
            T_STR(d.text.data, first.text.data);
            diary_fini(&d);
        }
        diary_fini(&first);
    }
}

static void steps_know_their_epoch(void)
{
    diary d;
    char line[40];

    diary_init(&d, SLUICE_MODE_LOOP, EPOCHS);
    diary_run(&d, collected_stream("batch 4"));
    for (uint64_t i = 0; i < d.ends; i++) { /* the first step of each epoch after the first one */
        snprintf(line, sizeof(line), "\nr %d %d %d ", (int)d.epoch_ends[i], (int)i + 1, (int)i + 1);
        T_TRUE(i + 1 == d.ends || strstr(d.text.data, line) != NULL);
    }
    diary_fini(&d);
}

/* Workers are in the next pass before the boundary of this one. */
static sluice_status wait_for_next_pass(sluice_hook *hook, void *user)
{
    (void)user;
    while (hook->epoch + 1 < EPOCHS &&
           (uint64_t)atomic_load(&collected_generator.passes) <= hook->epoch + 1) {
        sched_yield();
    }
    return SLUICE_OK;
}

static void the_next_pass_is_read_before_the_boundary(void)
{
    for (size_t i = 0; i < COLLECTED_MODES; i++) {
        const sluice_callback callback = {.epoch_end = wait_for_next_pass};
        sluice_dataset *dataset = collected_filtered("batch 4");
        diary d;

        diary_init(&d, collected_modes[i], EPOCHS);
        d.k.callbacks = &callback;
        d.k.callback_count = 1;
        d.k.dataset = dataset;
        T_OK(kit_run(&d.k));
        diary_fini(&d);
        sluice_dataset_destroy(dataset);
    }
}

/* ---- boundaries ------------------------------------------------------------------------------ */

static void set_validation(diary *d, sluice_dataset *dataset)
{
    static const char *const names[] = {"sum", "count"};

    d->k.validation.dataset = dataset;
    d->k.validation.every_epochs = 1;
    d->k.model.eval = kit_eval;
    d->k.model.result_names = names;
    d->k.model.result_count = 2;
}

static sluice_dataset *validation_set(void)
{
    sluice_dataset *dataset = NULL;

    T_OK(sluice_dataset_parse("synthetic samples=20 shape=2,2,3 | batch 4", &dataset));
    return dataset;
}

static void a_validation_comes_after_each_pass(void)
{
    for (size_t i = 0; i < COLLECTED_MODES; i++) {
        sluice_dataset *set = validation_set();
        char line[40];
        diary d;

        diary_init(&d, collected_modes[i], EPOCHS);
        set_validation(&d, set);
        diary_run(&d, collected_packed("batch 2"));
        T_EQ(d.validations, EPOCHS);
        for (uint64_t e = 0; e < EPOCHS; e++) {
            snprintf(line, sizeof(line), "\nv %d %d ", (int)d.epoch_ends[e], (int)e);
            T_TRUE(strstr(d.text.data, line) != NULL);
        }
        diary_fini(&d);
        sluice_dataset_destroy(set);
    }
}

/* Copies a diary without the lines that a run writes when it is ended within an epoch: hooks
 * epoch_end of it. */
static void keep_lines(const char *from, sli_text *to)
{
    for (const char *line = from; line != NULL && *line != '\0';) {
        const char *end = strchr(line, '\n') + 1;

        if (line[0] != 'e') {
            sli_text_add(to, "%.*s", (int)(end - line), line);
        }
        line = end;
    }
}

/* Runs that end after some step, also the last one of a pass, and go on. */
static void a_resumed_run_does_the_same(void)
{
    for (size_t m = 1; m < COLLECTED_MAKERS; m++) {
        const char *const batch = m % 2 == 1 ? "batch 3" : "batch 3 drop_remainder=true";
        sluice_dataset *set = validation_set();
        sli_text want = {0};
        diary whole;

        diary_init(&whole, SLUICE_MODE_LOOP, EPOCHS);
        set_validation(&whole, set);
        diary_run(&whole, collected_makers[m](batch));
        keep_lines(whole.text.data, &want);
        for (uint64_t i = 0; i < 6; i++) {
            const uint64_t stops[] = {2,
                                      whole.epoch_ends[0] - 1,
                                      whole.epoch_ends[0],
                                      whole.epoch_ends[0] + 1,
                                      whole.epoch_ends[1],
                                      whole.epoch_ends[2]};
            const uint64_t stop = stops[i];
            sli_text got = {0};
            char folder[400];
            diary d;

            snprintf(folder, sizeof(folder), "%s/%d", t_folder(), (int)stop);
            diary_init(&d, collected_modes[stop % COLLECTED_MODES], EPOCHS);
            set_validation(&d, set);
            d.k.checkpoint.folder = folder;
            d.k.config.max_steps = stop;
            diary_run(&d, collected_makers[m](batch));
            d.k.config.max_steps = 0;
            d.k.checkpoint.resume = true;
            d.k.config.workers = (uint32_t)stop % 4 + 1;
            diary_run(&d, collected_makers[m](batch));
            keep_lines(d.text.data, &got);
            T_STR(got.data, want.data);
            diary_run(&d, collected_makers[m](batch)); /* it is complete */
            T_EQ(d.k.report->stats.steps, 0);
            sli_text_free(&got);
            diary_fini(&d);
        }
        sli_text_free(&want);
        diary_fini(&whole);
        sluice_dataset_destroy(set);
    }
}

/* Copies the lines of a diary from a step on, without the epoch that ends before it. */
static void keep_from(const char *from, uint64_t first, sli_text *to)
{
    for (const char *line = from; line != NULL && *line != '\0';) {
        const char *end = strchr(line, '\n') + 1;

        if (strtoull(line + 2, NULL, 10) >= first + (line[0] == 'e')) {
            sli_text_add(to, "%.*s", (int)(end - line), line);
        }
        line = end;
    }
}

/* After start_step, in any pass and every mode. */
static void a_run_may_begin_in_a_later_pass(void)
{
    for (size_t m = 0; m < COLLECTED_MAKERS; m++) {
        const char *const batch = m % 2 == 1 ? "batch 3" : "batch 3 drop_remainder=true";
        diary whole;

        diary_init(&whole, SLUICE_MODE_LOOP, EPOCHS);
        diary_run(&whole, collected_makers[m](batch));
        for (uint64_t i = 0; i < 5; i++) {
            const uint64_t starts[] = {whole.epoch_ends[0] - 1, whole.epoch_ends[0],
                                       whole.epoch_ends[0] + 1, whole.epoch_ends[1],
                                       whole.epoch_ends[1] + 2};
            sli_text want = {0};
            diary d;

            keep_from(whole.text.data, starts[i], &want);
            diary_init(&d, collected_modes[(m + i) % COLLECTED_MODES], EPOCHS);
            d.k.config.start_step = starts[i];
            diary_run(&d, collected_makers[m](batch));
            T_STR(d.text.data, want.data);
            sli_text_free(&want);
            diary_fini(&d);
        }
        diary_fini(&whole);
    }
}

/* A sample takes 10 ms. */
static bool is_slow(uint64_t sample)
{
    (void)sample;
    (void)usleep(10000);
    return false;
}

/* Nor is a run that resumes within a pass. */
static void reading_up_to_the_first_batch_is_no_stall(void)
{
    for (size_t m = 0; m < 2; m++) {
        sluice_dataset *dataset = collected_makers[m]("batch 3");
        diary d;

        collected_generator.is_bad = is_slow;
        diary_init(&d, SLUICE_MODE_LOOP, EPOCHS);
        d.k.config.start_step = m == 0 ? 24 : 15;
        d.k.config.max_steps = 1;
        d.k.config.stall_timeout_ms = 400;
        d.k.dataset = dataset;
        kit_run(&d.k);
        T_STR(d.k.error, "");
        T_EQ(d.k.report->stats.steps, 1);
        diary_fini(&d);
        sluice_dataset_destroy(dataset);
    }
}

static void a_start_beyond_the_last_pass_is_an_error(void)
{
    for (size_t i = 0; i < COLLECTED_MODES; i++) {
        sluice_dataset *dataset = collected_makers[i % COLLECTED_MAKERS]("batch 3");
        diary d;

        diary_init(&d, collected_modes[i], EPOCHS);
        d.k.config.start_step = 1000;
        d.k.dataset = dataset;
        T_STATUS(kit_run(&d.k), SLUICE_E_INVALID);
        T_CONTAINS(d.k.error, "the run must begin after 1000 batches, but the data end after ");
        T_CONTAINS(d.k.error, ", in 3 passes; begin earlier");
        diary_fini(&d);
        sluice_dataset_destroy(dataset);
    }
}

/* From the checkpoint of an epoch, and with more epochs than the run before. */
static void checkpoints_are_written_at_the_ends_of_passes(void)
{
    const char *folder = t_file("c");
    diary whole;
    diary d;

    diary_init(&whole, SLUICE_MODE_LOOP, EPOCHS);
    diary_run(&whole, collected_bucketed("batch 3"));
    diary_init(&d, SLUICE_MODE_GRAPH, 1);
    d.k.checkpoint.folder = folder;
    d.k.checkpoint.every_epochs = 1;
    d.k.checkpoint.resume = true;
    for (d.k.config.epochs = 1; d.k.config.epochs <= EPOCHS; d.k.config.epochs++) {
        diary_run(&d, collected_bucketed("batch 3"));
        T_EQ(d.k.report->stats.epochs, 1);
    }
    T_STR(d.text.data, whole.text.data);
    diary_fini(&d);
    diary_fini(&whole);
}

/* A run that fails after a checkpoint by steps, at the end of a pass: its validation is not
 * repeated.
 */
static void a_checkpoint_by_steps_comes_after_the_end_of_the_pass(void)
{
    sluice_dataset *set = validation_set();
    const char *folder = t_file("s");
    diary whole;
    diary d;

    diary_init(&whole, SLUICE_MODE_LOOP, EPOCHS);
    set_validation(&whole, set);
    diary_run(&whole, collected_filtered("batch 3"));
    diary_init(&d, SLUICE_MODE_LOOP, EPOCHS);
    set_validation(&d, set);
    d.k.checkpoint.folder = folder;
    d.k.checkpoint.every_steps = whole.epoch_ends[0];
    d.k.act_in = KIT_EPOCH_BEGIN;
    d.k.act_at = 1;
    d.k.act_answer = SLUICE_E_IO;
    d.k.callbacks = NULL;
    d.k.dataset = collected_filtered("batch 3");
    T_STATUS(kit_run(&d.k), SLUICE_E_IO);
    sluice_dataset_destroy(d.k.dataset);
    d.k.checkpoint.resume = true;
    diary_run(&d, collected_filtered("batch 3"));
    T_EQ(d.validations, EPOCHS - 1);
    T_STR(d.text.data, strstr(whole.text.data, d.text.data));
    diary_fini(&d);
    diary_fini(&whole);
    sluice_dataset_destroy(set);
}

/* ---- ranks ----------------------------------------------------------------------------------- */

static sluice_mode ranks_mode;

/* Small outputs between which ranks agree: with one rank slower than the others. */
static void prepare_rank(kit *k, ranks_member *me)
{
    static generator g;
    sluice_source source;
    sluice_dataset *dataset = NULL;

    g = (generator){.samples = 29, .varies_by = 3};
    source = generator_source(&g);
    if (sluice_dataset_source(&source, &dataset) != SLUICE_OK ||
        sluice_dataset_add(dataset, "rename words image | rename image_length label | bucket "
                                    "label edges=4 | batch 2 drop_remainder=true") != SLUICE_OK) {
        return; /* the run fails */
    }
    k->dataset = dataset;
    k->config.epochs = EPOCHS;
    k->config.mode = ranks_mode;
    k->config.dataset_sink_mode = ranks_mode != SLUICE_MODE_AUTO;
    k->config.workers = me->rank + 1;
}

static void ranks_end_their_epochs_at_the_same_steps(void)
{
    for (size_t i = 0; i < COLLECTED_MODES; i++) {
        ranks_kit ranks;

        ranks_mode = collected_modes[i];
        rank_runs(&ranks, 3, prepare_rank);
        rank_runs_expect(&ranks, SLUICE_OK);
        T_TRUE(outcome_of(&ranks, 0)->steps > EPOCHS);
        for (uint32_t rank = 1; rank < 3; rank++) {
            T_EQ(outcome_of(&ranks, rank)->agreed, outcome_of(&ranks, 0)->agreed);
        }
        ranks_end(&ranks);
    }
}

/* ---- what is refused ------------------------------------------------------------------------- */

static void check_refused(kit *k, sluice_dataset *dataset, const char *words)
{
    k->dataset = dataset;
    k->model.reads_valid_rows = true;
    kit_run(k);
    T_STATUS(k->status, SLUICE_E_UNSUPPORTED);
    T_CONTAINS(k->error, words);
    collected_done(k);
}

static void what_needs_the_length_of_a_pass_is_refused(void)
{
    sluice_source source;
    kit k;

    kit_init(&k);
    k.config.epochs = 2;
    k.config.micro_batches = 2;
    check_refused(&k, collected_filtered("batch 2"),
                  "epochs=2 of a stream, whose passes have no known length, in steps of 2 "
                  "micro-batches");
    kit_init(&k);
    k.config.epochs = 2;
    k.config.initial_epoch = 1;
    check_refused(&k, collected_filtered("batch 2"), "initial_epoch=1 of a stream");
    kit_init(&k);
    k.config.epochs = 2;
    collected_generator = (generator){.samples = 23};
    source = generator_source(&collected_generator);
    source.open_pass = NULL;
    source.close_pass = NULL;
    check_refused(
        &k, custom_dataset(&source, "rename words image | rename image_length label | batch 4"),
        "epochs=2 of a stream that can be read only once");
}

const t_test pass_epochs_tests[] = {
    T_TEST(each_epoch_is_a_pass_in_every_mode),
    T_TEST(steps_know_their_epoch),
    T_TEST(the_next_pass_is_read_before_the_boundary),
    T_TEST(a_validation_comes_after_each_pass),
    T_TEST(a_resumed_run_does_the_same),
    T_TEST(a_run_may_begin_in_a_later_pass),
    T_TEST(reading_up_to_the_first_batch_is_no_stall),
    T_TEST(a_start_beyond_the_last_pass_is_an_error),
    T_TEST(checkpoints_are_written_at_the_ends_of_passes),
    T_TEST(a_checkpoint_by_steps_comes_after_the_end_of_the_pass),
    T_TEST(ranks_end_their_epochs_at_the_same_steps),
    T_TEST(what_needs_the_length_of_a_pass_is_refused),
    T_END,
};
