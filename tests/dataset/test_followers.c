/* SPDX-License-Identifier: Apache-2.0 */
/* Masks, boxes and points follow their image through every geometric operator, whether the workers
 * or the device changes the image, and are rounded to f32 once. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sluice/custom.h>

#include "custom_kit.h"
#include "dataset_kit.h"
#include "engine_kit.h"
#include "list_kit.h"
#include "testing.h"

/* Centres of pixels of the image of 40 x 30, and a box around each. */
static const float at[2][2] = {{12.5F, 9.5F}, {20.5F, 15.5F}};
static const char list[] = "image\tm:mask\tp:points[2]\tb:boxes[2]\n"
                           "a.ppm\tm.pgm\t12.5,9.5;20.5,15.5\t11,8,14,11;19,14,22,17\n";

/* Stages before `device`, and those that may follow it. */
typedef struct geometry_case {
    const char *early;
    const char *late;  /* NULL: none */
    bool sampled_once; /* by the nearest pixel: the mask has the class of the image's pixel */
} geometry_case;

static const geometry_case cases[] = {
    {"center_crop 24", NULL, true},
    {"resize 24,33", NULL, false},
    {"resize 29 max_size=36", NULL, false},
    {"random_crop 28 padding=3", NULL, true},
    {"random_resized_crop 30,40 0.8,1", NULL, false},
    {"letterbox 50", NULL, false},
    {"random_resize 24,50 | center_crop 70", NULL, false},
    {"scale_jitter 40 scale=0.8,1.5 | center_crop 60", NULL, false},
    {"random_shortest_size 24,36,48 max_size=60 | center_crop 64", NULL, false},
    {"pad_image 3,4,5,6", NULL, true},
    {"random_zoom_out p=1 side_range=1,1.5 | center_crop 60", NULL, true},
    {"random_iou_crop min_scale=0.9 | center_crop 40", NULL, true},
    {"rotate 10 expand=true | center_crop 50", NULL, true},
    {"elastic 20 6", NULL, false},
    {"random_horizontal_flip 1", "random_erasing 1 scale=0.001,0.001 | random_vertical_flip 1",
     true},
    {"random_vertical_flip 1", "rotate 10 | random_horizontal_flip 1", true},
    {"center_crop 28", "random_rotation 15", true},
    {"center_crop 30", "rotate 25 center=15,12 | random_vertical_flip 1", true},
    {"random_horizontal_flip 1", "affine 10 2,-1 1.2 5,3", true},
    {"random_vertical_flip 1", "random_affine 10 0.05,0.05 0.9,1.1 5", true},
    {"random_horizontal_flip 1", "warp_affine 0.9,0.1,1,-0.1,0.9,3 filter=nearest", true},
    {"random_horizontal_flip 1", "perspective 1,2 38,1 37,28 2,27 filter=nearest", true},
    {"random_vertical_flip 1", "random_perspective 0.2 1 filter=nearest", true},
};

static void add_stages(const geometry_case *c, const char *between, char *text, size_t size)
{
    snprintf(text, size, "| decode | %s %s %s %s | batch 1", c->early, between,
             c->late != NULL ? "|" : "", c->late != NULL ? c->late : "");
}

/* Checks the pixel of the image and of the mask at a point, and the box around it. */
static void check_point(const engine_run *run, const geometry_case *c, uint32_t i)
{
    const sluice_column *image = &run->plan->seen[0];
    const float *point = (const float *)column_row(run, "p", 0) + (size_t)2 * i;
    const float *box = (const float *)column_row(run, "b", 0) + (size_t)4 * i;
    const size_t pixel = (size_t)floorf(point[1]) * image->shape[1] + (size_t)floorf(point[0]);
    const uint8_t *values = (const uint8_t *)column_row(run, "image", 0) + 3 * pixel;

    T_TRUE(point[0] > 0 && point[0] < (float)image->shape[1]);
    T_TRUE(point[1] > 0 && point[1] < (float)image->shape[0]);
    T_TRUE(abs(values[0] - (int)at[i][0]) <= 1 && abs(values[1] - (int)at[i][1]) <= 1);
    T_TRUE(box[0] < point[0] && point[0] < box[2] && box[1] < point[1] && point[1] < box[3]);
    T_TRUE(box[2] - box[0] < 7 && box[3] - box[1] < 7);
    if (c->sampled_once) {
        T_EQ(((const uint8_t *)column_row(run, "m", 0))[pixel], class_of(values[0], values[1]));
    }
}

static void they_follow_every_operator(void)
{
    const char *folder = t_folder();

    write_pair(folder, "a.ppm", "m.pgm");
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char text[300];
        engine_run run;

        add_stages(&cases[i], "", text, sizeof(text));
        open_own(&run, list_dataset(folder, list, text), &one_worker);
        T_OK(next_batch(&run));
        T_EQ(*(const int32_t *)column_row(&run, "b_length", 0), 2);
        check_point(&run, &cases[i], 0);
        check_point(&run, &cases[i], 1);
        close_run(&run);
    }
}

static void they_follow_what_runs_on_the_device(void)
{
    const char *folder = t_folder();

    write_pair(folder, "a.ppm", "m.pgm");
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        tape tapes[2];

        for (int k = 0; k < 2 && cases[i].late != NULL; k++) {
            char text[300];
            sluice_dataset *dataset;

            add_stages(&cases[i], k == 0 ? "" : "| device", text, sizeof(text));
            dataset = list_dataset(folder, list, text);
            tapes[k] = record(dataset, &one_worker);
            T_STATUS(tapes[k].end, SLUICE_END_OF_DATA);
            sluice_dataset_destroy(dataset);
        }
        if (cases[i].late != NULL) {
            check_equal_tapes(&tapes[1], &tapes[0], cases[i].late);
            free(tapes[0].bytes);
            free(tapes[1].bytes);
        }
    }
}

/* ---- precision ------------------------------------------------------------------------------- */

enum { WIDE = 60000, LINES = 4 };

static const float far_points[][2] = {{59990.3F, 1.2F}, {3.7F, 0.4F}, {31234.56F, 3.9F}};
static const float far_box[4] = {40000.3F, 0.5F, 59000.7F, 3.25F};

static sluice_status give(sluice_sample *sample, const char *column, const uint64_t *shape,
                          const void *bytes, size_t size)
{
    void *room;
    const sluice_status st = sluice_sample_room(sample, column, shape, &room);

    if (st == SLUICE_OK && bytes != NULL) {
        memcpy(room, bytes, size);
    } else if (st == SLUICE_OK) {
        memset(room, 0, size);
    }
    return st;
}

static sluice_status read_wide(sluice_sample *sample, uint64_t index, void *user)
{
    sluice_status st = give(sample, "image", NULL, NULL, (size_t)WIDE * LINES);

    (void)index;
    (void)user;
    if (st == SLUICE_OK) {
        st = give(sample, "p", NULL, far_points, sizeof(far_points));
    }
    return st == SLUICE_OK ? give(sample, "b", (uint64_t[]){1, 4}, far_box, sizeof(far_box)) : st;
}

/* Rotates by degrees (clockwise), scales, and moves about the centre of the image. */
static void move(double point[2], double degrees, double scale, const double by[2])
{
    const double turn = degrees * 3.14159265358979323846 / 180;
    const double x = point[0] - WIDE / 2.0;
    const double y = point[1] - LINES / 2.0;

    point[0] = WIDE / 2.0 + by[0] + scale * (cos(turn) * x - sin(turn) * y);
    point[1] = LINES / 2.0 + by[1] + scale * (sin(turn) * x + cos(turn) * y);
}

/* What STAGES_FAR make of a point, in double precision. */
#define STAGES_FAR                                                                                 \
    "affine 0.001 3.3,0.7 0.9 | rotate 0.002 | random_horizontal_flip 1 | affine scale=1.07 "      \
    "translate=-5.1,0.3 | project p,b,b_length | batch 1"
static void move_far(double point[2])
{
    move(point, 0.001, 0.9, (double[2]){3.3, 0.7});
    move(point, -0.002, 1, (double[2]){0, 0});
    point[0] = WIDE - point[0];
    move(point, 0, 1.07, (double[2]){-5.1, 0.3});
}

/* Half a unit in the last place of a float. */
static double half_ulp(double value)
{
    return ((double)nextafterf((float)fabs(value), HUGE_VALF) - (double)(float)fabs(value)) / 2;
}

static void check_rounded(float value, double exact)
{
    T_TRUE(fabs((double)value - exact) <= half_ulp(exact) * 1.001 + 1e-9);
}

/* An f32 at 60000 has steps of 1/256 pixel: results of several stages are not rounded between. */
static void chains_of_stages_round_once(void)
{
    static const sluice_column_spec columns[] = {
        {"image", SLUICE_U8, 3, {LINES, WIDE, 1}, SLUICE_ROLE_IMAGE, 0, NULL},
        {"p", SLUICE_F32, 2, {3, 2}, SLUICE_ROLE_POINTS, 0, NULL},
        {"b", SLUICE_F32, 2, {1, 4}, SLUICE_ROLE_BOXES, 0, NULL},
    };
    sluice_source source;
    engine_run run;
    const float *values;
    double low[2] = {HUGE_VAL, HUGE_VAL};
    double high[2] = {-HUGE_VAL, -HUGE_VAL};

    sluice_source_init(&source);
    source.name = "wide";
    source.columns = columns;
    source.column_count = 3;
    source.count = 1;
    source.read = read_wide;
    open_own(&run, custom_dataset(&source, STAGES_FAR), &one_worker);
    T_OK(next_batch(&run));
    values = column_row(&run, "p", 0);
    for (int i = 0; i < 3; i++) {
        double point[2] = {(double)far_points[i][0], (double)far_points[i][1]};

        move_far(point);
        check_rounded(values[2 * i], point[0]);
        check_rounded(values[2 * i + 1], point[1]);
    }
    for (int i = 0; i < 4; i++) {
        double corner[2] = {(double)far_box[i % 2 * 2], (double)far_box[i / 2 * 2 + 1]};

        move_far(corner);
        for (int axis = 0; axis < 2; axis++) {
            low[axis] = fmin(low[axis], corner[axis]);
            high[axis] = fmax(high[axis], corner[axis]);
        }
    }
    values = column_row(&run, "b", 0);
    check_rounded(values[0], fmax(low[0], 0));
    check_rounded(values[1], fmax(low[1], 0));
    check_rounded(values[2], fmin(high[0], WIDE));
    check_rounded(values[3], fmin(high[1], LINES));
    close_run(&run);
}

const t_test followers_tests[] = {
    T_TEST(they_follow_every_operator),
    T_TEST(they_follow_what_runs_on_the_device),
    T_TEST(chains_of_stages_round_once),
    T_END,
};
