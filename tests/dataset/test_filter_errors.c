/* SPDX-License-Identifier: Apache-2.0 */
/* Filters: bad samples, what is refused, and what is said of it. */
#include <stdlib.h>

#include "dataset_state.h"
#include "filter_kit.h"
#include "log_kit.h"
#include "testing.h"

/* ---- bad samples ----------------------------------------------------------------------------- */

/* Samples 10, 40 and 41 are bad; the filter would keep all three. */
static void break_samples(void)
{
    script_reset(60, GOOD);
    script.behaviours[10] = BAD;
    script.behaviours[40] = BAD;
    script.behaviours[41] = BAD;
}

/* The row of a sample among the turns of a pass without a shuffle. */
static uint64_t turn_of(uint64_t sample)
{
    uint64_t turn = 0;

    for (uint64_t i = 0; i < sample; i++) {
        turn += third_keeps(i);
    }
    return turn;
}

static void a_bad_sample_ends_the_run_in_its_turn(void)
{
    break_samples();
    for (int i = 0; i < 3; i++) {
        for (filter_way way = 0; way < FILTER_WAYS; way++) {
            tape t = record_own(filtered_dataset(NULL, way, 4, true),
                                &(run_options){.workers = worker_counts[i]});

            T_STATUS(t.end, SLUICE_E_CORRUPT);
            T_EQ(t.batches, turn_of(10) / 4);
            T_CONTAINS(t.error, "read: sample 10, script/10: it is bad; on_error replace or zero");
            T_EQ(t.errors.failed, 1);
            free(t.bytes);
        }
    }
}

static void a_bad_sample_keeps_its_turn(void)
{
    break_samples();
    for (int i = 0; i < 6; i++) {
        sluice_dataset *dataset =
            filtered_dataset(NULL, i / 3 == 0 ? BY_LABEL : BY_PIXELS, 4, true);
        const run_options options = {.workers = worker_counts[i % 3],
                                     .settings = {.on_error = SLI_ON_ERROR_ZERO}};
        const uint64_t bad = turn_of(10);
        engine_run run;

        open_own(&run, dataset, &options);
        for (uint64_t batch = 0; batch <= bad / 4; batch++) {
            T_OK(next_batch(&run));
        }
        T_EQ(run.input.samples[bad % 4], 10);
        T_TRUE(is_zero(row_of(&run, 0, bad % 4), row_bytes(&run, 0)));
        T_EQ(*(const uint8_t *)row_of(&run, 2, bad % 4), 0); /* column `mask` */
        T_EQ(*(const uint8_t *)row_of(&run, 2, (bad + 1) % 4), 1);
        T_EQ(run.input.samples[(bad + 1) % 4], 11);
        close_run(&run);
    }
}

/* 10 is replaced by 11; 40 by 43, as 41 is bad and 42 dropped; 41 by 43, too. */
static void a_bad_sample_is_replaced_by_the_next_that_is_kept(void)
{
    break_samples();
    for (int i = 0; i < 6; i++) {
        for (uint32_t world = 1; world < 4; world += 2) {
            uint64_t replaced = 0;

            for (uint32_t rank = 0; rank < world; rank++) {
                sluice_dataset *dataset =
                    filtered_dataset(NULL, i / 3 == 0 ? BY_LABEL : BY_PIXELS, 1, false);
                const run_options options = {
                    .workers = worker_counts[i % 3],
                    .settings = {.rank = rank, .world = world, .on_error = SLI_ON_ERROR_REPLACE}};
                sli_engine_errors errors;
                engine_run run;

                open_own(&run, dataset, &options);
                for (uint64_t turn = rank; turn < 40; turn += world) {
                    uint64_t want = turn / 2 * 3 + turn % 2 + 1;

                    want = want == 10 ? 11 : want == 40 || want == 41 ? 43 : want;
                    T_OK(next_batch(&run));
                    T_EQ(run.input.samples[0], want);
                    T_EQ(*(const int32_t *)row_of(&run, 1, 0), want);
                    T_EQ(*(const uint8_t *)row_of(&run, 0, 0), script_pixel(want, 0));
                }
                sli_engine_stop(run.engine);
                sli_engine_errors_get(run.engine, &errors);
                replaced += errors.replaced;
                close_run(&run);
            }
            T_EQ(replaced, 3);
        }
    }
}

static void a_pass_of_bad_samples_has_no_valid_data(void)
{
    script_reset(60, BAD);
    batches_to_error(filtered_dataset(NULL, BY_LABEL, 4, true),
                     &(run_options){.settings = {.on_error = SLI_ON_ERROR_REPLACE}},
                     SLUICE_E_INVALID, "no valid data in the dataset");
}

/* ---- what the function does ------------------------------------------------------------------ */

/* What a filter is to do with sample 7. */
typedef enum trick { FAILS, SETS_NOTHING, RETURNS_GARBAGE, WRITES, DROPS_ALL, KEEPS_THREE } trick;

static sluice_status play(sluice_sample *sample, uint32_t *keep_out, void *user)
{
    const uint64_t number = sluice_sample_number(sample);
    const trick what = *(const trick *)user;
    void *room;

    if (what == SETS_NOTHING && number == 7) {
        return SLUICE_OK;
    }
    *keep_out = what == KEEPS_THREE ? number < 3 : what != DROPS_ALL;
    if (number != 7) {
        return SLUICE_OK;
    }
    switch (what) {
    case FAILS:
        return sluice_fail(SLUICE_E_CORRUPT, "no opinion on this one");
    case RETURNS_GARBAGE:
        return (sluice_status)-12345;
    case WRITES:
        return sluice_sample_room(sample, "label", NULL, &room);
    default:
        return SLUICE_OK;
    }
}

static void mistakes_of_a_filter_are_named(void)
{
    static const struct {
        trick what;
        sluice_status status;
        const char *words;
    } cases[] = {
        {FAILS, SLUICE_E_CORRUPT,
         "picky: sample 7, script/7: picky: filter() returned E_CORRUPT: no opinion on this one"},
        {SETS_NOTHING, SLUICE_E_CALLBACK,
         "picky: filter() returned OK and did not set *keep_out; it must be 0"},
        {RETURNS_GARBAGE, SLUICE_E_CALLBACK,
         "picky: filter() returned -12345, which is not a sluice_status"},
        {WRITES, SLUICE_E_INVALID, "picky: there is no column label to write"},
        {DROPS_ALL, SLUICE_E_INVALID,
         "no valid data in the dataset: filters keep 0 of the 20 samples of a pass, and make no "
         "batch of 4 of them"},
        {KEEPS_THREE, SLUICE_E_INVALID,
         "filters keep 3 of the 20 samples of a pass, and make no "
         "batch of 4 of them; drop_remainder=false keeps"},
    };

    script_reset(20, GOOD);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        for (int workers = 0; workers < 3; workers++) {
            trick what = cases[i].what;
            sluice_dataset *dataset = NULL;
            tape t;

            T_OK(dataset_begin(&stage_script, "", &dataset));
            add_filter(dataset, "picky", play, "label", &what);
            T_OK(sluice_dataset_add(dataset, "batch 4 drop_remainder=true"));
            t = record_own(dataset, &(run_options){.workers = worker_counts[workers]});
            T_STATUS(t.end, cases[i].status);
            T_CONTAINS(t.error, cases[i].words);
            free(t.bytes);
        }
    }
}

/* Among them the two values that *keep_out has before the calls. */
static const uint32_t keeping[] = {1, UINT32_MAX, 256, INT32_MIN, 0x6B656570, 0xF117E4ED};

static sluice_status keep_by_number(sluice_sample *sample, uint32_t *keep_out, void *user)
{
    (void)user;
    *keep_out = keeping[sluice_sample_number(sample) % (sizeof(keeping) / sizeof(keeping[0]))];
    return SLUICE_OK;
}

static void any_number_but_0_keeps(void)
{
    sluice_dataset *dataset = NULL;
    tape t;

    script_reset(24, GOOD);
    T_OK(dataset_begin(&stage_script, "", &dataset));
    add_filter(dataset, "numbers", keep_by_number, "label", NULL);
    T_OK(sluice_dataset_add(dataset, "batch 4 drop_remainder=true"));
    t = record_own(dataset, &(run_options){.passes = 1});
    T_STATUS(t.end, SLUICE_END_OF_DATA);
    T_EQ(t.batches, 6);
    free(t.bytes);
}

/* Keeps fewer than at the time of the checkpoint. */
static void a_filter_that_keeps_less_than_was_done_is_told(void)
{
    trick what = KEEPS_THREE;
    sluice_dataset *dataset = NULL;

    script_reset(20, GOOD);
    T_OK(dataset_begin(&stage_script, "", &dataset));
    add_filter(dataset, "picky", play, NULL, &what);
    T_OK(sluice_dataset_add(dataset, "batch 2 drop_remainder=true"));
    batches_to_error(dataset, &(run_options){.first_step = 4, .resumes = true}, SLUICE_E_INVALID,
                     "filter: it keeps 3 samples of a pass of which 8 were done before");
}

static void a_resumed_run_logs_how_long_filters_took(void)
{
    sluice_dataset *dataset;
    const char *log;
    tape t;

    script_reset(60, GOOD);
    dataset = filtered_dataset(NULL, BY_LABEL, 4, true);
    sluice_log_set_level(SLUICE_LOG_INFO);
    kit_log_start(NULL, NULL);
    t = record_own(dataset, &(run_options){.first_step = 3, .resumes = true});
    log = kit_log_stop();
    sluice_log_set_level(SLUICE_LOG_WARN);
    T_STATUS(t.end, SLUICE_END_OF_DATA);
    T_CONTAINS(log, "filters are called again from the beginning of the pass: 12 samples that they "
                    "keep were done");
    T_CONTAINS(log, "replayed 3 batches: ");
    free(t.bytes);
}

/* ---- what is refused ------------------------------------------------------------------------- */

static sluice_status add(sluice_dataset *dataset, const char *input)
{
    const char *const inputs[] = {input};
    sluice_filter filter;

    sluice_filter_init(&filter);
    filter.name = "third";
    filter.inputs = inputs;
    filter.input_count = 1;
    filter.filter = keep_by_label;
    return sluice_dataset_filter(dataset, &filter);
}

static void filters_that_cannot_stand_there_are_refused(void)
{
    static const struct {
        const char *pipeline;
        const char *input;
        const char *behind; /* a stage that is added; NULL: the filter is refused */
        const char *words;
    } cases[] = {
        {"synthetic 20 8,8,3 2", "colour", NULL,
         "third: there is no column 'colour'; there are image, label"},
        {"synthetic 20 8,8,3 2", "label", "shuffle", "shuffle comes after a filter; put it before"},
        {"synthetic 20 8,8,3 2", "label", "take 3", "take comes after a filter; put it before"},
        {"synthetic 20 8,8,3 2 | to_chw", "image", "center_crop 2",
         "third: it works on image, before a crop, resize, flip or colour stage"},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        sluice_dataset *dataset = NULL;
        sluice_status st;

        T_OK(sluice_dataset_parse(cases[i].pipeline, &dataset));
        st = add(dataset, cases[i].input);
        if (cases[i].behind != NULL) {
            T_OK(st);
            st = sluice_dataset_add(dataset, cases[i].behind);
        }
        T_STATUS(st, SLUICE_E_INVALID);
        T_CONTAINS(sluice_last_error(), cases[i].words);
        sluice_dataset_destroy(dataset);
    }
}

static void ranks_with_shards_of_their_own_are_refused(void)
{
    sluice_dataset *dataset;
    sli_plan *plan;

    script_reset(20, GOOD);
    dataset = filtered_dataset("shard", BY_LABEL, 4, true);
    T_STATUS(sli_plan_open(dataset, &(sli_run_settings){.world = 2}, &plan), SLUICE_E_UNSUPPORTED);
    T_CONTAINS(sluice_last_error(), "filter comes after shard in a run of 2 ranks");
    T_CONTAINS(sluice_last_error(),
               "leave shard out: ranks take the samples that the filter keeps");
    sluice_dataset_destroy(dataset);
}

static void incomplete_filters_are_refused(void)
{
    sluice_dataset *dataset = NULL;
    sluice_filter filter;

    sluice_filter_init(&filter);
    T_OK(sluice_dataset_parse("synthetic 20 8,8,3 2", &dataset));
    T_STATUS(sluice_dataset_filter(NULL, &filter), SLUICE_E_INVALID);
    T_STATUS(sluice_dataset_filter(dataset, NULL), SLUICE_E_INVALID);
    sluice_dataset_destroy(dataset);

    T_OK(sluice_dataset_parse("synthetic 20 8,8,3 2", &dataset));
    filter.name = "third";
    T_STATUS(sluice_dataset_filter(dataset, &filter), SLUICE_E_INVALID);
    T_CONTAINS(sluice_last_error(), "sluice_dataset_filter: third: filter is NULL");
    sluice_dataset_destroy(dataset);
}

/* Its text is that of a checkpoint, which names version and name. */
static void a_text_names_a_filter_but_cannot_add_it(void)
{
    sluice_dataset *dataset = NULL;
    char *text = NULL;

    script_reset(20, GOOD);
    dataset = filtered_dataset(NULL, BY_LABEL, 4, true);
    T_OK(sluice_dataset_describe(dataset, &text));
    T_CONTAINS(text, "| filter name=third version=1 |");
    sluice_string_free(text);
    T_OK(sli_stages_compare("filter name=third version=1", "filter name=third version=1"));
    T_STATUS(sli_stages_compare("filter name=third version=1", "filter name=third version=2"),
             SLUICE_E_INVALID);
    T_CONTAINS(sluice_last_error(), "version");
    sluice_dataset_destroy(dataset);
    T_STATUS(sluice_dataset_parse("synthetic 20 8,8,3 2 | filter name=third", &dataset),
             SLUICE_E_INVALID);
}

const t_test filter_errors_tests[] = {
    T_TEST(a_bad_sample_ends_the_run_in_its_turn),
    T_TEST(a_bad_sample_keeps_its_turn),
    T_TEST(a_bad_sample_is_replaced_by_the_next_that_is_kept),
    T_TEST(a_pass_of_bad_samples_has_no_valid_data),
    T_TEST(mistakes_of_a_filter_are_named),
    T_TEST(any_number_but_0_keeps),
    T_TEST(a_filter_that_keeps_less_than_was_done_is_told),
    T_TEST(a_resumed_run_logs_how_long_filters_took),
    T_TEST(filters_that_cannot_stand_there_are_refused),
    T_TEST(ranks_with_shards_of_their_own_are_refused),
    T_TEST(incomplete_filters_are_refused),
    T_TEST(a_text_names_a_filter_but_cannot_add_it),
    T_END,
};
