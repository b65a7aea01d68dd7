/* SPDX-License-Identifier: Apache-2.0 */
/* Runs that go on in batches of another size than those before: a pass stays a pass. */
#include <stdlib.h>

#include "testing.h"
#include "train_kit.h"

/* ---- a model that has nothing to save -------------------------------------------------------- */

static sluice_status nothing(void *user, const char *folder, uint32_t rank, uint32_t world)
{
    (void)user;
    (void)folder;
    (void)rank;
    (void)world;
    return SLUICE_OK;
}

typedef struct counting {
    uint64_t passes[8][512]; /* how often each sample was seen in each pass */
    uint64_t last_epoch;
    uint64_t epoch_ends;
} counting;

static sluice_status count(sluice_hook *hook, void *user)
{
    counting *c = user;

    for (uint64_t i = 0; i < hook->record_count; i++) {
        const sluice_step_record *record = sluice_hook_record(hook, i);

        for (uint32_t row = 0; row < hook->batch_size * hook->micro_batches; row++) {
            if (record->samples[row] != UINT64_MAX && record->pass < 8) {
                c->passes[record->pass][record->samples[row]]++;
            }
        }
        c->last_epoch = record->epoch;
    }
    return SLUICE_OK;
}

static sluice_status count_epoch(sluice_hook *hook, void *user)
{
    (void)hook;
    ((counting *)user)->epoch_ends++;
    return SLUICE_OK;
}

typedef struct part {
    const char *batch;
    uint32_t micro;
    uint64_t max_steps; /* 0: to the end */
    const char *source; /* NULL: 203 synthetic samples */
} part;

/* One of several runs of a training of 4 passes of 203 samples; its error is left in the kit. */
static sluice_status run_part(kit *k, const char *folder, const part *p, counting *c)
{
    static char pipeline[400];
    static sluice_callback callback;

    callback = (sluice_callback){.records = count, .epoch_end = count_epoch, .user = c};
    snprintf(pipeline, sizeof(pipeline), "%s | shuffle | batch %s",
             p->source != NULL ? p->source : "synthetic samples=203 shape=4,4,3", p->batch);
    kit_init(k);
    k->pipeline = pipeline;
    k->config.epochs = 4;
    k->config.max_steps = p->max_steps;
    k->config.micro_batches = p->micro;
    k->checkpoint.folder = folder;
    k->checkpoint.resume = true;
    k->callbacks = &callback;
    k->callback_count = 1;
    k->model.save = nothing;
    k->model.load = nothing;
    k->model.reads_valid_rows = true;
    return kit_run(k);
}

static void a_run_goes_on_in_other_batches_and_every_pass_has_every_sample_once(void)
{
    static const part parts[] = {
        {"8", 1, 10, NULL}, {"3", 1, 30, NULL}, {"7", 1, 40, NULL}, {"16", 1, 0, NULL}};
    counting *c = calloc(1, sizeof(*c));
    const char *folder = t_file("c");
    kit k;

    for (size_t i = 0; i < 4; i++) {
        kit_log_start(NULL, NULL);
        T_OK(run_part(&k, folder, &parts[i], c));
        if (i > 0) {
            char *text;

            T_OK(sluice_report_text(k.report, &text));
            T_CONTAINS(text, "regrouped: the checkpoint was of batches of");
            sluice_string_free(text);
        }
        kit_log_stop();
        kit_fini(&k);
    }
    for (size_t pass = 0; pass < 4; pass++) {
        for (size_t i = 0; i < 203; i++) {
            T_EQ(c->passes[pass][i], 1);
        }
    }
    T_EQ(c->passes[4][0], 0);
    T_EQ(c->last_epoch, 3); /* an epoch stays a pass, whatever steps it has */
    free(c);
}

/* Trains with a resume between the parts. Returns how often each sample came; free() it. */
static counting *count_parts(const part *parts, size_t count, const char *folder)
{
    counting *c = calloc(1, sizeof(*c));
    kit k;

    T_TRUE(c != NULL);
    for (size_t i = 0; i < count; i++) {
        T_OK(run_part(&k, folder, &parts[i], c));
        kit_fini(&k);
    }
    return c;
}

#define MIXED                                                                                      \
    "mix 2:(synthetic 120 4,4,3 | shuffle) 1:(concat (synthetic 40 4,4,3) (synthetic 9 4,4,3))"

/* The passes of a mix, and of its parts, are those of one run that was not interrupted. */
static void parts_of_a_mix_go_on_where_they_were(void)
{
    static const part whole[] = {{"8", 1, 0, MIXED}};
    static const part parts[] = {{"8", 1, 10, MIXED}, {"3", 1, 31, MIXED}, {"7", 1, 0, MIXED}};
    static const part other[] = {
        {"8", 1, 10, MIXED},
        {"8", 1, 0, "mix 2:(synthetic 120 4,4,3 | shuffle) 1:(synthetic 49 4,4,3)"},
    };
    counting *want = count_parts(whole, 1, t_path(t_folder(), "a"));
    counting *got = count_parts(parts, 3, t_path(t_folder(), "b"));
    char folder[300];
    kit k;

    T_EQ(memcmp(got->passes, want->passes, sizeof(want->passes)), 0);
    T_TRUE(want->passes[3][168] > 0);
    free(want);
    snprintf(folder, sizeof(folder), "%s/c", t_folder());
    T_OK(run_part(&k, folder, &other[0], got));
    kit_fini(&k);
    T_STATUS(run_part(&k, folder, &other[1], got), SLUICE_E_INVALID);
    T_CONTAINS(sluice_last_error(), "mix: parts was 2:(synthetic | shuffle seed=run buffer=1000)");
    kit_fini(&k);
    free(got);
}

static void a_step_may_become_several_batches(void)
{
    static const part parts[] = {{"8", 1, 30, NULL}, {"4", 2, 0, NULL}};
    counting *c = calloc(1, sizeof(*c));
    const char *folder = t_file("c");
    kit k;

    T_OK(run_part(&k, folder, &parts[0], c));
    kit_fini(&k);
    T_OK(run_part(&k, folder, &parts[1], c));
    kit_fini(&k);
    for (size_t i = 0; i < 203; i++) {
        T_EQ(c->passes[0][i], 1);
    }
    free(c);
}

/* What is left of a pass may be padded where no pass is. */
static void padding_of_the_rest_is_refused_for_a_step_that_does_not_read_valid_rows(void)
{
    static const part first = {"29", 1, 3, NULL}; /* 203 = 7 * 29 */
    static const part second = {"7", 1, 0, NULL}; /* 116 are left */
    counting *c = calloc(1, sizeof(*c));
    const char *folder = t_file("c");
    kit k;

    T_OK(run_part(&k, folder, &first, c));
    kit_fini(&k);
    T_OK(run_part(&k, folder, &(part){"7", 1, 1, NULL}, c));
    k.model.reads_valid_rows = false;
    T_STATUS(kit_run(&k), SLUICE_E_INVALID);
    T_CONTAINS(k.error, "the last batch of what is left of the pass is padded (109 samples in");
    kit_fini(&k);
    T_OK(run_part(&k, folder, &second, c));
    kit_fini(&k);
    free(c);
}

const t_test resume_batch_size_tests[] = {
    T_TEST(a_run_goes_on_in_other_batches_and_every_pass_has_every_sample_once),
    T_TEST(parts_of_a_mix_go_on_where_they_were),
    T_TEST(a_step_may_become_several_batches),
    T_TEST(padding_of_the_rest_is_refused_for_a_step_that_does_not_read_valid_rows),
    T_END,
};
