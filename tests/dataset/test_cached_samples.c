/* SPDX-License-Identifier: Apache-2.0 */
/* The stage cache: batches are those of the pipeline without it, and later passes read nothing. */
#include <stdlib.h>

#include "custom_kit.h"
#include "dataset_kit.h"
#include "dataset_state.h"
#include "engine_kit.h"
#include "sample_cache.h"
#include "testing.h"
#include "train_kit.h"

enum { SAMPLES = 20, PASSES = 3 };

/* What a run of some passes gave, and what it did with its cache. */
typedef struct cached_run {
    tape tape;
    sli_cache_counts cache;
    bool has_cache;
    uint64_t read;    /* samples read */
    uint64_t decoded; /* images decoded */
    uint64_t bytes_read;
} cached_run;

static uint64_t count_of(const engine_run *run, uint32_t stage)
{
    sli_stage_summary summary;

    sli_profile_summarise(&run->profile, stage, &summary);
    return summary.samples;
}

static cached_run run_passes(sluice_dataset *dataset, const run_options *options)
{
    cached_run r = {.has_cache = false};
    engine_run run;

    open_run(&run, dataset, options);
    while ((r.tape.end = next_batch(&run)) == SLUICE_OK) {
        tape_batch(&r.tape, &run);
    }
    sli_engine_stop(run.engine);
    sli_profile_stop(&run.profile);
    r.has_cache = sli_engine_cache(run.engine, &r.cache);
    r.read = count_of(&run, PLAN_READ);
    r.decoded = count_of(&run, PLAN_DECODE);
    r.bytes_read = sli_engine_bytes_read(run.engine);
    sli_engine_errors_get(run.engine, &r.tape.errors);
    close_run(&run);
    return r;
}

/* Stages with and without a cache, between two texts. */
typedef struct cached_case {
    const char *before;
    const char *after;
    bool decoded; /* the cache keeps pixels */
} cached_case;

static const cached_case image_cases[] = {
    {"shuffle", "decode | random_resized_crop 16 | random_horizontal_flip | batch 5", false},
    {"decode | shuffle", "random_resized_crop 16 | random_horizontal_flip | to_chw | batch 5",
     true},
    {"decode | resize 24", "random_crop 20 | normalize imagenet | batch 5", true},
    {"decode | center_crop 18", "shuffle | random_crop 18 padding=2 | color_jitter 0.4 | batch 5",
     true},
    {"decode gray | resize 24,20 | center_crop 16", "batch 5", true},
    {"decode | letterbox 24", "random_resized_crop 17,19 | to_dtype f16 | batch 5", true},
    {"decode | resize 30,30 | center_crop 44", "resize 10,10 | random_crop 8 | batch 5", true},
    {"decode fast_scale=true | resize 10,10", "random_crop 8 | batch 5", true},
};

static sluice_dataset *cached_dataset(const char *folder, const cached_case *c, const char *bytes)
{
    char stages[500];

    snprintf(stages, sizeof(stages), bytes != NULL ? "%s | cache %s | %s" : "%s%.0s | %s",
             c->before, bytes != NULL ? bytes : "", c->after);
    return folder_dataset(folder, stages);
}

static void batches_are_those_without_a_cache(void)
{
    char folder[300];

    snprintf(folder, sizeof(folder), "%s", t_folder());
    sluice_dataset_destroy(jpeg_dataset(folder, "decode | resize 8,8 | batch 4"));
    for (size_t i = 0; i < COUNT(image_cases); i++) {
        for (size_t w = 0; w < COUNT(worker_counts); w++) {
            const run_options options = {.workers = worker_counts[w],
                                         .settings = {.seed = 5, .world = 1},
                                         .batches = PASSES * SAMPLES / 5};
            sluice_dataset *plain = cached_dataset(folder, &image_cases[i], NULL);
            sluice_dataset *cached = cached_dataset(folder, &image_cases[i], "4M");
            cached_run want = run_passes(plain, &options);
            cached_run got = run_passes(cached, &options);
            cached_run again = run_passes(cached, &options);

            check_equal_tapes(&got.tape, &want.tape, image_cases[i].before);
            check_equal_tapes(&again.tape, &want.tape, image_cases[i].before);
            T_TRUE(!want.has_cache && got.has_cache);
            T_EQ(got.cache.entries, SAMPLES);
            T_EQ(got.cache.hits + got.cache.misses, PASSES * SAMPLES);
            T_TRUE(got.cache.misses >= SAMPLES);
            T_EQ(again.cache.hits, PASSES * SAMPLES);
            T_EQ(again.bytes_read, 0);
            T_EQ(again.decoded, image_cases[i].decoded ? 0 : PASSES * SAMPLES);
            free(want.tape.bytes);
            free(got.tape.bytes);
            free(again.tape.bytes);
            sluice_dataset_destroy(plain);
            sluice_dataset_destroy(cached);
        }
    }
}

static void one_worker_reads_each_sample_once(void)
{
    const run_options options = {.settings = {.seed = 5, .world = 1},
                                 .batches = PASSES * SAMPLES / 5};
    char folder[300];

    snprintf(folder, sizeof(folder), "%s", t_folder());
    sluice_dataset_destroy(jpeg_dataset(folder, "decode | resize 8,8 | batch 4"));
    for (size_t i = 0; i < COUNT(image_cases); i++) {
        sluice_dataset *dataset = cached_dataset(folder, &image_cases[i], "4M");
        cached_run r = run_passes(dataset, &options);

        T_EQ(r.cache.misses, SAMPLES);
        T_EQ(r.cache.hits, (PASSES - 1) * SAMPLES);
        T_EQ(r.decoded, image_cases[i].decoded ? SAMPLES : PASSES * SAMPLES);
        free(r.tape.bytes);
        sluice_dataset_destroy(dataset);
    }
}

static void a_small_cache_keeps_a_part_of_the_samples(void)
{
    const run_options options = {
        .workers = 3, .settings = {.seed = 5, .world = 1}, .batches = PASSES * SAMPLES / 5};
    char folder[300];

    snprintf(folder, sizeof(folder), "%s", t_folder());
    sluice_dataset_destroy(jpeg_dataset(folder, "decode | resize 8,8 | batch 4"));
    for (size_t i = 0; i < COUNT(image_cases); i++) {
        sluice_dataset *plain = cached_dataset(folder, &image_cases[i], NULL);
        sluice_dataset *cached = cached_dataset(folder, &image_cases[i], "8K");
        cached_run want = run_passes(plain, &options);
        cached_run got = run_passes(cached, &options);

        check_equal_tapes(&got.tape, &want.tape, image_cases[i].before);
        T_TRUE(got.cache.is_full && got.cache.bytes <= got.cache.limit);
        T_TRUE(got.cache.entries < SAMPLES && got.cache.entries > 0);
        free(want.tape.bytes);
        free(got.tape.bytes);
        sluice_dataset_destroy(plain);
        sluice_dataset_destroy(cached);
    }
}

/* ---- sources of arrays ----------------------------------------------------------------------- */

/* Like custom_read_arrays(), without random numbers. */
static sluice_status read_arrays(sluice_sample *sample, uint64_t index, void *user)
{
    const float points[3] = {(float)index, 1, 0}; /* the zero is at the end */
    const int64_t number = (int64_t)index * (index % 2 == 0 ? 1000 : -1);
    void *room;
    sluice_status st = sluice_sample_room(sample, "points", NULL, &room);

    (void)user;
    if (st == SLUICE_OK) {
        memcpy(room, points, sizeof(points));
        st = sluice_sample_room(sample, "number", NULL, &room);
    }
    if (st == SLUICE_OK) {
        memcpy(room, &number, sizeof(number));
    }
    return st;
}

static void columns_are_kept_without_an_image(void)
{
    const run_options options = {
        .workers = 2, .settings = {.seed = 5, .world = 1}, .batches = PASSES * CUSTOM_SAMPLES / 4};
    custom_arrays arrays = {.fault = NO_FAULT};
    sluice_source source = custom_arrays_source(&arrays);
    sluice_dataset *plain;
    sluice_dataset *cached;
    cached_run want;
    cached_run got;

    source.read = read_arrays;
    plain = custom_dataset(&source, "shuffle | cast number i32 | batch 4");
    cached = custom_dataset(&source, "shuffle | cache 64K | cast number i32 | batch 4");
    want = run_passes(plain, &options);
    got = run_passes(cached, &options);

    check_equal_tapes(&got.tape, &want.tape, "arrays");
    T_EQ(got.cache.entries, CUSTOM_SAMPLES);
    T_TRUE(got.cache.hits >= CUSTOM_SAMPLES);
    free(want.tape.bytes);
    free(got.tape.bytes);
    sluice_dataset_destroy(plain);
    sluice_dataset_destroy(cached);
}

static void raw_images_are_kept(void)
{
    static const char plain_text[] =
        "synthetic samples=20 classes=3 shape=9,7,3 | random_crop 5 | batch 5";
    static const char cached_text[] =
        "synthetic samples=20 classes=3 shape=9,7,3 | cache 64K | random_crop 5 | batch 5";
    const run_options options = {
        .workers = 2, .settings = {.seed = 5, .world = 1}, .batches = PASSES * 4};
    sluice_dataset *plain = parsed(plain_text);
    sluice_dataset *cached = parsed(cached_text);
    cached_run want = run_passes(plain, &options);
    cached_run got = run_passes(cached, &options);

    check_equal_tapes(&got.tape, &want.tape, "synthetic");
    T_EQ(got.cache.entries, 20);
    free(want.tape.bytes);
    free(got.tape.bytes);
    sluice_dataset_destroy(plain);
    sluice_dataset_destroy(cached);
}

static void a_source_that_draws_random_numbers_is_refused(void)
{
    const run_options options = {.settings = {.world = 1, .on_error = SLI_ON_ERROR_ZERO}};
    custom_arrays arrays = {.fault = NO_FAULT};
    batches_to_error(custom_arrays_dataset(&arrays, "cache 64K | batch 4"), &options,
                     SLUICE_E_INVALID, "draws random numbers");
}

/* ---- ranks, bad samples, positions, single samples ------------------------------------------- */

static void ranks_and_filters_of_order_see_the_same(void)
{
    static const char *const orders[] = {"shuffle | take 13", "repeat 2 | shuffle",
                                         "split train 0.6", "weights label samples=30"};
    char folder[300];

    snprintf(folder, sizeof(folder), "%s", t_folder());
    sluice_dataset_destroy(jpeg_dataset(folder, "decode | resize 8,8 | batch 4"));
    for (size_t i = 0; i < COUNT(orders); i++) {
        for (uint32_t rank = 0; rank < 2; rank++) {
            const run_options options = {
                .workers = 2, .settings = {.seed = 9, .rank = rank, .world = 2}, .batches = 7};
            const cached_case c = {"decode | resize 24,24", "random_crop 20 | batch 3", true};
            char before[200];
            cached_case ordered = c;
            sluice_dataset *plain;
            sluice_dataset *cached;
            cached_run want;
            cached_run got;

            snprintf(before, sizeof(before), "%s | %s", orders[i], c.before);
            ordered.before = before;
            plain = cached_dataset(folder, &ordered, NULL);
            cached = cached_dataset(folder, &ordered, "4M");
            want = run_passes(plain, &options);
            got = run_passes(cached, &options);
            check_equal_tapes(&got.tape, &want.tape, orders[i]);
            free(want.tape.bytes);
            free(got.tape.bytes);
            sluice_dataset_destroy(plain);
            sluice_dataset_destroy(cached);
        }
    }
}

static void bad_samples_are_not_kept(void)
{
    static const cached_case cases[] = {
        {"shuffle", "decode | resize 24,24 | random_crop 20 | batch 5", false},
        {"shuffle | decode", "resize 24,24 | random_crop 20 | batch 5", true},
        {"shuffle | decode | resize 24,24", "random_crop 20 | batch 5", true},
    };
    static const sli_error_policy policies[] = {SLI_ON_ERROR_REPLACE, SLI_ON_ERROR_ZERO};
    char folder[300];

    snprintf(folder, sizeof(folder), "%s", t_folder());
    sluice_dataset_destroy(jpeg_dataset(folder, "decode | resize 8,8 | batch 4"));
    t_write_file(t_path(folder, "class_1/04.jpg"), "\xff\xd8\xff damaged", 11);
    for (size_t i = 0; i < COUNT(cases) * COUNT(policies); i++) {
        const cached_case *c = &cases[i / COUNT(policies)];
        const run_options options = {
            .workers = 2,
            .settings = {.seed = 9, .world = 1, .on_error = policies[i % COUNT(policies)]},
            .batches = PASSES * SAMPLES / 5};
        sluice_dataset *plain = cached_dataset(folder, c, NULL);
        sluice_dataset *cached = cached_dataset(folder, c, "4M");
        cached_run want = run_passes(plain, &options);
        cached_run got = run_passes(cached, &options);

        check_equal_tapes(&got.tape, &want.tape, c->before);
        T_EQ(got.tape.errors.replaced, want.tape.errors.replaced);
        T_EQ(got.tape.errors.zeroed, want.tape.errors.zeroed);
        T_EQ(got.tape.errors.replaced + got.tape.errors.zeroed, PASSES);
        T_EQ(got.cache.entries, SAMPLES - 1);
        free(want.tape.bytes);
        free(got.tape.bytes);
        sluice_dataset_destroy(plain);
        sluice_dataset_destroy(cached);
    }
}

static void a_sample_alone_uses_the_cache(void)
{
    const cached_case c = {"decode | resize 24,24", "random_crop 20 | batch 5", true};
    static uint8_t want[20 * 20 * 3];
    static uint8_t got[20 * 20 * 3];
    char folder[300];
    sluice_dataset *plain;
    sluice_dataset *cached;

    snprintf(folder, sizeof(folder), "%s", t_folder());
    sluice_dataset_destroy(jpeg_dataset(folder, "decode | resize 8,8 | batch 4"));
    plain = cached_dataset(folder, &c, NULL);
    cached = cached_dataset(folder, &c, "4M");
    for (uint64_t k = 0; k < 3 * SAMPLES; k++) {
        int32_t label[2] = {-1, -2};
        void *const columns[2][2] = {{want, &label[0]}, {got, &label[1]}};

        T_OK(sluice_dataset_get(plain, 3, k / SAMPLES, k % SAMPLES, columns[0], NULL));
        T_OK(sluice_dataset_get(cached, 3, k / SAMPLES, k % SAMPLES, columns[1], NULL));
        T_EQ(memcmp(want, got, sizeof(want)), 0);
        T_EQ(label[0], label[1]);
    }
    sluice_dataset_destroy(plain);
    sluice_dataset_destroy(cached);
}

/* The beginning of an entry, as sample_cached.c writes it. */
typedef struct entry_words {
    uint32_t image;
    uint32_t from_pack;
    uint32_t width;
    uint32_t height;
    uint32_t channels;
    uint32_t file_width;
    uint32_t file_height;
    uint8_t applied[4]; /* Exif orientations of the image and of its labels; two bytes unused */
    uint64_t columns_end;
    uint64_t image_at;
    uint64_t image_bytes;
} entry_words;

/* As another process may leave it in a shared cache: the sample is read again. */
static void a_damaged_image_is_not_taken(void)
{
    static const entry_words wrong[] = {
        {.width = 1U << 31,
         .height = 1U << 31,
         .channels = 4,
         .file_width = 24,
         .file_height = 24,
         .applied = {1, 1}},
        {.width = 0,
         .height = 24,
         .channels = 3,
         .file_width = 24,
         .file_height = 24,
         .applied = {1, 1}},
        {.width = 8,
         .height = 24,
         .channels = 9,
         .file_width = 24,
         .file_height = 24,
         .applied = {1, 1},
         .image_bytes = 24 * 24 * 3},
        {.width = 24, .height = 24, .channels = 3, .applied = {1, 1}, .image_bytes = 24 * 24 * 3},
        {.width = 24,
         .height = 24,
         .channels = 3,
         .file_width = 24,
         .file_height = 24,
         .applied = {1, 9},
         .image_bytes = 24 * 24 * 3},
    };
    const cached_case c = {"decode | resize 24,24", "random_crop 20 | batch 5", true};
    static uint8_t pixels[2][20 * 20 * 3];
    char folder[300];

    snprintf(folder, sizeof(folder), "%s", t_folder());
    sluice_dataset_destroy(jpeg_dataset(folder, "decode | resize 8,8 | batch 4"));
    for (size_t i = 0; i < COUNT(wrong); i++) {
        sluice_dataset *cached = cached_dataset(folder, &c, "4M");
        int32_t label;

        for (int time = 0; time < 2; time++) {
            size_t size = 0;
            entry_words *entry;

            T_OK(sluice_dataset_get(cached, 3, 0, 2, (void *const[]){pixels[time], &label}, NULL));
            entry = (entry_words *)(uintptr_t)sample_cache_find(cached->cache, 2, &size);
            T_TRUE(entry != NULL && size > sizeof(*entry));
            entry->width = wrong[i].width;
            entry->height = wrong[i].height;
            entry->channels = wrong[i].channels;
            entry->file_width = wrong[i].file_width;
            entry->file_height = wrong[i].file_height;
            memcpy(entry->applied, wrong[i].applied, sizeof(entry->applied));
            entry->image_bytes = wrong[i].image_bytes;
        }
        T_EQ(memcmp(pixels[0], pixels[1], sizeof(pixels[0])), 0);
        sluice_dataset_destroy(cached);
    }
}

/* ---- trainings ------------------------------------------------------------------------------- */

static void a_report_has_the_share_of_hits(void)
{
    char *text = NULL;
    char *json = NULL;
    kit k;

    kit_init(&k);
    k.pipeline = "synthetic samples=20 classes=3 shape=9,7,3 | shuffle | cache 64K | random_crop 4 "
                 "| batch 2";
    k.config.epochs = 4;
    k.config.workers = 1;
    T_OK(kit_run(&k));
    T_OK(sluice_report_text(k.report, &text));
    T_CONTAINS(text,
               "cache: 60 of 80 samples (75.0 %) were hits; it holds 20 samples, 0.0 of 0.1 MB");
    T_OK(sluice_report_json(k.report, &json));
    T_CONTAINS(json, "\"cache\":{\"hits\":60,\"misses\":20,\"hit_share\":0.75,\"samples\":20,");
    T_TRUE(k.report->cache.bytes > 20 * 9 * 7 * 3);
    sluice_string_free(text);
    sluice_string_free(json);
    kit_fini(&k);
}

static void more_bytes_than_the_process_may_use_are_refused(void)
{
    kit k;

    kit_init(&k);
    k.pipeline = "synthetic samples=20 classes=3 shape=9,7,3 | cache 1023G | batch 2";
    T_STATUS(kit_run(&k), SLUICE_E_INVALID);
    T_CONTAINS(k.error, "cache: 1.09844e+06 MB");
    kit_fini(&k);
}

/* ---- what is refused ------------------------------------------------------------------------- */

static void what_cannot_be_kept_is_refused(void)
{
    static const char *const refused[][2] = {
        {"decode | random_resized_crop 8 | cache 1M | batch 2",
         "cache comes after random_resized_crop, which is random"},
        {"decode | resize 9,9 | random_crop 8 | cache 1M | batch 2", "put it before random_crop"},
        {"decode | resize 9,9 | color_jitter 0.4 | cache 1M | batch 2",
         "cache comes after color_jitter, which is random"},
        {"decode | resize 9,9 | random_horizontal_flip | cache 1M | batch 2",
         "cache comes after random_horizontal_flip, which is random"},
        {"decode | resize 9,9 | normalize imagenet | cache 1M | batch 2",
         "put it before normalize: colours, warps, views and conversions run in each pass"},
        {"decode | resize 9,9 | to_chw | random_horizontal_flip | cache 1M | batch 2",
         "cache comes after to_chw"},
        {"decode | cache 1M | resize 9,9 | cache 1M | batch 2", "this is the second"},
        {"decode | batch 2 | cache 1M", "cache must come before batch"},
        {"cache | decode | resize 9,9 | batch 2", "bytes"},
        {"cache 100 | decode | resize 9,9 | batch 2", "bytes"},
        {"cache 2T | decode | resize 9,9 | batch 2", "bytes"},
    };

    for (size_t i = 0; i < COUNT(refused); i++) {
        char text[300];

        snprintf(text, sizeof(text), "image_folder x | %s", refused[i][0]);
        check_refused(text, refused[i][1]);
    }
}

/* Errors of opening the dataset. */
static void what_no_run_can_keep_is_refused(void)
{
    static const char *const refused[][2] = {
        {"decode fast_scale=true | cache 1M | resize 9,9 | batch 2", "put it after the resize"},
        {"decode fast_scale=true | center_crop 20 | cache 1M | resize 9,9 | batch 2",
         "put it after the resize"},
    };
    char folder[300];

    snprintf(folder, sizeof(folder), "%s", t_folder());
    sluice_dataset_destroy(jpeg_dataset(folder, "decode | resize 8,8 | batch 4"));
    for (size_t i = 0; i < COUNT(refused); i++) {
        const run_options options = {.settings = {.world = 1}};
        sluice_dataset *dataset = folder_dataset(folder, refused[i][0]);
        engine_run run;

        T_STATUS(start_run(&run, dataset, &options), SLUICE_E_INVALID);
        T_CONTAINS(sluice_last_error(), refused[i][1]);
        sluice_dataset_destroy(dataset);
    }
}

static void too_few_bytes_for_the_samples_are_an_error_of_the_run(void)
{
    const run_options options = {.settings = {.world = 1}};
    sluice_dataset *dataset =
        parsed("synthetic samples=10000 classes=3 shape=2,2,3 | cache 64K | batch 5");
    engine_run run;

    T_STATUS(start_run(&run, dataset, &options), SLUICE_E_INVALID);
    T_CONTAINS(sluice_last_error(), "allow more bytes");
    sluice_dataset_destroy(dataset);
}

/* So a checkpoint of a run without a cache can be resumed with one, and vice versa. */
static void a_cache_is_not_part_of_the_identity_of_a_run(void)
{
    static const char *const pairs[][2] = {
        {"center_crop 5 | batch 5", "center_crop 5 | cache 64K | batch 5"},
        {"center_crop 5 | random_crop 4 | batch 5",
         "cache 1M | center_crop 5 | random_crop 4 | batch 5"},
        {"batch 5", "cache 64K | batch 5"},
    };

    for (size_t i = 0; i < COUNT(pairs); i++) {
        const sli_run_settings settings = {.world = 1};
        sli_dataset_identity identity[2];

        for (uint32_t k = 0; k < 2; k++) {
            sluice_dataset *dataset;
            sli_plan *plan;

            dataset = parsedf("%s samples=20 classes=3 shape=9,7,3 | %s", "synthetic", pairs[i][k]);
            T_OK(sli_plan_open(dataset, &settings, &plan));
            T_OK(sli_plan_identity(plan, &identity[k]));
            sli_plan_close(plan);
            sluice_dataset_destroy(dataset);
        }
        T_STR(identity[1].stages, identity[0].stages);
        T_EQ(identity[1].names, identity[0].names);
        T_TRUE(strstr(identity[1].stages, "cache") == NULL);
        sli_dataset_identity_free(&identity[0]);
        sli_dataset_identity_free(&identity[1]);
    }
}

static void explain_names_what_is_kept(void)
{
    sluice_dataset *dataset =
        parsed("synthetic samples=20 classes=3 shape=9,7,3 | center_crop 5 | cache 64K | batch 5");
    char *text = NULL;

    T_OK(sluice_dataset_explain(dataset, &text));
    T_CONTAINS(text, "cache: pixels and columns as center_crop leaves them, of up to 20 samples");
    T_CONTAINS(text, "pixels: those of the cache");
    sluice_string_free(text);
    sluice_dataset_destroy(dataset);
}

const t_test cached_samples_tests[] = {
    T_TEST(batches_are_those_without_a_cache),
    T_TEST(one_worker_reads_each_sample_once),
    T_TEST(a_small_cache_keeps_a_part_of_the_samples),
    T_TEST(columns_are_kept_without_an_image),
    T_TEST(raw_images_are_kept),
    T_TEST(a_source_that_draws_random_numbers_is_refused),
    T_TEST(ranks_and_filters_of_order_see_the_same),
    T_TEST(bad_samples_are_not_kept),
    T_TEST(a_sample_alone_uses_the_cache),
    T_TEST(a_damaged_image_is_not_taken),
    T_TEST(a_report_has_the_share_of_hits),
    T_TEST(more_bytes_than_the_process_may_use_are_refused),
    T_TEST(what_cannot_be_kept_is_refused),
    T_TEST(what_no_run_can_keep_is_refused),
    T_TEST(too_few_bytes_for_the_samples_are_an_error_of_the_run),
    T_TEST(a_cache_is_not_part_of_the_identity_of_a_run),
    T_TEST(explain_names_what_is_kept),
    T_END,
};
