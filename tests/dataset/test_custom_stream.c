/* SPDX-License-Identifier: Apache-2.0 */
/* Streams of user code: samples of a function that is called for the next one. */
#include <stdlib.h>

#include "alloc_int.h"
#include "dataset_kit.h"
#include "engine_kit.h"
#include "generator_kit.h"
#include "testing.h"

enum { SAMPLES = 50, BATCH = 4 };

/* ---- what it gives --------------------------------------------------------------------------- */

static uint32_t column_of(const engine_run *run, const char *name)
{
    uint32_t i = 0;

    while (strcmp(run->plan->seen[i].name, name) != 0) {
        i++;
        T_TRUE(i < run->plan->column_count);
    }
    return i;
}

/* A row must be sample i of a pass, or zero if i is beyond its samples. */
static void check_row(const engine_run *run, uint32_t row, uint64_t pass, uint64_t i,
                      uint64_t samples)
{
    const int64_t number = *(const int64_t *)row_of(run, column_of(run, "number"), row);
    const uint16_t *words = row_of(run, column_of(run, "words"), row);
    const int32_t length = *(const int32_t *)row_of(run, column_of(run, "words_length"), row);
    const uint64_t count = i < samples ? i % (GENERATOR_WORDS + 1) : 0;

    T_EQ(number, i < samples ? (int64_t)(pass * 1000 + i) : 0);
    T_EQ(run->input.samples[row], i < samples ? i : UINT64_MAX);
    T_EQ(length, (int32_t)count);
    for (uint64_t k = 0; k < GENERATOR_WORDS; k++) {
        T_EQ(words[k], k < count ? i + k + 1 : 0);
    }
}

/* Runs passes of a generator on one rank, and checks each row. */
static void check_passes(generator *g, const run_options *options, bool drop_remainder)
{
    const uint64_t world = options->settings.world;
    const uint64_t rank = options->settings.rank;
    engine_run run;

    open_own(&run, generator_dataset(g, drop_remainder ? "batch 4 drop_remainder=true" : "batch 4"),
             options);
    for (uint64_t pass = 0; pass < options->passes; pass++) {
        const uint64_t samples = g->samples + pass * g->varies_by;
        const uint64_t round = BATCH * world;
        const uint64_t batches = drop_remainder ? samples / round : (samples + round - 1) / round;

        for (uint64_t b = 0; b < batches; b++) {
            T_OK(next_batch(&run));
            T_EQ(run.input.header->pass, pass);
            for (uint32_t row = 0; row < BATCH; row++) {
                check_row(&run, row, pass, (b * BATCH + row) * world + rank, samples);
            }
        }
    }
    T_EQ(next_batch(&run), SLUICE_END_OF_DATA);
    close_run(&run);
    T_EQ(atomic_load(&g->open), 0);
    T_EQ(atomic_load(&g->overlaps), 0);
}

static void rows_are_the_samples_in_their_order(void)
{
    for (uint32_t i = 0; i < 12; i++) {
        generator g = {.samples = SAMPLES};

        check_passes(&g,
                     &(run_options){.device = devices[i % 2],
                                    .workers = worker_counts[i / 4],
                                    .passes = 2,
                                    .batches = UINT64_MAX,
                                    .settings = {.world = 1}},
                     i / 2 % 2 == 0);
        T_EQ(atomic_load(&g.passes), 2);
        T_EQ(atomic_load(&g.closed), 1);
    }
}

static void ranks_take_turns(void)
{
    for (uint32_t rank = 0; rank < 3; rank++) {
        for (int drop = 0; drop < 2; drop++) {
            generator g = {.samples = SAMPLES};

            check_passes(&g,
                         &(run_options){.workers = rank + 1,
                                        .passes = 2,
                                        .batches = UINT64_MAX,
                                        .settings = {.world = 3, .rank = rank}},
                         drop == 1);
        }
    }
}

static void passes_may_differ_in_length(void)
{
    for (uint32_t i = 0; i < 3; i++) {
        generator g = {.samples = 10, .varies_by = 3};

        check_passes(&g,
                     &(run_options){.workers = worker_counts[i],
                                    .passes = 5,
                                    .batches = UINT64_MAX,
                                    .settings = {.world = 1}},
                     i == 1);
    }
}

static tape record_stages(const char *stages, uint32_t workers, uint64_t first_step, uint64_t seed)
{
    generator g = {.samples = SAMPLES};
    tape t = record_own(generator_dataset(&g, stages),
                        &(run_options){.workers = workers,
                                       .batches = 20,
                                       .passes = 0,
                                       .first_step = first_step,
                                       .settings = {.world = 1, .seed = seed}});

    T_EQ(t.end, SLUICE_END_OF_DATA);
    return t;
}

static void any_number_of_workers_gives_the_same(void)
{
    static const char *const stages[] = {
        "batch 4", "shuffle 1 buffer=9 | batch 4 drop_remainder=true",
        "skip 3 | split train 0.8 | shuffle | take 20 | batch 3", "project noise | batch 7"};

    for (int i = 0; i < 4; i++) {
        tape want = record_stages(stages[i], 1, 0, 5);
        tape other = record_stages(stages[i], 2, 0, 6);

        for (uint32_t workers = 2; workers < 5; workers++) {
            tape got = record_stages(stages[i], workers, 0, 5);

            check_equal_tapes(&got, &want, stages[i]);
            free(got.bytes);
        }
        /* noise has random bits of the seed */
        T_TRUE(memcmp(other.bytes, want.bytes, want.size) != 0);
        free(want.bytes);
        free(other.bytes);
    }
}

static void an_endless_stream_gives_as_many_batches_as_are_asked_for(void)
{
    generator g = {.samples = 0};
    tape t =
        record_own(generator_dataset(&g, "batch 4"), &(run_options){.workers = 3, .batches = 100});

    T_EQ(t.end, SLUICE_END_OF_DATA);
    T_EQ(t.batches, 100);
    free(t.bytes);
    T_EQ(atomic_load(&g.open), 0);
}

/* ---- what it does wrong ---------------------------------------------------------------------- */

static const struct {
    custom_fault fault;
    sluice_status status;
    const char *words;
} mistakes[] = {
    {FAILS, SLUICE_E_IO,
     "read: sample 7, my_stream/7: my_stream: next() returned E_IO: the server"},
    {FAILS_SILENTLY, SLUICE_E_CORRUPT, "my_stream/7: my_stream: next() returned E_CORRUPT"},
    {GARBAGE, SLUICE_E_CALLBACK, "next() returned -4711, which is not a sluice_status"},
    {WRONG_SHAPE, SLUICE_E_CORRUPT, "words has the shape (10), and must have (9), or less"},
    {LEAVES_ONE_OUT, SLUICE_E_INVALID, "my_stream: next() did not write number"},
};

static tape run_with(generator *g, sli_error_policy policy)
{
    sluice_dataset *dataset = generator_dataset(g, "batch 4");
    tape t =
        record(dataset, &(run_options){.workers = 2, .settings = {.on_error = policy, .world = 1}});

    sluice_dataset_destroy(dataset);
    T_EQ(atomic_load(&g->open), 0);
    return t;
}

static void mistakes_are_bad_samples_in_their_places(void)
{
    for (size_t i = 0; i < sizeof(mistakes) / sizeof(mistakes[0]); i++) {
        generator g = {.samples = SAMPLES, .fault = mistakes[i].fault};
        tape t = run_with(&g, SLI_ON_ERROR_FAIL);

        T_STATUS(t.end, mistakes[i].status);
        T_CONTAINS(t.error, mistakes[i].words);
        T_EQ(t.batches, 1);
        free(t.bytes);
        t = run_with(&g, SLI_ON_ERROR_ZERO);
        T_EQ(t.end, SLUICE_END_OF_DATA);
        T_EQ(t.batches, 13);
        T_EQ(t.errors.zeroed, 1);
        free(t.bytes);
    }
}

static void a_function_that_always_fails_ends_the_run_under_every_policy(void)
{
    generator g = {.samples = 0, .fault = FAILS, .fails_always = true};
    tape t = run_with(&g, SLI_ON_ERROR_ZERO);

    T_STATUS(t.end, SLUICE_E_IO);
    T_CONTAINS(t.error, "next() has failed 1000 times without a sample; the last: my_stream: next()"
                        " returned E_IO: the server x is down");
    free(t.bytes);
}

static void no_memory_ends_the_run_under_every_policy(void)
{
    generator g = {.samples = SAMPLES, .fault = OUT_OF_MEMORY};
    tape t = run_with(&g, SLI_ON_ERROR_ZERO);

    T_STATUS(t.end, SLUICE_E_NO_MEMORY);
    T_CONTAINS(t.error, "no room for anything");
    free(t.bytes);
}

static void a_pass_that_cannot_be_opened_ends_the_run(void)
{
    generator g = {.samples = SAMPLES, .open_status = SLUICE_E_IO};
    tape t = run_with(&g, SLI_ON_ERROR_ZERO);

    T_STATUS(t.end, SLUICE_E_IO);
    T_CONTAINS(t.error, "my_stream: open_pass() returned E_IO: the log is gone");
    free(t.bytes);
}

static void a_stop_wakes_a_function_that_waits_for_data(void)
{
    generator g = {.samples = 10, .waits = true};
    sli_engine_errors errors;
    engine_run run;

    open_own(&run, generator_dataset(&g, "batch 4"),
             &(run_options){.workers = 3, .batches = UINT64_MAX});
    T_OK(next_batch(&run));
    T_OK(next_batch(&run));
    sli_engine_stop(run.engine);
    sli_engine_errors_get(run.engine, &errors);
    T_EQ(errors.failed, 0);
    close_run(&run);
    T_EQ(atomic_load(&g.open), 0);
}

/* ---- passes ---------------------------------------------------------------------------------- */

static sluice_status count_up(sluice_sample *sample, void *pass, void *user)
{
    uint64_t *next = user;
    void *room = NULL;
    sluice_status st;

    (void)pass;
    if (*next == SAMPLES) {
        return SLUICE_END_OF_DATA;
    }
    st = sluice_sample_room(sample, "number", NULL, &room);
    if (st == SLUICE_OK) {
        *(int64_t *)room = (int64_t)(*next)++;
    }
    return st;
}

static void without_open_pass_there_is_one_pass(void)
{
    static const sluice_column_spec column = {.name = "number", .dtype = SLUICE_I64};
    uint64_t next = 0;
    sluice_source source;
    sluice_dataset *dataset;
    tape t;

    sluice_source_init(&source);
    source.name = "counter";
    source.columns = &column;
    source.column_count = 1;
    source.next = count_up;
    source.user = &next;
    dataset = custom_dataset(&source, "batch 4");
    t = record(dataset, &(run_options){.workers = 2, .batches = UINT64_MAX});
    T_EQ(t.end, SLUICE_END_OF_DATA);
    T_EQ(t.batches, 13);
    free(t.bytes);
    t = record(dataset, &(run_options){.workers = 2});
    T_STATUS(t.end, SLUICE_E_UNSUPPORTED);
    T_CONTAINS(t.error, "counter: next() was called for one pass already");
    T_CONTAINS(t.error, "set open_pass");
    free(t.bytes);
    sluice_dataset_destroy(dataset);
}

/* Another pass of another length, and the bits of that pass. */
static void the_passes_before_the_first_batch_may_vary(void)
{
    for (uint64_t first = 0; first < 20; first++) {
        uint64_t left = first;
        uint64_t pass = 0;
        generator g = {.samples = 5, .varies_by = 3};
        sluice_dataset *dataset = generator_dataset(&g, "skip 0");
        engine_run run;

        T_OK(sluice_dataset_add(dataset, "batch 2"));
        while (left >= (5 + 3 * pass + 1) / 2) {
            left -= (5 + 3 * pass + 1) / 2;
            pass++;
        }
        open_own(&run, dataset, &(run_options){.batches = 3, .first_step = first});
        T_OK(next_batch(&run));
        T_EQ(run.input.header->pass, pass);
        T_EQ(run.input.header->position, 2 * left);
        T_EQ(*(const int64_t *)row_of(&run, 0, 0), pass * 1000 + 2 * left);
        T_EQ(sli_plan_position(run.plan, 0).pass, pass);
        T_EQ(sli_plan_position(run.plan, 0).done, 2 * left);
        close_run(&run);
    }
}

/* As a rewind makes the engine do; the pass of the first batch stays known meanwhile. */
static void passes_that_are_counted_again_change_nothing(void)
{
    const sli_run_settings settings = {.world = 1};
    generator g = {.samples = 5};
    sluice_dataset *dataset = generator_dataset(&g, "batch 2");
    sli_plan *plan = NULL;

    T_OK(sli_plan_open(dataset, &settings, &plan));
    T_OK(sli_plan_begin_after(plan, 9, 1));
    for (int i = 0; i < 2; i++) {
        uint64_t done = 18;

        for (uint64_t pass = 0; pass < 2; pass++) {
            T_OK(plan_end_pass(plan, pass, 5 + 3 * pass, &done));
            if (i > 0 || pass > 0) {
                T_EQ(sli_plan_position(plan, 0).pass, 2);
                T_EQ(sli_plan_position(plan, 0).done, 4);
            }
        }
        T_EQ(done, 4);
    }
    sli_plan_close(plan);
    sluice_dataset_destroy(dataset);
}

/* A position of an earlier run is in its pass. */
static void fewer_samples_than_were_done_are_an_error(void)
{
    generator g = {.samples = 20};
    sluice_dataset *dataset = generator_dataset(&g, "skip 0");

    T_OK(sluice_dataset_add(dataset, "batch 4"));
    batches_to_error(dataset, &(run_options){.first_step = 6, .resumes = true, .passes = 2},
                     SLUICE_E_INVALID,
                     "resumes after sample 24 of a pass, but the stream ends after 20 samples");
}

static void two_runs_have_a_pass_each(void)
{
    generator g = {.samples = SAMPLES};
    sluice_dataset *dataset = generator_dataset(&g, "batch 4");
    engine_run first;
    engine_run second;

    open_run(&first, dataset, &(run_options){.workers = 1, .slots = 2});
    open_run(&second, dataset, &(run_options){.workers = 1, .slots = 2});
    for (uint64_t b = 0; b < 12; b++) {
        T_OK(next_batch(&first));
        T_OK(next_batch(&second));
        for (uint32_t row = 0; row < BATCH; row++) {
            check_row(&first, row, 0, b * BATCH + row, SAMPLES);
            check_row(&second, row, 0, b * BATCH + row, SAMPLES);
        }
    }
    close_run(&first);
    close_run(&second);
    sluice_dataset_destroy(dataset);
    T_EQ(atomic_load(&g.open), 0);
    T_EQ(atomic_load(&g.passes), 2);
}

/* ---- what is refused ------------------------------------------------------------------------- */

static sluice_status read_nothing(sluice_sample *sample, uint64_t index, void *user)
{
    (void)sample;
    (void)index;
    (void)user;
    return SLUICE_OK;
}

static void callbacks_of_both_kinds_are_refused(void)
{
    generator g = {.samples = SAMPLES};
    custom_arrays o = {.lends = false};
    sluice_source bad[5];
    const char *const words[] = {"next is set", "next is set", "close_pass is set and open_pass",
                                 "next is NULL", "next is NULL"};
    sluice_dataset *dataset = NULL;

    for (int i = 0; i < 3; i++) {
        bad[i] = generator_source(&g);
    }
    bad[0].read = read_nothing;
    bad[1].count = 4;
    bad[2].open_pass = NULL;
    bad[3] = custom_arrays_source(&o);
    bad[3].open_pass = generator_source(&g).open_pass;
    bad[4] = custom_arrays_source(&o);
    bad[4].max_sample = 1;
    for (int i = 0; i < 5; i++) {
        T_STATUS(sluice_dataset_source(&bad[i], &dataset), SLUICE_E_INVALID);
        T_CONTAINS(sluice_last_error(), words[i]);
    }
}

static void what_needs_numbers_is_refused_with_advice(void)
{
    static const refused_case wrong[] = {
        {"balance number | batch 4", "give the source count and read() in place of next()"},
        {"repeat 2 | batch 4", "a stream is read again until the last step"},
        {"shard | batch 4", "distributes its samples over the ranks by itself"},
    };
    char *name = NULL;

    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        generator g = {.samples = SAMPLES};
        sluice_dataset *dataset = generator_dataset(&g, wrong[i].text);
        sli_plan *plan;

        T_STATUS(sli_plan_open(dataset, &(sli_run_settings){.world = 1}, &plan),
                 SLUICE_E_UNSUPPORTED);
        T_CONTAINS(sluice_last_error(), wrong[i].words);
        T_STATUS(sluice_dataset_sample_name(dataset, 0, &name), SLUICE_E_UNSUPPORTED);
        T_CONTAINS(sluice_last_error(), "count and read()");
        sluice_dataset_destroy(dataset);
    }
}

static void explain_says_how_it_is_read(void)
{
    generator g = {.samples = SAMPLES};
    sluice_dataset *dataset = generator_dataset(&g, "shuffle buffer=5 | batch 4");
    char *text = NULL;

    T_OK(sluice_dataset_explain(dataset, &text));
    T_CONTAINS(text, "order: shuffled within 5 samples");
    T_CONTAINS(text, "reading: in sequence, samples of at most 0.0 MB");
    sluice_string_free(text);
    T_STR(described(dataset), "source name=my_stream version=1 | shuffle seed=run buffer=5 | batch "
                              "n=4 drop_remainder=false");
    sluice_dataset_destroy(dataset);
}

/* ---- memory ---------------------------------------------------------------------------------- */

static void without_memory_there_is_an_error_and_no_leak(void)
{
    sluice_status st = SLUICE_E_NO_MEMORY;
    int64_t passes = 0;

    for (; st != SLUICE_END_OF_DATA && passes < 200; passes++) {
        generator g = {.samples = SAMPLES};
        sluice_dataset *dataset = generator_dataset(&g, "batch 4");
        engine_run run;

        sli_alloc_fail_after(passes);
        st = start_run(&run, dataset, &(run_options){.workers = 1});
        if (st == SLUICE_OK) {
            while ((st = next_batch(&run)) == SLUICE_OK) {
            }
            sli_alloc_fail_after(-1);
            close_run(&run);
        }
        sli_alloc_fail_after(-1);
        T_TRUE(st == SLUICE_END_OF_DATA || st == SLUICE_E_NO_MEMORY);
        sluice_dataset_destroy(dataset);
        T_EQ(atomic_load(&g.open), 0);
    }
    T_EQ(st, SLUICE_END_OF_DATA);
}

const t_test custom_stream_tests[] = {
    T_TEST(rows_are_the_samples_in_their_order),
    T_TEST(ranks_take_turns),
    T_TEST(passes_may_differ_in_length),
    T_TEST(any_number_of_workers_gives_the_same),
    T_TEST(an_endless_stream_gives_as_many_batches_as_are_asked_for),
    T_TEST(mistakes_are_bad_samples_in_their_places),
    T_TEST(a_function_that_always_fails_ends_the_run_under_every_policy),
    T_TEST(no_memory_ends_the_run_under_every_policy),
    T_TEST(a_pass_that_cannot_be_opened_ends_the_run),
    T_TEST(a_stop_wakes_a_function_that_waits_for_data),
    T_TEST(without_open_pass_there_is_one_pass),
    T_TEST(the_passes_before_the_first_batch_may_vary),
    T_TEST(passes_that_are_counted_again_change_nothing),
    T_TEST(fewer_samples_than_were_done_are_an_error),
    T_TEST(two_runs_have_a_pass_each),
    T_TEST(callbacks_of_both_kinds_are_refused),
    T_TEST(what_needs_numbers_is_refused_with_advice),
    T_TEST(explain_says_how_it_is_read),
    T_TEST(without_memory_there_is_an_error_and_no_leak),
    T_END,
};
