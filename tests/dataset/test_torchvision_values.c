/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Operators against numbers that torchvision 0.29.2 computed, printed by
 * tests/data/torchvision/make_fixtures.py: mixup, cutmix, vertical flip, normalize with erasing,
 * and the operations of aug_mix.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "color_ops.h"
#include "dataset_kit.h"
#include "list_kit.h"
#include "picture_kit.h"
#include "row_mix.h"
#include "testing.h"

/* ---- mixes of a batch of four images (1, 3, 4), with the row before ----------------------------
 */

enum { ROWS = 4, PIXELS = 12, CLASSES = 3 };

static const uint32_t all_rows[ROWS] = {0, 1, 2, 3};

static void make_images(float images[ROWS * PIXELS])
{
    for (int i = 0; i < ROWS * PIXELS; i++) {
        images[i] = (float)((37 * (i / PIXELS) + 11 * (i % PIXELS)) % 256);
    }
}

static void make_labels(float labels[ROWS * CLASSES])
{
    static const int classes[ROWS] = {2, 0, 1, 2};

    memset(labels, 0, ROWS * CLASSES * sizeof(*labels));
    for (int i = 0; i < ROWS; i++) {
        labels[i * CLASSES + classes[i]] = 1;
    }
}

static mix_rows rows_of(const sluice_column *type, void *data, void *saved)
{
    return (mix_rows){type, data, all_rows, ROWS, saved};
}

static const sluice_column image_type = {"image", SLUICE_F32, 3, {3, 4, 1}};
static const sluice_column label_type = {"label", SLUICE_F32, 1, {CLASSES}};

static void check_floats(const float *got, const float *want, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        T_NEAR((double)got[i], (double)want[i], 1e-7 * (1 + fabs((double)want[i])));
    }
}

static void mixup_is_that_of_torchvision(void)
{
    static const float want[ROWS * PIXELS] = {
        76.3125F,  87.3125F,  98.3125F,  109.3125F, 120.3125F, 131.3125F, 142.3125F, 153.3125F,
        164.3125F, 175.3125F, 186.3125F, 197.3125F, 11.5625F,  22.5625F,  33.5625F,  44.5625F,
        55.5625F,  66.5625F,  77.5625F,  88.5625F,  99.5625F,  110.5625F, 121.5625F, 132.5625F,
        48.5625F,  59.5625F,  70.5625F,  81.5625F,  92.5625F,  103.5625F, 114.5625F, 125.5625F,
        136.5625F, 147.5625F, 158.5625F, 169.5625F, 85.5625F,  96.5625F,  107.5625F, 118.5625F,
        129.5625F, 140.5625F, 151.5625F, 162.5625F, 173.5625F, 184.5625F, 195.5625F, 206.5625F};
    static const float want_labels[ROWS * CLASSES] = {
        0, 0, 1, 0.3125F, 0, 0.6875F, 0.6875F, 0.3125F, 0, 0, 0.6875F, 0.3125F};
    const sluice_column bytes_type = {"image", SLUICE_U8, 3, {3, 4, 1}};
    float images[ROWS * PIXELS];
    float labels[ROWS * CLASSES];
    float saved[PIXELS];
    uint8_t bytes[ROWS * PIXELS];
    mix_rows rows = rows_of(&image_type, images, saved);

    make_images(images);
    make_labels(labels);
    for (int i = 0; i < ROWS * PIXELS; i++) {
        bytes[i] = (uint8_t)images[i];
    }
    mix_blend(&rows, 0.3125);
    check_floats(images, want, ROWS * PIXELS);
    rows = rows_of(&label_type, labels, saved);
    mix_blend(&rows, 0.3125);
    check_floats(labels, want_labels, ROWS * CLASSES);
    rows = rows_of(&bytes_type, bytes, saved);
    mix_blend(&rows, 0.3125);
    for (int i = 0; i < ROWS * PIXELS; i++) {
        T_EQ(bytes[i], (int)rintf(want[i]));
    }
}

static void cutmix_is_that_of_torchvision(void)
{
    static const float want[ROWS * PIXELS] = {
        0,   122, 133, 33,  44,  166, 177, 77,  88,  99,  110, 121, 37,  11,  22,  70,
        81,  55,  66,  114, 125, 136, 147, 158, 74,  48,  59,  107, 118, 92,  103, 151,
        162, 173, 184, 195, 111, 85,  96,  144, 155, 129, 140, 188, 199, 210, 221, 232};
    static const float want_labels[ROWS * CLASSES] = {
        0, 0, 1, 2 / 3.0F, 0, 1 / 3.0F, 1 / 3.0F, 2 / 3.0F, 0, 0, 1 / 3.0F, 2 / 3.0F};
    const mix_box box = {1, 0, 3, 2};
    float images[ROWS * PIXELS];
    float labels[ROWS * CLASSES];
    float saved[PIXELS];
    mix_rows rows = rows_of(&image_type, images, saved);

    make_images(images);
    make_labels(labels);
    mix_paste(&rows, false, &box);
    check_floats(images, want, ROWS * PIXELS);
    rows = rows_of(&label_type, labels, saved);
    mix_blend(&rows, mix_share_beside(&box, 4, 3));
    check_floats(labels, want_labels, ROWS * CLASSES);
}

/* ---- a vertical flip, normalize, and erasing with 0 --------------------------------------------
 */

enum { SMALL = 3 * 3 * 4 };

/* Writes the upper left 4 x 3 pixels of the input of the fixtures. */
static void write_small(const char *folder)
{
    picture from = picture_read("torchvision", "rgb-70x12.ppm");
    char path[400];
    FILE *file;

    snprintf(path, sizeof(path), "%s/a.ppm", folder);
    file = fopen(path, "wb");
    fprintf(file, "P6\n4 3\n255\n");
    for (size_t y = 0; y < 3; y++) {
        fwrite(from.pixels + y * from.width * 3, 3, 4, file);
    }
    fclose(file);
    free(from.pixels);
}

static void run_small(const char *stages, float got[SMALL])
{
    const char *folder = t_folder();
    char text[400];
    engine_run run;

    write_small(folder);
    snprintf(text, sizeof(text), "| decode | %s | batch 1", stages);
    open_own(&run, list_dataset(folder, "image\na.ppm\n", text), &one_worker);
    T_OK(next_batch(&run));
    memcpy(got, column_row(&run, "image", 0), SMALL * sizeof(float));
    close_run(&run);
}

/* torchvision erases [1, 3) x [1, 3) there, where it prints zeros; here the rectangle is random. */
static void normalized_values_are_those_of_torchvision(void)
{
    static const float want[SMALL] = {
        -1.05616915F,  -1.6555357F,   -1.72403467F,  -1.53566241F,  -1.6555357F,   0.0F,
        0.0F,          -1.36441481F,  -2.11790395F,  0.0F,          0.0F,          -1.92953169F,
        0.922969222F,  0.800420225F,  1.65826356F,   1.6932776F,    1.20308125F,   0.0F,
        0.0F,          0.992997229F,  -2.03571415F,  0.0F,          0.0F,          -1.84313726F,
        -0.776121914F, -1.26413929F,  -0.514684021F, -0.479825616F, -0.915555477F, 0.0F,
        0.0F,          -0.549542367F, -1.80444443F,  0.0F,          0.0F,          -1.61272335F};
    static const char *const orders[] = {
        "random_vertical_flip 1 | normalize imagenet | to_chw",
        "normalize imagenet | random_vertical_flip 1 | to_chw",
        "normalize imagenet | to_chw | random_vertical_flip 1 | random_erasing 1 0.2,0.3",
    };
    float plain[SMALL];

    for (size_t k = 0; k < sizeof(orders) / sizeof(orders[0]); k++) {
        float got[SMALL];
        uint32_t erased = 0;

        run_small(orders[k], got);
        if (k == 0) {
            memcpy(plain, got, sizeof(plain));
        }
        for (int i = 0; i < SMALL; i++) {
            if (got[i] == 0) {
                erased++;
            } else {
                T_TRUE(want[i] == 0 || fabsf(got[i] - want[i]) < 1e-6F);
                T_TRUE(got[i] == plain[i]);
            }
        }
        T_EQ(erased > 0, k == 2);
        T_EQ(erased % 3, 0);
    }
}

/* ---- the operations of aug_mix -----------------------------------------------------------------
 */

enum { WIDTH = 70, HEIGHT = 12, MAGNITUDES = 10 };

static const double shears[MAGNITUDES] = {0,           0.0333333351, 0.0666666701, 0.100000009,
                                          0.13333334,  0.166666672,  0.200000003,  0.233333349,
                                          0.266666681, 0.300000012};
static const double shifts_x[MAGNITUDES] = {0,          2.59259272, 5.18518543, 7.77777815,
                                            10.3703709, 12.9629631, 15.5555553, 18.1481476,
                                            20.7407417, 23.333334};
static const double shifts_y[MAGNITUDES] = {
    0,          0.444444448, 0.888888896, 1.33333337, 1.77777779,
    2.22222233, 2.66666675,  3.11111116,  3.55555558, 4};
static const double angles[MAGNITUDES] = {0,          3.33333325, 6.66666651, 10,        13.333333,
                                          16.6666679, 20,         23.333334,  26.666666, 30};
static const int bits[MAGNITUDES] = {4, 4, 3, 3, 2, 2, 1, 1, 0, 0};
static const double thresholds[MAGNITUDES] = {
    1,           0.888888896, 0.777777791, 0.666666687, 0.555555582,
    0.444444448, 0.333333343, 0.222222224, 0.111111112, 0};
static const double factors[MAGNITUDES] = {0,   0.099999994, 0.199999988, 0.299999982, 0.399999976,
                                           0.5, 0.600000024, 0.699999988, 0.799999952, 0.899999976};

/* True if the absolute value is in the table; truncates: after truncation of the table's. */
static bool is_in(const double *table, double value, bool truncates)
{
    for (int i = 0; i < MAGNITUDES; i++) {
        const double entry = truncates ? trunc(table[i]) : table[i];

        if (fabs(fabs(value) - entry) < 1e-5) {
            return true;
        }
    }
    return false;
}

/* True if the warp is a shear about the upper left corner, a translation or a rotation of the
 * tables. */
static bool is_warp(const image_warp *warp)
{
    const double *m = warp->matrix.m;
    const double degrees = asin(m[1]) * 180 / 3.14159265358979323846;

    if (m[0] == 1 && m[4] == 1 && m[3] == 0 && m[1] != 0) {
        return is_in(shears, m[1], false) && fabs(m[2]) < 1e-6 && fabs(m[5]) < 1e-6;
    }
    if (m[0] == 1 && m[4] == 1 && m[1] == 0 && m[3] != 0) {
        return is_in(shears, m[3], false) && fabs(m[2]) < 1e-6 && fabs(m[5]) < 1e-6;
    }
    if (m[0] == 1 && m[4] == 1) {
        return (is_in(shifts_x, m[2], true) && m[5] == 0) ||
               (is_in(shifts_y, m[5], true) && m[2] == 0);
    }
    return is_in(angles, degrees, false) && fabs(m[3] + m[1]) < 1e-9;
}

/* Its factors are in single precision: 1.2 is 1.1999999, so products may be truncated to the number
 * below. */
static bool is_table(const color_operation *operation)
{
    for (int i = 0; i < 4 * MAGNITUDES; i++) {
        const int number = i % MAGNITUDES;
        int most = 0;
        static color_chain want;

        want.count = 0;
        want.numbers = false;
        switch (i / MAGNITUDES) {
        case 0:
            color_add_posterize(&want, (uint32_t)bits[number]);
            break;
        case 1:
            /* torchvision compares in single precision */
            color_add_solarize(&want, (double)(float)(255 * thresholds[number]));
            break;
        case 2:
            color_add_brightness(&want, 1 + factors[number]);
            break;
        default:
            color_add_brightness(&want, 1 - factors[number]);
            break;
        }
        for (int v = 0; v < 256; v++) {
            const int apart = want.operations[0].table[0][v] - operation->table[0][v];

            most = apart > most ? apart : -apart > most ? -apart : most;
        }
        if (most <= (i < 2 * MAGNITUDES ? 0 : 1)) {
            return true;
        }
    }
    return false;
}

/* Copies with one operation each, of all magnitudes. */
static void operations_of_aug_mix_are_those_of_torchvision(void)
{
    static color_mix mix;
    static color_chain chain;
    sluice_dataset *dataset = parsed("synthetic 4 12,70,3 | aug_mix 10 8 1 | batch 2");
    const dataset_stage *stage = &dataset->stages[1];
    uint32_t counts[COLOR_MIX + 1] = {0};

    for (uint64_t sample = 0; sample < 150; sample++) {
        const sli_draws draws = {.key = 3, .sample = sample};

        chain = (color_chain){.width = WIDTH, .height = HEIGHT, .mixes = &mix};
        stage->def->color->add(stage->args.bytes, &draws, &chain);
        for (uint32_t i = 0; i < mix.count; i++) {
            const color_operation *operation = &mix.chains[i].operations[0];
            const double factor = (double)operation->factor;

            T_EQ(mix.chains[i].count, 1);
            counts[operation->kind]++;
            switch (operation->kind) {
            case COLOR_WARP:
                T_TRUE(is_warp(&operation->warp));
                break;
            case COLOR_TABLE:
                T_TRUE(is_table(operation));
                break;
            case COLOR_SATURATION:
            case COLOR_CONTRAST:
            case COLOR_SHARPEN:
                T_TRUE(is_in(factors, factor - 1, false));
                break;
            default:
                T_TRUE(operation->kind == COLOR_AUTOCONTRAST || operation->kind == COLOR_EQUALIZE);
                break;
            }
        }
    }
    /* 5 of 13 kinds are warps, 3 tables */
    T_TRUE(counts[COLOR_WARP] > 380 && counts[COLOR_WARP] < 540);
    T_TRUE(counts[COLOR_TABLE] > 210 && counts[COLOR_TABLE] < 350);
    sluice_dataset_destroy(dataset);
}

const t_test torchvision_values_tests[] = {
    T_TEST(mixup_is_that_of_torchvision),
    T_TEST(cutmix_is_that_of_torchvision),
    T_TEST(normalized_values_are_those_of_torchvision),
    T_TEST(operations_of_aug_mix_are_those_of_torchvision),
    T_END,
};
