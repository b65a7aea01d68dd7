/* SPDX-License-Identifier: Apache-2.0 */
/* Colours and warps before geometry: a pipeline gives what its two halves give, one after the
 * other. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <sluice/arrays.h>

#include "engine_kit.h"
#include "list_kit.h"
#include "testing.h"

enum { SAMPLES = 6, WIDTH = 20, HEIGHT = 16, MOST = 2, LARGEST = 64 * 64 * 3 };

#define ROLES "column m mask | column b boxes | column s image"

/* What a sample holds: two images, a mask, and boxes. */
typedef struct scene {
    uint32_t width;
    uint32_t height;
    uint8_t image[SAMPLES][LARGEST];
    uint8_t second[SAMPLES][LARGEST];
    uint8_t mask[SAMPLES][LARGEST];
    float boxes[SAMPLES][MOST][4];
    int32_t lengths[SAMPLES];
} scene;

static void fill(scene *s)
{
    *s = (scene){.width = WIDTH, .height = HEIGHT};
    for (uint32_t i = 0; i < SAMPLES; i++) {
        for (uint32_t k = 0; k < WIDTH * HEIGHT; k++) {
            const uint32_t x = k % WIDTH;
            const uint32_t y = k / WIDTH;

            for (uint32_t c = 0; c < 3; c++) {
                s->image[i][3 * k + c] = (uint8_t)(40 + 9 * x + 5 * y + 30 * c + (x * y + i) % 17);
                s->second[i][3 * k + c] = (uint8_t)(200 - 7 * x + 3 * y + 20 * c * i);
            }
            s->mask[i][k] = (uint8_t)(x / 5 + y / 4);
        }
        s->boxes[i][0][0] = 2 + (float)i;
        s->boxes[i][0][1] = 3;
        s->boxes[i][0][2] = 9 + (float)i;
        s->boxes[i][0][3] = 12;
        memcpy(s->boxes[i][1], (float[4]){10, 1, 19, 8}, sizeof(s->boxes[i][1]));
        s->lengths[i] = (int32_t)(i % 3);
    }
}

/* Rows of a column without the room behind them, in memory of its own. */
static void *packed(const uint8_t (*rows)[LARGEST], size_t bytes)
{
    uint8_t *to = malloc(SAMPLES * bytes);

    T_TRUE(to != NULL);
    for (size_t i = 0; i < SAMPLES; i++) {
        memcpy(to + i * bytes, rows[i], bytes);
    }
    return to;
}

/* The result of stages on a scene; it has no mask and boxes if image_only is true. */
static void run_stages(const scene *from, const char *stages, bool image_only, scene *to)
{
    const size_t pixels = (size_t)from->width * from->height;
    void *const images[] = {packed(from->image, 3 * pixels), packed(from->second, 3 * pixels),
                            packed(from->mask, pixels)};
    const sluice_array arrays[] = {
        {"image", images[0], SLUICE_U8, 4, {SAMPLES, from->height, from->width, 3}},
        {"s", images[1], SLUICE_U8, 4, {SAMPLES, from->height, from->width, 3}},
        {"m", images[2], SLUICE_U8, 3, {SAMPLES, from->height, from->width}},
        {"b", from->boxes, SLUICE_F32, 3, {SAMPLES, MOST, 4}},
        {"b_length", from->lengths, SLUICE_I32, 1, {SAMPLES}},
    };
    sluice_dataset *dataset = NULL;
    const sluice_column *image;
    engine_run run;
    size_t size;

    T_OK(sluice_dataset_memory(arrays, image_only ? 1 : 5, &dataset));
    if (!image_only) {
        T_OK(sluice_dataset_add(dataset, ROLES));
    }
    T_OK(sluice_dataset_add(dataset, stages));
    T_OK(sluice_dataset_add(dataset, "batch 1"));
    open_run(&run, dataset, &(run_options){.workers = 1, .settings = {.seed = 3}});
    memset(to, 0, sizeof(*to));
    for (uint32_t i = 0; i < SAMPLES; i++) {
        T_OK(next_batch(&run));
        image = &run.plan->wire[sli_layout_find(&run.layout, "image")];
        to->height = (uint32_t)image->shape[image->rank - 3];
        to->width = (uint32_t)image->shape[image->rank - 2];
        size = (size_t)to->width * to->height * (image->rank == 4 ? (size_t)image->shape[0] : 1);
        T_TRUE(3 * size <= LARGEST);
        memcpy(to->image[i], column_row(&run, "image", 0), 3 * size);
        if (image_only) {
            continue;
        }
        memcpy(to->second[i], column_row(&run, "s", 0), 3 * size);
        memcpy(to->mask[i], column_row(&run, "m", 0), size);
        memcpy(to->boxes[i], column_row(&run, "b", 0), sizeof(to->boxes[i]));
        memcpy(&to->lengths[i], column_row(&run, "b_length", 0), sizeof(to->lengths[i]));
    }
    close_run(&run);
    sluice_dataset_destroy(dataset);
    for (int i = 0; i < 3; i++) {
        free(images[i]);
    }
}

static void check_halves(const char *first, const char *second, bool image_only)
{
    static scene begin;
    static scene between;
    static scene want;
    static scene got;
    char both[600];

    fill(&begin);
    snprintf(both, sizeof(both), "%s | %s", first, second);
    run_stages(&begin, first, image_only, &between);
    run_stages(&between, second, image_only, &want);
    run_stages(&begin, both, image_only, &got);
    if (memcmp(got.image, want.image, sizeof(got.image)) != 0 ||
        memcmp(got.second, want.second, sizeof(got.second)) != 0) {
        T_FAIL_("%s: the images differ", both);
    }
    if (memcmp(got.mask, want.mask, sizeof(got.mask)) != 0) {
        T_FAIL_("%s: the masks differ", both);
    }
    T_EQ(memcmp(got.lengths, want.lengths, sizeof(got.lengths)), 0);
    for (uint32_t i = 0; i < SAMPLES * MOST * 4; i++) {
        T_TRUE(fabsf((&got.boxes[0][0][0])[i] - (&want.boxes[0][0][0])[i]) < 1e-3F);
    }
}

static void colours_and_warps_come_before_geometry(void)
{
    static const char *const halves[][2] = {
        {"random_invert 0.6", "center_crop 9"},
        {"color_jitter 0.5 0.5 0.5 0.2", "resize 8,9"},
        {"color_jitter 0.5 columns=s", "resize 8,9 | random_invert columns=image"},
        {"random_autocontrast 0.7", "random_resized_crop 8"},
        {"random_equalize 0.7 | gaussian_blur 3", "random_crop 9 padding=3"},
        {"random_erasing 1 value=9", "pad_image 2 | resize 9,9"},
        {"rotate 25", "center_crop 10"},
        {"random_affine 20 0.1,0.1 | color_jitter 0.3", "resize 13,11 | random_crop 8"},
        {"elastic 20 3", "random_resized_crop 9"},
        {"elastic 20 3", "resize 9,9 | random_affine 10"},
        {"resize 14,15 | random_perspective 0.4 1", "letterbox 10,12 | random_posterize 3"},
        {"random_apply 0.7 (affine 10 1,1 1 0,0)", "center_crop 9 | random_rotation 30"},
        {"trivial_augment", "random_resized_crop 8 | random_horizontal_flip"},
        {"resize 18,17 | random_solarize 90",
         "resize 12,12 | random_grayscale 0.5 | center_crop 7"},
        {"rotate 15 fill=3 | resize 12,12 | random_invert", "random_rotation 40 expand=true | "
                                                            "resize 9,9"},
    };

    for (size_t i = 0; i < sizeof(halves) / sizeof(halves[0]); i++) {
        check_halves(halves[i][0], halves[i][1], false);
    }
}

/* What masks and boxes cannot follow. */
static void views_and_mixed_copies_too(void)
{
    static const char *const halves[][2] = {
        {"aug_mix", "random_resized_crop 9"},
        {"aug_mix | resize 14,14", "rand_augment | center_crop 8"},
        {"color_jitter 0.4 0.4", "views 2 | random_crop 9 | random_invert"},
        {"random_rotation 30 | resize 15,15", "five_crop 8 | random_grayscale"},
    };

    for (size_t i = 0; i < sizeof(halves) / sizeof(halves[0]); i++) {
        check_halves(halves[i][0], halves[i][1], true);
    }
}

/* Also of encoded images of different sizes; colours of single pixels commute with a crop. */
static void encoded_images_too(void)
{
    const char *folder = t_folder();
    sluice_dataset *before =
        jpeg_dataset(folder, "decode | random_invert 0.5 | random_posterize 3 | "
                             "random_crop 8 padding=0 | batch 3");
    sluice_dataset *after = jpeg_dataset(folder, "decode | random_crop 8 padding=0 | random_invert "
                                                 "0.5 | random_posterize 3 | batch 3");
    const run_options options = {.workers = 2, .batches = 10};
    tape got = record(before, &options);
    tape want = record(after, &options);

    check_equal_tapes(&got, &want, "colours before a crop");
    free(got.bytes);
    free(want.bytes);
    sluice_dataset_destroy(before);
    sluice_dataset_destroy(after);
}

static void what_depends_on_boxes_or_samples_comes_first(void)
{
    static const struct {
        const char *stages;
        const char *why;
    } cases[] = {
        {"rotate 9 | random_iou_crop", "random_iou_crop comes after a warp, which moves the boxes"},
        {"random_invert | mosaic 8,8", "mosaic comes after a stage that changes colours or warps"},
        {"random_invert | cache 1M | center_crop 8", "cache comes after random_invert"},
        {"device | random_invert | center_crop 8", "center_crop comes after device"},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        static scene s;
        const sluice_array arrays[] = {
            {"image", s.image, SLUICE_U8, 4, {SAMPLES, 8, 8, 3}},
            {"b", s.boxes, SLUICE_F32, 3, {SAMPLES, MOST, 4}},
        };
        sluice_dataset *dataset = NULL;

        T_OK(sluice_dataset_memory(arrays, 2, &dataset));
        T_OK(sluice_dataset_add(dataset, "column b boxes"));
        T_EQ(sluice_dataset_add(dataset, cases[i].stages), SLUICE_E_INVALID);
        T_CONTAINS(sluice_last_error(), cases[i].why);
        sluice_dataset_destroy(dataset);
    }
}

/* Between two steps an image is in memory. */
static void huge_images_are_bad_samples(void)
{
    sluice_dataset *dataset = NULL;
    tape t;

    T_OK(sluice_dataset_parse("synthetic 1 16400,16400,1 | random_invert 1 | center_crop 8 | batch 1",
                              &dataset));
    t = record(dataset, &(run_options){.workers = 1});
    T_EQ(t.end, SLUICE_E_INVALID);
    T_CONTAINS(t.error, "random_invert: sample 0");
    T_CONTAINS(t.error,
               "the image is 16400x16400, and may have 268435456 pixels where colours come "
               "before a crop or resize; put a resize before random_invert");
    free(t.bytes);
    sluice_dataset_destroy(dataset);
}

static void explain_shows_the_steps(void)
{
    sluice_dataset *dataset = NULL;
    char *text;

    T_OK(sluice_dataset_parse("synthetic 6 20,20,3 | resize 16,16 | random_invert | rotate 9 | "
                              "center_crop 8 | random_grayscale | batch 2",
                              &dataset));
    T_OK(sluice_dataset_explain(dataset, &text));
    T_CONTAINS(text, "pixels: resize: one pass\ncolours: random_invert + rotate: on each line");
    T_CONTAINS(text, "pixels: center_crop: one pass\ncolours: random_grayscale: on each line");
    sluice_string_free(text);
    sluice_dataset_destroy(dataset);

    dataset = jpeg_dataset(t_folder(), "decode | random_invert | rotate 9 | resize 8,8 | batch 2");
    T_OK(sluice_dataset_explain(dataset, &text));
    T_CONTAINS(text, "pixels: decode, whole images, since random_invert comes before resize\n");
    sluice_string_free(text);
    sluice_dataset_destroy(dataset);
}

const t_test stage_order_tests[] = {
    T_TEST(colours_and_warps_come_before_geometry),
    T_TEST(views_and_mixed_copies_too),
    T_TEST(encoded_images_too),
    T_TEST(what_depends_on_boxes_or_samples_comes_first),
    T_TEST(huge_images_are_bad_samples),
    T_TEST(explain_shows_the_steps),
    T_END,
};
