/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Crops and resizes: what the planner makes of several is compared with doing one after the other,
 * and where random ones fall with where they should.
 */
#include <stdlib.h>

#include "jpeg_maker.h"
#include "sample_run.h"
#include "testing.h"

/* ---- pictures and plain geometry ------------------------------------------------------------- */

typedef struct picture {
    uint8_t *pixels; /* (height, width, channels) and the slack of images, from malloc() */
    uint32_t width;
    uint32_t height;
    uint32_t channels;
} picture;

static size_t picture_size(const picture *p)
{
    return (size_t)p->width * p->height * p->channels;
}

static picture picture_zero(uint32_t width, uint32_t height, uint32_t channels)
{
    picture p = {NULL, width, height, channels};

    p.pixels = calloc(1, picture_size(&p) + IMAGE_SLACK);
    return p;
}

/* A box of the picture, zeros where it reaches beyond; frees the picture. */
static picture cropped(picture in, const stage_geometry *g)
{
    picture out = picture_zero(g->width, g->height, in.channels);

    for (uint32_t y = 0; y < g->height; y++) {
        for (uint32_t x = 0; x < g->width; x++) {
            int64_t from_x = g->x + x;
            int64_t from_y = g->y + y;

            if (from_x >= 0 && from_x < in.width && from_y >= 0 && from_y < in.height) {
                memcpy(out.pixels + ((size_t)y * g->width + x) * in.channels,
                       in.pixels + ((size_t)from_y * in.width + (size_t)from_x) * in.channels,
                       in.channels);
            }
        }
    }
    free(in.pixels);
    return out;
}

/* The whole picture resized; frees it. */
static picture resized(picture in, uint32_t width, uint32_t height)
{
    const resample_job job = {in.channels, in.width, in.height, width, height, 0, 0, width, height};
    picture out = picture_zero(width, height, in.channels);
    const line_sink sink = {NULL, NULL, out.pixels};
    image_resampler resampler = {0};
    image_box needed;
    image_view view;

    T_OK(resample_prepare(&resampler, &job, &needed));
    view = (image_view){in.pixels + ((size_t)needed.y * in.width + needed.x) * in.channels,
                        (size_t)in.width * in.channels, needed.width, needed.height, in.channels};
    T_OK(resample_run(&resampler, &view, &sink));
    resampler_free(&resampler);
    free(in.pixels);
    return out;
}

/* ---- pipelines ------------------------------------------------------------------------------- */

enum { SEED = 42 };

typedef struct pipeline {
    sluice_dataset *dataset;
    sli_plan *plan;
    sample_runner runner;
    sli_counters counters[PLAN_PROFILED];
} pipeline;

static pipeline *pipeline_open(const char *text)
{
    const sli_run_settings settings = {.seed = SEED, .rank = 0, .world = 1};
    pipeline *p = NULL;

    if (posix_memalign((void **)&p, 64, sizeof(*p)) != 0) {
        exit(2);
    }
    memset(p, 0, sizeof(*p));
    T_OK(sluice_dataset_parse(text, &p->dataset));
    T_OK(sli_plan_open(p->dataset, &settings, &p->plan));
    T_OK(sample_runner_init(&p->runner, p->plan));
    for (int i = 0; i < PLAN_PROFILED; i++) {
        p->runner.counters[i] = &p->counters[i];
    }
    return p;
}

static void pipeline_close(pipeline *p)
{
    sample_runner_fini(&p->runner);
    sli_plan_close(p->plan);
    sluice_dataset_destroy(p->dataset);
    free(p);
}

/* The image of a sample, as it lies in the batch. */
static picture pipeline_run(pipeline *p, uint64_t sample, uint64_t pass)
{
    const uint64_t *shape = p->plan->wire[p->plan->image_column].shape;
    picture out = picture_zero((uint32_t)shape[1], (uint32_t)shape[0], (uint32_t)shape[2]);
    uint8_t flags = 0;
    int32_t label = 0;
    sample_row row = {.flags = &flags};

    row.columns[p->plan->image_column] = out.pixels;
    row.columns[p->plan->label_column] = &label;
    memset(out.pixels, 0x55, picture_size(&out));
    T_OK(sample_run(&p->runner, sample, pass, &row));
    return out;
}

/* The pipeline's geometry stages, each done on the whole of what the one before gave. */
static picture one_by_one(const pipeline *p, picture image, uint64_t sample, uint64_t pass)
{
    for (uint32_t i = 0; i < p->dataset->stage_count; i++) {
        const dataset_stage *stage = &p->dataset->stages[i];
        const sli_draws draws = {plan_stage_key(p->dataset, i, SEED), sample, pass};
        stage_geometry g = {0};

        if (stage->def->kind != STAGE_GEOMETRY) {
            continue;
        }
        T_OK(stage->def->geometry(stage->args.bytes, &draws, image.width, image.height, &g));
        if (g.crops) {
            image = cropped(image, &g);
        }
        if (g.resizes) {
            image = resized(image, g.new_width, g.new_height);
        }
    }
    return image;
}

static void check_pipeline(pipeline *p, const char *text, picture image, uint64_t sample,
                           uint64_t pass)
{
    picture want = one_by_one(p, image, sample, pass);
    picture got = pipeline_run(p, sample, pass);

    T_EQ(got.width, want.width);
    T_EQ(got.height, want.height);
    for (size_t i = 0; i < picture_size(&want); i++) {
        if (got.pixels[i] != want.pixels[i]) {
            T_FAIL_("%s: sample %llu pass %llu: byte %zu is %u, want %u", text,
                    (unsigned long long)sample, (unsigned long long)pass, i, got.pixels[i],
                    want.pixels[i]);
        }
    }
    free(got.pixels);
    free(want.pixels);
}

/* ---- random pipelines ------------------------------------------------------------------------ */

typedef struct writer {
    char text[600];
    uint32_t width; /* of the image so far */
    uint32_t height;
    bool resized;  /* a resize stands before */
    bool narrowed; /* and a crop after it: crops that follow stay within that */
} writer;

/* Adds a random stage of geometry and keeps track of the size. */
static void add_stage(writer *w, uint32_t *state)
{
    uint32_t height = 1 + test_below(state, 40);
    uint32_t width = 1 + test_below(state, 40);
    uint32_t padding = w->narrowed ? 0 : test_below(state, 6);
    uint32_t kind = test_below(state, w->narrowed ? 5 : 6);
    size_t used = strlen(w->text);
    char *to = w->text + used;
    size_t room = sizeof(w->text) - used;

    switch (kind) {
    case 0:
        snprintf(to, room, " | resize %u,%u", height, width);
        break;
    case 1:
        snprintf(to, room, " | resize %u", height);
        width = w->width <= w->height ? height : w->width * height / w->height;
        height = w->width <= w->height ? w->height * height / w->width : height;
        break;
    case 2:
        snprintf(to, room, " | random_resized_crop %u,%u", height, width);
        break;
    case 5:
        snprintf(to, room, " | center_crop %u,%u", height, width);
        break;
    default:
        height = 1 + test_below(state, w->height + 2 * padding);
        width = 1 + test_below(state, w->width + 2 * padding);
        snprintf(to, room, " | random_crop %u,%u padding=%u", height, width, padding);
    }
    w->width = width;
    w->height = height;
    w->narrowed = kind > 2 && w->resized;
    w->resized = kind <= 2 || w->resized;
}

static void fused_stages_give_what_single_ones_do(void)
{
    uint32_t state = 2024;

    for (int i = 0; i < 600; i++) {
        uint32_t stages = 1 + test_below(&state, 4);
        uint32_t channels = test_below(&state, 4) == 0 ? 1 : 3;
        writer w = {.width = 1 + test_below(&state, 50), .height = 1 + test_below(&state, 50)};
        pipeline *plain;
        pipeline *fused;

        snprintf(w.text, sizeof(w.text), "synthetic 100 shape=%u,%u,%u", w.height, w.width,
                 channels);
        strcat(w.text, " | batch 1");
        plain = pipeline_open(w.text);
        *strstr(w.text, " | batch") = '\0';
        for (uint32_t k = 0; k < stages; k++) {
            add_stage(&w, &state);
        }
        strcat(w.text, " | batch 1");
        fused = pipeline_open(w.text);
        for (uint64_t k = 0; k < 3; k++) {
            check_pipeline(fused, w.text, pipeline_run(plain, k, 0), k, k / 2);
        }
        pipeline_close(plain);
        pipeline_close(fused);
    }
}

/* The same from files of several sizes: what is not needed is not decoded. */
static void fused_stages_decode_what_they_need(void)
{
    static const char *const stages[] = {
        "random_resized_crop 24,30",
        "center_crop 40",
        "random_crop 30,20 padding=30",
        "resize 20 | center_crop 16",
        "resize 33 | random_crop 28",
        "center_crop 9,70 | resize 20,21",
        "center_crop 30 | random_crop 36 padding=4",
        "random_resized_crop 30 | random_crop 32 padding=4 | resize 11,12",
        "random_crop 60 padding=30 | random_resized_crop 20",
        "resize 40 | resize 30 | center_crop 30",
    };
    static const uint8_t samplings[] = {0x11, 0x22, 0x21, 0x12};
    const char *folder = t_folder();
    picture files[12];

    for (uint32_t i = 0; i < 12; i++) {
        const jpeg_recipe recipe = {.width = 33 + i * 17 % 60,
                                    .height = 30 + i * 29 % 50,
                                    .sampling = {samplings[i % 4]},
                                    .progressive = i % 5 == 4,
                                    .seed = i};
        char name[40];
        size_t size = 0;
        uint8_t *bytes = jpeg_make(&recipe, &size);
        jpeg_plain plain = jpeg_plain_decode(bytes, size, JCS_RGB);

        snprintf(name, sizeof(name), "class/%02u.jpg", i);
        t_write_file(t_path(folder, name), bytes, size);
        files[i] = picture_zero(plain.width, plain.height, 3);
        memcpy(files[i].pixels, plain.pixels, picture_size(&files[i]));
        free(plain.pixels);
        free(bytes);
    }
    for (size_t s = 0; s < sizeof(stages) / sizeof(stages[0]); s++) {
        char text[700];
        pipeline *p;

        snprintf(text, sizeof(text), "image_folder '%s' | decode | %s | batch 1", folder,
                 stages[s]);
        p = pipeline_open(text);
        for (uint32_t i = 0; i < 36; i++) {
            picture copy = picture_zero(files[i % 12].width, files[i % 12].height, 3);

            memcpy(copy.pixels, files[i % 12].pixels, picture_size(&copy));
            check_pipeline(p, text, copy, i % 12, i / 12);
        }
        pipeline_close(p);
    }
    for (uint32_t i = 0; i < 12; i++) {
        free(files[i].pixels);
    }
}

/* ---- stages by themselves ----------------------------------------------------------------------
 */

/* A stage with arguments "name=value", up to three. */
static dataset_stage stage_of(const char *name, const char *const arguments[3])
{
    dataset_stage stage = {.def = stage_find(name)};

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

static stage_geometry geometry_of(const dataset_stage *stage, uint64_t sample, uint32_t width,
                                  uint32_t height)
{
    const sli_draws draws = {UINT64_C(0x1234567887654321), sample, 3};
    stage_geometry g = {0};

    T_OK(stage->def->geometry(stage->args.bytes, &draws, width, height, &g));
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
            stage_geometry g = geometry_of(&stage, 0, (uint32_t)(41 - have), (uint32_t)have);

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
        stage_geometry g = geometry_of(&stage, 0, cases[i][0], cases[i][1]);

        T_TRUE(g.resizes && !g.crops);
        T_EQ(g.new_width, cases[i][2]);
        T_EQ(g.new_height, cases[i][3]);
    }
}

/* ---- where random ones fall ---------------------------------------------------------------------
 */

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
        stage_geometry g = geometry_of(&stage, sample, 10, 8);

        T_TRUE(g.x >= -2 && g.x <= 8 && g.y >= -2 && g.y <= 7);
        T_TRUE(g.width == 4 && g.height == 3 && g.crops && !g.resizes);
        counts[(g.y + 2) * 11 + g.x + 2]++;
    }
    check_even(counts, 110, "random_crop's place");
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
        stage_geometry g = geometry_of(&stage, sample, 3000, 3000);
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
            stage_geometry g = geometry_of(&stage, sample, shape[0], shape[1]);

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
        stage_geometry g = geometry_of(&stage, sample, 5, 5);

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
            stage_geometry g = geometry_of(&stage, sample, cases[i].width, cases[i].height);

            found += g.x == cases[i].want[0] && g.y == cases[i].want[1] &&
                     g.width == cases[i].want[2] && g.height == cases[i].want[3];
        }
        /* Where the whole image has an allowed shape, a try may hit nearly that. */
        T_TRUE(found == 50 || (i == 4 && found > 25));
    }
}

/* ---- draws --------------------------------------------------------------------------------------
 */

/* Of 500 samples, how many get the same part in two ways of drawing. */
static uint32_t same_parts(uint64_t key_a, uint64_t key_b, uint64_t pass_a, uint64_t pass_b,
                           uint64_t sample_step)
{
    dataset_stage stage = stage_of("random_resized_crop", (const char *const[3]){"size=9"});
    uint32_t same = 0;

    for (uint64_t sample = 0; sample < 500; sample++) {
        const sli_draws a = {key_a, sample, pass_a};
        const sli_draws b = {key_b, sample + sample_step, pass_b};
        stage_geometry g = {0};
        stage_geometry h = {0};

        T_OK(stage.def->geometry(stage.args.bytes, &a, 500, 400, &g));
        T_OK(stage.def->geometry(stage.args.bytes, &b, 500, 400, &h));
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

static void crops_that_do_not_fit_are_refused(void)
{
    dataset_stage stage = stage_of("random_crop", (const char *const[3]){"size=9", "padding=1"});
    const sli_draws draws = {1, 2, 3};
    stage_geometry g = {0};

    T_OK(stage.def->geometry(stage.args.bytes, &draws, 7, 7, &g));
    T_STATUS(stage.def->geometry(stage.args.bytes, &draws, 6, 7, &g), SLUICE_E_INVALID);
    T_STATUS(stage.def->geometry(stage.args.bytes, &draws, 7, 6, &g), SLUICE_E_INVALID);
    T_CONTAINS(sluice_last_error(), "padding");
}

const t_test geometry_tests[] = {
    T_TEST(fused_stages_give_what_single_ones_do),
    T_TEST(fused_stages_decode_what_they_need),
    T_TEST(center_crops_begin_where_torchvision_has_them),
    T_TEST(one_number_resizes_the_shorter_side),
    T_TEST(random_crops_fall_everywhere_evenly),
    T_TEST(random_resized_crops_are_drawn_evenly),
    T_TEST(random_resized_crops_lie_within_the_image),
    T_TEST(random_resized_crops_reach_the_edges),
    T_TEST(extreme_shapes_give_their_middle),
    T_TEST(draws_depend_on_seed_pass_sample_and_stage_alone),
    T_TEST(crops_that_do_not_fit_are_refused),
    T_END,
};
