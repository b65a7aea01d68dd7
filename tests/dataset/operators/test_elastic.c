/* SPDX-License-Identifier: Apache-2.0 */
/* elastic: torchvision's results for the same noise, the noise, its filter, and what follows. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "color_fields.h"
#include "cpu_int.h"
#include "dataset_kit.h"
#include "elastic_kernels.h"
#include "list_kit.h"
#include "picture_kit.h"
#include "sample_boxes.h"
#include "stage_runs.h"
#include "testing.h"

#define SOURCE "synthetic 12 16,16,3"

/* ---- torchvision -------------------------------------------------------------------------------
 */

/* The noise of tests/data/torchvision/make_fixtures.py. */
static float fixture_noise(uint32_t x, uint32_t y, uint32_t axis)
{
    const uint32_t bits = (x * 40503 + y * 30011 + axis * 17 + x * y * 977) & 0xFFFF;

    return (float)(2 * (int32_t)bits - 65535) / 65536;
}

static void make_fixture(elastic_field *field, uint32_t width, uint32_t height,
                         const elastic_options *options)
{
    *field = (elastic_field){.width = width, .height = height, .options = *options};
    T_OK(elastic_reserve(field));
    for (uint32_t axis = 0; axis < 2; axis++) {
        for (uint32_t y = 0; y < height; y++) {
            for (uint32_t x = 0; x < width; x++) {
                elastic_noise(field, y)[x] = fixture_noise(x, y, axis);
            }
        }
        elastic_displace(field, axis);
    }
    field->is_made = true;
}

static const elastic_options fixture_options = {{9, 40}, {1.2, 0.9}};

/* Points are computed in single precision there, too, but in another order. */
static void results_are_those_of_torchvision(void)
{
    static const struct {
        const char *output;
        uint8_t fill[4];
        bool nearest;
    } cases[] = {{"elastic.ppm", {10, 200, 90}, false}, {"elastic-nearest.ppm", {7, 7, 7}, true}};
    picture from = picture_read("torchvision", "rgb-70x12.ppm");
    const image_view view = {from.pixels, (size_t)from.width * 3, from.width, from.height, 3,
                             IMAGE_U8};
    elastic_field field;

    make_fixture(&field, from.width, from.height, &fixture_options);
    for (size_t i = 0; i < 2; i++) {
        picture want = picture_read("torchvision", cases[i].output);
        picture got = picture_empty(from.width, from.height, 3);
        image_warp warp = {
            .matrix = warp_identity, .shifts = &field.shifts, .nearest = cases[i].nearest};
        size_t other = 0;

        memcpy(warp.fill, cases[i].fill, sizeof(warp.fill));
        for (uint32_t y = 0; y < from.height; y++) {
            warp_line(&warp, &view, y, got.pixels + y * view.stride);
        }
        for (size_t k = 0; k < picture_size(&want); k++) {
            T_TRUE(warp.nearest || abs(got.pixels[k] - want.pixels[k]) <= 1);
            other += got.pixels[k] != want.pixels[k];
        }
        T_TRUE(other * 200 <= picture_size(&want));
        free(want.pixels);
        free(got.pixels);
    }
    elastic_free(&field);
    free(from.pixels);
}

/* The boxes that make_fixtures.py prints. */
static void boxes_are_those_of_torchvision(void)
{
    static const float want[12] = {12.0725861F, 1.9043479F, 41.2478447F, 9.2689743F,
                                   2.0131040F,  0.6695472F, 70,          11.2613306F,
                                   57.1133919F, 3.6897168F, 63.6943283F, 10.6971188F};
    float boxes[12] = {10, 2, 40, 9, 0, 0, 69, 11, 60, 4, 66, 11};
    int32_t length = 3;
    void *const buffers[2] = {boxes, &length};
    static color_chain chain;
    static elastic_field field;
    stage_schema schema = {.column_count = 2, .image = -1};
    const sample_transform transform = {
        .width = 70, .height = 12, .applied = nothing_applied, .device = &chain, .warps = true};
    image_warp warp = {.matrix = warp_identity};
    changed_boxes clipped;

    schema.columns[0] = (sluice_column){"boxes", SLUICE_F32, 2, {3, 4}};
    schema.columns[1] = (sluice_column){"length", SLUICE_I32, 0, {0}};
    schema.infos[0] = (column_info){.role = ROLE_BOXES, .length = 1};
    schema.infos[1] = (column_info){.role = ROLE_PLAIN, .buffer = 1};
    make_fixture(&field, 70, 12, &fixture_options);
    chain.width = 70;
    chain.height = 12;
    warp.shifts = &field.shifts;
    color_add_warp(&chain, &warp);
    T_OK(boxes_follow(&schema, &transform, 0, buffers, &clipped));
    T_EQ(length, 3);
    for (int i = 0; i < 12; i++) {
        T_TRUE(fabsf(boxes[i] - want[i]) < 2e-4F);
    }
    elastic_free(&field);
}

/* ---- the filter --------------------------------------------------------------------------------
 */

static uint32_t reflected(int at, uint32_t length)
{
    while (length > 1 && (at < 0 || at >= (int)length)) {
        at = at < 0 ? -at : 2 * (int)length - 2 - at;
    }
    return length > 1 ? (uint32_t)at : 0;
}

static double weight_of(int x, double sigma)
{
    return exp(-0.5 * (x / sigma) * (x / sigma));
}

/* A displacement in double precision. */
static double displaced(const elastic_field *field, uint32_t x, uint32_t y, uint32_t axis)
{
    const elastic_options *options = &field->options;
    const uint32_t sides[2] = {field->width, field->height};
    const int half = ((int)(8 * options->sigma[axis] + 1) | 1) / 2;
    double sum = 0;
    double weights = 0;

    for (int j = -half; j <= half; j++) {
        for (int i = -half; i <= half; i++) {
            const double weight = weight_of(i, options->sigma[0]) * weight_of(j, options->sigma[1]);

            weights += weight;
            sum += weight * (double)fixture_noise(reflected((int)x + i, field->width),
                                                  reflected((int)y + j, field->height), axis);
        }
    }
    return sum / weights * options->alpha[axis] / sides[1 - axis] * sides[axis] / 2;
}

/* Images smaller than the filter, and as wide as blocks of the kernels. */
static void displacements_are_those_of_a_plain_reference(void)
{
    static const uint32_t sizes[][2] = {{1, 1}, {2, 3}, {1, 30}, {64, 5}, {65, 4}, {130, 2}};
    static const elastic_options options = {{20, 30}, {1.7, 0.6}};

    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        elastic_field field;

        make_fixture(&field, sizes[i][0], sizes[i][1], &options);
        for (uint32_t k = 0; k < 2 * sizes[i][0] * sizes[i][1]; k++) {
            const uint32_t axis = k % 2;
            const uint32_t x = k / 2 % field.width;
            const uint32_t y = k / 2 / field.width;
            const double want = displaced(&field, x, y, axis);
            const float got = field.shifts.lines[(2 * y + axis) * field.shifts.stride + x];

            T_TRUE(fabs((double)got - want) < 1e-4 * (1 + fabs(want)));
        }
        elastic_free(&field);
    }
}

/* ---- kernels -----------------------------------------------------------------------------------
 */

static void kernels_of_all_levels_give_the_same_bits(void)
{
#if defined(__x86_64__)
    enum { TAPS = 7, COUNT = 3 * SMOOTH_BLOCK };
    static const elastic_kernels *const levels[] = {&sli_elastic_kernels_v3,
                                                    &sli_elastic_kernels_v4};
    static float from[2 * COUNT];
    static float sums[2][COUNT];
    const float weights[TAPS] = {0.03F, 0.07F, 0.15F, 0.5F, 0.15F, 0.07F, 0.03F};
    const float *lines[TAPS];

    for (uint32_t i = 0; i < 2 * COUNT; i++) {
        from[i] = fixture_noise(i, 3, 1);
    }
    for (int i = 0; i < TAPS; i++) {
        lines[i] = from + 5 * i;
    }
    sli_elastic_kernels_portable.smooth(lines, weights, TAPS, sums[0], COUNT);
    for (int level = SLI_CPU_V3; level <= (int)sli_cpu_best(); level++) {
        levels[level - SLI_CPU_V3]->smooth(lines, weights, TAPS, sums[1], COUNT);
        T_TRUE(memcmp(sums[0], sums[1], sizeof(sums[0])) == 0);
    }
#endif
}

/* ---- pipelines ---------------------------------------------------------------------------------
 */

static void workers_and_devices_do_not_matter(void)
{
    check_workers_and_devices(SOURCE,
                              "shuffle | random_crop 12 | random_horizontal_flip | elastic 60 3 | "
                              "color_jitter 0.4 0.4 | random_vertical_flip | random_apply 0.5 "
                              "(rotate 20 | elastic 9,30 1,2 nearest) | normalize 0.5 0.5");
}

static void without_displacements_nothing_changes(void)
{
    check_stages(SOURCE, "elastic 0", "take 12", true);
    check_stages(SOURCE, "elastic 0 0 nearest", "take 12", true);
    check_stages(SOURCE, "elastic", "take 12", false);
    check_stages(SOURCE, "elastic 0,50", "take 12", false);
    check_stages(SOURCE, "elastic sigma=0", "elastic", false);
    check_stages(SOURCE, "rotate 20 filter=bilinear | elastic 0", "rotate 20 filter=bilinear",
                 true);
    check_pass("synthetic 3 1,1,3", "elastic", 1);
    check_pass("synthetic 3 1,9,1", "elastic sigma=9,0.1", 1);
    check_pass("synthetic 3 9,8,4", "elastic fill=1,2,3,4", 1);
}

/* A warp before elastic is one with it; a warp after it is not. */
static void an_image_is_sampled_once_where_possible(void)
{
    static color_chain chain;
    static elastic_field fields[2];
    const warp_affine affine = {10, {1, 2}, 1, {0, 0}};
    const elastic_options options = {{50, 50}, {2, 2}};
    const sli_draws draws = {1, 2, 3};
    image_warp warp = {.matrix = warp_identity};

    chain = (color_chain){.width = 20, .height = 20, .fields = fields, .field_count = 2};
    warp.matrix = warp_of_affine(&affine, 20, 20);
    color_add_warp(&chain, &warp);
    color_add_elastic(&chain, &(image_warp){.matrix = warp_identity}, &options, &draws);
    T_EQ(chain.count, 1);
    T_TRUE(memcmp(&chain.operations[0].warp.matrix, &warp.matrix, sizeof(warp.matrix)) == 0);
    color_add_elastic(&chain, &(image_warp){.matrix = warp_identity}, &options,
                      &(sli_draws){4, 5, 6});
    color_add_warp(&chain, &warp);
    T_EQ(chain.count, 3);
    T_TRUE(chain.operations[0].warp.shifts != chain.operations[1].warp.shifts);
    T_TRUE(chain.operations[2].warp.shifts == NULL);
    T_OK(color_make_fields(&chain));
    T_TRUE(fields[0].is_made && fields[1].is_made);

    /* The next image: the second stage has the field of before, the first one another. */
    chain.count = 0;
    color_add_elastic(&chain, &(image_warp){.matrix = warp_identity}, &options,
                      &(sli_draws){7, 8, 9});
    color_add_elastic(&chain, &(image_warp){.matrix = warp_identity}, &options,
                      &(sli_draws){4, 5, 6});
    T_TRUE(chain.operations[0].warp.shifts != chain.operations[1].warp.shifts);
    T_EQ(fields[0].is_made + fields[1].is_made, 1);
    elastic_free(&fields[0]);
    elastic_free(&fields[1]);
}

/* ---- what follows the image --------------------------------------------------------------------
 */

#define ELASTIC "elastic 60 4 nearest fill=255 mask_fill=9"

/* The pixels of the image encode their positions. */
static void masks_show_the_same_pixels(void)
{
    static const char *const stages[] = {
        ELASTIC, "random_horizontal_flip 1 | " ELASTIC " | random_vertical_flip 1",
        "rotate 30 fill=255 mask_fill=9 | " ELASTIC " | rotate 20 fill=255 mask_fill=9"};

    for (size_t i = 0; i < 3; i++) {
        engine_run run;
        const uint8_t *image;
        const uint8_t *mask;
        uint32_t seen = 0;

        open_list(&run, LIST_OF_BOXES, "decode", stages[i], 0);
        image = column_row(&run, "image", 0);
        mask = column_row(&run, "mask", 0);
        for (size_t k = 0; k < (size_t)LIST_WIDTH * LIST_HEIGHT; k++) {
            const uint8_t *pixel = &image[3 * k];

            T_EQ(mask[k], pixel[2] == 255 ? 9 : class_of(pixel[0], pixel[1]));
            seen += pixel[2] != 255;
        }
        T_TRUE(seen > 300);
        close_run(&run);
    }
}

/* The displacements do not depend on flips before the stage. */
static void flips_keep_their_position(void)
{
    static const char *const stages[] = {
        ELASTIC, "random_horizontal_flip 1 | random_vertical_flip 1 | " ELASTIC};
    static uint8_t images[2][LIST_WIDTH * LIST_HEIGHT * 3];
    uint32_t other = 0;

    for (size_t i = 0; i < 2; i++) {
        engine_run run;

        open_list(&run, "image\na.ppm\n", "decode", stages[i], 0);
        memcpy(images[i], column_row(&run, "image", 0), sizeof(images[i]));
        close_run(&run);
    }
    for (size_t k = 0; k < sizeof(images[0]); k += 3) {
        const uint8_t *plain = &images[0][k];
        const uint8_t *flipped = &images[1][k];

        if (plain[2] == 255 || flipped[2] == 255) {
            other += plain[2] != flipped[2];
        } else {
            other +=
                plain[0] != LIST_WIDTH - 1 - flipped[0] || plain[1] != LIST_HEIGHT - 1 - flipped[1];
        }
    }
    T_TRUE(other < 10); /* points between two pixels */
}

static void images_of_a_sample_get_the_same_displacements(void)
{
    engine_run run;

    open_list(&run, "image\tother:image\tmask:mask\na.ppm\ta.ppm\tm.pgm\n", "decode",
              "elastic 9 2 nearest | random_apply 0.9 (elastic 80 3 nearest | rotate 9)", 0);
    T_TRUE(memcmp(column_row(&run, "image", 0), column_row(&run, "other", 0), row_bytes(&run, 0)) ==
           0);
    for (size_t k = 0; k < (size_t)LIST_WIDTH * LIST_HEIGHT; k++) {
        const uint8_t *pixel = (const uint8_t *)column_row(&run, "image", 0) + 3 * k;
        const uint8_t class = ((const uint8_t *)column_row(&run, "mask", 0))[k];

        T_TRUE((pixel[0] == 0 && pixel[1] == 0) || class == class_of(pixel[0], pixel[1]));
    }
    close_run(&run);
}

static void misplaced_stages_and_bad_arguments_are_refused(void)
{
    static const char *const cases[][2] = {
        {"normalize 0.5 0.5 | elastic", "put it before normalize, to_dtype and to_chw"},
        {"elastic -1", "alpha=-1,-1 must be from 0 to 1e+06"},
        {"elastic 1,2,3", "alpha must be one number, or two for x and y: alpha=X,Y"},
        {"elastic nan", "alpha"},
        {"elastic sigma=65", "sigma=65,65 must be from 0 to 64"},
        {"elastic sigma=0,1", "sigma=0,1 must be two numbers above 0, or 0 for both"},
        {"elastic filter=bicubic", "filter"},
        {"elastic fill=1,2", "fill has 2 values and column image 3 channels"},
        {"geometry | elastic", "column geometry of stage geometry can show affine maps"},
        {"elastic | geometry", "leave geometry or elastic out"},
        {"device | elastic", "elastic need the whole image"},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char text[400];

        snprintf(text, sizeof(text), "synthetic 4 8,8,3 | %s", cases[i][0]);
        check_refused(text, cases[i][1]);
    }
    check_refused("synthetic 4 8193,8192,3 | elastic",
                  "images of 8192x8193; it takes images of at most 2^26 pixels");
}

const t_test elastic_tests[] = {
    T_TEST(results_are_those_of_torchvision),
    T_TEST(boxes_are_those_of_torchvision),
    T_TEST(displacements_are_those_of_a_plain_reference),
    T_TEST(kernels_of_all_levels_give_the_same_bits),
    T_TEST(workers_and_devices_do_not_matter),
    T_TEST(without_displacements_nothing_changes),
    T_TEST(an_image_is_sampled_once_where_possible),
    T_TEST(masks_show_the_same_pixels),
    T_TEST(flips_keep_their_position),
    T_TEST(images_of_a_sample_get_the_same_displacements),
    T_TEST(misplaced_stages_and_bad_arguments_are_refused),
    T_END,
};
