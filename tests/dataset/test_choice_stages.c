/* SPDX-License-Identifier: Apache-2.0 */
/* subset, weights and balance in pipelines. */
#include <stdlib.h>
#include <unistd.h>

#include "list_kit.h"
#include "order_kit.h"
#include "plan_kit.h"
#include "tar_kit.h"
#include "testing.h"

enum { MOST = 600 };

static const order_settings alone = {.seed = 7, .world = 1};

/* What an order gives at a position. */
typedef struct place {
    uint64_t sample;
    uint64_t pass;
} place;

static place place_at(const sample_order *order, uint64_t pass, uint64_t position)
{
    place found;

    order_at(order, pass, position, &found.sample, &found.pass);
    return found;
}

/* `text` with @ in place of a path in the test's folder. */
static sluice_dataset *with_file(const char *text, const char *path)
{
    const char *at = strchr(text, '@');
    char whole[900];

    snprintf(whole, sizeof(whole), "%.*s%s%s", (int)(at - text), text, path, at + 1);
    return opened(whole);
}

static const char *number_file(const char *text)
{
    static char path[500];

    snprintf(path, sizeof(path), "%s", t_path(t_folder(), "numbers.txt"));
    t_write_file(path, text, strlen(text));
    return path;
}

static void a_subset_is_the_list_in_its_order(void)
{
    const uint64_t want[] = {3, 1, 1, 0, 9, 1};
    sluice_dataset *dataset =
        with_file("synthetic 10 1,1,1 | subset @", number_file("3\n1\n1\n0\n9\n1\n"));
    const sample_order order = order_of(dataset, &alone);

    T_EQ(order.length, 6);
    for (uint64_t pass = 0; pass < 3; pass++) {
        for (uint64_t i = 0; i < 6; i++) {
            T_EQ(sample_at(&order, pass, i), want[i]);
        }
        /* The first of each sample has the random numbers of the pass, the others their own. */
        T_EQ(place_at(&order, pass, 0).pass, pass);
        T_EQ(place_at(&order, pass, 1).pass, pass);
        T_EQ(place_at(&order, pass, 4).pass, pass);
        T_TRUE(place_at(&order, pass, 2).pass != pass);
        T_TRUE(place_at(&order, pass, 5).pass != pass);
        T_TRUE(place_at(&order, pass, 5).pass != place_at(&order, pass, 2).pass);
        T_TRUE(place_at(&order, pass, 2).pass != place_at(&order, pass + 1, 2).pass);
    }
    sluice_dataset_destroy(dataset);
}

/* Has a pass a sample twice with the same random numbers? */
static bool has_equal_places(const sample_order *order, uint64_t pass)
{
    place places[MOST];

    T_TRUE(order->length <= MOST);
    for (uint64_t i = 0; i < order->length; i++) {
        places[i] = place_at(order, pass, i);
        T_TRUE(places[i].pass < UINT64_C(1) << 40);
        for (uint64_t k = 0; k < i; k++) {
            if (places[i].sample == places[k].sample && places[i].pass == places[k].pass) {
                return true;
            }
        }
    }
    return false;
}

static void repetitions_draw_anew(void)
{
    static const char *const texts[] = {
        "synthetic 20 1,1,1 classes=3 | weights label samples=300",
        "synthetic 20 1,1,1 classes=3 | balance samples=300",
        "synthetic 20 1,1,1 classes=3 | balance samples=100 | shuffle | repeat 3",
        "synthetic 20 1,1,1 classes=3 | subset @ | balance samples=200",
        "synthetic 20 1,1,1 classes=3 | subset @ | weights label samples=200 | repeat 2",
    };
    const char *path = number_file("3\n1\n1\n0\n9\n1\n3\n2\n");

    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        sluice_dataset *dataset =
            strchr(texts[i], '@') != NULL ? with_file(texts[i], path) : opened(texts[i]);
        const sample_order order = order_of(dataset, &alone);

        for (uint64_t pass = 0; pass < 4; pass++) {
            T_TRUE(!has_equal_places(&order, pass));
        }
        sluice_dataset_destroy(dataset);
    }
}

static void balanced_classes_come_equally_often(void)
{
    enum { SAMPLES = 23, PASSES = 12 };
    /* Labels 0 to 3: 6, 6, 6 and 5 samples; take leaves classes of other sizes. */
    sluice_dataset *dataset = opened("synthetic 100 1,1,1 classes=4 | take 23 | balance label 30");
    const sample_order order = order_of(dataset, &alone);
    uint32_t by_sample[SAMPLES] = {0};

    T_EQ(order.length, 30);
    for (uint64_t pass = 0; pass < PASSES; pass++) {
        uint32_t by_class[4] = {0};

        for (uint64_t i = 0; i < order.length; i++) {
            const uint64_t sample = sample_at(&order, pass, i);

            T_TRUE(sample < SAMPLES);
            T_EQ(sample % 4, i % 4);
            by_class[sample % 4]++;
            by_sample[sample]++;
        }
        T_TRUE(by_class[0] == 8 && by_class[1] == 8 && by_class[2] == 7 && by_class[3] == 7);
    }
    /* 12 passes of 8 or 7 draws, over 6 or 5 samples: 16, 14 or 16.8 each. */
    for (uint32_t i = 0; i < SAMPLES; i++) {
        const uint32_t draws = PASSES * (i % 4 < 2 ? 8 : 7);
        const uint32_t members = i % 4 < 3 ? 6 : 5;

        T_TRUE(by_sample[i] >= draws / members && by_sample[i] <= (draws + members - 1) / members);
    }
    sluice_dataset_destroy(dataset);
}

/* A class that is larger than its part of the pass comes with other samples in the next pass. */
static void a_balanced_pass_goes_on_where_the_last_one_ended(void)
{
    sluice_dataset *dataset = opened("synthetic 40 1,1,1 classes=2 | balance samples=10");
    const sample_order order = order_of(dataset, &alone);
    bool seen[40] = {false};

    for (uint64_t pass = 0; pass < 4; pass++) {
        for (uint64_t i = 0; i < 10; i++) {
            const place found = place_at(&order, pass, i);

            T_TRUE(!seen[found.sample]);
            T_EQ(found.pass, pass);
            seen[found.sample] = true;
        }
    }
    sluice_dataset_destroy(dataset);
}

static void other_seeds_and_passes_have_other_orders(void)
{
    static const char *const texts[] = {"synthetic 50 1,1,1 | weights label",
                                        "synthetic 50 1,1,1 classes=2 | balance"};

    for (size_t t = 0; t < 2; t++) {
        const order_settings other = {.seed = 8, .world = 1};
        sluice_dataset *dataset = opened(texts[t]);
        const sample_order a = order_of(dataset, &alone);
        const sample_order b = order_of(dataset, &other);
        uint32_t same_seed = 0;
        uint32_t same_pass = 0;

        T_EQ(a.length, 50);
        for (uint64_t i = 0; i < 50; i++) {
            same_seed += sample_at(&a, 0, i) == sample_at(&b, 0, i);
            same_pass += sample_at(&a, 0, i) == sample_at(&a, 1, i);
        }
        T_TRUE(same_seed < 25 && same_pass < 25);
        sluice_dataset_destroy(dataset);
    }
}

static bool equal_places(place a, place b)
{
    return a.sample == b.sample && a.pass == b.pass;
}

/* What a rank has, and what is left of a pass, are parts of the order of one rank. */
static void ranks_and_resumed_runs_have_the_same_samples(void)
{
    static const char *const texts[] = {
        "synthetic 20 1,1,1 classes=3 | subset @",
        "synthetic 20 1,1,1 classes=3 | weights label samples=31 | shuffle",
        "synthetic 20 1,1,1 classes=3 | skip 2 | balance label | repeat 2",
        "synthetic 20 1,1,1 classes=3 | subset @ | balance samples=17 | shuffle",
    };
    const char *path = number_file("3\n1\n1\n0\n9\n1\n3\n2\n");

    for (size_t t = 0; t < sizeof(texts) / sizeof(texts[0]); t++) {
        sluice_dataset *dataset =
            strchr(texts[t], '@') != NULL ? with_file(texts[t], path) : opened(texts[t]);
        const sample_order whole = order_of(dataset, &alone);

        for (uint32_t world = 1; world <= 3; world++) {
            for (uint64_t done = 0; done < whole.length; done += 3) {
                for (uint32_t rank = 0; rank < world; rank++) {
                    const order_settings settings = {
                        .seed = 7, .rank = rank, .world = world, .done = done};
                    const sample_order part = order_of(dataset, &settings);

                    for (uint64_t i = 0; i < part.length; i++) {
                        T_TRUE(equal_places(place_at(&part, 2, i),
                                            place_at(&whole, 2, done + i * world + rank)));
                    }
                }
            }
        }
        sluice_dataset_destroy(dataset);
    }
}

static void weights_are_of_the_sample_wherever_it_stands(void)
{
    /* Only samples 4 and 7 have a weight, and only 7 is left of them. */
    const char *path = number_file("0\n0\n0\n0\n1\n0\n0\n2\n0\n0\n");
    sluice_dataset *dataset = with_file("synthetic 10 1,1,1 | skip 5 | weights @ 40", path);
    sample_order order = order_of(dataset, &alone);

    T_EQ(order.length, 40);
    for (uint64_t i = 0; i < 40; i++) {
        T_EQ(sample_at(&order, 0, i), 7);
    }
    sluice_dataset_destroy(dataset);
    dataset = with_file("synthetic 10 1,1,1 | weights by=@ samples=40 seed=3", path);
    order = order_of(dataset, &alone);
    for (uint64_t i = 0; i < 40; i++) {
        T_TRUE(sample_at(&order, 0, i) == 4 || sample_at(&order, 0, i) == 7);
    }
    sluice_dataset_destroy(dataset);
}

/* Labels and weights of a list are read without its images, which are not there. */
static void plain_columns_are_read_without_images(void)
{
    static const char *const list =
        "image\tlabel\tw:f32\na.png\t1\t0\nb.png\t2\t0.5\nc.png\t1\t0\n";
    const char *folder = t_folder();
    sluice_dataset *dataset;
    sample_order order;

    dataset = list_dataset(folder, list, " | weights w | decode | resize 4,4 | batch 1");
    T_OK(dataset_open(dataset));
    order = order_of(dataset, &alone);
    T_EQ(sample_at(&order, 0, 2), 1);
    sluice_dataset_destroy(dataset);
    dataset = list_dataset(folder, list, " | balance | decode | resize 4,4 | batch 1");
    T_OK(dataset_open(dataset));
    order = order_of(dataset, &alone);
    T_EQ(sample_at(&order, 0, 1), 1);
    sluice_dataset_destroy(dataset);
}

static void check_open_fails(const char *text, sluice_status want, const char *words)
{
    sluice_dataset *dataset = NULL;
    sluice_status st = sluice_dataset_parse(text, &dataset);

    if (st == SLUICE_OK) {
        st = dataset_open(dataset);
    }
    T_STATUS(st, want);
    T_CONTAINS(sluice_last_error(), words);
    sluice_dataset_destroy(dataset);
}

static void check_file_fails(const char *stages, const char *numbers, sluice_status want,
                             const char *words)
{
    const char *path = number_file(numbers);
    const char *at = strchr(stages, '@');
    char text[900];

    snprintf(text, sizeof(text), "synthetic 3 1,1,1 | %.*s%s%s", (int)(at - stages), stages, path,
             at + 1);
    check_open_fails(text, want, words);
    T_CONTAINS(sluice_last_error(), path);
}

static void bad_files_of_numbers_are_named_with_their_line(void)
{
    check_file_fails("subset @", "", SLUICE_E_INVALID, "the file has no lines");
    check_file_fails("subset @", "0\n1\n3\n", SLUICE_E_CORRUPT,
                     "numbers.txt:3: '3' must be a sample number from 0 to 2");
    check_file_fails("weights @", "1\n2\n", SLUICE_E_INVALID, "2 lines for 3 samples");
    check_file_fails("weights @", "1\n2\n3\n4\n", SLUICE_E_INVALID, "4 lines for 3 samples");
    check_file_fails("weights @", "1\n-2\n3\n", SLUICE_E_CORRUPT,
                     "numbers.txt:2: '-2' must be a finite number of at least 0");
    check_file_fails("weights @", "0\n0\n0\n", SLUICE_E_INVALID, "all weights are 0");
    check_open_fails("synthetic 3 1,1,1 | subset /nonexistent/x", SLUICE_E_IO,
                     "subset: /nonexistent/x: cannot open");
    check_open_fails("synthetic 3 1,1,1 | weights wieght", SLUICE_E_IO,
                     "weights: wieght: neither a column nor a file that can be read: cannot open");
}

static void columns_that_do_not_serve_are_refused(void)
{
    const char *folder = t_folder();
    sluice_dataset *dataset;

    check_open_fails("synthetic 3 1,1,1 | balance image", SLUICE_E_INVALID,
                     "column image must be one whole number");
    check_open_fails("synthetic 3 1,1,1 | balance lable", SLUICE_E_INVALID, "lable");
    check_open_fails("synthetic 3 1,1,1 | weights image", SLUICE_E_INVALID,
                     "column image must be one number");
    check_open_fails("synthetic 3 1,1,1 | cast label i64 | balance", SLUICE_E_INVALID,
                     "computed by a stage before it; put balance after the source");
    dataset = list_dataset(folder, "image\tw:f32\na.png\t1\nb.png\t-0.5\n",
                           " | weights w | drop image | batch 1");
    T_STATUS(dataset_open(dataset), SLUICE_E_CORRUPT);
    T_CONTAINS(sluice_last_error(), "column w of sample 1 is -0.5");
    sluice_dataset_destroy(dataset);
    dataset = NULL;
    T_STATUS(
        sluice_dataset_parse("synthetic 3 1,1,1 | rename label y | balance y | batch 1", &dataset),
        SLUICE_OK);
    T_OK(dataset_open(dataset));
    sluice_dataset_destroy(dataset);
}

static void stages_that_look_at_all_samples_stand_first(void)
{
    static const char *const before[] = {"shuffle", "shard 0 2", "repeat 2", "balance",
                                         "weights label"};
    static const char *const later[] = {"balance", "weights label", "subset x", "split train 0.5"};
    sluice_dataset *dataset = NULL;
    char text[200];

    for (size_t i = 0; i < sizeof(before) / sizeof(before[0]); i++) {
        for (size_t k = 0; k < sizeof(later) / sizeof(later[0]); k++) {
            snprintf(text, sizeof(text), "synthetic | %s | %s", before[i], later[k]);
            T_STATUS(sluice_dataset_parse(text, &dataset), SLUICE_E_INVALID);
            T_CONTAINS(sluice_last_error(), "put it after the source");
        }
    }
    T_STATUS(sluice_dataset_parse("synthetic | take 3 | subset x", &dataset), SLUICE_E_INVALID);
    T_CONTAINS(sluice_last_error(), "subset must come before take");
}

static void streams_have_no_such_stages(void)
{
    const char *folder = t_folder();
    tar_maker tar = {0};
    char text[600];
    char *explained = NULL;
    sluice_dataset *dataset = NULL;

    tar_add_text(&tar, "a.ppm", "P6 1 1 255\nabc");
    tar_add_text(&tar, "a.cls", "1");
    tar_write(&tar, t_path(folder, "x.tar"));
    tar_free(&tar);
    snprintf(text, sizeof(text),
             "webdataset %s/x.tar access=stream | balance | decode | resize 2,2 | batch 1", folder);
    T_OK(sluice_dataset_parse(text, &dataset));
    T_STATUS(sluice_dataset_explain(dataset, &explained), SLUICE_E_UNSUPPORTED);
    T_CONTAINS(sluice_last_error(), "balance: not supported for a stream");
    sluice_dataset_destroy(dataset);
}

static void the_identity_of_a_run_has_the_numbers_of_a_file(void)
{
    static const char *const text = "synthetic 10 1,1,1 | subset @ | batch 1";
    const uint64_t first = names_of_run(with_file(text, number_file("1\n2\n")));

    T_TRUE(names_of_run(with_file(text, number_file("1\n2\n"))) == first);
    T_TRUE(names_of_run(with_file(text, number_file("1\n3\n"))) != first);
    T_TRUE(names_of_run(with_file(text, number_file("2\n1\n"))) != first);
}

static void tables_count_as_memory_of_the_source(void)
{
    const sli_run_settings settings = {.seed = 1, .world = 1};
    sluice_dataset *with = opened("synthetic 1000 1,1,1 | weights label | batch 1");
    sluice_dataset *without = opened("synthetic 1000 1,1,1 | batch 1");
    sli_plan *plans[2] = {NULL, NULL};

    T_OK(sli_plan_open(with, &settings, &plans[0]));
    T_OK(sli_plan_open(without, &settings, &plans[1]));
    T_TRUE(sli_plan_source_memory(plans[0]) >= sli_plan_source_memory(plans[1]) + 8000);
    sli_plan_close(plans[0]);
    sli_plan_close(plans[1]);
    sluice_dataset_destroy(with);
    sluice_dataset_destroy(without);
}

const t_test choice_stages_tests[] = {
    T_TEST(a_subset_is_the_list_in_its_order),
    T_TEST(repetitions_draw_anew),
    T_TEST(balanced_classes_come_equally_often),
    T_TEST(a_balanced_pass_goes_on_where_the_last_one_ended),
    T_TEST(other_seeds_and_passes_have_other_orders),
    T_TEST(ranks_and_resumed_runs_have_the_same_samples),
    T_TEST(weights_are_of_the_sample_wherever_it_stands),
    T_TEST(plain_columns_are_read_without_images),
    T_TEST(bad_files_of_numbers_are_named_with_their_line),
    T_TEST(columns_that_do_not_serve_are_refused),
    T_TEST(stages_that_look_at_all_samples_stand_first),
    T_TEST(streams_have_no_such_stages),
    T_TEST(the_identity_of_a_run_has_the_numbers_of_a_file),
    T_TEST(tables_count_as_memory_of_the_source),
    T_END,
};
