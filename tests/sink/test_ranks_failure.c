/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One rank of three fails, and steps contain a collective, as those of data-parallel training do.
 * Some failures occur before the collective of a step, so the other ranks wait in it for ever;
 * others occur between steps, where the ranks call agree.
 */
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "rank_failure.h"
#include "rank_runs.h"
#include "testing.h"

enum { WORLD = 3, FAILING = 1, FAIL_STEP = 13, ENDED_BY_ABORT = 9, SHORT_MS = 50 };

static const sluice_mode modes[] = {SLUICE_MODE_DIRECT, SLUICE_MODE_DATA, SLUICE_MODE_GRAPH,
                                    SLUICE_MODE_LOOP};

typedef enum failure_kind {
    SAMPLE_FAILS, /* one that is read, under policy fail */
    STEP_FAILS,   /* before its collective */
    HOOK_FAILS,
    SAVE_FAILS,
    OPEN_FAILS,
    CREATE_FAILS /* an argument of sluice_train() */
} failure_kind;

/* The job, in memory that all ranks share. */
typedef struct job_state {
    _Atomic uint64_t arrived; /* calls of the collective of steps */
    _Atomic bool is_over;     /* ranks in that collective leave */
    char events[WORLD][16];   /* of each rank: L logged, R the report is written, A abort, G the
                                 last agree begins */
    char logged[WORLD][1200]; /* at level error */
    char warned[WORLD][1200];
    sluice_status aborted_with;
    char aborted_text[400];
} job_state;

/* Of the test that runs, for its children. */
static job_state *job;
static failure_kind kind;
static sluice_mode mode;
static bool has_abort;
static bool exchanges; /* the ranks exchange their cores, and so see each other */
static const char *folder;
static uint32_t failing_ranks; /* a bit each */
static ranks_member *self;

static bool fails_here(void)
{
    return (failing_ranks >> self->rank & 1) != 0;
}

static void note(char event)
{
    char *events = job->events[self->rank];

    events[strlen(events)] = event;
}

/* ---- what the ranks do ----------------------------------------------------------------------- */

static void keep_log(sluice_log_level level, const char *message, void *user)
{
    (void)user;
    if (level == SLUICE_LOG_ERROR) {
        note('L');
        snprintf(job->logged[self->rank], sizeof(job->logged[0]), "%s", message);
    } else if (strstr(message, "no answer within") != NULL) {
        snprintf(job->warned[self->rank], sizeof(job->warned[0]), "%s", message);
    }
}

static void note_report(void)
{
    char path[400];
    struct stat facts;

    snprintf(path, sizeof(path), "%s/report.%u.json", folder, self->rank);
    if (stat(path, &facts) == 0 && facts.st_size > 0) {
        note('R');
    }
}

static sluice_status agree_noted(int64_t value, int64_t *most_out, void *user)
{
    rank_own_outcome(user)->agreed++;
    if (value >= FAILURE_LEAST) {
        note_report();
        note('G');
    }
    return ranks_agree(value, most_out, user);
}

/* Ends the ranks that wait in a step, as MPI_Abort does, and returns. */
static void end_all(sluice_status status, const char *text, void *user)
{
    (void)user;
    note_report();
    note('A');
    job->aborted_with = status;
    snprintf(job->aborted_text, sizeof(job->aborted_text), "%s", text);
    atomic_store(&job->is_over, true);
}

/* Returns once all ranks have called it for this step. */
static void meet_in_step(kit *k, const sluice_step *step)
{
    const uint64_t all = (*step->step + 1) * WORLD;
    const struct timespec pause = {.tv_nsec = 200000};

    (void)k;
    if (kind == STEP_FAILS && fails_here() && *step->step == FAIL_STEP) {
        return;
    }
    atomic_fetch_add(&job->arrived, 1);
    while (atomic_load(&job->arrived) < all) {
        if (atomic_load(&job->is_over)) {
            _exit(ENDED_BY_ABORT);
        }
        nanosleep(&pause, NULL);
    }
}

static sluice_status fail_in_hook(sluice_hook *hook, void *user)
{
    (void)user;
    return kind == HOOK_FAILS && fails_here() && hook->step >= FAIL_STEP
               ? sluice_fail(SLUICE_E_IO, "no disk on rank %u", self->rank)
               : SLUICE_OK;
}

static sluice_status save(void *user, const char *path, uint32_t rank, uint32_t world)
{
    (void)user;
    (void)path;
    (void)world;
    return kind == SAVE_FAILS && fails_here() ? sluice_fail(SLUICE_E_IO, "no disk on rank %u", rank)
                                              : SLUICE_OK;
}

static void prepare(kit *k, ranks_member *me)
{
    static sluice_callback callbacks[2];
    static kit_source source;

    self = me;
    if (exchanges) {
        char name[40];

        snprintf(name, sizeof(name), "failure-%d", (int)getppid());
        setenv("SLUICE_JOB", name, 1);
        setenv("SLUICE_EXCHANGE_MS", "60000", 1);
    }
    setenv("SLUICE_REPORT", t_path(folder, "report.%r.json"), 1);
    sluice_log_set_callback(keep_log, NULL);
    kit_source_init(&source, 1000);
    k->config.mode = mode;
    k->config.sink_size = 10;
    k->config.epochs = 4;
    k->config.agree = agree_noted;
    k->config.agree_timeout_ms = kind == SAMPLE_FAILS || kind == STEP_FAILS ? SHORT_MS : 0;
    k->config.abort = has_abort ? end_all : NULL;
    k->in_step = meet_in_step;
    callbacks[0] = k->callbacks[0];
    callbacks[1] = (sluice_callback){.step_end = fail_in_hook};
    k->callbacks = callbacks;
    k->callback_count = 2;
    if (kind == SAVE_FAILS) {
        k->checkpoint.folder = t_path(folder, "checkpoints");
        k->checkpoint.every_steps = 20;
        k->model.save = save;
    }
    if (kind == STEP_FAILS && fails_here()) {
        k->step_at = FAIL_STEP;
        k->step_answer = SLUICE_E_CALLBACK;
    }
    if (kind == SAMPLE_FAILS && fails_here()) {
        source.fail_at = (uint64_t)FAIL_STEP * 2 * WORLD + me->rank;
    }
    if (kind == CREATE_FAILS && fails_here()) {
        k->model.struct_size = 1;
    }
    if (kind == OPEN_FAILS && fails_here()) {
        k->pipeline = "image_folder /nowhere/at/all | decode | batch 2";
    } else {
        k->dataset = kit_source_dataset(&source, 2);
    }
}

/* ---- the tests ------------------------------------------------------------------------------- */

static void start(ranks_kit *ranks)
{
    folder = t_folder();
    job = mmap(NULL, sizeof(*job), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    T_TRUE(job != MAP_FAILED);
    rank_runs_start(ranks, WORLD, prepare);
}

static void end(ranks_kit *ranks)
{
    ranks_end(ranks);
    munmap(job, sizeof(*job));
}

/* The rank that fails has logged and reported this status and text, in this order of events. */
static void expect_told(const ranks_kit *ranks, uint32_t rank, sluice_status status,
                        const char *text, const char *events)
{
    const rank_outcome *o = outcome_of(ranks, rank);
    char begin[100];

    snprintf(begin, sizeof(begin), "rank %u of %u fails after ", rank, WORLD);
    T_EQ(o->status, status);
    T_CONTAINS(o->error, text);
    T_STR(job->events[rank], events);
    T_CONTAINS(job->logged[rank], begin);
    T_CONTAINS(job->logged[rank], sluice_status_name(status));
    T_CONTAINS(job->logged[rank], text);
    T_EQ(o->train_ends, kind == OPEN_FAILS || kind == CREATE_FAILS ? 0 : 1);
    if (has_abort) {
        T_EQ(job->aborted_with, status);
        T_CONTAINS(job->aborted_text, text);
    }
}

/* The other ranks wait in the collective of step 13, and only abort ends them. */
static void expect_stuck(sluice_status status, const char *text)
{
    for (size_t m = 0; m < COUNT(modes); m++) {
        ranks_kit ranks;

        mode = modes[m];
        start(&ranks);
        T_TRUE(ranks_await(&ranks, FAILING));
        expect_told(&ranks, FAILING, status, text, has_abort ? "LRARG" : "LRG");
        T_EQ(outcome_of(&ranks, FAILING)->steps, FAIL_STEP + (kind == STEP_FAILS));
        if (!has_abort) {
            T_CONTAINS(job->warned[FAILING], "no answer within 0.1 s of the failure of rank 1 from "
                                             "ranks 0, 2: they wait in a collective");
            T_CONTAINS(job->warned[FAILING], text);
            T_TRUE(!atomic_load(&job->is_over));
            atomic_store(&job->is_over, true); /* what the user does by hand */
        }
        T_TRUE(ranks_join(&ranks));
        T_EQ(ranks.exits[0], ENDED_BY_ABORT);
        T_EQ(ranks.exits[2], ENDED_BY_ABORT);
        end(&ranks);
    }
}

/* The other ranks receive the failure by agree. */
static void expect_heard(sluice_status status, const char *text)
{
    for (size_t m = 0; m < COUNT(modes); m++) {
        ranks_kit ranks;
        char words[100];

        mode = modes[m];
        start(&ranks);
        T_TRUE(ranks_join(&ranks));
        expect_told(&ranks, FAILING, status, text, has_abort ? "LRARG" : "LRG");
        for (uint32_t rank = 0; rank < WORLD; rank += 2) {
            const rank_outcome *o = outcome_of(&ranks, rank);

            snprintf(words, sizeof(words), "rank 1 failed with %s, so rank %u ends after step ",
                     sluice_status_name(status), rank);
            T_EQ(ranks.exits[rank], 0);
            T_EQ(o->status, SLUICE_E_RANK);
            T_CONTAINS(o->error, words);
            T_CONTAINS(o->error, text);
            T_STR(job->events[rank], "");
            T_EQ(o->agreed, outcome_of(&ranks, FAILING)->agreed);
        }
        end(&ranks);
    }
}

static void with_and_without_abort(failure_kind which, bool stuck, sluice_status status,
                                   const char *text)
{
    kind = which;
    failing_ranks = 1U << FAILING;
    for (int abort = 0; abort <= 1; abort++) {
        has_abort = abort != 0;
        (stuck ? expect_stuck : expect_heard)(status, text);
    }
}

static void a_bad_sample_is_told_while_the_others_wait_in_their_step(void)
{
    with_and_without_abort(SAMPLE_FAILS, true, SLUICE_E_CORRUPT, "kit/79");
}

static void a_failing_step_is_told_while_the_others_wait_in_theirs(void)
{
    with_and_without_abort(STEP_FAILS, true, SLUICE_E_CALLBACK,
                           "step 13: the step function returned E_CALLBACK");
}

/* One mode with short sinks, one with long ones. */
static void ranks_of_this_machine_that_wait_in_their_step_are_named_with_their_process(void)
{
    kind = SAMPLE_FAILS;
    failing_ranks = 1U << FAILING;
    has_abort = false;
    exchanges = true;
    for (size_t m = 0; m < COUNT(modes); m += COUNT(modes) - 1) {
        ranks_kit ranks;
        char host[100] = "";
        char words[300];

        mode = modes[m];
        (void)gethostname(host, sizeof(host) - 1);
        start(&ranks);
        T_TRUE(ranks_await(&ranks, FAILING));
        snprintf(words, sizeof(words),
                 "no answer within 0.1 s of the failure of rank 1 from rank 0 (process %d on %s, "
                 "last boundary after step %d), rank 2 (process %d on %s, last boundary after step "
                 "%d): they wait in a collective of their step",
                 (int)ranks.pids[0], host, m == 0 ? 13 : 10, (int)ranks.pids[2], host,
                 m == 0 ? 13 : 10);
        T_CONTAINS(job->warned[FAILING], words);
        T_CONTAINS(job->warned[FAILING], "kit/79");
        atomic_store(&job->is_over, true);
        T_TRUE(ranks_join(&ranks));
        end(&ranks);
    }
    exchanges = false;
}

static void a_failing_hook_reaches_the_other_ranks_with_its_text(void)
{
    with_and_without_abort(HOOK_FAILS, false, SLUICE_E_IO,
                           "hook step_end of callback 1 returned E_IO: no disk on rank 1");
}

static void a_failing_save_reaches_the_other_ranks_with_its_text(void)
{
    with_and_without_abort(SAVE_FAILS, false, SLUICE_E_IO, "no disk on rank 1");
}

static void a_dataset_that_cannot_be_opened_reaches_the_other_ranks_with_its_text(void)
{
    with_and_without_abort(OPEN_FAILS, false, SLUICE_E_IO, "/nowhere/at/all");
}

static void an_argument_that_is_refused_reaches_the_other_ranks_with_its_text(void)
{
    with_and_without_abort(CREATE_FAILS, false, SLUICE_E_INVALID,
                           "sluice_train: struct_size of sluice_model is 1, and must be ");
}

static void of_two_ranks_that_fail_the_others_hear_the_lower(void)
{
    ranks_kit ranks;

    kind = HOOK_FAILS;
    mode = SLUICE_MODE_LOOP;
    has_abort = false;
    failing_ranks = 1U << 1 | 1U << 2;
    start(&ranks);
    T_TRUE(ranks_join(&ranks));
    expect_told(&ranks, 1, SLUICE_E_IO, "no disk on rank 1", "LRG");
    expect_told(&ranks, 2, SLUICE_E_IO, "no disk on rank 2", "LRG");
    T_EQ(outcome_of(&ranks, 0)->status, SLUICE_E_RANK);
    T_CONTAINS(outcome_of(&ranks, 0)->error, "no disk on rank 1");
    for (uint32_t rank = 1; rank < WORLD; rank++) {
        T_EQ(outcome_of(&ranks, rank)->agreed, outcome_of(&ranks, 0)->agreed);
    }
    end(&ranks);
}

const t_test ranks_failure_tests[] = {
    T_TEST(a_bad_sample_is_told_while_the_others_wait_in_their_step),
    T_TEST(a_failing_step_is_told_while_the_others_wait_in_theirs),
    T_TEST(ranks_of_this_machine_that_wait_in_their_step_are_named_with_their_process),
    T_TEST(a_failing_hook_reaches_the_other_ranks_with_its_text),
    T_TEST(a_failing_save_reaches_the_other_ranks_with_its_text),
    T_TEST(a_dataset_that_cannot_be_opened_reaches_the_other_ranks_with_its_text),
    T_TEST(an_argument_that_is_refused_reaches_the_other_ranks_with_its_text),
    T_TEST(of_two_ranks_that_fail_the_others_hear_the_lower),
    T_END,
};
