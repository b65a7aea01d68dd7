/* SPDX-License-Identifier: Apache-2.0 */
/* Crops and resizes by themselves: where they cut, and where random ones fall. */
#include "plan.h"
#include "stage_names.h"
#include "stage_table.h"
#include "testing.h"

enum { SEED = 42 };

/* ---- where they cut -------------------------------------------------------------------------- */

/* A stage with arguments "name=value", up to three. */
static dataset_stage stage_of(const char *name, const char *const arguments[3])
{
    dataset_stage stage = {.def = stage_find(stage_table, name)};

    T_TRUE(stage.def != NULL);
    T_OK(stage_args_default(stage.def, stage.args.bytes));
    for (int i = 0; i < 3 && arguments[i] != NULL; i++) {
        size_t length = strcspn(arguments[i], "=");
        uint32_t k = 0;

        while (k < stage.def->param_count &&
               (strlen(stage.def->params[k].name) != length ||
                strncmp(stage.def->params[k].name, arguments[i], length) != 0)) {
            k++;
        }
        T_TRUE(k < stage.def->param_count);
        T_OK(stage_arg_parse(stage.def, &stage.def->params[k], arguments[i] + length + 1,
                             stage.args.bytes));
    }
    T_OK(stage_args_check(stage.def, stage.args.bytes));
    return stage;
}

static stage_window geometry_of(const dataset_stage *stage, uint64_t sample, uint32_t width,
                                uint32_t height)
{
    const sli_draws draws = {UINT64_C(0x1234567887654321), sample, 3};
    stage_window g = {0};

    T_OK(stage->def->geometry->draw(stage->args.bytes, &draws, width, height, &g));
    return g;
}

/* Python's int(round(x / 2)) and x // 2: what torchvision computes its offsets with. */
static int64_t torchvision_offset(int have, int want)
{
    return have >= want ? (int64_t)nearbyint((have - want) / 2.0) : -((want - have) / 2);
}

static void center_crops_begin_where_torchvision_has_them(void)
{
    for (int want = 1; want <= 30; want++) {
        char size[20];
        dataset_stage stage;

        snprintf(size, sizeof(size), "size=%d,7", want);
        stage = stage_of("center_crop", (const char *const[3]){size});
        for (int have = 1; have <= 40; have++) {
            stage_window g = geometry_of(&stage, 0, (uint32_t)(41 - have), (uint32_t)have);

            T_TRUE(g.crops && !g.resizes);
            T_EQ(g.height, want);
            T_EQ(g.width, 7);
            T_EQ(g.y, torchvision_offset(have, want));
            T_EQ(g.x, torchvision_offset(41 - have, 7));
        }
    }
}

static void one_number_resizes_the_shorter_side(void)
{
    static const uint32_t cases[][4] = {
        /* width, height, new width, new height */
        {500, 375, 298, 224}, {375, 500, 224, 298}, {300, 300, 224, 224}, {1, 1000, 224, 224000},
        {224, 225, 224, 225}, {640, 427, 335, 224}, {3, 2, 336, 224},
    };
    dataset_stage stage = stage_of("resize", (const char *const[3]){"size=224"});

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        stage_window g = geometry_of(&stage, 0, cases[i][0], cases[i][1]);

        T_TRUE(g.resizes && !g.crops);
        T_EQ(g.new_width, cases[i][2]);
        T_EQ(g.new_height, cases[i][3]);
    }
}

/* As in torchvision both divisions round down, the second after the first. */
static void the_longer_side_has_a_limit(void)
{
    static const struct {
        const char *size;
        const char *max_size;
        uint32_t width, height, new_width, new_height;
    } limits[] = {
        {"size=224", "max_size=300", 640, 427, 300, 200}, /* 335 > 300; 300 * 224 / 335 = 200.6 */
        {"size=224", "max_size=300", 427, 640, 200, 300},
        {"size=224", "max_size=298", 500, 375, 298, 224}, /* 298 is not more */
        {"size=224", "max_size=297", 500, 375, 297, 223}, /* 297 * 224 / 298 = 223.2 */
        {"size=224", "max_size=225", 300, 300, 224, 224},
        {"size=224", "max_size=1000", 1, 1000, 1, 1000},
        {"size=5", "max_size=6", 799, 500, 6, 4}, /* 7.99, so 7 > 6; 6 * 5 / 7 = 4.3 */
        {"size=224", "max_size=0", 3, 2, 336, 224},
        {"size=65534", "max_size=65535", 3, 100000000, 0, 0}, /* 65535 * 3 / 100000000 < 1 */
    };

    for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++) {
        dataset_stage stage =
            stage_of("resize", (const char *const[3]){limits[i].size, limits[i].max_size});
        stage_window g = {0};

        if (limits[i].new_width == 0) {
            T_STATUS(stage.def->geometry->draw(stage.args.bytes, NULL, limits[i].width,
                                               limits[i].height, &g),
                     SLUICE_E_INVALID);
            T_CONTAINS(sluice_last_error(), "resize: an image whose sides are 3 and 100000000 long "
                                            "has no pixels with max_size=65535; use a larger");
            continue;
        }
        g = geometry_of(&stage, 0, limits[i].width, limits[i].height);
        T_TRUE(g.resizes && !g.crops);
        T_EQ(g.new_width, limits[i].new_width);
        T_EQ(g.new_height, limits[i].new_height);
    }
}

static void stages_resize_by_the_filter_they_were_given(void)
{
    static const char *const names[] = {"resize", "random_resized_crop"};
    static const char *const antialias[] = {"antialias=false", "antialias=true"};

    for (uint32_t i = 0; i < 2 * FILTERS * 2; i++) {
        const uint32_t filter = i / 2 % FILTERS;
        char argument[40];
        dataset_stage stage;
        stage_window g;

        if (filter == FILTER_AREA && i % 2 == 0) {
            continue;
        }
        snprintf(argument, sizeof(argument), "filter=%s", resize_filter_names[filter]);
        stage = stage_of(names[i / 2 / FILTERS],
                         (const char *const[3]){"size=9", argument, antialias[i % 2]});
        g = geometry_of(&stage, 0, 20, 30);
        T_EQ(g.filter.filter, filter);
        T_EQ(g.filter.antialias, i % 2 == 1);
    }
}

static void crops_that_do_not_fit_are_refused(void)
{
    dataset_stage stage = stage_of("random_crop", (const char *const[3]){"size=9", "padding=1"});
    const sli_draws draws = {1, 2, 3};
    stage_window g = {0};

    T_OK(stage.def->geometry->draw(stage.args.bytes, &draws, 7, 7, &g));
    T_STATUS(stage.def->geometry->draw(stage.args.bytes, &draws, 6, 7, &g), SLUICE_E_INVALID);
    T_STATUS(stage.def->geometry->draw(stage.args.bytes, &draws, 7, 6, &g), SLUICE_E_INVALID);
    T_CONTAINS(sluice_last_error(), "padding");
}

/* ---- where random ones fall ------------------------------------------------------------------ */

/* How many of N even draws may miss a bucket's share: six standard deviations. */
static void check_even(const uint32_t *counts, uint32_t buckets, const char *what)
{
    double total = 0;
    double share;

    for (uint32_t i = 0; i < buckets; i++) {
        total += counts[i];
    }
    share = total / buckets;
    for (uint32_t i = 0; i < buckets; i++) {
        if (!(fabs(counts[i] - share) <= 6 * sqrt(share))) {
            T_FAIL_("%s: bucket %u has %u, want %.9g", what, i, counts[i], share);
        }
    }
}

static void random_crops_fall_everywhere_evenly(void)
{
    dataset_stage stage = stage_of("random_crop", (const char *const[3]){"size=3,4", "padding=2"});
    uint32_t counts[10 * 11] = {0};

    for (uint64_t sample = 0; sample < 110000; sample++) {
        stage_window g = geometry_of(&stage, sample, 10, 8);

        T_TRUE(g.x >= -2 && g.x <= 8 && g.y >= -2 && g.y <= 7);
        T_TRUE(g.width == 4 && g.height == 3 && g.crops && !g.resizes);
        counts[(g.y + 2) * 11 + g.x + 2]++;
    }
    check_even(counts, 110, "random_crop's place");
}

/* The padded image begins at (-1, -2) and ends at (13, 8). */
static void each_side_has_a_padding_of_its_own(void)
{
    dataset_stage stage =
        stage_of("random_crop", (const char *const[3]){"size=3,4", "padding=1,2,3,0"});
    uint32_t counts[8 * 11] = {0};

    for (uint64_t sample = 0; sample < 88000; sample++) {
        stage_window g = geometry_of(&stage, sample, 10, 8);

        T_TRUE(g.x >= -1 && g.x <= 9 && g.y >= -2 && g.y <= 5);
        T_TRUE(g.width == 4 && g.height == 3 && g.crops && !g.resizes);
        counts[(g.y + 2) * 11 + g.x + 1]++;
    }
    check_even(counts, 88, "random_crop's place");
}

static void paddings_of_one_two_and_four_numbers_are_the_same(void)
{
    static const char *const texts[][2] = {{"padding=2", "padding=2,2,2,2"},
                                           {"padding=2,1", "padding=2,1,2,1"}};

    for (uint64_t i = 0; i < 200; i++) {
        stage_window g[2];

        for (int k = 0; k < 2; k++) {
            dataset_stage stage =
                stage_of("random_crop", (const char *const[3]){"size=5", texts[i % 2][k]});

            g[k] = geometry_of(&stage, i, 7, 9);
        }
        T_TRUE(g[0].x == g[1].x && g[0].y == g[1].y);
    }
}

/* What a checkpoint has: where one number says all, it is the text of earlier versions. */
static void equal_paddings_have_one_text(void)
{
    static const char *const texts[][2] = {{"padding=2", " padding=2 "},
                                           {"padding=2,2", " padding=2 "},
                                           {"padding=0,0,0,0", " padding=0 "},
                                           {"padding=2,1", " padding=2,1,2,1 "},
                                           {"padding=2,1,2,1", " padding=2,1,2,1 "}};

    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        dataset_stage stage =
            stage_of("random_crop", (const char *const[3]){"size=5", texts[i][0]});
        sli_text text = {0};

        stage_args_print(stage.def, stage.args.bytes, &text);
        T_CONTAINS(text.data, texts[i][1]);
        sli_text_free(&text);
    }
}

/*
 * As in torchvision the missing pixels are added on both sides. Width: 5 + 1 + 2 is 3 less than the
 * crop of 11, so the padded image begins at -4 and has 14 pixels. Height: 4 is 2 less than 6, so it
 * begins at -2 and has 8.
 */
static void smaller_images_are_padded_if_needed(void)
{
    dataset_stage stage =
        stage_of("random_crop",
                 (const char *const[3]){"size=6,11", "padding=1,0,2,0", "pad_if_needed=true"});
    dataset_stage without =
        stage_of("random_crop", (const char *const[3]){"size=6,11", "padding=1,0,2,0"});
    uint32_t counts[3 * 4] = {0};

    for (uint64_t sample = 0; sample < 12000; sample++) {
        stage_window g = geometry_of(&stage, sample, 5, 4);

        T_TRUE(g.x >= -4 && g.x <= -1 && g.y >= -2 && g.y <= 0);
        T_TRUE(g.width == 11 && g.height == 6 && g.crops && !g.resizes);
        counts[(g.y + 2) * 4 + g.x + 4]++;
    }
    check_even(counts, 12, "the place of a padded image");
    for (uint64_t sample = 0; sample < 100; sample++) {
        const stage_window a = geometry_of(&stage, sample, 8 + (uint32_t)sample, 9);
        const stage_window b = geometry_of(&without, sample, 8 + (uint32_t)sample, 9);

        T_TRUE(a.x == b.x && a.y == b.y); /* nothing is missing */
    }
}

static uint32_t bucket_of(double value, double low, double high, uint32_t buckets)
{
    double at = (value - low) / (high - low) * buckets;

    return at < 0 ? 0 : at >= buckets ? buckets - 1 : (uint32_t)at;
}

/* A share that always fits, so that the first try is taken and its distribution is seen. */
static void random_resized_crops_are_drawn_evenly(void)
{
    dataset_stage stage =
        stage_of("random_resized_crop", (const char *const[3]){"size=224", "scale=0.05,0.3", NULL});
    uint32_t areas[20] = {0};
    uint32_t ratios[20] = {0};
    uint32_t xs[20] = {0};
    uint32_t ys[20] = {0};
    uint32_t pairs[16] = {0};

    for (uint64_t sample = 0; sample < 200000; sample++) {
        stage_window g = geometry_of(&stage, sample, 3000, 3000);
        uint32_t area = bucket_of((double)g.width * g.height / 9e6, 0.05, 0.3, 20);
        uint32_t ratio = bucket_of(log((double)g.width / g.height), log(0.75), -log(0.75), 20);
        uint32_t x = bucket_of((double)g.x + 0.5, 0, 3000 - g.width + 1, 20);
        uint32_t y = bucket_of((double)g.y + 0.5, 0, 3000 - g.height + 1, 20);

        areas[area]++;
        ratios[ratio]++;
        xs[x]++;
        ys[y]++;
        pairs[(area >= 10) * 8 + (ratio >= 10) * 4 + (x >= 10) * 2 + (y >= 10)]++;
    }
    check_even(areas, 20, "area");
    check_even(ratios, 20, "ratio");
    check_even(xs, 20, "x");
    check_even(ys, 20, "y");
    check_even(pairs, 16, "halves of all four");
}

static void random_resized_crops_lie_within_the_image(void)
{
    static const uint32_t shapes[][2] = {{1, 1}, {1, 2},   {2, 1},     {5, 500},   {500, 5},
                                         {3, 4}, {97, 13}, {224, 224}, {65500, 1}, {1, 65500}};
    static const char *const scales[] = {"scale=0.08,1", "scale=1,1", "scale=0.0001,0.0002"};

    for (size_t i = 0; i < 3 * sizeof(shapes) / sizeof(shapes[0]); i++) {
        const uint32_t *shape = shapes[i / 3];
        dataset_stage stage =
            stage_of("random_resized_crop", (const char *const[3]){"size=7,9", scales[i % 3]});

        for (uint64_t sample = 0; sample < 1000; sample++) {
            stage_window g = geometry_of(&stage, sample, shape[0], shape[1]);

            T_TRUE(g.x >= 0 && g.y >= 0 && g.width >= 1 && g.height >= 1);
            T_TRUE(g.x + g.width <= shape[0] && g.y + g.height <= shape[1]);
            T_TRUE(g.crops && g.resizes && g.new_width == 9 && g.new_height == 7);
        }
    }
}

/* Both edges of an image are reached, with parts of every size. */
static void random_resized_crops_reach_the_edges(void)
{
    dataset_stage stage = stage_of("random_resized_crop", (const char *const[3]){"size=2"});
    bool reached[6][4] = {{false}};

    for (uint64_t sample = 0; sample < 5000; sample++) {
        stage_window g = geometry_of(&stage, sample, 5, 5);

        reached[g.width][0] |= g.x == 0;
        reached[g.width][1] |= g.x + g.width == 5;
        reached[g.height][2] |= g.y == 0;
        reached[g.height][3] |= g.y + g.height == 5;
    }
    for (int size = 2; size <= 5; size++) {
        T_TRUE(reached[size][0] && reached[size][1] && reached[size][2] && reached[size][3]);
    }
}

/* When ten tries miss, the middle part of the nearest allowed shape is taken. */
static void extreme_shapes_give_their_middle(void)
{
    static const struct {
        const char *ratio;
        uint32_t width;
        uint32_t height;
        int64_t want[4]; /* x, y, width, height */
    } cases[] = {
        {"ratio=0.75,1.3333333333333333", 10, 1000, {0, 493, 10, 13}},
        {"ratio=0.75,1.3333333333333333", 1000, 10, {493, 0, 13, 10}},
        {"ratio=0.5,0.5000001", 100, 100, {25, 0, 50, 100}},
        {"ratio=3,3.0000001", 100, 100, {0, 33, 100, 33}},
        {"ratio=0.1,0.9", 37, 41, {0, 0, 37, 41}},
        {"ratio=100,100.00001", 3, 3, {0, 1, 3, 1}},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        dataset_stage stage = stage_of(
            "random_resized_crop", (const char *const[3]){"size=9", "scale=1,1", cases[i].ratio});
        uint32_t found = 0;

        for (uint64_t sample = 0; sample < 50; sample++) {
            stage_window g = geometry_of(&stage, sample, cases[i].width, cases[i].height);

            found += g.x == cases[i].want[0] && g.y == cases[i].want[1] &&
                     g.width == cases[i].want[2] && g.height == cases[i].want[3];
        }
        /* Where the whole image has an allowed shape, a try may hit nearly that. */
        T_TRUE(found == 50 || (i == 4 && found > 25));
    }
}

/* ---- draws ----------------------------------------------------------------------------------- */

/* Of 500 samples, how many get the same part in two ways of drawing. */
static uint32_t same_parts(uint64_t key_a, uint64_t key_b, uint64_t pass_a, uint64_t pass_b,
                           uint64_t sample_step)
{
    dataset_stage stage = stage_of("random_resized_crop", (const char *const[3]){"size=9"});
    uint32_t same = 0;

    for (uint64_t sample = 0; sample < 500; sample++) {
        const sli_draws a = {key_a, sample, pass_a};
        const sli_draws b = {key_b, sample + sample_step, pass_b};
        stage_window g = {0};
        stage_window h = {0};

        T_OK(stage.def->geometry->draw(stage.args.bytes, &a, 500, 400, &g));
        T_OK(stage.def->geometry->draw(stage.args.bytes, &b, 500, 400, &h));
        same += g.x == h.x && g.y == h.y && g.width == h.width && g.height == h.height;
    }
    return same;
}

static void draws_depend_on_seed_pass_sample_and_stage_alone(void)
{
    static const char one[] = "synthetic | random_resized_crop 9 | random_crop 5 | "
                              "random_resized_crop 4 | batch 1";
    static const char edited[] = "synthetic | center_crop 99 | random_resized_crop 9 | "
                                 "resize 8 | random_resized_crop 4 | batch 1";
    sluice_dataset *a = NULL;
    sluice_dataset *b = NULL;
    uint64_t first;

    T_OK(sluice_dataset_parse(one, &a));
    T_OK(sluice_dataset_parse(edited, &b));
    first = plan_stage_key(a, 1, SEED);
    /* Stages are known by name and occurrence: others may come and go. */
    T_TRUE(plan_stage_key(b, 2, SEED) == first);
    T_TRUE(plan_stage_key(b, 4, SEED) == plan_stage_key(a, 3, SEED));
    T_EQ(same_parts(first, plan_stage_key(b, 2, SEED), 5, 5, 0), 500);
    T_TRUE(same_parts(first, plan_stage_key(a, 3, SEED), 5, 5, 0) < 5);
    T_TRUE(same_parts(first, plan_stage_key(a, 2, SEED), 5, 5, 0) < 5);
    T_TRUE(same_parts(first, plan_stage_key(a, 1, SEED + 1), 5, 5, 0) < 5);
    T_TRUE(same_parts(first, first, 5, 6, 0) < 5);
    T_TRUE(same_parts(first, first, 5, 5, 1) < 5);
    sluice_dataset_destroy(a);
    sluice_dataset_destroy(b);
}

const t_test geometry_stages_tests[] = {
    T_TEST(center_crops_begin_where_torchvision_has_them),
    T_TEST(one_number_resizes_the_shorter_side),
    T_TEST(random_crops_fall_everywhere_evenly),
    T_TEST(each_side_has_a_padding_of_its_own),
    T_TEST(paddings_of_one_two_and_four_numbers_are_the_same),
    T_TEST(equal_paddings_have_one_text),
    T_TEST(smaller_images_are_padded_if_needed),
    T_TEST(random_resized_crops_are_drawn_evenly),
    T_TEST(random_resized_crops_lie_within_the_image),
    T_TEST(random_resized_crops_reach_the_edges),
    T_TEST(extreme_shapes_give_their_middle),
    T_TEST(draws_depend_on_seed_pass_sample_and_stage_alone),
    T_TEST(the_longer_side_has_a_limit),
    T_TEST(stages_resize_by_the_filter_they_were_given),
    T_TEST(crops_that_do_not_fit_are_refused),
    T_END,
};
