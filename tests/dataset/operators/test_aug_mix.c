/* SPDX-License-Identifier: Apache-2.0 */
/* aug_mix: the sum of an image and its copies, what is drawn, and what it refuses. */
#include <stdlib.h>

#include "beta_draw_int.h"
#include "color_ops.h"
#include "dataset_kit.h"
#include "image_mix.h"
#include "list_kit.h"
#include "stage_runs.h"
#include "testing.h"

enum { MIX_SIDE = 12, MIX_BYTES = MIX_SIDE * MIX_SIDE * 3 };

#define SOURCE "synthetic 20 12,12,3"

/* The first image of the stages. */
static void first_image(const char *stages, uint8_t image[MIX_BYTES])
{
    tape t = run_stages_of(SOURCE, stages, &one_worker);
    const size_t batch = t.size / t.batches;

    T_STATUS(t.end, SLUICE_END_OF_DATA);
    memcpy(image, t.bytes + batch - 4 * (MIX_BYTES + sizeof(int32_t)), MIX_BYTES);
    free(t.bytes);
}

/* ---- the sum --------------------------------------------------------------------------------- */

static color_chain outer;
static color_mix *begin_mix(void)
{
    static color_mix mix;

    outer = (color_chain){.width = MIX_SIDE, .height = MIX_SIDE, .mixes = &mix};
    return color_add_mix(&outer);
}

static void run_mix(color_mix *mix, const uint8_t *image, uint8_t got[MIX_BYTES])
{
    const image_view view = {image, 3 * (size_t)MIX_SIDE, MIX_SIDE, MIX_SIDE, 3, IMAGE_U8};
    mix_buffers buffers = {0};

    T_OK(mix_reserve(&buffers, &outer, 3));
    mix_run(&buffers, mix, &view);
    for (uint32_t y = 0; y < MIX_SIDE; y++) {
        mix_line(&buffers, &view, y, got + 3 * (size_t)MIX_SIDE * y);
    }
    mix_free(&buffers);
}

static void copies_are_as_the_stages_make_them(void)
{
    static const warp_affine turned = {-30, {0, 0}, 1, {0, 0}};
    color_mix *mix = begin_mix();
    color_chain *chain = &mix->chains[0];
    image_warp warp = {.nearest = true};
    uint8_t image[MIX_BYTES];
    uint8_t want[MIX_BYTES];
    uint8_t got[MIX_BYTES];

    first_image("random_solarize 90 1 | random_autocontrast 1 | rotate 30 | random_grayscale 1 | "
                "random_adjust_sharpness 2 1 | random_equalize 1 | random_invert 1",
                want);
    first_image("take 20", image);
    warp.matrix = warp_of_affine(&turned, MIX_SIDE, MIX_SIDE);
    color_add_solarize(chain, 90);
    color_add_autocontrast(chain);
    color_add_warp(chain, &warp);
    color_add_gray(chain);
    color_add_sharpness(chain, 2);
    color_add_equalize(chain);
    color_add_invert(chain);
    mix->count = 1;
    mix->share = 0;
    mix->weights[0] = 1;
    run_mix(mix, image, got);
    T_TRUE(memcmp(got, want, MIX_BYTES) == 0);
}

static void the_sum_is_in_single_precision_and_truncated(void)
{
    static const float shares[] = {0.3F, 0.45F, 0.25F};
    color_mix *mix = begin_mix();
    uint8_t image[MIX_BYTES];
    uint8_t got[MIX_BYTES];

    first_image("take 20", image);
    mix->count = 2;
    mix->share = shares[0];
    mix->weights[0] = shares[1];
    mix->weights[1] = shares[2];
    color_add_invert(&mix->chains[0]);
    run_mix(mix, image, got);
    for (uint32_t i = 0; i < MIX_BYTES; i++) {
        const float own = shares[0] * (float)image[i];
        const float inverted = shares[1] * (float)(255 - image[i]);
        const float both = own + inverted;
        const float again = shares[2] * (float)image[i];
        const float sum = both + again;

        T_EQ(got[i], (int)sum);
    }
    mix->share = 0.6F;
    mix->weights[0] = 0.4000001F; /* a sum above 255 by rounding */
    mix->count = 1;
    mix->chains[0].count = 0;
    memset(image, 255, sizeof(image));
    run_mix(mix, image, got);
    T_EQ(got[7], 255);
}

/* ---- what is drawn --------------------------------------------------------------------------- */

/* Draws the mixes of many samples: counts the depths of copies, and checks the weights. */
static void draw_mixes(const char *stage_text, uint32_t copies, uint32_t depths[10])
{
    sluice_dataset *dataset;
    const dataset_stage *stage;

    dataset = parsedf("%s | %s | batch 4", SOURCE, stage_text);
    stage = &dataset->stages[1];
    memset(depths, 0, 10 * sizeof(*depths));
    for (uint64_t sample = 0; sample < 600; sample++) {
        const sli_draws draws = {.key = 5, .sample = sample};
        const color_mix *mix = begin_mix();
        double sum;

        outer.count = 0;
        outer.mix_count = 0;
        stage->def->color->add(stage->args.bytes, &draws, &outer);
        T_TRUE(outer.count == 1 && outer.operations[0].kind == COLOR_MIX && mix->count == copies);
        sum = (double)mix->share;
        for (uint32_t i = 0; i < copies; i++) {
            T_TRUE(mix->weights[i] >= 0 && mix->chains[i].count < 10);
            sum += (double)mix->weights[i];
            depths[mix->chains[i].count]++; /* fused ones count once */
        }
        T_NEAR(sum, 1, 1e-6);
    }
    sluice_dataset_destroy(dataset);
}

static void copies_have_the_depth_that_is_asked_for(void)
{
    uint32_t depths[10];

    draw_mixes("aug_mix", 3, depths);
    T_EQ(depths[1] + depths[2] + depths[3], 1800);
    T_TRUE(depths[1] > 600 && depths[2] > 300 && depths[3] > 100);
    draw_mixes("aug_mix mixture_width=8 chain_depth=1", 8, depths);
    T_EQ(depths[1], 4800);
    draw_mixes("aug_mix 10 1 8 all_ops=false", 1, depths);
    T_EQ(depths[0], 0);
    T_TRUE(depths[4] + depths[5] + depths[6] > 300);
}

static void weights_are_of_a_dirichlet_distribution(void)
{
    const sli_draws draws = {.key = 5, .sample = 3};
    sluice_dataset *dataset = parsed(SOURCE " | aug_mix alpha=0.5 mixture_width=2 | batch 4");
    const dataset_stage *stage = &dataset->stages[1];
    const color_mix *mix = begin_mix();
    uint32_t block = 72; /* after those of operations and depths */
    double shares[2];
    double weights[2];

    outer.count = 0;
    outer.mix_count = 0;
    stage->def->color->add(stage->args.bytes, &draws, &outer);
    sli_draw_dirichlet(&draws, &block, 0.5, 2, shares);
    sli_draw_dirichlet(&draws, &block, 0.5, 2, weights);
    T_TRUE(mix->share == (float)shares[0]);
    T_TRUE(mix->weights[1] == (float)weights[1] * (float)shares[1]);
    sluice_dataset_destroy(dataset);
}

/* ---- in pipelines ---------------------------------------------------------------------------- */

static void workers_and_devices_do_not_matter(void)
{
    check_workers_and_devices(SOURCE,
                              "shuffle | random_crop 10 | aug_mix 9 | "
                              "random_horizontal_flip | random_invert | aug_mix all_ops=false | "
                              "random_apply 0.5 (aug_mix 3 2) | normalize 0.5 0.5");
}

static void it_changes_images(void)
{
    check_stages(SOURCE, "aug_mix", "take 20", false);
    check_stages(SOURCE, "aug_mix 3", "aug_mix 10", false);
    check_pass("synthetic 20 12,12,1", "random_crop 12 | aug_mix 10 8 8", 5);
}

static void wrong_arguments_and_columns_are_refused(void)
{
    static const refused_case cases[] = {
        {"aug_mix 0", "aug_mix: severity=0 must be from 1 to 10"},
        {"aug_mix 11", "severity=11"},
        {"aug_mix mixture_width=9", "mixture_width=9 must be from 1 to 8"},
        {"aug_mix chain_depth=9", "chain_depth=9 must be from -1 to 8"},
        {"aug_mix alpha=0", "alpha=0 must be from 1e-06"},
        {"aug_mix fill=300", "aug_mix: fill=300"},
        {"aug_mix | aug_mix | aug_mix | aug_mix | aug_mix", "a pipeline has at most 4 of them"},
        {"device | aug_mix", "aug_mix comes after device"},
        {"AugMix", "AugMix is called aug_mix here"},
    };
    const char *folder = t_folder();
    char text[400];

    for (uint32_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        snprintf(text, sizeof(text), "%s | %s", SOURCE, cases[i].text);
        check_refused(text, cases[i].words);
    }
    write_pair(folder, "a.ppm", "a.pgm");
    write_list(folder, "list.tsv", "image:image\tarea:mask\na.ppm\ta.pgm\n");
    snprintf(text, sizeof(text), "image_list %s/list.tsv | decode | aug_mix", folder);
    check_refused(text, "aug_mix: column area is a mask, and a mix of copies");
}

const t_test aug_mix_tests[] = {
    T_TEST(copies_are_as_the_stages_make_them),
    T_TEST(the_sum_is_in_single_precision_and_truncated),
    T_TEST(copies_have_the_depth_that_is_asked_for),
    T_TEST(weights_are_of_a_dirichlet_distribution),
    T_TEST(workers_and_devices_do_not_matter),
    T_TEST(it_changes_images),
    T_TEST(wrong_arguments_and_columns_are_refused),
    T_END,
};
