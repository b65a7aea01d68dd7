/* SPDX-License-Identifier: Apache-2.0 */
/* Arrays of f32 and u16 that `column NAME role=image` makes images. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "dataset_kit.h"
#include "float16_int.h"
#include "npy_kit.h"
#include "testing.h"

enum { SAMPLES = 3, WIDTH = 14, HEIGHT = 9, CELLS = WIDTH * HEIGHT };

static float float_of(uint32_t sample, uint32_t x, uint32_t y)
{
    return (float)((double)sample * 1000 + (double)y * 7.25 - (double)x / 3);
}

/* Writes depth.npy, f32 (3, 9, 14), and scan.npy, u16 (3, 9, 14). */
static const char *write_arrays(void)
{
    static float floats[SAMPLES * CELLS];
    static uint16_t words[SAMPLES * CELLS];
    const char *folder = t_folder();

    for (uint32_t i = 0; i < SAMPLES * CELLS; i++) {
        floats[i] = float_of(i / CELLS, i % WIDTH, i % CELLS / WIDTH);
        words[i] = (uint16_t)(i * 157);
    }
    npy_write(folder, "depth.npy", "<f4", "(3, 9, 14)", floats, sizeof(floats));
    npy_write(folder, "scan.npy", "<u2", "(3, 9, 14)", words, sizeof(words));
    return folder;
}

/* Sample 1 of an array after these stages. */
static void get_row(const char *folder, const char *name, const char *stages, void *row)
{
    sluice_dataset *dataset = NULL;
    char text[300];

    snprintf(text, sizeof(text), "npy %s/%s.npy | column %s role=image | %s | batch 1", folder,
             name, name, stages);
    T_OK(sluice_dataset_parse(text, &dataset));
    T_OK(sluice_dataset_get(dataset, 0, 0, 1, (void *const[]){row}, NULL));
    sluice_dataset_destroy(dataset);
}

static void floats_are_cropped_and_flipped(void)
{
    const char *folder = write_arrays();
    float row[CELLS];

    get_row(folder, "depth", "random_horizontal_flip 1 | center_crop 5,6", row);
    for (uint32_t i = 0; i < 5 * 6; i++) {
        T_TRUE(row[i] == float_of(1, WIDTH - 1 - (4 + i % 6), 2 + i / 6));
    }
    get_row(folder, "depth", "center_crop 5,6 | random_vertical_flip 1 | to_chw", row);
    for (uint32_t i = 0; i < 5 * 6; i++) {
        T_TRUE(row[i] == float_of(1, 4 + i % 6, 6 - i / 6));
    }
}

/* The values are linear in x and y, so between the edges bilinear gives the function itself. */
static void floats_are_resized(void)
{
    const char *folder = write_arrays();
    float row[4 * CELLS];

    get_row(folder, "depth", "resize 18,28 filter=nearest", row);
    for (uint32_t i = 0; i < 4 * CELLS; i++) {
        T_TRUE(row[i] == float_of(1, i % 28 / 2, i / 28 / 2));
    }
    get_row(folder, "depth", "resize 18,28", row);
    for (uint32_t y = 1; y < 17; y++) {
        for (uint32_t x = 1; x < 27; x++) {
            const double want = 1000 + (y / 2.0 - 0.25) * 7.25 - (x / 2.0 - 0.25) / 3;

            T_NEAR(row[y * 28 + x], want, 1e-3);
        }
    }
}

/* No value of floats is white: they are normalized as they are. */
static void floats_are_normalized_as_they_are(void)
{
    const char *folder = write_arrays();
    float row[CELLS];
    uint16_t halves[CELLS];

    get_row(folder, "depth", "normalize 1500 300", row); /* values of any range have any mean */
    T_TRUE(row[0] == fmaf(float_of(1, 0, 0), (float)(1.0 / 300), -5));
    get_row(folder, "depth", "normalize 2 3", row);
    get_row(folder, "depth", "random_horizontal_flip 1 | normalize 2 3 dtype=f16", halves);
    for (uint32_t i = 0; i < CELLS; i++) {
        const uint32_t flipped = WIDTH - 1 - i % WIDTH;

        T_TRUE(row[i] ==
               fmaf(float_of(1, i % WIDTH, i / WIDTH), (float)(1.0 / 3), (float)(-2.0 / 3)));
        T_EQ(halves[i], sli_f16_of_f32(fmaf(float_of(1, flipped, i / WIDTH), (float)(1.0 / 3),
                                            (float)(-2.0 / 3))));
    }
}

/* As those of cast: a finite value does not become infinite without a word. */
static void values_that_a_type_cannot_hold_are_bad_samples(void)
{
    static const struct {
        const char *stages;
        float value;
        const char *says; /* NULL: it is converted */
    } cases[] = {
        {"to_dtype f16", 65519, NULL},
        {"to_dtype f16", 65520, "the value 65520 of the image cannot be represented as f16"},
        {"to_dtype f16", -INFINITY, NULL},
        {"to_dtype f16", NAN, NULL},
        {"random_horizontal_flip 1 | normalize 0 0.01 dtype=f16", 700, "choose dtype=f32"},
        {"normalize 0 0.01 dtype=f16 | to_chw", -700, "the value -700 of the image"},
        {"normalize 0 0.01 dtype=f16", 650, NULL},
        {"to_dtype bf16", 3.4e38F, "as bf16"},
        {"to_dtype bf16", 3e38F, NULL},
        {"normalize 0 0.1", 1e38F, "as f32 after its conversion; is a std too small?"},
        {"views 2 | center_crop 9,14 | to_dtype f16", 1e6F, "the value 1e+06 of the image"},
    };
    static float values[CELLS];
    const char *folder = t_folder();

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        sluice_dataset *dataset = NULL;
        float row[2 * CELLS];
        char text[300];

        values[CELLS - 2] = cases[i].value;
        npy_write(folder, "a.npy", "<f4", "(1, 9, 14)", values, sizeof(values));
        snprintf(text, sizeof(text), "npy %s/a.npy | column a role=image | %s | batch 1", folder,
                 cases[i].stages);
        T_OK(sluice_dataset_parse(text, &dataset));
        T_STATUS(sluice_dataset_get(dataset, 0, 0, 0, (void *const[]){row}, NULL),
                 cases[i].says == NULL ? SLUICE_OK : SLUICE_E_CORRUPT);
        if (cases[i].says != NULL) {
            T_CONTAINS(sluice_last_error(), cases[i].says);
        }
        sluice_dataset_destroy(dataset);
    }
}

static void arrays_of_16_bits_are_images_of_16_bits(void)
{
    const char *folder = write_arrays();
    uint16_t words[CELLS];
    float row[CELLS];

    get_row(folder, "scan", "random_horizontal_flip 1 | center_crop 5,6", words);
    for (uint32_t i = 0; i < 5 * 6; i++) {
        T_EQ(words[i], (uint16_t)((CELLS + (2 + i / 6) * WIDTH + WIDTH - 1 - (4 + i % 6)) * 157));
    }
    get_row(folder, "scan", "to_dtype f32 scale=true", row);
    for (uint32_t i = 0; i < CELLS; i++) {
        T_TRUE(row[i] == (float)((CELLS + i) * 157 % 65536) * (float)(1.0 / 65535));
    }
}

static void stages_of_bytes_refuse_floats(void)
{
    const char *folder = write_arrays();
    static const char *const stages[][2] = {
        {"color_jitter 0.4", "color_jitter: column depth is f32; colours, warps"},
        {"rotate 10", "rotate: column depth is f32"},
        {"mosaic 8", "mosaic: column depth is f32"},
        {"random_erasing", "random_erasing: column depth is f32"},
        {"pad_image 2 fill=1", "the fill is 1; it must be 0"},
        {"to_dtype f32 scale=true", "scale=true is for bytes and 16 bits; the image is f32"},
        {"batch 3 | mixup 4", "mixup: column depth is f32"},
    };

    for (size_t i = 0; i < sizeof(stages) / sizeof(stages[0]); i++) {
        char text[300];

        snprintf(text, sizeof(text), "npy %s/depth.npy | column depth role=image | %s", folder,
                 stages[i][0]);
        check_refused(text, stages[i][1]);
    }
}

const t_test float_images_tests[] = {
    T_TEST(floats_are_cropped_and_flipped),
    T_TEST(floats_are_resized),
    T_TEST(floats_are_normalized_as_they_are),
    T_TEST(arrays_of_16_bits_are_images_of_16_bits),
    T_TEST(values_that_a_type_cannot_hold_are_bad_samples),
    T_TEST(stages_of_bytes_refuse_floats),
    T_END,
};
