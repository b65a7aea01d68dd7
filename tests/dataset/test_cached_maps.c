/* SPDX-License-Identifier: Apache-2.0 */
/* The stage cache after maps: it keeps what they make, and they are not called again. */
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

#include "dataset_kit.h"
#include "engine_kit.h"
#include "filter_kit.h"
#include "list_kit.h"
#include "map_kit.h"
#include "source_kit.h"
#include "testing.h"

enum { PASSES = 3, BATCH = 4 };

static const char *const image_inputs[] = {"image"};
static const char *const number_inputs[] = {"number"};
static const sluice_column_spec sum_outputs[] = {{.name = "sum", .dtype = SLUICE_I64}};

static _Atomic uint64_t calls;

/* ---- maps ------------------------------------------------------------------------------------ */

/* Sums all bytes of the input column that `user` names, into `sum`. */
static sluice_status add_up(sluice_sample *sample, void *user)
{
    sluice_sample_view view = {.data = NULL};
    const sluice_status st = sluice_sample_get(sample, user, &view);
    int64_t sum = 0;

    atomic_fetch_add(&calls, 1);
    for (size_t i = 0; i < view.bytes; i++) {
        sum += ((const uint8_t *)view.data)[i];
    }
    return st == SLUICE_OK ? give_i64(sample, "sum", sum) : st;
}

static sluice_status draw(sluice_sample *sample, void *user)
{
    (void)user;
    return give_i64(sample, "sum", (int64_t)(sluice_sample_random(sample, 0) >> 8));
}

/* Inverts the image. */
static sluice_status invert(sluice_sample *sample, void *user)
{
    sluice_sample_view view;
    uint8_t *room;
    sluice_status st = sluice_sample_get(sample, "image", &view);

    (void)user;
    atomic_fetch_add(&calls, 1);
    if (st == SLUICE_OK) {
        st = sluice_sample_room(sample, "image", NULL, (void **)&room);
    }
    for (size_t i = 0; st == SLUICE_OK && i < view.bytes; i++) {
        room[i] = (uint8_t)(255 - ((const uint8_t *)view.data)[i]);
    }
    return st;
}

static void add_sum(sluice_dataset *dataset, const char *const *input)
{
    add_map(dataset, "sum", add_up, input, 1, sum_outputs, 1, (void *)(uintptr_t)input[0]);
}

static void add_invert(sluice_dataset *dataset)
{
    const sluice_column_spec outputs[] = {{.name = "image",
                                           .dtype = SLUICE_U8,
                                           .rank = 3,
                                           .shape = {H, W, 3},
                                           .role = SLUICE_ROLE_IMAGE}};

    add_map(dataset, "invert", invert, image_inputs, 1, outputs, 1, NULL);
}

/* ---- pipelines ------------------------------------------------------------------------------- */

/* Stages as text; @s is a map that sums the image, @n one that sums the number, @i one that inverts
 * the image, @c the cache. */
static sluice_dataset *with_stages(sluice_dataset *dataset, const char *text, bool cached)
{
    char rest[500];

    snprintf(rest, sizeof(rest), "%s", text);
    for (char *stage = strtok(rest, "|"); stage != NULL; stage = strtok(NULL, "|")) {
        const char *at = strchr(stage, '@');

        if (at == NULL) {
            T_OK(sluice_dataset_add(dataset, stage));
        } else if (at[1] == 's') {
            add_sum(dataset, image_inputs);
        } else if (at[1] == 'n') {
            add_sum(dataset, number_inputs);
        } else if (at[1] == 'i') {
            add_invert(dataset);
        } else if (cached) {
            T_OK(sluice_dataset_add(dataset, "cache 1M"));
        }
    }
    return dataset;
}

static sluice_dataset *arrays_with(const char *text, bool cached)
{
    fill_arrays();
    return with_stages(arrays_of(plain_images), text, cached);
}

/* Runs passes without the cache, then twice with it. The maps before it are called for each sample
 * once, by one worker. */
static void check_same(sluice_dataset *plain, sluice_dataset *cached, uint64_t samples,
                       uint32_t maps, uint32_t workers, const char *device, const char *what)
{
    const run_options options = {.device = device,
                                 .workers = workers,
                                 .settings = {.seed = 5, .world = 1},
                                 .batches = PASSES * samples / BATCH};
    tape want;

    want = record(plain, &options);
    atomic_store(&calls, 0);
    for (int run = 0; run < 2; run++) {
        tape got = record(cached, &options);
        sample_cache_use use;

        check_equal_tapes(&got, &want, what);
        sample_cache_usage(cached->cache, &use);
        T_EQ(use.entries, samples);
        free(got.bytes);
        if (workers == 1) {
            T_EQ(atomic_load(&calls), maps * samples);
        }
    }
    free(want.bytes);
    sluice_dataset_destroy(plain);
    sluice_dataset_destroy(cached);
}

/* Stages over arrays of images and numbers, and the number of maps before the cache. */
static const struct {
    const char *text;
    uint32_t maps;
} array_cases[] = {
    {"shuffle | @n | @c | batch 4", 1},
    {"shuffle | @s | drop image | @c | batch 4", 1},
    {"@s | @c | shuffle | random_horizontal_flip | normalize 0.5 0.5 | to_chw | batch 4", 1},
    {"shuffle | @i | @c | random_horizontal_flip | normalize imagenet | batch 4", 1},
    {"shuffle | @i | @s | @c | random_vertical_flip | batch 4", 2},
    {"shuffle | resize 9,8 | center_crop 7 | to_chw | @s | @c | batch 4", 1},
    {"shuffle | normalize 0.5 0.5 | @s | @c | batch 4", 1},
    {"shuffle | @n | one_hot number 128 | @c | cast sum f32 | batch 4", 1},
    {"shuffle | @s | cast sum f32 | @c | cast sum f16 | batch 4", 1},
    {"shuffle | @s | project sum,number | @c | rename sum total | batch 4", 1},
    {"shuffle | @i | @c | @s | batch 4", 1},
};

static void batches_are_those_without_a_cache(void)
{
    for (size_t i = 0; i < COUNT(array_cases); i++) {
        const char *text = array_cases[i].text;
        const bool later = strstr(text, "@c | @") != NULL; /* a map after the cache is called */

        for (size_t w = 0; w < COUNT(worker_counts); w++) {
            for (size_t d = 0; d < COUNT(devices); d++) {
                const uint32_t workers = later && worker_counts[w] == 1 ? 2 : worker_counts[w];

                check_same(arrays_with(text, false), arrays_with(text, true), SAMPLES,
                           array_cases[i].maps, workers, devices[d], text);
            }
        }
    }
}

static void maps_after_the_cache_are_called_in_each_pass(void)
{
    const run_options options = {
        .settings = {.seed = 5, .world = 1}, .workers = 1, .batches = PASSES * SAMPLES / BATCH};
    sluice_dataset *dataset = arrays_with("@n | @c | rename sum before | @s | batch 4", true);
    tape t;

    atomic_store(&calls, 0);
    t = record_own(dataset, &options);
    T_EQ(t.end, SLUICE_END_OF_DATA);
    T_EQ(atomic_load(&calls), SAMPLES + PASSES * SAMPLES);
    free(t.bytes);
}

/* Columns that only the map reads are not kept. */
static void entries_have_the_columns_that_are_used_later(void)
{
    static const char *const texts[] = {"@s | @c | drop image | batch 4",
                                        "@s | drop image | @c | batch 4", "@s | @c | batch 4"};
    uint64_t bytes[COUNT(texts)];

    for (size_t i = 0; i < COUNT(texts); i++) {
        const run_options options = {.settings = {.world = 1}};
        sluice_dataset *dataset = arrays_with(texts[i], true);
        tape t = record(dataset, &options);
        sample_cache_use use;

        sample_cache_usage(dataset->cache, &use);
        bytes[i] = use.bytes;
        free(t.bytes);
        sluice_dataset_destroy(dataset);
    }
    T_EQ(bytes[0], bytes[1]);
    T_TRUE(bytes[2] >= bytes[0] + SAMPLES * 64); /* at least one more cache line each */
}

/* ---- files ----------------------------------------------------------------------------------- */

/* Pictures with masks, further images and boxes. A later run reads no file. */
static void masks_boxes_and_further_images_are_kept(void)
{
    static const char *const files[] = {"a.ppm", "b.jpg", "c.jpg", "m.pgm"};
    const run_options options = {
        .workers = 2, .settings = {.seed = 3, .world = 1}, .batches = PASSES * 2};
    static const char stages[] =
        "shuffle | decode | resize 26,34 | center_crop 20 | geometry | @s | "
        "@c | to_chw | batch 2";
    char folder[300];
    char source[400];
    sluice_dataset *datasets[2];
    tape want;

    snprintf(folder, sizeof(folder), "%s", t_folder());
    write_pair(folder, "a.ppm", "m.pgm");
    make_jpeg(folder, "b.jpg", 40, 30, 1);
    make_jpeg(folder, "c.jpg", 40, 30, 2);
    write_list(folder, "list.tsv",
               "image\tleft:mask\tmore:image\tboxes:boxes[2]\n"
               "a.ppm\tm.pgm\tb.jpg\t1,1,20,20\nb.jpg\tm.pgm\tc.jpg\t2,2,9,9\n"
               "c.jpg\tm.pgm\ta.ppm\t\nb.jpg\tm.pgm\ta.ppm\t0,0,40,30\n");
    snprintf(source, sizeof(source), "image_list %s/list.tsv", folder);
    for (int cached = 0; cached <= 1; cached++) {
        T_OK(sluice_dataset_parse(source, &datasets[cached]));
        with_stages(datasets[cached], stages, cached != 0);
    }
    want = record(datasets[0], &options);
    for (int run = 0; run < 2; run++) {
        tape got = record(datasets[1], &options);

        check_equal_tapes(&got, &want, run == 0 ? "with files" : "without files");
        free(got.bytes);
        for (size_t i = 0; run == 0 && i < COUNT(files); i++) {
            char path[400];

            snprintf(path, sizeof(path), "%s/%s", folder, files[i]);
            T_EQ(unlink(path), 0);
        }
    }
    free(want.bytes);
    sluice_dataset_destroy(datasets[0]);
    sluice_dataset_destroy(datasets[1]);
}

static void a_sample_alone_uses_the_cache(void)
{
    sluice_dataset *dataset = arrays_with("@s | drop image | @c | batch 4", true);

    atomic_store(&calls, 0);
    for (uint64_t k = 0; k < 2 * SAMPLES; k++) {
        int64_t number = -1;
        int64_t sum = -1;
        int64_t want = 0;
        void *const columns[] = {&number, &sum};

        for (int i = 0; i < PIXELS; i++) {
            want += ((const uint8_t *)plain_images[k % SAMPLES])[i];
        }
        T_OK(sluice_dataset_get(dataset, 3, 0, k % SAMPLES, columns, NULL));
        T_EQ(number, numbers[k % SAMPLES]);
        T_EQ(sum, want);
    }
    T_EQ(atomic_load(&calls), SAMPLES);
    sluice_dataset_destroy(dataset);
}

/* ---- filters --------------------------------------------------------------------------------- */

static sluice_status keep_odd(sluice_sample *sample, uint32_t *keep_out, void *user)
{
    sluice_sample_view view;
    const sluice_status st = sluice_sample_get(sample, user, &view);

    *keep_out = st == SLUICE_OK && *(const int64_t *)view.data % 2 != 0;
    return st;
}

static void filters_after_the_cache_see_its_columns(void)
{
    const run_options options = {
        .workers = 2, .settings = {.seed = 5, .world = 1}, .batches = PASSES * SAMPLES / 2 / 2};

    for (int by_sum = 0; by_sum <= 1; by_sum++) {
        const char *column = by_sum ? "sum" : "number";
        sluice_dataset *datasets[2];
        tape want;

        for (int cached = 0; cached <= 1; cached++) {
            datasets[cached] = arrays_with("shuffle | @s | @c", cached != 0);
            add_filter(datasets[cached], "odd", keep_odd, column, (void *)(uintptr_t)column);
            T_OK(sluice_dataset_add(datasets[cached], "batch 2"));
        }
        want = record(datasets[0], &options);
        for (int run = 0; run < 2; run++) {
            tape got = record(datasets[1], &options);

            check_equal_tapes(&got, &want, column);
            free(got.bytes);
        }
        free(want.bytes);
        sluice_dataset_destroy(datasets[0]);
        sluice_dataset_destroy(datasets[1]);
    }
}

/* ---- what is refused ------------------------------------------------------------------------- */

static void a_map_that_draws_random_numbers_is_refused(void)
{
    const run_options options = {.settings = {.world = 1}};
    sluice_dataset *dataset;

    fill_arrays();
    dataset = arrays_of(plain_images);
    add_map(dataset, "jitter", draw, NULL, 0, sum_outputs, 1, NULL);
    T_OK(sluice_dataset_add(dataset, "cache 1M | batch 4"));
    batches_to_error(dataset, &options, SLUICE_E_INVALID,
                     "map jitter calls sluice_sample_random(), and a cache after it would repeat");
}

static void a_map_without_a_version_is_refused(void)
{
    sluice_dataset *dataset;
    sluice_map map;

    fill_arrays();
    dataset = arrays_of(plain_images);
    sluice_map_init(&map);
    map.name = "mine";
    map.outputs = sum_outputs;
    map.output_count = 1;
    map.map = draw;
    T_OK(sluice_dataset_map(dataset, &map));
    T_STATUS(sluice_dataset_add(dataset, "cache 1M"), SLUICE_E_INVALID);
    T_CONTAINS(sluice_last_error(), "cache comes after map mine, which has no version");
    sluice_dataset_destroy(dataset);
}

static void what_cannot_be_kept_is_refused(void)
{
    static const refused_case refused[] = {
        {"random_crop 4 | @s", "cache comes after random_crop, which is random"},
        {"gaussian_blur 3 0.5,3 | @s", "cache comes after gaussian_blur, which is random"},
        {"random_adjust_sharpness 2 | @s",
         "cache comes after random_adjust_sharpness, which is random"},
        {"trivial_augment | @s", "cache comes after trivial_augment, which is random"},
        {"rand_augment | @s", "cache comes after rand_augment, which is random"},
        {"@s | random_horizontal_flip",
         "cache comes after random_horizontal_flip, which is random"},
        {"@s | normalize imagenet",
         "cache comes after map sum and a conversion of image that the map does not read"},
        {"to_chw | @n", "cache comes after map sum and a conversion of image"},
    };

    for (size_t i = 0; i < COUNT(refused); i++) {
        sluice_dataset *dataset = arrays_with(refused[i].text, true);

        T_STATUS(sluice_dataset_add(dataset, "cache 1M"), SLUICE_E_INVALID);
        T_CONTAINS(sluice_last_error(), refused[i].words);
        sluice_dataset_destroy(dataset);
    }
}

static void filters_before_a_map_and_the_cache_are_refused(void)
{
    sluice_dataset *dataset;

    fill_arrays();
    dataset = arrays_of(plain_images);
    add_filter(dataset, "odd", keep_odd, "number", NULL);
    add_sum(dataset, image_inputs);
    T_STATUS(sluice_dataset_add(dataset, "cache 1M"), SLUICE_E_INVALID);
    T_CONTAINS(sluice_last_error(),
               "cache comes after a filter and a map, sum; put the filter after");
    sluice_dataset_destroy(dataset);
}

static void encoded_images_are_refused_after_a_map(void)
{
    sluice_dataset *dataset = NULL;
    char folder[300];

    snprintf(folder, sizeof(folder), "%s", t_folder());
    make_jpeg(folder, "x/b.jpg", 40, 30, 1);
    T_OK(sluice_dataset_parsef(&dataset, "image_folder %s", folder));
    add_map(dataset, "jitter", draw, NULL, 0, sum_outputs, 1, NULL);
    T_STATUS(sluice_dataset_add(dataset, "cache 1M"), SLUICE_E_INVALID);
    T_CONTAINS(sluice_last_error(), "cache comes after map jitter and before decode of image");
    sluice_dataset_destroy(dataset);
}

static void explain_names_what_is_kept(void)
{
    sluice_dataset *dataset = arrays_with("@s | @c | batch 4", true);
    char *text = NULL;

    T_OK(sluice_dataset_explain(dataset, &text));
    T_CONTAINS(text, "cache: all columns that are used as map leaves them, of up to 12 samples");
    sluice_string_free(text);
    sluice_dataset_destroy(dataset);
}

const t_test cached_maps_tests[] = {
    T_TEST(batches_are_those_without_a_cache),
    T_TEST(maps_after_the_cache_are_called_in_each_pass),
    T_TEST(entries_have_the_columns_that_are_used_later),
    T_TEST(masks_boxes_and_further_images_are_kept),
    T_TEST(a_sample_alone_uses_the_cache),
    T_TEST(filters_after_the_cache_see_its_columns),
    T_TEST(a_map_that_draws_random_numbers_is_refused),
    T_TEST(a_map_without_a_version_is_refused),
    T_TEST(what_cannot_be_kept_is_refused),
    T_TEST(filters_before_a_map_and_the_cache_are_refused),
    T_TEST(encoded_images_are_refused_after_a_map),
    T_TEST(explain_names_what_is_kept),
    T_END,
};
