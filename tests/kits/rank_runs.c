/* SPDX-License-Identifier: Apache-2.0 */
#include "rank_runs.h"

#include <stdio.h>
#include <string.h>

#include "testing.h"

static void (*prepare_kit)(kit *k, ranks_member *me);
static ranks_member *this_member;

rank_outcome *rank_own_outcome(ranks_member *me)
{
    return (rank_outcome *)me->shared + me->rank;
}

const rank_outcome *outcome_of(const ranks_kit *ranks, uint32_t rank)
{
    return (const rank_outcome *)ranks->shared + rank;
}

ranks_member *rank_of_kit(const kit *k)
{
    (void)k;
    return this_member;
}

static sluice_status count_agree(int64_t value, int64_t *most_out, void *user)
{
    rank_own_outcome(user)->agreed++;
    return ranks_agree(value, most_out, user);
}

static sluice_status count_samples(sluice_hook *hook, void *user)
{
    rank_outcome *o = user;

    for (uint64_t i = 0; i < hook->record_count; i++) {
        const sluice_step_record *record = sluice_hook_record(hook, i);

        for (uint32_t row = 0; row < hook->batch_size * hook->micro_batches; row++) {
            const uint64_t sample = record->samples[row];

            if (sample < RANK_RUNS_SAMPLES && record->pass < RANK_RUNS_PASSES) {
                o->seen[record->pass][sample]++;
            }
        }
        o->last_step = record->step;
    }
    o->late_rank = hook->late_rank;
    o->late_seconds = hook->late_seconds;
    return SLUICE_OK;
}

static sluice_status keep_results(sluice_hook *hook, void *user)
{
    rank_outcome *o = user;

    for (uint32_t i = 0; i < hook->result_count && i < 2; i++) {
        o->results[i] = hook->results[i];
    }
    o->result_samples = hook->result_samples;
    o->validations++;
    return SLUICE_OK;
}

static sluice_status count_end(sluice_hook *hook, void *user)
{
    (void)hook;
    ((rank_outcome *)user)->train_ends++;
    return SLUICE_OK;
}

/* Keeps parts of the report, and its text on one line. */
static void keep_report(const sluice_report *report, rank_outcome *o)
{
    char *text = NULL;

    o->waits = report->waits;
    if (sluice_report_text(report, &text) == SLUICE_OK) {
        size_t length = 0;

        for (const char *c = text; *c != '\0' && length + 1 < sizeof(o->report); c++) {
            const bool joins = *c == '\n' && strncmp(c, "\n    ", 5) == 0;

            o->report[length++] = *c == '\n' ? ' ' : *c;
            c += joins ? 4 : 0;
        }
    }
    sluice_string_free(text);
    text = NULL;
    if (sluice_report_json(report, &text) == SLUICE_OK) {
        const char *ranks = strstr(text, "\"ranks\":");

        snprintf(o->ranks_json, sizeof(o->ranks_json), "%s", ranks != NULL ? ranks : "");
    }
    sluice_string_free(text);
}

static int body(ranks_member *me)
{
    rank_outcome *o = rank_own_outcome(me);
    sluice_callback callback = {
        .records = count_samples, .validation = keep_results, .train_end = count_end, .user = o};
    kit k;

    this_member = me;
    kit_init(&k);
    k.callbacks = &callback;
    k.callback_count = 1;
    k.config.agree = count_agree;
    k.config.agree_user = me;
    k.model.reads_valid_rows = true;
    prepare_kit(&k, me);
    o->status = kit_run(&k);
    snprintf(o->error, sizeof(o->error), "%s", k.error);
    o->steps = k.report != NULL ? k.report->stats.steps : 0;
    o->regrouped_world = k.report != NULL ? k.report->stats.regrouped_world : 0;
    if (k.report != NULL) {
        keep_report(k.report, o);
    }
    kit_fini(&k);
    ranks_tell(me);
    return 0;
}

void rank_runs_start(ranks_kit *ranks, uint32_t world, void (*prepare)(kit *k, ranks_member *me))
{
    prepare_kit = prepare;
    ranks_start(ranks, world, world * sizeof(rank_outcome), body);
}

void rank_runs(ranks_kit *ranks, uint32_t world, void (*prepare)(kit *k, ranks_member *me))
{
    rank_runs_start(ranks, world, prepare);
    T_TRUE(ranks_join(ranks));
    for (uint32_t rank = 0; rank < world; rank++) {
        T_EQ(ranks->exits[rank], 0);
    }
}

void rank_runs_expect(const ranks_kit *ranks, sluice_status status)
{
    for (uint32_t rank = 0; rank < ranks->world; rank++) {
        const rank_outcome *o = outcome_of(ranks, rank);

        if (o->status != status) {
            T_FAIL_("rank %u ended with %s, want %s: %s", rank, sluice_status_name(o->status),
                    sluice_status_name(status), o->error);
        }
        T_EQ(o->steps, outcome_of(ranks, 0)->steps);
        T_EQ(o->agreed, outcome_of(ranks, 0)->agreed); /* or somebody would wait for ever */
    }
}
