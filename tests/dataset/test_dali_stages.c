/* SPDX-License-Identifier: Apache-2.0 */
/* color_twist and warp_affine: DALI's results, their draws, and what they refuse. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "color_kernels.h"
#include "color_ops.h"
#include "cpu_int.h"
#include "dataset_kit.h"
#include "list_kit.h"
#include "picture_kit.h"
#include "stage_runs.h"
#include "testing.h"

#define SOURCE "synthetic 12 16,16,3"

/* ---- DALI's results ----------------------------------------------------------------------------
 */

static void write_input(const char *path)
{
    picture p = picture_read("torchvision", "rgb-70x12.ppm");
    FILE *file = fopen(path, "wb");

    fprintf(file, "P6\n%u %u\n255\n", p.width, p.height);
    fwrite(p.pixels, 1, picture_size(&p), file);
    fclose(file);
    free(p.pixels);
}

/* Runs a stage on DALI's input. */
static void run_stage(const char *stage, picture *result)
{
    const char *folder = t_folder();
    char path[400];
    char text[400];
    engine_run run;

    snprintf(path, sizeof(path), "%s/a.ppm", folder);
    write_input(path);
    snprintf(text, sizeof(text), "| decode | %s | batch 1", stage);
    open_own(&run, list_dataset(folder, "image\na.ppm\n", text), &one_worker);
    T_OK(next_batch(&run));
    *result = picture_empty(70, 12, 3);
    memcpy(result->pixels, column_row(&run, "image", 0), picture_size(result));
    close_run(&run);
}

/* True if the point of the first warp_affine below is less than half a pixel from an edge: the
 * values there are torchvision's. */
static bool is_at_edge(size_t pixel)
{
    const double x = (double)(pixel % 70) + 0.5;
    const double y = (double)(pixel / 70) + 0.5;
    const double from_x = 0.9 * x + 0.2 * y - 3.5;
    const double from_y = -0.1 * x + 1.1 * y + 2.25;

    return fabs(from_x) < 0.51 || fabs(from_x - 70) < 0.51 || fabs(from_y) < 0.51 ||
           fabs(from_y - 12) < 0.51;
}

/* Values that are nearly halves may be rounded the other way; a point between two pixels may be
 * sampled at the other one. */
static void results_are_those_of_dali(void)
{
    static const struct {
        const char *stage;
        const char *output;
        int largest;
    } cases[] = {
        {"color_twist 1.3 0.7 1.6 40", "color-twist.ppm", 1},
        {"color_twist 0.8 1.5 0 -100", "color-twist-gray.ppm", 1},
        {"warp_affine 0.9,0.2,-3.5,-0.1,1.1,2.25 fill=90", "warp-affine.ppm", 1},
        {"warp_affine 0.9,0.2,-3.5,-0.1,1.1,2.25 false nearest fill=90", "warp-affine-nearest.ppm",
         255},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        picture want = picture_read("dali", cases[i].output);
        picture got;
        uint32_t other = 0;

        run_stage(cases[i].stage, &got);
        for (size_t k = 0; k < picture_size(&want); k++) {
            if (i != 2 || !is_at_edge(k / 3)) {
                T_NEAR(got.pixels[k], want.pixels[k], cases[i].largest);
                other += got.pixels[k] != want.pixels[k];
            }
        }
        if (other > 12) {
            fprintf(stderr, "%s: %u values differ\n", cases[i].stage, other);
            T_TRUE(false);
        }
        free(want.pixels);
        free(got.pixels);
    }
}

/* ---- color_twist -------------------------------------------------------------------------------
 */

static void kernels_of_all_levels_give_the_same_bytes(void)
{
#if defined(__x86_64__)
    enum { PIXELS = 333 };
    static const color_kernels *const levels[] = {&sli_color_kernels_v3, &sli_color_kernels_v4};
    static const float matrix[12] = {0.9F,   0.31F, -0.17F, 12.25F, -0.4F, 1.7F,
                                     0.001F, -30,   3,      -2,     0.5F,  0.5F};
    picture from = picture_make(PIXELS, 1, 3, 3);
    picture want = picture_empty(PIXELS, 1, 3);
    picture got = picture_empty(PIXELS, 1, 3);

    sli_color_kernels_portable.twist(from.pixels, want.pixels, PIXELS, matrix);
    for (uint32_t k = 0; k < picture_size(&from); k++) {
        const uint8_t *in = &from.pixels[k / 3 * 3];
        const float *row = &matrix[4 * (k % 3)];
        const float value = in[0] * row[0] + in[1] * row[1] + in[2] * row[2] + row[3];

        T_NEAR(want.pixels[k], value < 0 ? 0 : value > 255 ? 255 : (int)(value + 0.5F), 0);
    }
    for (int level = SLI_CPU_V3; level <= (int)sli_cpu_best(); level++) {
        levels[level - SLI_CPU_V3]->twist(from.pixels, got.pixels, PIXELS, matrix);
        T_TRUE(memcmp(got.pixels, want.pixels, picture_size(&want)) == 0);
    }
    free(from.pixels);
    free(want.pixels);
    free(got.pixels);
#endif
}

static void amounts_are_drawn_in_their_ranges(void)
{
    static color_chain chain;
    sluice_dataset *dataset = parsed("synthetic 4 8,8,3 | color_twist 0.5,1.5 0.8,1.2 | batch 2");
    const dataset_stage *stage = &dataset->stages[1];
    double sum = 0;
    float least = 9;
    float most = 0;

    for (uint64_t sample = 0; sample < 500; sample++) {
        const sli_draws draws = {3, sample, 0};
        const float *row;
        float brightness;
        float contrast;

        chain = (color_chain){.width = 8, .height = 8};
        stage->def->color->add(stage->args.bytes, &draws, &chain);
        T_EQ(chain.count, 1);
        row = chain.operations[0].matrix[0];
        /* row sum = b c (nearly), and b - b c = row[3] / 128 */
        brightness = row[0] + row[1] + row[2] + row[3] / 128;
        contrast = (row[0] + row[1] + row[2]) / brightness;
        T_TRUE(contrast > 0.79F && contrast < 1.21F);
        least = brightness < least ? brightness : least;
        most = brightness > most ? brightness : most;
        sum += (double)brightness;
    }
    T_TRUE(least > 0.49F && least < 0.52F && most > 1.48F && most < 1.51F);
    T_TRUE(fabs(sum / 500 - 1) < 0.05);
    sluice_dataset_destroy(dataset);
}

static void amounts_that_change_nothing_change_nothing(void)
{
    check_stages(SOURCE, "warp_affine 1,0,0,0,1,0", "take 12", true);
    check_stages(SOURCE, "warp_affine 1,0,3,0,1,-2 filter=nearest", "affine translate=-3,2", true);
    check_stages(SOURCE, "warp_affine 1,0,3,0,1,-2 false nearest", "affine translate=3,-2", true);
    check_stages(SOURCE, "random_horizontal_flip 1 | warp_affine 1,0,3,0,1,0 filter=nearest",
                 "warp_affine 1,0,-3,0,1,0 filter=nearest | random_horizontal_flip 1", true);
    check_stages(SOURCE, "color_twist 0", "color_twist 0 3 2 90", true);
    check_stages(SOURCE, "color_twist 1,1.2", "color_twist 1.1,1.2", false);
    check_workers_and_devices(SOURCE, "shuffle | color_twist 0.5,1.5 0.5,1.5 0,2 -50,50 | "
                                      "warp_affine 1.1,0,0,0.1,1,0 | normalize 0.5 0.5");
    check_workers_and_devices(SOURCE,
                              "device | warp_affine 1.1,0,0,0.1,1,0 fill=3 | normalize 0.5 0.5");
}

static void bad_arguments_are_refused(void)
{
    static const char *const cases[][2] = {
        {"color_twist -1", "brightness from -1 to -1 must have 0 <= LOW <= HIGH <= 1000"},
        {"color_twist hue=2,1", "hue from 2 to 1"},
        {"color_twist 1,2,3", "brightness must be one number, or LOW,HIGH"},
        {"color_twist nan", "brightness"},
        {"to_chw | color_twist", "put it before normalize, to_dtype and to_chw"},
        {"device | color_twist", "others a matrix or a table"},
        {"warp_affine", "matrix"},
        {"warp_affine 1,0,0", "matrix must be six numbers, M11,M12,M13,M21,M22,M23"},
        {"warp_affine 1,2,3,4,5,6,7", "matrix"},
        {"warp_affine 1,2,3,2,4,9", "the matrix 1,2 2,4 is singular"},
        {"warp_affine 1e7,0,0,0,1,0", "matrix=1e+07 must be from -1e+06 to 1e+06"},
        {"warp_affine 1,0,nan,0,1,0", "matrix"},
        {"warp_affine 1,0,0,0,1,0 fill=1,2", "fill"},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char text[400];

        snprintf(text, sizeof(text), "synthetic 4 8,8,3 | %s", cases[i][0]);
        check_refused(text, cases[i][1]);
    }
    check_refused("synthetic 4 8,8,1 | color_twist",
                  "column image has 1 channels, and must have 3 (RGB)");
    check_refused("image_folder /tmp | color_twist", "still encoded; put decode before it");
}

const t_test dali_stages_tests[] = {
    T_TEST(results_are_those_of_dali),         T_TEST(kernels_of_all_levels_give_the_same_bytes),
    T_TEST(amounts_are_drawn_in_their_ranges), T_TEST(amounts_that_change_nothing_change_nothing),
    T_TEST(bad_arguments_are_refused),         T_END,
};
