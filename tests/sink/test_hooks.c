/* SPDX-License-Identifier: Apache-2.0 */
/* The order of hooks and what they are told, in every mode. */
#include <stdlib.h>

#include "alloc_int.h"
#include "hooks.h"
#include "testing.h"
#include "train_kit.h"

/* Four batches of two samples. */
static void init_small(kit *k, sluice_mode mode)
{
    kit_init(k);
    k->device = "host:0,spin_us=100000"; /* no yield for the machine's load: launches are counted */
    k->pipeline = "synthetic samples=8 shape=4,4,3 | batch 2";
    k->config.mode = mode;
    k->config.sink_size = 3;
    k->config.epochs = 2;
}

/* Step hooks see the first of the steps at the beginning, the last at the end. */
static void graph_and_loop_call_step_hooks_for_each_sink(void)
{
    static const sluice_mode modes[] = {SLUICE_MODE_GRAPH, SLUICE_MODE_LOOP};

    for (size_t m = 0; m < COUNT(modes); m++) {
        kit k;

        init_small(&k, modes[m]);
        T_OK(kit_run(&k));
        T_STR(k.events.data, "train_begin 0+0\n"
                             "epoch_begin 0+0\n"
                             "step_begin 0+3\n"
                             "records 0+3\n"
                             "step_end 2+3\n"
                             "epoch_end 3+3\n"
                             "epoch_begin 3+0\n"
                             "step_begin 3+3\n"
                             "records 3+3\n"
                             "step_end 5+3\n"
                             "epoch_end 6+3\n"
                             "train_end 6+6\n");
        kit_fini(&k);
    }
}

static void direct_and_data_call_step_hooks_for_each_step(void)
{
    static const sluice_mode modes[] = {SLUICE_MODE_DIRECT, SLUICE_MODE_DATA};

    for (size_t m = 0; m < COUNT(modes); m++) {
        kit k;

        init_small(&k, modes[m]);
        k.config.sink_size = 2;
        T_OK(kit_run(&k));
        T_STR(k.events.data, "train_begin 0+0\n"
                             "epoch_begin 0+0\n"
                             "step_begin 0+1\n"
                             "records 0+1\n"
                             "step_end 0+1\n"
                             "step_begin 1+1\n"
                             "records 1+1\n"
                             "step_end 1+1\n"
                             "epoch_end 2+2\n"
                             "epoch_begin 2+0\n"
                             "step_begin 2+1\n"
                             "records 2+1\n"
                             "step_end 2+1\n"
                             "step_begin 3+1\n"
                             "records 3+1\n"
                             "step_end 3+1\n"
                             "epoch_end 4+2\n"
                             "train_end 4+4\n");
        kit_fini(&k);
    }
}

static void a_sink_of_several_launches_is_one_for_step_hooks(void)
{
    static const sluice_mode modes[] = {SLUICE_MODE_GRAPH, SLUICE_MODE_LOOP};

    for (size_t m = 0; m < COUNT(modes); m++) {
        kit k;

        init_small(&k, modes[m]);
        k.config.sink_size = 5;
        k.config.epochs = 1;
        k.config.output_capacity = 2;
        T_OK(kit_run(&k));
        T_STR(k.events.data, "train_begin 0+0\n"
                             "epoch_begin 0+0\n"
                             "step_begin 0+5\n"
                             "records 0+2\n"
                             "records 2+2\n"
                             "records 4+1\n"
                             "step_end 4+5\n"
                             "epoch_end 5+5\n"
                             "train_end 5+5\n");
        kit_fini(&k);
    }
}

/* A run that begins within an epoch: its numbers go on, and the first sink is what is left. */
static void numbers_go_on_after_a_resume(void)
{
    kit k;

    init_small(&k, SLUICE_MODE_LOOP);
    k.config.initial_epoch = 1;
    k.config.start_step = 2;
    k.config.epochs = 3;
    T_OK(kit_run(&k));
    T_STR(k.events.data, "train_begin 5+0\n"
                         "epoch_begin 5+0\n"
                         "step_begin 5+1\n"
                         "records 5+1\n"
                         "step_end 5+1\n"
                         "epoch_end 6+1\n"
                         "epoch_begin 6+0\n"
                         "step_begin 6+3\n"
                         "records 6+3\n"
                         "step_end 8+3\n"
                         "epoch_end 9+3\n"
                         "train_end 9+4\n");
    kit_fini(&k);
}

static void an_error_ends_hooks_where_it_stands(void)
{
    kit_source source;
    kit k;

    kit_source_init(&source, 8);
    source.fail_at = 3;
    init_small(&k, SLUICE_MODE_LOOP);
    k.dataset = kit_source_dataset(&source, 2);
    T_STATUS(kit_run(&k), SLUICE_E_CORRUPT);
    T_STR(k.events.data, "train_begin 0+0\n"
                         "epoch_begin 0+0\n"
                         "step_begin 0+3\n"
                         "records 0+1\n"
                         "train_end 1+1\n");
    sluice_dataset_destroy(k.dataset);
    kit_fini(&k);
}

/* A sink that was stopped has its end, with the steps that ran. */
static void a_stopped_sink_ends_with_the_steps_that_ran(void)
{
    kit k;

    init_small(&k, SLUICE_MODE_LOOP);
    k.step_at = 3;
    k.step_answer = SLUICE_STOPPED;
    T_STATUS(kit_run(&k), SLUICE_STOPPED);
    T_CONTAINS(k.events.data, "step_begin 3+3\n"
                              "records 3+1\n"
                              "step_end 3+1\n"
                              "epoch_end 4+1\n"
                              "train_end 4+4\n");
    kit_fini(&k);
}

/* ---- several callbacks ----------------------------------------------------------------------- */

static char order[200];

static sluice_status first(sluice_hook *hook, void *user)
{
    (void)user;
    snprintf(order + strlen(order), sizeof(order) - strlen(order), "first ");
    hook->stop = false;
    return SLUICE_E_IO;
}

static sluice_status second(sluice_hook *hook, void *user)
{
    (void)hook;
    (void)user;
    snprintf(order + strlen(order), sizeof(order) - strlen(order), "second ");
    return SLUICE_E_NAN;
}

/* All of them are called, in order, also after one has failed; the first error counts. */
static void every_callback_is_called_and_the_first_error_counts(void)
{
    const sluice_callback callbacks[] = {
        {.epoch_end = first}, {.user = NULL}, {.epoch_end = second, .train_end = second}};
    kit k;

    order[0] = '\0';
    init_small(&k, SLUICE_MODE_LOOP);
    k.callbacks = callbacks;
    k.callback_count = COUNT(callbacks);
    T_STATUS(kit_run(&k), SLUICE_E_IO);
    T_STR(k.error, "hook epoch_end of callback 0 returned E_IO");
    T_STR(order, "first second second ");
    kit_fini(&k);
}

static sluice_status complains(sluice_hook *hook, void *user)
{
    (void)hook;
    sluice_fail(SLUICE_E_IO, "%s", (const char *)user);
    return SLUICE_OK;
}

static sluice_status fails(sluice_hook *hook, void *user)
{
    (void)hook;
    return user != NULL ? sluice_fail(SLUICE_E_IO, "%s", (const char *)user) : SLUICE_E_IO;
}

/* The text of the one that failed, not of those before or behind it. */
static void the_first_error_has_its_own_text(void)
{
    static char before[] = "before";
    static char own[] = "no space left";
    static char behind[] = "behind";
    sluice_callback callbacks[] = {{.step_end = complains, .user = before},
                                   {.step_end = fails, .user = own},
                                   {.step_end = fails, .train_end = fails, .user = behind}};
    kit k;

    init_small(&k, SLUICE_MODE_LOOP);
    k.callbacks = callbacks;
    k.callback_count = COUNT(callbacks);
    T_STATUS(kit_run(&k), SLUICE_E_IO);
    T_STR(k.error, "hook step_end of callback 1 returned E_IO: no space left");
    callbacks[1].user = NULL;
    T_STATUS(kit_run(&k), SLUICE_E_IO);
    T_STR(k.error, "hook step_end of callback 1 returned E_IO");
    kit_fini(&k);
}

/* ---- what hooks are told --------------------------------------------------------------------- */

typedef struct told {
    uint64_t checks;
    const kit *k;
} told;

static sluice_status check_begin(sluice_hook *hook, void *user)
{
    told *t = user;

    T_EQ(hook->struct_size, sizeof(*hook));
    T_EQ(hook->epochs, 2);
    T_EQ(hook->last_step, 6);
    T_EQ(hook->batch_size, 2);
    T_EQ(hook->output_count, 2);
    T_STR(hook->output_names[0], "loss");
    T_STR(hook->output_names[1], "label");
    CU_ASSERT_PTR_NULL(hook->records);
    T_EQ(hook->epoch, hook->step / 3);
    T_TRUE(!hook->stop);
    t->checks++;
    return SLUICE_OK;
}

static sluice_status check_end(sluice_hook *hook, void *user)
{
    told *t = user;

    T_TRUE(hook->seconds > 0);
    T_TRUE(hook->wait_seconds >= 0 && hook->wait_seconds <= hook->seconds);
    CU_ASSERT_PTR_NULL(hook->plan);
    t->checks++;
    return SLUICE_OK;
}

static sluice_status check_step_end(sluice_hook *hook, void *user)
{
    T_EQ(hook->record_count, hook->step_count);
    T_EQ(hook->epoch, hook->step / 3);
    for (uint64_t i = 0; i < hook->record_count; i++) {
        const sluice_step_record *record = sluice_hook_record(hook, i);

        T_EQ(record->step, hook->step + 1 - hook->step_count + i);
        T_EQ(record->epoch, record->step / 3);
        T_EQ(record->pass, record->step / 4);
        T_EQ(record->first_sample, record->step % 4 * 2);
        T_EQ(record->outputs[1], record->first_sample);
        CU_ASSERT_PTR_NULL(record->samples); /* in the hook `records` only */
    }
    return check_end(hook, user);
}

static sluice_status check_epoch_end(sluice_hook *hook, void *user)
{
    T_EQ(hook->epoch + 1, hook->step / 3); /* the epoch that ended */
    return check_end(hook, user);
}

static sluice_status check_train_end(sluice_hook *hook, void *user)
{
    T_EQ(hook->epoch, 2); /* are complete */
    return check_end(hook, user);
}

static sluice_status check_records(sluice_hook *hook, void *user)
{
    told *t = user;

    for (uint64_t i = 0; i < hook->record_count; i++) {
        T_EQ(sluice_hook_record(hook, i)->samples[0], sluice_hook_record(hook, i)->first_sample);
        T_EQ(sluice_hook_record(hook, i)->samples[1],
             sluice_hook_record(hook, i)->first_sample + 1);
        T_EQ(sluice_hook_record(hook, i)->valid_rows, 2);
    }
    T_TRUE(hook->seconds > 0);
    T_TRUE(hook->wait_seconds >= 0);
    t->checks++;
    return SLUICE_OK;
}

static void hooks_are_told_all_that_the_header_says(void)
{
    static const sluice_mode modes[] = {SLUICE_MODE_DIRECT, SLUICE_MODE_DATA, SLUICE_MODE_GRAPH,
                                        SLUICE_MODE_LOOP};

    for (size_t m = 0; m < COUNT(modes); m++) {
        told t = {0, NULL};
        const sluice_callback callback = {.user = &t,
                                          .train_begin = check_begin,
                                          .epoch_begin = check_begin,
                                          .step_begin = check_begin,
                                          .records = check_records,
                                          .step_end = check_step_end,
                                          .epoch_end = check_epoch_end,
                                          .train_end = check_train_end};
        kit k;

        init_small(&k, modes[m]);
        k.callbacks = &callback;
        k.callback_count = 1;
        T_OK(kit_run(&k));
        T_EQ(t.checks, m < 2 ? 2 + 2 * 2 + 6 * 3 : 2 + 2 * 2 + 2 * 3);
        kit_fini(&k);
    }
}

/* Unasked for, indices and digests cost nothing and are not there. */
static sluice_status check_nothing_extra(sluice_hook *hook, void *user)
{
    told *t = user;

    for (uint64_t i = 0; i < hook->record_count; i++) {
        CU_ASSERT_PTR_NULL(sluice_hook_record(hook, i)->samples);
        T_EQ(sluice_hook_record(hook, i)->digest, 0);
        t->checks++;
    }
    return SLUICE_OK;
}

static void samples_and_digests_are_told_only_when_asked_for(void)
{
    told t = {0, NULL};
    const sluice_callback callback = {.records = check_nothing_extra, .user = &t};
    kit k;

    init_small(&k, SLUICE_MODE_LOOP);
    k.callbacks = &callback;
    k.callback_count = 1;
    k.config.digest = false;
    k.config.record_samples = false;
    T_OK(kit_run(&k));
    T_EQ(t.checks, 6);
    T_EQ(k.report->stats.digest, 0);
    kit_fini(&k);
}

/* ---- the history of a long sink -------------------------------------------------------------- */

/* Takes in `count` steps from `first` on, as a launch that ran them would hand them over. */
static void take_steps(train_run *run, uint64_t first, uint64_t count)
{
    sluice_step_record *records = calloc(count, sizeof(*records));
    float *values = calloc(count, 2 * sizeof(*values));
    const program_result result = {.steps = count, .records = records};

    CU_ASSERT_PTR_NOT_NULL_FATAL(records);
    CU_ASSERT_PTR_NOT_NULL_FATAL(values);
    for (uint64_t i = 0; i < count; i++) {
        records[i].step = first + i;
        records[i].outputs = values + 2 * i;
        values[2 * i + 1] = (float)((first + i) % 1000);
    }
    T_OK(train_take_records(run, &result));
    free(values);
    free(records);
}

/* The history holds the latest steps, in order, each with its outputs. */
static void check_history(const train_run *run, uint64_t end)
{
    const uint64_t from = end - run->history.count;
    uint64_t good = 0;

    for (uint64_t i = 0; i < run->history.count; i++) {
        good += run->history.records[i].step == from + i &&
                run->history.records[i].outputs[1] == (float)((from + i) % 1000);
    }
    T_EQ(good, run->history.count);
}

static void the_latest_records_of_a_very_long_sink_are_kept(void)
{
    static const uint64_t launches[] = {1, 4096, 700000, STEP_HISTORY_MOST};
    sluice_callback callback = {.step_end = kit_ignore};
    sli_plan plan = {.batch_size = 1};

    for (size_t i = 0; i < COUNT(launches); i++) {
        const uint64_t steps = i == 0 ? 1000 : STEP_HISTORY_MOST + STEP_HISTORY_MOST / 2;
        train_run run = {.plan.sinks.steps_per_epoch = 1};
        uint64_t done = 0;

        run.callbacks = &callback;
        run.config.callback_count = 1;
        run.model.output_count = 2;
        run.feed.plan = &plan;
        for (; done < steps; done += launches[i]) {
            take_steps(&run, done, launches[i]);
        }
        check_history(&run, done);
        T_TRUE(run.history.count <= STEP_HISTORY_MOST);
        T_TRUE(run.history.count >= (done < STEP_HISTORY_MOST ? done : STEP_HISTORY_MOST / 2));
        step_history_free(&run.history);
    }
}

const t_test hooks_tests[] = {
    T_HOST_TEST(graph_and_loop_call_step_hooks_for_each_sink),
    T_HOST_TEST(direct_and_data_call_step_hooks_for_each_step),
    T_TEST(a_sink_of_several_launches_is_one_for_step_hooks),
    T_TEST(numbers_go_on_after_a_resume),
    T_TEST(an_error_ends_hooks_where_it_stands),
    T_HOST_TEST(a_stopped_sink_ends_with_the_steps_that_ran),
    T_TEST(every_callback_is_called_and_the_first_error_counts),
    T_TEST(the_first_error_has_its_own_text),
    T_HOST_TEST(hooks_are_told_all_that_the_header_says),
    T_TEST(samples_and_digests_are_told_only_when_asked_for),
    T_TEST(the_latest_records_of_a_very_long_sink_are_kept),
    T_END,
};
