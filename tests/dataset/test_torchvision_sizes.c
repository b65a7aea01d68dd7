/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sizes and windows against those of torchvision 0.29.2, and resized pixels: fixtures made by
 * tests/data/torchvision/make_fixtures.py, which draws the same inputs.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dataset_kit.h"
#include "dataset_state.h"
#include "engine_kit.h"
#include "list_kit.h"
#include "picture_kit.h"
#include "pipeline_text.h"
#include "stage_registry.h"
#include "testing.h"

enum { COUNT = 700, CROPS = 200, RESULTS = 3 * 2 * COUNT + 4 * CROPS, DRAWS = 400 };

/* ---- sizes -------------------------------------------------------------------------------------
 */

static struct fixture {
    uint8_t bytes[2 * RESULTS];
    size_t at;      /* the next result */
    uint32_t state; /* of the draws of inputs */
} fixture;

static void open_fixture(void)
{
    FILE *file = fopen(SLUICE_TEST_DATA "/torchvision/sizes.u16", "rb");

    T_TRUE(file != NULL);
    T_EQ(fread(fixture.bytes, 1, sizeof(fixture.bytes), file), sizeof(fixture.bytes));
    fclose(file);
    fixture.at = 0;
    fixture.state = 1;
}

static int32_t next_result(void)
{
    const uint8_t *bytes = &fixture.bytes[2 * fixture.at++];

    return (int16_t)(uint16_t)(bytes[0] | bytes[1] << 8);
}

static uint32_t draw(uint32_t low, uint32_t high)
{
    fixture.state = fixture.state * 1664525U + 1013904223U;
    return low + (fixture.state >> 8) % (high - low + 1);
}

/* A stage with arguments, as in a text. */
static dataset_stage stage_of(const char *text)
{
    static dataset_stage stages[DATASET_MAX_STAGES];
    uint32_t count = 0;

    T_OK(pipeline_parse_stages(registry_stages(), text, stages, &count));
    T_EQ(count, 1);
    return stages[0];
}

/* The window of a stage for an image of this size; a width of 0: it is refused. */
static stage_window window_of(const dataset_stage *stage, uint32_t width, uint32_t height,
                              uint64_t sample)
{
    const sli_draws draws = {.key = 5, .sample = sample};
    stage_window window = {0};

    if (stage->def->geometry->draw(stage->args.bytes, &draws, width, height, &window) !=
        SLUICE_OK) {
        memset(&window, 0, sizeof(window));
    }
    return window;
}

typedef struct side_pair {
    int32_t width;
    int32_t height;
} side_pair;

static side_pair next_size(void)
{
    const int32_t width = next_result();

    return (side_pair){width, next_result()};
}

/* The size that a stage gives; 0, 0: the image is refused. */
static side_pair size_by(const char *text, uint32_t width, uint32_t height)
{
    dataset_stage stage = stage_of(text);
    const stage_window window = window_of(&stage, width, height, 0);

    stage_args_free(stage.def, stage.args.bytes);
    return (side_pair){(int32_t)window.new_width, (int32_t)window.new_height};
}

/* A side of 0 is a bad sample, which torchvision refuses later. */
static void check_size(const char *text, uint32_t width, uint32_t height, side_pair want)
{
    const side_pair got = size_by(text, width, height);
    const bool refused = got.width == 0 && (want.width == 0 || want.height == 0);

    if (!refused && (got.width != want.width || got.height != want.height)) {
        T_FAIL_("%s makes %dx%d of %ux%u, want %dx%d", text, got.width, got.height, width, height,
                want.width, want.height);
    }
}

static void shorter_sides_are_those_of_torchvision(void)
{
    open_fixture();
    for (uint32_t i = 0; i < 2 * COUNT; i++) {
        const bool resize = i < COUNT;
        const uint32_t width = draw(1, 2000);
        const uint32_t height = draw(1, 2000);
        const uint32_t n = draw(1, 700);
        char text[100];

        snprintf(text, sizeof(text), "%s %u max_size=%u",
                 resize ? "resize" : "random_shortest_size", n, n + draw(resize, 800));
        check_size(text, width, height, next_size());
    }
}

/* torchvision multiplies in single precision, which may give one pixel more or less. */
static void scaled_sides_are_those_of_torchvision_within_one(void)
{
    uint32_t other = 0;

    for (uint32_t i = 0; i < COUNT; i++) {
        const uint32_t width = draw(1, 2000);
        const uint32_t height = draw(1, 2000);
        const uint32_t to_width = draw(1, 1000);
        const uint32_t to_height = draw(1, 1000);
        const double factor = draw(7, 128) / 64.0;
        const double by_width = (double)to_width / width;
        const double by_height = (double)to_height / height;
        const float r = (float)(by_width < by_height ? by_width : by_height) * (float)factor;
        const side_pair want = next_size();
        side_pair got;
        char text[100];

        snprintf(text, sizeof(text), "scale_jitter %u,%u scale=%.9g,%.9g", to_height, to_width,
                 factor, factor);
        got = size_by(text, width, height);
        T_EQ(want.width, (int32_t)((float)width * r));
        T_EQ(want.height, (int32_t)((float)height * r));
        T_TRUE(abs(got.width - want.width) <= 1 && abs(got.height - want.height) <= 1);
        other += (uint32_t)(got.width != want.width) + (uint32_t)(got.height != want.height);
    }
    T_EQ(other, 9);
}

/* ---- windows -----------------------------------------------------------------------------------
 */

/* The ends of what a random crop draws. */
static void crops_with_padding_begin_where_those_of_torchvision_do(void)
{
    for (uint32_t i = 0; i < CROPS; i++) {
        const uint32_t width = draw(1, 20);
        const uint32_t height = draw(1, 20);
        const uint32_t to_width = draw(1, 24);
        const uint32_t to_height = draw(1, 24);
        uint32_t padding[4];
        int64_t ends[4] = {INT32_MAX, INT32_MAX, INT32_MIN, INT32_MIN};
        dataset_stage stage;
        char text[100];

        for (int k = 0; k < 4; k++) {
            padding[k] = draw(0, 4);
        }
        snprintf(text, sizeof(text), "random_crop %u,%u %u,%u,%u,%u pad_if_needed=true", to_height,
                 to_width, padding[0], padding[1], padding[2], padding[3]);
        stage = stage_of(text);
        for (uint64_t sample = 0; sample < DRAWS; sample++) {
            const stage_window window = window_of(&stage, width, height, sample);

            T_TRUE(window.width == to_width && window.height == to_height);
            ends[0] = window.x < ends[0] ? window.x : ends[0];
            ends[1] = window.y < ends[1] ? window.y : ends[1];
            ends[2] = window.x > ends[2] ? window.x : ends[2];
            ends[3] = window.y > ends[3] ? window.y : ends[3];
        }
        for (int k = 0; k < 4; k++) {
            T_EQ(ends[k], next_result());
        }
        stage_args_free(stage.def, stage.args.bytes);
    }
    T_EQ(fixture.at, RESULTS);
}

/* ---- pixels ------------------------------------------------------------------------------------
 */

/* What stages make of the input of the fixtures. */
static picture picture_of(const char *stages, uint32_t width, uint32_t height)
{
    const picture from = picture_read("torchvision", "rgb-70x12.ppm");
    const char *folder = t_folder();
    picture to = picture_empty(width, height, 3);
    char bytes[20 + 70 * 12 * 3];
    char text[200];
    const size_t head = (size_t)snprintf(bytes, sizeof(bytes), "P6 70 12 255\n");
    engine_run run;

    memcpy(bytes + head, from.pixels, picture_size(&from));
    t_write_file(t_path(folder, "a.ppm"), bytes, head + picture_size(&from));
    snprintf(text, sizeof(text), "| decode | %s | batch 1", stages);
    open_own(&run, list_dataset(folder, "image\na.ppm\n", text), &(run_options){.workers = 1});
    T_OK(next_batch(&run));
    T_EQ(row_bytes(&run, 0), picture_size(&to));
    memcpy(to.pixels, column_row(&run, "image", 0), picture_size(&to));
    close_run(&run);
    free(from.pixels);
    return to;
}

/* With antialias. torchvision rounds weights to 16 bits. */
static void pixels_are_those_of_torchvision_within_one(void)
{
    static const struct {
        const char *stages;
        const char *name;
        int most;       /* the largest difference of a value */
        uint32_t other; /* values that differ */
    } cases[] = {
        {"resize 7,31", "resize-31x7.ppm", 1, 89},
        {"resize 5,90", "resize-90x5.ppm", 1, 131},
        {"resize 17,40", "resize-40x17.ppm", 1, 368},
        {"resize 6,70", "resize-70x6.ppm", 1, 0},
        {"random_horizontal_flip 1 | resize 7,31", "flip-resize-31x7.ppm", 1, 89},
        {"random_horizontal_flip 1 | center_crop 7,20", "flip-crop-20x7.ppm", 0, 0},
        {"center_crop 7,20 | random_horizontal_flip 1", "flip-crop-20x7.ppm", 0, 0},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const picture want = picture_read("torchvision", cases[i].name);
        const picture got = picture_of(cases[i].stages, want.width, want.height);
        uint32_t other = 0;

        for (size_t k = 0; k < picture_size(&want); k++) {
            const int by = abs(got.pixels[k] - want.pixels[k]);

            T_TRUE(by <= cases[i].most);
            other += by != 0;
        }
        T_EQ(other, cases[i].other);
        free(want.pixels);
        free(got.pixels);
    }
}

static void sizes_and_windows_are_those_of_torchvision(void)
{
    shorter_sides_are_those_of_torchvision();
    scaled_sides_are_those_of_torchvision_within_one();
    crops_with_padding_begin_where_those_of_torchvision_do();
}

const t_test torchvision_sizes_tests[] = {
    T_TEST(sizes_and_windows_are_those_of_torchvision),
    T_TEST(pixels_are_those_of_torchvision_within_one),
    T_END,
};
