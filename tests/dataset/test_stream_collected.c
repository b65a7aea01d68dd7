/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Filters, pack and bucket on streams: the batches are those of the same samples of a source that
 * reads them by their numbers.
 */
#include <stdlib.h>

#include "dataset_kit.h"
#include "engine_kit.h"
#include "filter_kit.h"
#include "generator_kit.h"
#include "map_kit.h"
#include "shard_kit.h"
#include "stream_kit.h"
#include "testing.h"

enum { MANY = 100 };

/* ---- pipelines ------------------------------------------------------------------------------- */

static sluice_status keep_by_number(sluice_sample *sample, uint32_t *keep_out, void *user)
{
    sluice_sample_view number;
    const sluice_status st = sluice_sample_get(sample, "number", &number);

    (void)user;
    if (st == SLUICE_OK) {
        *keep_out = *(const int64_t *)number.data % 3 != 0;
    }
    return st;
}

static sluice_status keep_by_sum(sluice_sample *sample, uint32_t *keep_out, void *user)
{
    sluice_sample_view sum;
    const sluice_status st = sluice_sample_get(sample, "sum", &sum);

    (void)user;
    if (st == SLUICE_OK) {
        *keep_out = *(const int64_t *)sum.data % 4 != 1;
    }
    return st;
}

static sluice_status add_words(sluice_sample *sample, void *user)
{
    sluice_sample_view words;
    int64_t sum = 0;
    sluice_status st = sluice_sample_get(sample, "words", &words);

    (void)user;
    for (uint64_t i = 0; st == SLUICE_OK && i < words.shape[0]; i++) {
        sum += ((const uint16_t *)words.data)[i];
    }
    return st == SLUICE_OK ? give_i64(sample, "sum", sum) : st;
}

typedef enum collected_stage {
    EARLY,
    LATE,
    PACK,
    PACK_WHOLE,
    PACK_FILTERED,
    BUCKET,
    BUCKET_LATE,
    STAGES
} collected_stage;

static const char *const stage_names[STAGES] = {
    "filter",          "filter after a map", "pack",           "pack split=false",
    "filter and pack", "filter and bucket",  "bucket by a map"};

static void add_stage(sluice_dataset *dataset, collected_stage stage)
{
    static const sluice_column_spec sum = {.name = "sum", .dtype = SLUICE_I64};
    static const char *const words[] = {"words"};

    if (stage == EARLY || stage == PACK_FILTERED || stage == BUCKET) {
        add_filter(dataset, "third", keep_by_number, "number", NULL);
    } else if (stage == LATE || stage == BUCKET_LATE) {
        add_map(dataset, "add", add_words, words, 1, &sum, 1, NULL);
    }
    if (stage == LATE) {
        add_filter(dataset, "by_sum", keep_by_sum, "sum", NULL);
    }
    if (stage == PACK || stage == PACK_FILTERED) {
        T_OK(sluice_dataset_add(dataset, "pack words 8"));
    } else if (stage == PACK_WHOLE) {
        T_OK(sluice_dataset_add(dataset, "pack words 10 split=false"));
    } else if (stage == BUCKET) {
        T_OK(sluice_dataset_add(dataset, "bucket words_length edges=3,6"));
    } else if (stage == BUCKET_LATE) {
        T_OK(sluice_dataset_add(dataset, "bucket sum edges=50,200"));
    }
}

static sluice_dataset *collected(generator *g, bool is_stream, collected_stage stage,
                                 const char *first, const char *batch)
{
    sluice_dataset *dataset = is_stream ? generator_dataset(g, first) : generator_twin(g, first);

    add_stage(dataset, stage);
    T_OK(sluice_dataset_add(dataset, batch));
    return dataset;
}

static tape record_one(bool is_stream, collected_stage stage, const char *batch,
                       bool (*is_bad)(uint64_t sample), const run_options *options)
{
    generator g = {.samples = MANY, .repeats = true, .is_bad = is_bad};
    const tape t = record_own(collected(&g, is_stream, stage, "skip 2", batch), options);

    T_EQ(atomic_load(&g.open), 0);
    T_EQ(atomic_load(&g.overlaps), 0);
    return t;
}

/* ---- the same batches ------------------------------------------------------------------------ */

static void check_same(collected_stage stage, const char *batch, run_options *options)
{
    tape want;

    options->workers = 1;
    options->device = devices[0];
    want = record_one(false, stage, batch, NULL, options);
    T_EQ(want.end, SLUICE_END_OF_DATA);
    T_TRUE(want.batches > 3);
    for (uint32_t i = 0; i < 4; i++) {
        tape got;

        options->workers = i + 1;
        options->device = devices[i % 2];
        got = record_one(true, stage, batch, NULL, options);
        check_equal_tapes(&got, &want, stage_names[stage]);
        free(got.bytes);
    }
    free(want.bytes);
}

static void batches_are_those_of_samples_by_their_numbers(void)
{
    for (collected_stage stage = 0; stage < STAGES; stage++) {
        for (int drop = 0; drop < 2; drop++) {
            run_options options = {
                .passes = 3, .batches = UINT64_MAX, .settings = {.world = 1, .seed = 5}};

            check_same(stage, drop ? "batch 4 drop_remainder=true" : "batch 4", &options);
        }
    }
}

static void ranks_take_turns(void)
{
    for (collected_stage stage = 0; stage < STAGES; stage++) {
        for (uint32_t rank = 0; rank < 3; rank++) {
            run_options options = {.passes = 2,
                                   .batches = UINT64_MAX,
                                   .settings = {.world = 3, .rank = rank, .seed = 5}};

            check_same(stage, rank == 1 ? "batch 2 drop_remainder=true" : "batch 2", &options);
        }
    }
}

/* Pass p of the generator has 2 * p samples more. */
static void passes_may_differ_in_length(void)
{
    for (uint32_t workers = 1; workers < 4; workers++) {
        generator g = {.samples = 20, .varies_by = 2};
        engine_run run;

        open_own(&run, collected(&g, true, EARLY, "skip 1", "batch 4"),
                 &(run_options){.workers = workers, .passes = 5, .batches = UINT64_MAX});
        for (uint64_t pass = 0; pass < 5; pass++) {
            uint32_t row = 4;

            for (uint64_t i = 1; i < 20 + 2 * pass; i++) {
                if ((pass * 1000 + i) % 3 == 0) {
                    continue;
                }
                if (row == 4) {
                    T_OK(next_batch(&run));
                    T_EQ(run.input.header->pass, pass);
                    row = 0;
                }
                T_EQ(*(const int64_t *)row_of(&run, 0, row), pass * 1000 + i);
                T_EQ(run.input.samples[row++], i);
            }
            T_EQ(run.input.header->valid_rows, row);
        }
        T_EQ(next_batch(&run), SLUICE_END_OF_DATA);
        close_run(&run);
        T_EQ(atomic_load(&g.passes), 5);
    }
}

static void an_endless_stream_gives_as_many_batches_as_are_asked_for(void)
{
    for (collected_stage stage = 0; stage < STAGES; stage++) {
        generator g = {.samples = 0};
        tape t = record_own(collected(&g, true, stage, "skip 1", "batch 4"),
                            &(run_options){.workers = 3, .batches = 50});

        T_EQ(t.end, SLUICE_END_OF_DATA);
        T_EQ(t.batches, 50);
        free(t.bytes);
        T_EQ(atomic_load(&g.open), 0);
    }
}

/* From batch `first` of `want` on; the last of it, and later ones, are not there. */
static void check_begin(bool is_stream, collected_stage stage, const char *batch, const tape *want,
                        const run_options *options)
{
    const uint64_t first = options->first_step;
    tape got = record_one(is_stream, stage, batch, NULL, options);

    if (first > want->batches) {
        T_STATUS(got.end, SLUICE_E_INVALID);
        T_CONTAINS(got.error, "begin earlier, or raise the number of epochs or passes");
    } else {
        T_STATUS(got.end, SLUICE_END_OF_DATA);
        T_EQ(got.batches, want->batches - first);
        T_TRUE(got.size == 0 ||
               memcmp(got.bytes, want->bytes + (want->size - got.size), got.size) == 0);
    }
    free(got.bytes);
}

/* From any batch on, of any pass; the last kind of pipeline is the source alone. */
static void a_run_may_begin_after_any_batch(void)
{
    for (collected_stage stage = 0; stage <= STAGES; stage++) {
        const char *const batch = stage % 2 == 0 ? "batch 12" : "batch 12 drop_remainder=true";

        for (int is_stream = stage == STAGES; is_stream < 2; is_stream++) {
            run_options options = {.workers = 2, .passes = 3, .batches = UINT64_MAX};
            tape want = record_one(is_stream, stage, batch, NULL, &options);

            T_TRUE(want.batches >= 3 * 3);
            for (options.first_step = 1; options.first_step < want.batches + 3;
                 options.first_step++) {
                options.workers = (uint32_t)options.first_step % 4 + 1;
                check_begin(is_stream, stage, batch, &want, &options);
            }
            free(want.bytes);
        }
    }
}

static void ranks_begin_after_the_same_batch(void)
{
    for (collected_stage stage = 0; stage <= STAGES; stage++) {
        const char *const batch = stage % 2 == 1 ? "batch 3" : "batch 3 drop_remainder=true";

        for (uint32_t rank = 0; rank < 3; rank++) {
            run_options options = {.workers = 2,
                                   .passes = 2,
                                   .batches = UINT64_MAX,
                                   .settings = {.rank = rank, .world = 3}};
            tape want = record_one(true, stage, batch, NULL, &options);

            for (options.first_step = 1 + rank; options.first_step < want.batches + 2;
                 options.first_step += 3) {
                check_begin(true, stage, batch, &want, &options);
            }
            free(want.bytes);
        }
    }
}

static sluice_status keep_third(sluice_sample *sample, uint32_t *keep_out, void *user)
{
    (void)user;
    *keep_out = third_keeps(sluice_sample_number(sample));
    return SLUICE_OK;
}

/* Shards that are read in sequence, and by an index. */
static void shards_in_sequence_give_what_their_index_gives(void)
{
    const char *path = t_path(t_folder(), "x.tar");

    make_image_shard(path, 0, 40);
    for (int late = 0; late < 2; late++) {
        tape want = {0};

        for (uint32_t i = 0; i < 5; i++) {
            sluice_dataset *dataset =
                web_dataset(i == 0 ? "webdataset @ index=none | decode | center_crop 2"
                                   : "webdataset @ access=stream | decode | center_crop 2",
                            path);
            tape got;

            add_filter(dataset, "third", keep_third, late ? "image" : "label", NULL);
            T_OK(sluice_dataset_add(dataset, "batch 4"));
            got = record_own(dataset,
                             &(run_options){.workers = i, .passes = 2, .batches = UINT64_MAX});
            if (i == 0) {
                want = got;
                T_EQ(want.batches, 14);
                continue;
            }
            check_equal_tapes(&got, &want, late ? "by pixels" : "by label");
            free(got.bytes);
        }
        free(want.bytes);
    }
}

/* Memory for samples of a stream, with that stage and 2 workers. *row_out: that of a row. */
static uint64_t memory_with(const char *stage, uint64_t *row_out)
{
    const sli_run_settings settings = {.world = 1};
    generator g = {.samples = MANY};
    sluice_dataset *dataset = generator_dataset(&g, stage);
    sli_plan *plan;
    uint64_t bytes;

    T_OK(sluice_dataset_add(dataset, "batch 100"));
    T_OK(sli_plan_open(dataset, &settings, &plan));
    bytes = sli_plan_stream_memory(plan, 2);
    *row_out = plan->details->dealing.own_row_bytes;
    sli_plan_close(plan);
    sluice_dataset_destroy(dataset);
    return bytes;
}

static void samples_that_wait_in_buckets_count_as_memory(void)
{
    uint64_t row;
    const uint64_t none = memory_with("skip 0", &row);
    const uint64_t two = memory_with("bucket words_length edges=5", &row);
    const uint64_t four = memory_with("bucket words_length edges=2,4,6", &row);

    T_TRUE(row >= 8 + 4 + 2 * GENERATOR_WORDS + 8);
    T_EQ(two - none, (2 * 100 + 2 * 10) * row);
    T_EQ(four - none, (4 * 100 + 2 * 10) * row);
}

/* ---- bad samples ----------------------------------------------------------------------------- */

static bool is_bad(uint64_t sample)
{
    return sample % 10 == 4 || sample == 25 || sample == MANY - 2;
}

static bool is_bucket(collected_stage stage)
{
    return stage == BUCKET || stage == BUCKET_LATE;
}

static void bad_samples_are_those_of_samples_by_their_numbers(void)
{
    for (int i = 0; i < 2 * STAGES; i++) {
        const collected_stage stage = (collected_stage)(i / 2);
        const char *batch = i % 2 == 0 ? "batch 4" : "batch 1";

        for (int policy = SLI_ON_ERROR_FAIL; policy <= SLI_ON_ERROR_ZERO; policy += 2) {
            run_options options = {.passes = 2,
                                   .batches = UINT64_MAX,
                                   .settings = {.world = 1, .on_error = (sli_error_policy)policy}};
            const tape want = record_one(false, stage, batch, is_bad, &options);

            for (options.workers = 1; options.workers < 4; options.workers++) {
                tape got = record_one(true, stage, batch, is_bad, &options);

                T_EQ(got.end, want.end);
                T_EQ(got.errors.zeroed, want.errors.zeroed);
                T_EQ(got.batches, want.batches);
                T_EQ(got.size, want.size);
                T_TRUE(got.size == 0 || memcmp(got.bytes, want.bytes, got.size) == 0);
                if (policy == SLI_ON_ERROR_FAIL) {
                    T_STATUS(got.end, SLUICE_E_IO);
                    T_CONTAINS(got.error, "my_stream/4: my_stream: next() returned E_IO");
                }
                free(got.bytes);
            }
            free(want.bytes);
        }
    }
}

/* The next good row of the batch; with pack the next document takes the place. */
static void policy_replace_needs_no_sample_by_its_number(void)
{
    for (collected_stage stage = 0; stage < STAGES; stage++) {
        run_options options = {.workers = 1,
                               .settings = {.world = 1, .on_error = SLI_ON_ERROR_REPLACE}};
        const tape want = record_one(true, stage, "batch 4", is_bad, &options);

        T_EQ(want.end, SLUICE_END_OF_DATA);
        T_EQ(want.errors.replaced + want.errors.zeroed, 12);
        T_TRUE(want.errors.zeroed <= is_bucket(stage)); /* the only sample of its last batch */
        for (options.workers = 2; options.workers < 5; options.workers++) {
            tape got = record_one(true, stage, "batch 4", is_bad, &options);

            check_equal_tapes(&got, &want, stage_names[stage]);
            T_EQ(got.errors.replaced, want.errors.replaced);
            free(got.bytes);
        }
        free(want.bytes);
    }
}

/* ---- errors and stops ------------------------------------------------------------------------ */

static sluice_status keep_none(sluice_sample *sample, uint32_t *keep_out, void *user)
{
    (void)sample;
    (void)user;
    *keep_out = 0;
    return SLUICE_OK;
}

/* Also where some ranks have a full batch that waits for the turns of others. */
static void all_ranks_end_after_the_same_batch(void)
{
    for (uint32_t i = 0; i < STAGES * 8; i++) {
        const uint32_t world = 2 + i / STAGES % 4;
        uint64_t batches = 0;

        for (uint32_t rank = 0; rank < world; rank++) {
            const run_options options = {
                .workers = 1 + i % 3,
                .batches = UINT64_MAX,
                .settings = {.rank = rank, .world = world, .on_error = SLI_ON_ERROR_ZERO}};
            generator g = {.samples = 50, .fault = OUT_OF_MEMORY};
            sluice_dataset *dataset = collected(&g, true, (collected_stage)(i % STAGES), "skip 0",
                                                i / STAGES < 4 ? "batch 1 drop_remainder=true"
                                                               : "batch 2 drop_remainder=true");
            const uint64_t got =
                batches_to_error(dataset, &options, SLUICE_E_NO_MEMORY, "no room for anything");

            batches = rank == 0 ? got : batches;
            T_EQ(got, batches);
        }
    }
}

static void a_pass_without_a_kept_sample_is_an_error(void)
{
    generator g = {.samples = 50};
    sluice_dataset *dataset = generator_dataset(&g, "skip 2");

    add_filter(dataset, "none", keep_none, NULL, NULL);
    T_OK(sluice_dataset_add(dataset, "batch 4"));
    batches_to_error(dataset, &(run_options){.workers = 2, .batches = UINT64_MAX}, SLUICE_E_INVALID,
                     "filters keep 0 of the 48 samples of a pass, and make no batch of 4");
}

static void an_error_of_the_stream_ends_the_run_after_the_samples_before(void)
{
    for (collected_stage stage = 0; stage < STAGES; stage++) {
        uint64_t batches = 0;

        for (uint32_t workers = 1; workers < 4; workers++) {
            generator g = {.samples = 50, .fault = OUT_OF_MEMORY};
            tape t = record_own(collected(&g, true, stage, "skip 0", "batch 2"),
                                &(run_options){.workers = workers,
                                               .batches = UINT64_MAX,
                                               .settings.on_error = SLI_ON_ERROR_ZERO});

            T_STATUS(t.end, SLUICE_E_NO_MEMORY);
            T_CONTAINS(t.error, "read: ");
            T_CONTAINS(t.error, "no room for anything");
            T_TRUE((t.batches > 0 || stage == PACK_FILTERED) &&
                   (workers == 1 || t.batches == batches));
            batches = t.batches;
            free(t.bytes);
            T_EQ(atomic_load(&g.open), 0);
        }
    }
}

static void a_pass_that_cannot_be_opened_ends_the_run(void)
{
    generator g = {.samples = 50, .open_status = SLUICE_E_IO};
    T_EQ(batches_to_error(collected(&g, true, PACK, "skip 0", "batch 2"),
                          &(run_options){.workers = 3, .batches = UINT64_MAX}, SLUICE_E_IO,
                          "my_stream: open_pass() returned E_IO: the log is gone"),
         0);
}

static void a_stop_wakes_a_function_that_waits_for_data(void)
{
    for (collected_stage stage = 0; stage < STAGES; stage++) {
        generator g = {.samples = 20, .waits = true};
        engine_run run;

        open_own(&run, collected(&g, true, stage, "skip 0", "batch 2"),
                 &(run_options){.workers = 3, .batches = UINT64_MAX});
        T_OK(next_batch(&run));
        T_OK(next_batch(&run));
        sli_engine_stop(run.engine);
        close_run(&run);
        T_EQ(atomic_load(&g.open), 0);
    }
}

/* Such a sample is larger than what workers take at once, and than what they hold unbounded. */
static sluice_status give_large(sluice_sample *sample, void *pass, void *user)
{
    const uint64_t bytes = UINT64_C(9) << 20;
    uint64_t *next = user;
    void *room = NULL;
    sluice_status st;

    (void)pass;
    if (*next == 12) {
        return SLUICE_END_OF_DATA;
    }
    st = sluice_sample_room(sample, "blob", &bytes, &room);
    if (st == SLUICE_OK) {
        memset(room, (int)*next, 100);
        st = give_i64(sample, "number", (int64_t)(*next)++);
    }
    return st;
}

static void large_samples_share_their_budget(void)
{
    static const sluice_column_spec columns[] = {
        {.name = "blob", .dtype = SLUICE_U8, .rank = 1, .shape = {10 << 20}, .ragged = 1},
        {.name = "number", .dtype = SLUICE_I64}};
    uint64_t next = 0;
    sluice_source source;
    sluice_dataset *dataset;
    tape t;

    sluice_source_init(&source);
    source.name = "large";
    source.columns = columns;
    source.column_count = 2;
    source.next = give_large;
    source.user = &next;
    dataset = custom_dataset(&source, "skip 0");
    add_filter(dataset, "third", keep_by_number, "number", NULL);
    T_OK(sluice_dataset_add(dataset, "project number | batch 2"));
    t = record_own(dataset, &(run_options){.workers = 4, .batches = UINT64_MAX});
    T_EQ(t.end, SLUICE_END_OF_DATA);
    T_EQ(t.batches, 4);
    free(t.bytes);
}

const t_test stream_collected_tests[] = {
    T_TEST(batches_are_those_of_samples_by_their_numbers),
    T_TEST(ranks_take_turns),
    T_TEST(passes_may_differ_in_length),
    T_TEST(an_endless_stream_gives_as_many_batches_as_are_asked_for),
    T_TEST(a_run_may_begin_after_any_batch),
    T_TEST(ranks_begin_after_the_same_batch),
    T_TEST(shards_in_sequence_give_what_their_index_gives),
    T_TEST(samples_that_wait_in_buckets_count_as_memory),
    T_TEST(bad_samples_are_those_of_samples_by_their_numbers),
    T_TEST(policy_replace_needs_no_sample_by_its_number),
    T_TEST(a_pass_without_a_kept_sample_is_an_error),
    T_TEST(an_error_of_the_stream_ends_the_run_after_the_samples_before),
    T_TEST(all_ranks_end_after_the_same_batch),
    T_TEST(a_pass_that_cannot_be_opened_ends_the_run),
    T_TEST(a_stop_wakes_a_function_that_waits_for_data),
    T_TEST(large_samples_share_their_budget),
    T_END,
};
