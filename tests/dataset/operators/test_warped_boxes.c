/* SPDX-License-Identifier: Apache-2.0 */
/* random_iou_crop after warps: it has the boxes where the warps have moved them. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#include <sluice/arrays.h>

#include "engine_kit.h"
#include "list_kit.h"
#include "testing.h"

enum { SAMPLES = 6, LINES = 30, COLUMNS = 40, LISTED = 3, MOST_SIDE = 64, CROPPED = 20 };

/* Samples with their boxes, as a source or as the rows of a batch. */
typedef struct boxed_images {
    uint8_t image[SAMPLES * MOST_SIDE * MOST_SIDE * 3];
    float boxes[SAMPLES][LISTED][4];
    int32_t lengths[SAMPLES];
} boxed_images;

static void make_boxed(boxed_images *made)
{
    for (uint32_t i = 0; i < SAMPLES * LINES * COLUMNS * 3; i++) {
        made->image[i] = (uint8_t)((i / 3 * 7 + i / 120 * 13) ^ (i % 3 * 90));
    }
    for (uint32_t i = 0; i < SAMPLES; i++) {
        const float x = (float)i;
        const float boxes[LISTED][4] = {
            {x, x, 12 + x, 20}, {20 - x, 4, 33, 9 + x}, {30, 20, 40, 25 + x}};

        memcpy(made->boxes[i], boxes, sizeof(boxes));
        made->lengths[i] = LISTED;
    }
}

/* Runs stages on images of this size, and keeps the batch. Returns the height and width in it. */
static void run_boxed(const boxed_images *from, const int64_t size[2], const char *stages,
                      uint64_t seed, boxed_images *to, int64_t size_out[2])
{
    const sluice_array arrays[] = {
        {"image", from->image, SLUICE_U8, 4, {SAMPLES, (uint64_t)size[0], (uint64_t)size[1], 3}},
        {"b", from->boxes, SLUICE_F32, 3, {SAMPLES, LISTED, 4}},
        {"b_length", from->lengths, SLUICE_I32, 1, {SAMPLES}},
    };
    char text[300];
    sluice_dataset *dataset;
    engine_run run;

    snprintf(text, sizeof(text), "column b boxes | %s | batch %d", stages, SAMPLES);
    T_OK(sluice_dataset_memory(arrays, 3, &dataset));
    T_OK(sluice_dataset_add(dataset, text));
    open_run(&run, dataset, &(run_options){.workers = 2, .settings = {.seed = seed}});
    T_OK(next_batch(&run));
    size_out[0] = (int64_t)run.plan->seen[0].shape[0];
    size_out[1] = (int64_t)run.plan->seen[0].shape[1];
    T_TRUE(row_bytes(&run, 0) <= sizeof(to->image) / SAMPLES);
    for (uint32_t i = 0; i < SAMPLES; i++) {
        memcpy(to->image + i * row_bytes(&run, 0), column_row(&run, "image", i),
               row_bytes(&run, 0));
        memcpy(to->boxes[i], column_row(&run, "b", i), sizeof(to->boxes[i]));
        to->lengths[i] = *(const int32_t *)column_row(&run, "b_length", i);
    }
    close_run(&run);
    sluice_dataset_destroy(dataset);
}

/* Checks that two batches of crops are equal, but for the rounding of boxes. */
static void check_equal(const boxed_images *got, const boxed_images *want, const char *stages,
                        uint64_t seed)
{
    const size_t row = (size_t)CROPPED * CROPPED * 3;

    for (uint32_t i = 0; i < SAMPLES; i++) {
        if (memcmp(got->image + i * row, want->image + i * row, row) != 0 ||
            got->lengths[i] != want->lengths[i]) {
            T_FAIL_("%s, seed %d, sample %u: another crop", stages, (int)seed, i);
        }
        for (int32_t k = 0; k < 4 * got->lengths[i]; k++) {
            const float a = got->boxes[i][k / 4][k % 4];
            const float b = want->boxes[i][k / 4][k % 4];

            if (!(fabsf(a - b) < 1e-4F)) {
                T_FAIL_("%s, seed %d, sample %u: corner %d is %g, want %g", stages, (int)seed, i, k,
                        (double)a, (double)b);
            }
        }
    }
}

/* The crop after warps is that of warped images with warped boxes. Returns how many boxes it has
 * dropped. */
static int32_t check_after(const char *warps, uint64_t seed)
{
    static const char crop[] = "random_iou_crop sampler_options=0,0.3,0.6 | resize 20,20";
    static boxed_images source;
    static boxed_images warped;
    static boxed_images got;
    static boxed_images want;
    int64_t size[2] = {LINES, COLUMNS};
    int64_t last[2];
    char text[200];
    int32_t dropped = 0;

    make_boxed(&source);
    snprintf(text, sizeof(text), "%s | %s", warps, crop);
    run_boxed(&source, size, text, seed, &got, last);
    run_boxed(&source, size, warps, seed, &warped, size);
    run_boxed(&warped, size, crop, seed, &want, last);
    check_equal(&got, &want, warps, seed);
    for (uint32_t i = 0; i < SAMPLES; i++) {
        dropped += warped.lengths[i] - got.lengths[i];
    }
    return dropped;
}

static void warps_move_the_boxes_before_a_crop(void)
{
    static const char *const warps[] = {
        "rotate 25",
        "random_perspective 0.6 1",
        "elastic 60 4",
        "random_horizontal_flip 0.5 | rotate 25",
        "color_jitter 0.3 | random_affine 30 translate=0.2,0.2 | random_invert 0.5",
        "resize 36,50 | random_apply 0.7 (rotate 20) | pad_image 3 | rotate -10",
        "random_order (rotate 20) (elastic 40 4) (random_invert 0.5)",
        "random_choice (rotate 30 | center_crop 24,30) (elastic 40 4 | center_crop 24,30)",
        "rand_augment 3 14",
    };

    for (uint32_t i = 0; i < sizeof(warps) / sizeof(warps[0]); i++) {
        int32_t dropped = 0;

        for (uint64_t seed = 0; seed < 6; seed++) {
            dropped += check_after(warps[i], seed);
        }
        T_TRUE(dropped > 0 && dropped < 6 * SAMPLES * LISTED);
    }
}

/* Checks that two lists of stages give the same. */
static void check_same(const char *stages, const char *others)
{
    static boxed_images source;
    static boxed_images results[2];
    const int64_t size[2] = {LINES, COLUMNS};
    int64_t last[2];

    make_boxed(&source);
    for (uint64_t seed = 0; seed < 6; seed++) {
        run_boxed(&source, size, stages, seed, &results[0], last);
        run_boxed(&source, size, others, seed, &results[1], last);
        check_equal(&results[0], &results[1], stages, seed);
    }
}

/* A turn of the whole image has the boxes of two flips. */
static void a_turn_has_the_boxes_of_flips(void)
{
    check_same("rotate 180 | random_iou_crop sampler_options=0,0.3 | resize 20,20",
               "random_horizontal_flip 1 | random_vertical_flip 1 | random_iou_crop "
               "sampler_options=0,0.3 | resize 20,20");
}

/* Boxes that a warp after the crop moves into a later crop are kept. */
static void a_crop_that_is_not_drawn_drops_nothing(void)
{
    check_same("random_iou_crop sampler_options=1 | rotate 90 | center_crop 30,12 | resize 20,20",
               "rotate 90 | center_crop 30,12 | resize 20,20");
}

/* Its displacements would have 16 bytes a pixel. */
static void an_image_that_is_too_large_gets_no_displacements(void)
{
    static boxed_images source;
    const sluice_array arrays[] = {
        {"image", source.image, SLUICE_U8, 4, {SAMPLES, LINES, COLUMNS, 3}},
        {"b", source.boxes, SLUICE_F32, 3, {SAMPLES, LISTED, 4}},
        {"b_length", source.lengths, SLUICE_I32, 1, {SAMPLES}},
    };
    sluice_dataset *dataset;
    struct rusage before;
    struct rusage after;

    make_boxed(&source);
    T_OK(sluice_dataset_memory(arrays, 3, &dataset));
    T_OK(sluice_dataset_add(dataset, "column b boxes | random_iou_crop sampler_options=1 | "
                                     "pad_image 8200 | elastic 60 4 | resize 8,8 | batch 1"));
    getrusage(RUSAGE_SELF, &before);
    batches_to_error(dataset, &one_worker, SLUICE_E_INVALID, "and may have 268435456 pixels");
    getrusage(RUSAGE_SELF, &after);
    T_TRUE(after.ru_maxrss - before.ru_maxrss < 1 << 20); /* KiB */
}

const t_test warped_boxes_tests[] = {
    T_TEST(warps_move_the_boxes_before_a_crop),
    T_TEST(a_turn_has_the_boxes_of_flips),
    T_TEST(a_crop_that_is_not_drawn_drops_nothing),
    T_TEST(an_image_that_is_too_large_gets_no_displacements),
    T_END,
};
