/* SPDX-License-Identifier: Apache-2.0 */
/* letterbox, and the column of what geometry did, by images whose pixels say where they are. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "custom_kit.h"
#include "dataset_kit.h"
#include "list_kit.h"
#include "stage_runs.h"
#include "testing.h"

/* ---- letterbox ------------------------------------------------------------------------------- */

typedef struct frame {
    const char *stage;
    const char *resize; /* the same without the padding */
    uint32_t width;
    uint32_t height;
    uint32_t left;
    uint32_t top;
    uint32_t inner_width;
    uint32_t inner_height;
    uint8_t fill;
    uint8_t mask_fill;
} frame;

/* Of an image of 40 x 30. */
static const frame frames[] = {
    {"letterbox 20", "resize 15,20", 20, 20, 0, 2, 20, 15, 114, 0},
    {"letterbox 60,50 mask_fill=255", "resize 38,50", 50, 60, 0, 11, 50, 38, 114, 255},
    {"letterbox 30,80 fill=0 filter=nearest", "resize 30,40", 80, 30, 20, 0, 40, 30, 0, 0},
    {"letterbox 31,45 fill=255 filter=area", "resize 31,41 filter=area", 45, 31, 2, 0, 41, 31, 255,
     0},
    {"letterbox 30,40", "center_crop 30,40", 40, 30, 0, 0, 40, 30, 114, 0},
    {"letterbox 20 9,9,9", "resize 15,20", 20, 20, 0, 2, 20, 15, 9, 0},
};

/* Every byte of a column: that of the resized one within, the padding around. */
static void check_frame(const frame *f, const uint8_t *got, const uint8_t *inner, uint32_t channels,
                        uint8_t fill)
{
    for (uint32_t y = 0; y < f->height; y++) {
        for (uint32_t x = 0; x < f->width; x++) {
            const bool inside = x >= f->left && x < f->left + f->inner_width && y >= f->top &&
                                y < f->top + f->inner_height;
            const size_t at = ((size_t)(y - f->top) * f->inner_width + (x - f->left)) * channels;

            for (uint32_t c = 0; c < channels; c++) {
                T_EQ(got[((size_t)y * f->width + x) * channels + c], inside ? inner[at + c] : fill);
            }
        }
    }
}

static void letterbox_is_a_resize_with_padding(void)
{
    for (size_t i = 0; i < sizeof(frames) / sizeof(frames[0]); i++) {
        const frame *f = &frames[i];
        engine_run runs[2];
        const float *boxes[2];

        open_list(&runs[0], LIST_OF_BOXES, "decode", f->stage, 0);
        open_list(&runs[1], LIST_OF_BOXES, "decode", f->resize, 0);
        T_EQ(row_bytes(&runs[0], 0), (size_t)f->width * f->height * 3);
        check_frame(f, column_row(&runs[0], "image", 0), column_row(&runs[1], "image", 0), 3,
                    f->fill);
        check_frame(f, column_row(&runs[0], "mask", 0), column_row(&runs[1], "mask", 0), 1,
                    f->mask_fill);
        T_EQ(*(const int32_t *)column_row(&runs[0], "boxes_length", 0), 3);
        boxes[0] = column_row(&runs[0], "boxes", 0);
        boxes[1] = column_row(&runs[1], "boxes", 0);
        for (int k = 0; k < 12; k++) {
            const float by = (float)(k % 2 == 0 ? f->left : f->top);

            T_TRUE(fabsf(boxes[0][k] - boxes[1][k] - by) < 1e-4F);
        }
        close_run(&runs[0]);
        close_run(&runs[1]);
    }
}

static void padding_behind_a_letterbox_is_zero(void)
{
    engine_run run;
    const uint8_t *image;

    open_list(&run, LIST_OF_BOXES, "decode", "letterbox 20 | center_crop 22", 0);
    image = column_row(&run, "image", 0);
    T_TRUE(is_zero(image, 22 * 3) && image[(22 + 1) * 3] == 114 && image[22 * 3] == 0);
    close_run(&run);
}

static void an_image_of_extreme_shape_keeps_a_line(void)
{
    const char *folder = t_folder();
    char bytes[3100];
    const size_t head = (size_t)snprintf(bytes, sizeof(bytes), "P6 1000 1 255\n");
    engine_run run;
    const uint8_t *image;

    memset(bytes + head, 7, 3000);
    t_write_file(t_path(folder, "long.ppm"), bytes, head + 3000);
    open_own(&run, list_dataset(folder, "image\nlong.ppm\n", "| decode | letterbox 4 | batch 1"),
             &(run_options){.workers = 1});
    T_OK(next_batch(&run));
    image = column_row(&run, "image", 0);
    for (int i = 0; i < 48; i++) {
        T_EQ(image[i], i / 12 == 1 ? 7 : 114);
    }
    close_run(&run);
}

static void bad_arguments_of_letterbox_are_refused(void)
{
    check_refused("synthetic 10 8,8,3 2 | letterbox 4 fill=256 | batch 1", "fill");
    check_refused("synthetic 10 8,8,3 2 | letterbox 4 mask_fill=256 | batch 1", "mask_fill");
    check_refused("synthetic 10 8,8,3 2 | letterbox 4 fill=1,2 | batch 1", "fill has 2 values");
    check_refused("synthetic 10 8,8,3 2 | letterbox 4 aspect=1.3 | batch 1",
                  "letterbox: aspect must be LOW,HIGH with 0.01 <= LOW <= HIGH <= 100");
    check_refused("synthetic 10 8,8,3 2 | letterbox 4 aspect=1.3,0.7 | batch 1", "LOW <= HIGH");
    check_refused("synthetic 10 8,8,3 2 | letterbox 4 aspect=0,1 | batch 1", "0.01 <= LOW");
    check_refused("synthetic 10 8,8,3 2 | letterbox 4 aspect=nan,1 | batch 1", "aspect");
    check_refused("synthetic 10 8,8,3 2 | letterbox 4 aspect=2,2 | batch 1",
                  "aspect=2,2 has no effect");
    check_refused("synthetic 10 8,8,3 2 | letterbox 4 position=top | batch 1",
                  "position=top must be one of center random");
    check_refused("synthetic 10 8,8,3 2 | letterbox 4 filter=area antialias=false | batch 1",
                  "letterbox: filter=area");
    check_refused("synthetic 10 8,8,3 2 | to_chw | letterbox 4 | batch 1",
                  "letterbox works on the decoded image");
}

/* ---- the jitter of darknet ------------------------------------------------------------------- */

/* Where an image of 40 x 30 is, by the column of stage geometry: the map back to the file. */
typedef struct place {
    float left;
    float top;
    float width;
    float height;
} place;

static place place_of(const char *stages, uint64_t seed)
{
    engine_run run;
    const float *m;
    place at;

    open_list(&run, LIST_OF_BOXES, "decode", stages, seed);
    m = column_row(&run, "geometry", 0);
    at = (place){-m[2] / m[0], -m[5] / m[4], 40 / m[0], 30 / m[4]};
    close_run(&run);
    return at;
}

static bool is_near(float a, float b)
{
    return fabsf(a - b) < 1e-3F;
}

/* The least and the largest of values that were seen. */
typedef struct extent {
    float least;
    float most;
} extent;

static void extend(extent *seen, float value)
{
    seen->least = value < seen->least ? value : seen->least;
    seen->most = value > seen->most ? value : seen->most;
}

/* As in darknet's load_data_detection(): the image fills the width or the height of the result, is
 * at a random place along the other one, and its aspect ratio is w a / (h b), a and b from 0.7 to
 * 1.3. */
static void aspect_and_position_are_those_of_darknet(void)
{
    extent ratios = {9, 0};
    extent lefts = {99, 0};
    extent tops = {99, 0};
    uint32_t wide = 0;

    for (uint64_t seed = 0; seed < 300; seed++) {
        const place at = place_of("letterbox 64 aspect=0.7,1.3 position=random | geometry", seed);
        const bool is_wide = is_near(at.width, 64);

        wide += is_wide;
        T_TRUE(is_wide || is_near(at.height, 64));
        T_TRUE(at.left > -1e-3F && at.left + at.width < 64.001F && at.top > -1e-3F &&
               at.top + at.height < 64.001F);
        T_TRUE(is_near(at.left, rintf(at.left)) && is_near(at.top, rintf(at.top)));
        T_TRUE(is_near(at.width, rintf(at.width)) && is_near(at.height, rintf(at.height)));
        extend(&ratios, at.width / at.height * 30 / 40);
        extend(is_wide ? &tops : &lefts,
               is_wide ? at.top / (64.001F - at.height) : at.left / (64.001F - at.width));
    }
    /* The triangular density of the ratio has little at its ends. */
    T_TRUE(ratios.least > 0.7F / 1.3F - 0.01F && ratios.least < 0.65F);
    T_TRUE(ratios.most < 1.3F / 0.7F + 0.03F && ratios.most > 1.6F);
    T_TRUE(tops.least < 0.05F && tops.most > 0.95F && lefts.least < 0.15F && lefts.most > 0.85F);
    T_TRUE(wide > 210 && wide < 285); /* w a > h b, of 40 x 30: in 86 % of the draws */
}

/* Each of them alone. */
static void aspect_and_position_do_not_need_each_other(void)
{
    extent tops = {99, 0};

    for (uint64_t seed = 0; seed < 60; seed++) {
        place at = place_of("letterbox 64 position=random | geometry", seed);

        T_TRUE(is_near(at.width, 64) && is_near(at.height, 48) && at.left == 0);
        extend(&tops, at.top);
        at = place_of("letterbox 64 aspect=0.5,2 | geometry", seed);
        T_TRUE(is_near(at.left, floorf((64.001F - at.width) / 2)) &&
               is_near(at.top, floorf((64.001F - at.height) / 2)));
    }
    T_TRUE(tops.least < 2 && tops.most > 14 && tops.most < 16.001F);
}

/* Boxes of the file that are wholly inside stay in proportion to the image. */
static void boxes_and_masks_follow_the_jitter(void)
{
    static const float file[3][4] = {{0, 0, 4, 30}, {10, 5, 30, 25}, {36, 0, 40, 3}};

    for (uint64_t seed = 0; seed < 20; seed++) {
        static const char stages[] =
            "letterbox 64,96 aspect=0.7,1.3 position=random mask_fill=255 | geometry";
        const place at = place_of(stages, seed);
        engine_run run;
        const float *boxes;
        const uint8_t *mask;
        uint32_t shown = 0;

        open_list(&run, LIST_OF_BOXES, "decode", stages, seed);
        boxes = column_row(&run, "boxes", 0);
        mask = column_row(&run, "mask", 0);
        T_EQ(*(const int32_t *)column_row(&run, "boxes_length", 0), 3);
        for (int k = 0; k < 12; k++) {
            const float want = k % 2 == 0 ? at.left + file[k / 4][k % 4] * at.width / 40
                                          : at.top + file[k / 4][k % 4] * at.height / 30;

            T_TRUE(fabsf(boxes[k] - want) < 1e-2F);
        }
        for (uint32_t i = 0; i < 64 * 96; i++) {
            const float x = (float)(i % 96) + 0.5F - at.left;
            const float y = (float)(i / 96) + 0.5F - at.top;

            if (!(x > 0 && y > 0 && x < at.width && y < at.height)) {
                T_EQ(mask[i], 255);
            } else {
                shown += mask[i] != 255;
            }
        }
        T_TRUE((float)shown > 0.9F * at.width * at.height);
        close_run(&run);
    }
}

/* ---- fills with a fraction --------------------------------------------------------- */

enum { PIXELS = 24 * 24 };

/* Value c of pixel i of a row of `stages`, f32. */
static float value_at(const engine_run *run, bool is_chw, uint32_t i, uint32_t c)
{
    const float *image = column_row(run, "image", 0);

    return image[is_chw ? c * PIXELS + i : 3 * i + c];
}

/* The padding has the converted fill, whatever conversions and flips follow; all else is the same
 * as with a byte. */
static void padding_has_the_converted_fill(void)
{
    static const struct {
        const char *conversions;
        float fills[3]; /* of 127.5, 10.25 and 3 */
        bool is_chw;
    } cases[] = {
        {"to_dtype f32", {127.5F, 10.25F, 3}, false},
        {"normalize 0 1", {0.5F, 10.25F / 255, 3 / 255.0F}, false},
        {"to_chw | normalize 0 1", {0.5F, 10.25F / 255, 3 / 255.0F}, true},
        {"normalize 0.5,0.4,0.3 0.5,0.25,0.2 | to_chw",
         {0, (10.25F / 255 - 0.4F) * 4, (3 / 255.0F - 0.3F) * 5},
         true},
        {"random_horizontal_flip 1 | normalize 0 1", {0.5F, 10.25F / 255, 3 / 255.0F}, false},
        {"random_vertical_flip 1 | to_chw | random_horizontal_flip 1 | normalize 0 1",
         {0.5F, 10.25F / 255, 3 / 255.0F},
         true},
    };
    static const char letterbox[] = "letterbox 24 fill=%s aspect=0.4,2.5 position=random | %s";

    for (size_t i = 0; i < 6 * sizeof(cases) / sizeof(cases[0]); i++) {
        const char *conversions = cases[i / 6].conversions;
        engine_run runs[3];
        char text[300];
        uint32_t padding = 0;

        for (int k = 0; k < 3; k++) {
            static const char *const fills[3] = {"127.5,10.25,3", "0", "255"};

            snprintf(text, sizeof(text), letterbox, fills[k], conversions);
            open_list(&runs[k], LIST_OF_BOXES, "decode", text, i % 6);
        }
        for (uint32_t at = 0; at < 3 * PIXELS; at++) {
            float v[3]; /* the last two differ where there is padding */

            for (int k = 0; k < 3; k++) {
                v[k] = value_at(&runs[k], cases[i / 6].is_chw, at / 3, at % 3);
            }
            T_TRUE(fabsf(v[0] - (v[1] == v[2] ? v[1] : cases[i / 6].fills[at % 3])) < 1e-5F);
            padding += v[1] != v[2];
        }
        T_TRUE(padding > 0 && padding < 3 * PIXELS);
        for (int k = 0; k < 3; k++) {
            close_run(&runs[k]);
        }
    }
}

/* Half of white in the types of half the size, rounded once. */
static void the_fill_is_rounded_to_the_type_of_the_batch(void)
{
    engine_run run;

    open_list(&run, LIST_OF_BOXES, "decode", "letterbox 20 fill=127.5 | to_dtype f16", 0);
    T_EQ(*(const uint16_t *)column_row(&run, "image", 0), 0x57F8); /* 127.5 */
    close_run(&run);
    open_list(&run, LIST_OF_BOXES, "decode", "letterbox 20 fill=127.5 | to_dtype bf16", 0);
    T_EQ(*(const uint16_t *)column_row(&run, "image", 0), 0x42FF);
    close_run(&run);
    check_workers_and_devices("synthetic 12 9,16,3",
                              "letterbox 20 fill=127.5 aspect=0.7,1.3 position=random | "
                              "random_horizontal_flip | normalize 0.5 0.5 | to_chw | "
                              "random_erasing");
}

/* Refused when it is parsed, or when it is opened. */
static void check_refused_open(const char *text, const char *words)
{
    sluice_dataset *dataset = NULL;
    char *explained = NULL;
    sluice_status st = sluice_dataset_parse(text, &dataset);

    if (st == SLUICE_OK) {
        st = sluice_dataset_explain(dataset, &explained);
    }
    T_STATUS(st, SLUICE_E_INVALID);
    T_CONTAINS(sluice_last_error(), words);
    sluice_dataset_destroy(dataset);
}

static void fills_that_would_be_lost_are_refused(void)
{
    static const char *const cases[][2] = {
        {"letterbox 4 fill=127.5", "put normalize or to_dtype f32 after it, or set fill=128"},
        {"letterbox 4 fill=3,127.25,9 | to_chw", "fill=127.25 is not a whole number"},
        {"letterbox 4 fill=127.5 | random_invert | normalize 0 1", "put it after random_invert"},
        {"letterbox 4 fill=127.5 | center_crop 3 | normalize 0 1", "put it after center_crop"},
        {"letterbox 4 fill=127.5 | rotate 3 | normalize 0 1", "put it after rotate"},
        {"letterbox 4 fill=127.5 | cache 1M | normalize 0 1", "put it after cache"},
        {"letterbox 4 fill=127.5 | device | normalize 0 1", "leave out device"},
        {"views 2 | letterbox 4 fill=127.5 | normalize 0 1", "leave out views"},
        {"random_apply 0.5 (letterbox 4 fill=127.5) | resize 4,4 | normalize 0 1",
         "put it after random_apply"},
        {"letterbox 4 fill=127.5 | normalize 0 1 offload=device",
         "the workers convert the padding, whose fill has a fraction"},
        {"letterbox 4 fill=0.5 | normalize 0 1", "letterbox: fill=0.5 must be 0, or from 1 to 255 "
                                                 "(white); 0.5 of darknet is 127.5"},
        {"letterbox 4 fill=255.5 | normalize 0 1", "fill=255.5 must be 0, or from 1 to 255"},
        {"letterbox 4 fill=nan | normalize 0 1", "fill"},
        {"pad_image 1 fill=127.5 | normalize 0 1", "must be a whole number from 0 to 255"},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char text[300];

        snprintf(text, sizeof(text), "synthetic 10 8,8,3 2 | %s | batch 1", cases[i][0]);
        check_refused_open(text, cases[i][1]);
    }
}

/* The recipe of docs/guide/coming-from.md: f32 (3, 64, 64) from 0 to 1, boxes inside. */
static void the_recipe_for_darknet_runs(void)
{
    for (uint64_t seed = 0; seed < 10; seed++) {
        engine_run run;
        const float *image;
        const float *boxes;

        open_list(&run, LIST_OF_BOXES, "decode",
                  "letterbox 64 fill=128 aspect=0.7,1.3 position=random | "
                  "random_hsv 0.1 1/1.5..1.5 1/1.5..1.5 | random_horizontal_flip | "
                  "normalize 0 1 | to_chw",
                  seed);
        T_EQ(row_bytes(&run, 0), 3 * 64 * 64 * sizeof(float));
        image = column_row(&run, "image", 0);
        for (size_t i = 0; i < 3 * 64 * 64; i++) {
            T_TRUE(image[i] >= 0 && image[i] <= 1);
        }
        boxes = column_row(&run, "boxes", 0);
        for (int k = 0; k < 12; k++) {
            T_TRUE(boxes[k] >= 0 && boxes[k] <= 64);
        }
        close_run(&run);
    }
}

static void a_random_letterbox_is_a_random_stage(void)
{
    static const char *const random[] = {"aspect=0.9,1.1", "position=random"};
    sluice_dataset *dataset = NULL;

    for (size_t i = 0; i < 2; i++) {
        char text[200];

        snprintf(text, sizeof(text), "synthetic 10 8,8,3 2 | letterbox 4 %s | cache 1M | batch 1",
                 random[i]);
        check_refused(text, "comes after letterbox, which is random");
    }
    T_OK(sluice_dataset_parse("synthetic 10 8,8,3 2 | letterbox 4 aspect=1,1 position=center | "
                              "cache 1M | batch 1",
                              &dataset));
    sluice_dataset_destroy(dataset);
}

/* ---- geometry -------------------------------------------------------------------------------- */

/* Each pixel that shows the image says the place that the map gives for its centre. */
static void check_map(const engine_run *run, uint32_t width, uint32_t height, float most)
{
    const uint8_t *image = column_row(run, "image", 0);
    const float *m = column_row(run, "geometry", 0);

    T_TRUE(m[1] == 0 && m[3] == 0);
    for (uint32_t i = 0; i < width * height; i++) {
        const float x = (float)(i % width) + 0.5F;
        const float y = (float)(i / width) + 0.5F;
        const uint8_t *pixel = image + (size_t)3 * i;

        if (pixel[2] != 0) {
            T_TRUE(fabsf(m[0] * x + m[1] * y + m[2] - (float)pixel[0] - 0.5F) <= most);
            T_TRUE(fabsf(m[3] * x + m[4] * y + m[5] - (float)pixel[1] - 0.5F) <= most);
        }
    }
}

/* Boxes that are not clipped lie, by the map, where they were in the file. */
static void check_boxes_back(const engine_run *run)
{
    static const float file[3][4] = {{0, 0, 4, 30}, {10, 5, 30, 25}, {36, 0, 40, 3}};
    const float *boxes = column_row(run, "boxes", 0);
    const float *m = column_row(run, "geometry", 0);
    const int32_t *classes = column_row(run, "c", 0);

    for (int32_t i = 0; i < *(const int32_t *)column_row(run, "boxes_length", 0); i++) {
        const float *b = boxes + (size_t)4 * i;
        const float *f = file[classes[i] - 1];
        const float x0 = m[0] * (m[0] < 0 ? b[2] : b[0]) + m[2];
        const float x1 = m[0] * (m[0] < 0 ? b[0] : b[2]) + m[2];

        /* A clipped box is within the one of the file. */
        T_TRUE(x0 >= f[0] - 1e-3F && x1 <= f[2] + 1e-3F);
        T_TRUE(m[4] * b[1] + m[5] >= f[1] - 1e-3F && m[4] * b[3] + m[5] <= f[3] + 1e-3F);
    }
}

static void the_map_leads_back_to_the_file(void)
{
    static const struct {
        const char *stages;
        float most; /* how far a pixel is from where it says: half of one, more if resized twice */
    } cases[] = {
        {"geometry | center_crop 20", 0.501F},
        {"random_crop 33 padding=3 | geometry | random_horizontal_flip", 0.501F},
        {"random_resized_crop 20 filter=nearest | random_horizontal_flip | geometry", 0.501F},
        {"letterbox 50,44 fill=0 filter=nearest | random_horizontal_flip 1 | geometry", 0.501F},
        {"letterbox 50,44 fill=0 filter=nearest aspect=0.6,1.5 position=random | "
         "random_horizontal_flip | geometry",
         0.501F},
        {"random_crop 25 | resize 20 filter=nearest | random_crop 20 padding=2 | geometry", 0.501F},
        {"resize 35,60 filter=nearest | random_resized_crop 20 filter=nearest | geometry", 1.2F},
        {"random_horizontal_flip 1 offload=host | random_horizontal_flip 1 | geometry", 0.501F},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        for (uint64_t seed = 0; seed < 12; seed++) {
            engine_run run;

            open_list(&run, LIST_OF_BOXES, "decode", cases[i].stages, seed);
            check_map(&run, (uint32_t)run.own->opened_schema.columns[0].shape[1],
                      (uint32_t)run.own->opened_schema.columns[0].shape[0], cases[i].most);
            check_boxes_back(&run);
            close_run(&run);
        }
    }
}

static void the_map_has_these_numbers(void)
{
    static const struct {
        const char *stages;
        float map[6];
    } cases[] = {
        {"geometry", {1, 0, 0, 0, 1, 0}},
        {"center_crop 20 | geometry", {1, 0, 10, 0, 1, 5}},
        {"resize 15,20 | geometry", {2, 0, 0, 0, 2, 0}},
        {"random_horizontal_flip 1 | geometry", {-1, 0, 40, 0, 1, 0}},
        {"letterbox 20 | geometry", {2, 0, 0, 0, 2, -4}},
        {"center_crop 20 | resize 40,80 | random_horizontal_flip 1 | geometry",
         {-0.25F, 0, 30, 0, 0.5F, 5}},
        {"resize 60,80 | center_crop 30 | project geometry | rename geometry g | rename g geometry",
         {0.5F, 0, 12.5F, 0, 0.5F, 7.5F}},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char stages[200];
        engine_run run;

        snprintf(stages, sizeof(stages), "%s%s",
                 strstr(cases[i].stages, "project") != NULL ? "geometry | " : "", cases[i].stages);
        open_list(&run, LIST_OF_BOXES, "decode", stages, 1);
        T_EQ(memcmp(column_row(&run, "geometry", 0), cases[i].map, sizeof(cases[i].map)), 0);
        close_run(&run);
    }
}

static sluice_status map_extra(sluice_sample *sample, void *user)
{
    void *room;

    (void)user;
    return sluice_sample_room(sample, "extra", NULL, &room);
}

static void geometry_stands_where_the_image_is_that_of_the_source(void)
{
    static const sluice_column_spec columns[] = {
        {"extra", SLUICE_U8, 0, {0}, SLUICE_ROLE_PLAIN, 0, NULL},
    };
    sluice_dataset *dataset = NULL;
    sluice_map map;

    check_refused("synthetic 10 8,8,3 2 | geometry label | batch 1", "there is a column label");
    check_refused("synthetic 10 8,8,3 2 | geometry 7up | batch 1",
                  "the column name '7up' must be letters");
    check_refused("synthetic 10 8,8,3 2 | geometry | geometry b | batch 1",
                  "column geometry has it already");
    check_refused("synthetic 10 8,8,3 2 | drop image | geometry | batch 1",
                  "geometry: there is no image");
    sluice_map_init(&map);
    map.name = "extra";
    map.outputs = columns;
    map.output_count = 1;
    map.map = map_extra;
    T_OK(sluice_dataset_parse("synthetic 10 8,8,3 2", &dataset));
    T_OK(sluice_dataset_map(dataset, &map));
    T_STATUS(sluice_dataset_add(dataset, "geometry"), SLUICE_E_INVALID);
    T_CONTAINS(sluice_last_error(), "comes after a map; put it before");
    sluice_dataset_destroy(dataset);
}

const t_test letterbox_tests[] = {
    T_TEST(letterbox_is_a_resize_with_padding),
    T_TEST(padding_behind_a_letterbox_is_zero),
    T_TEST(an_image_of_extreme_shape_keeps_a_line),
    T_TEST(bad_arguments_of_letterbox_are_refused),
    T_TEST(aspect_and_position_are_those_of_darknet),
    T_TEST(aspect_and_position_do_not_need_each_other),
    T_TEST(boxes_and_masks_follow_the_jitter),
    T_TEST(padding_has_the_converted_fill),
    T_TEST(the_fill_is_rounded_to_the_type_of_the_batch),
    T_TEST(fills_that_would_be_lost_are_refused),
    T_TEST(the_recipe_for_darknet_runs),
    T_TEST(a_random_letterbox_is_a_random_stage),
    T_TEST(the_map_leads_back_to_the_file),
    T_TEST(the_map_has_these_numbers),
    T_TEST(geometry_stands_where_the_image_is_that_of_the_source),
    T_END,
};
