/* SPDX-License-Identifier: Apache-2.0 */
/* Colour operations on whole images, against torchvision's results, and their kernels. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "color_chain.h"
#include "color_kernels.h"
#include "cpu_int.h"
#include "picture_kit.h"
#include "testing.h"

/* ---- a chain on an image -----------------------------------------------------------------------
 */

/* Applies the chain to the image, as the engine does line by line. */
static void run_chain(color_chain *chain, picture *image)
{
    uint32_t first = 0;

    do {
        const uint32_t end = color_next_whole(chain, first);
        color_statistics statistics;

        memset(&statistics, 0, sizeof(statistics));
        for (uint32_t y = 0; y < image->height; y++) {
            uint8_t *line = image->pixels + (size_t)y * image->width * image->channels;

            color_apply(chain, first, end, y, line, line, image->width, image->channels);
            if (end < chain->count) {
                color_count(&chain->operations[end], line, image->width, image->channels,
                            &statistics);
            }
        }
        if (end < chain->count) {
            color_settle(chain, end, &statistics);
        }
        first = end;
    } while (first < chain->count);
}

/* ---- torchvision -------------------------------------------------------------------------------
 */

static void add_posterize_3(color_chain *chain)
{
    color_add_posterize(chain, 3);
}

static void add_several(color_chain *chain)
{
    color_add_brightness(chain, 1.3);
    color_add_invert(chain);
    color_add_contrast(chain, 0.6);
    color_add_hue(chain, 0.2);
}

/*
 * torchvision's sums use fused multiply-adds on some machines, so truncation of a value close to an
 * integer may differ by one.
 */
static const struct {
    const char *input;
    const char *output;
    int tolerance;
    void (*add)(color_chain *chain); /* NULL: add_amount, with the amount */
    void (*add_amount)(color_chain *chain, double amount);
    double amount;
} cases[] = {
    {"rgb-70x12.ppm", "brightness-0.4.ppm", 0, NULL, color_add_brightness, 0.4},
    {"rgb-70x12.ppm", "brightness-1.7.ppm", 0, NULL, color_add_brightness, 1.7},
    {"rgb-70x12.ppm", "contrast-0.4.ppm", 1, NULL, color_add_contrast, 0.4},
    {"rgb-70x12.ppm", "contrast-1.7.ppm", 1, NULL, color_add_contrast, 1.7},
    {"rgb-70x12.ppm", "saturation-0.4.ppm", 1, NULL, color_add_saturation, 0.4},
    {"rgb-70x12.ppm", "saturation-1.7.ppm", 1, NULL, color_add_saturation, 1.7},
    {"rgb-70x12.ppm", "hue--0.3.ppm", 1, NULL, color_add_hue, -0.3},
    {"rgb-70x12.ppm", "hue-0.1.ppm", 1, NULL, color_add_hue, 0.1},
    {"rgb-70x12.ppm", "hue-0.5.ppm", 1, NULL, color_add_hue, 0.5},
    {"rgb-70x12.ppm", "grayscale.ppm", 1, color_add_gray, NULL, 0},
    {"rgb-70x12.ppm", "invert.ppm", 0, color_add_invert, NULL, 0},
    {"rgb-70x12.ppm", "posterize-3.ppm", 0, add_posterize_3, NULL, 0},
    {"rgb-70x12.ppm", "solarize-100.ppm", 0, NULL, color_add_solarize, 100},
    {"dim-70x12.ppm", "autocontrast.ppm", 0, color_add_autocontrast, NULL, 0},
    {"dim-70x12.ppm", "equalize.ppm", 0, color_add_equalize, NULL, 0},
    {"rgb-70x12.ppm", "chain.ppm", 2, add_several, NULL, 0},
};

static void operations_give_what_torchvision_gives(void)
{
    static color_chain chain;

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        picture got = picture_read("torchvision", cases[i].input);
        picture want = picture_read("torchvision", cases[i].output);
        size_t other = 0;

        chain.count = 0;
        if (cases[i].add != NULL) {
            cases[i].add(&chain);
        } else {
            cases[i].add_amount(&chain, cases[i].amount);
        }
        run_chain(&chain, &got);
        for (size_t k = 0; k < picture_size(&want); k++) {
            T_NEAR(got.pixels[k], want.pixels[k], cases[i].tolerance);
            other += got.pixels[k] != want.pixels[k];
        }
        if (other * 100 > picture_size(&want)) {
            fprintf(stderr, "%s: %zu of %zu values differ\n", cases[i].output, other,
                    picture_size(&want));
        }
        T_TRUE(other * 100 <= picture_size(&want));
        free(got.pixels);
        free(want.pixels);
    }
}

/* ---- chains ------------------------------------------------------------------------------------
 */

static void tables_are_composed(void)
{
    static color_chain chain;
    picture image = picture_make(5, 3, 3, 1);
    picture before = picture_make(5, 3, 3, 1);

    chain.count = 0;
    color_add_invert(&chain);
    color_add_posterize(&chain, 2);
    color_add_invert(&chain);
    T_EQ(chain.count, 1);
    run_chain(&chain, &image);
    for (size_t k = 0; k < picture_size(&image); k++) {
        T_EQ(image.pixels[k], before.pixels[k] | 0x3F);
    }
    free(image.pixels);
    free(before.pixels);
}

/* A table after contrast is composed into contrast's own, and applied once. */
static void a_table_after_statistics_is_applied_once(void)
{
    static color_chain chain;
    picture got = picture_make(9, 4, 3, 2);
    picture want = picture_make(9, 4, 3, 2);

    chain.count = 0;
    color_add_contrast(&chain, 0.5);
    run_chain(&chain, &want);
    for (size_t k = 0; k < picture_size(&want); k++) {
        want.pixels[k] = (uint8_t)(255 - want.pixels[k]);
    }
    chain.count = 0;
    color_add_contrast(&chain, 0.5);
    color_add_invert(&chain);
    run_chain(&chain, &got);
    T_TRUE(memcmp(got.pixels, want.pixels, picture_size(&want)) == 0);
    free(got.pixels);
    free(want.pixels);
}

/* Saturation, hue and gray do not change one channel; its contrast uses the mean of its values. */
static void gray_images_keep_what_needs_colours(void)
{
    static color_chain chain;
    picture image = picture_make(7, 5, 1, 3);
    picture before = picture_make(7, 5, 1, 3);

    chain.count = 0;
    color_add_saturation(&chain, 0);
    color_add_hue(&chain, 0.25);
    color_add_gray(&chain);
    run_chain(&chain, &image);
    T_TRUE(memcmp(image.pixels, before.pixels, picture_size(&image)) == 0);
    chain.count = 0;
    color_add_contrast(&chain, 0);
    run_chain(&chain, &image);
    for (size_t k = 1; k < picture_size(&image); k++) {
        T_EQ(image.pixels[k], image.pixels[0]);
    }
    free(image.pixels);
    free(before.pixels);
}

static void images_of_one_value_stay(void)
{
    static color_chain chain;
    picture image = picture_zero(6, 6, 3);

    chain.count = 0;
    color_add_autocontrast(&chain);
    color_add_equalize(&chain);
    run_chain(&chain, &image);
    for (size_t k = 0; k < picture_size(&image); k++) {
        T_EQ(image.pixels[k], 0);
    }
    free(image.pixels);
}

/* Two channels span all values, so their table is the identity; channel `other` is still stretched.
 */
static void stretch_one_channel(size_t other)
{
    static color_chain chain; /* not cleared: values of an earlier image must have no effect */
    picture image = picture_zero(256, 1, 3);

    for (size_t k = 0; k < picture_size(&image); k++) {
        image.pixels[k] = (uint8_t)(k % 3 == other ? 100 + k / 3 % 2 : k / 3);
    }
    chain.count = 0;
    color_add_autocontrast(&chain);
    run_chain(&chain, &image);
    for (size_t k = 0; k < picture_size(&image); k++) {
        const int want = k % 3 == other ? 255 * (int)(k / 3 % 2) : (int)(k / 3);

        T_TRUE(abs(image.pixels[k] - want) <= 1); /* torchvision truncates 255 to 254 */
    }
    free(image.pixels);
}

static void channels_have_tables_of_their_own(void)
{
    for (size_t other = 0; other < 3; other++) {
        stretch_one_channel(other);
    }
}

/* Applies tables to images with the same chain, as a worker does for its samples. */
static void a_chain_is_used_again(void)
{
    static color_chain chain;
    picture before = picture_make(40, 3, 3, 4);

    for (int k = 0; k < 4; k++) {
        picture image = picture_make(40, 3, 3, 4);

        chain.count = 0;
        color_add_posterize(&chain, 4);
        color_add_invert(&chain);
        if (k % 2 == 1) {
            color_add_brightness(&chain, 0.5);
        }
        T_EQ(chain.count, 1);
        run_chain(&chain, &image);
        for (size_t i = 0; i < picture_size(&image); i++) {
            const int value = 255 - (before.pixels[i] & 0xF0);

            T_EQ(image.pixels[i], k % 2 == 1 ? value / 2 : value);
        }
        free(image.pixels);
    }
    free(before.pixels);
}

/* Contrast becomes a table in the operation that was a bitwise table for the image before. */
static void statistics_follow_a_bitwise_table(void)
{
    static color_chain chain;
    picture inverted = picture_make(9, 4, 3, 2);
    picture image = picture_make(9, 4, 3, 2);
    picture before = picture_make(9, 4, 3, 2);

    chain.count = 0;
    color_add_invert(&chain);
    run_chain(&chain, &inverted);
    chain.count = 0;
    color_add_contrast(&chain, 0);
    run_chain(&chain, &image);
    for (size_t k = 0; k < picture_size(&image); k++) {
        T_EQ(inverted.pixels[k], 255 - before.pixels[k]);
        T_EQ(image.pixels[k], image.pixels[0]);
    }
    chain.count = 0;
    color_add_brightness(&chain, 0.5);
    run_chain(&chain, &inverted);
    for (size_t k = 0; k < picture_size(&image); k++) {
        T_EQ(inverted.pixels[k], (255 - before.pixels[k]) / 2);
    }
    free(inverted.pixels);
    free(image.pixels);
    free(before.pixels);
}

/* ---- kernels -----------------------------------------------------------------------------------
 */

static void kernels_of_all_levels_give_the_same_bytes(void)
{
#if defined(__x86_64__)
    static const color_kernels *const levels[] = {&sli_color_kernels_v3, &sli_color_kernels_v4};
    enum { PIXELS = 1021, BYTES = 3 * PIXELS };
    const color_kernels *portable = &sli_color_kernels_portable;
    picture line = picture_make(PIXELS, 1, 3, 7);
    uint8_t want[BYTES];
    uint8_t got[BYTES];

    for (int level = SLI_CPU_V3; level <= (int)sli_cpu_best(); level++) {
        const color_kernels *kernels = levels[level - SLI_CPU_V3];

        for (int k = -5; k <= 5; k++) {
            portable->saturate(line.pixels, want, PIXELS, 1 + (float)k / 5, (float)-k / 5);
            kernels->saturate(line.pixels, got, PIXELS, 1 + (float)k / 5, (float)-k / 5);
            T_TRUE(memcmp(got, want, BYTES) == 0);
            portable->shift_hue(line.pixels, want, PIXELS, (float)k / 10);
            kernels->shift_hue(line.pixels, got, PIXELS, (float)k / 10);
            T_TRUE(memcmp(got, want, BYTES) == 0);
        }
        portable->gray(line.pixels, want, PIXELS);
        kernels->gray(line.pixels, got, PIXELS);
        T_TRUE(memcmp(got, want, BYTES) == 0);
        T_EQ(kernels->sum_gray(line.pixels, PIXELS), portable->sum_gray(line.pixels, PIXELS));
    }
    free(line.pixels);
#endif
}

/* Kernels work on blocks, in place too, and write nothing after the line. */
static void lines_of_each_length_are_changed_in_place(void)
{
    enum { MOST = 101 };
    static const color_kernels *const levels[] = {
        &sli_color_kernels_portable,
#if defined(__x86_64__)
        &sli_color_kernels_v3,
        &sli_color_kernels_v4,
#endif
    };
    picture line = picture_make(MOST, 1, 3, 7);
    uint8_t want[3 * MOST];
    uint8_t got[3 * MOST];

    for (uint32_t i = 0; i < MOST; i++) {
        levels[0]->shift_hue(line.pixels + (size_t)3 * i, want + (size_t)3 * i, 1, 0.2F);
    }
    for (int level = 0; level <= (int)sli_cpu_best(); level++) {
        for (uint32_t pixels = 0; pixels <= MOST; pixels++) {
            const size_t bytes = (size_t)3 * pixels;

            memcpy(got, line.pixels, sizeof(got));
            levels[level]->shift_hue(got, got, pixels, 0.2F);
            T_TRUE(memcmp(got, want, bytes) == 0);
            T_TRUE(memcmp(got + bytes, line.pixels + bytes, sizeof(got) - bytes) == 0);
        }
    }
    free(line.pixels);
}

/* Lines of each length around the vectors of the kernels, with a table for all or for each channel.
 */
static void tables_are_looked_up_at_all_levels(void)
{
    enum { PIXELS = 133, BYTES = 3 * PIXELS };
    static const color_kernels *const levels[] = {
        &sli_color_kernels_portable,
#if defined(__x86_64__)
        &sli_color_kernels_v3,
        &sli_color_kernels_v4,
#endif
    };
    picture line = picture_make(PIXELS, 1, 3, 7);
    uint8_t tables[3][256];
    uint8_t got[BYTES + 1];

    for (int i = 0; i < 256; i++) {
        tables[0][i] = (uint8_t)(i * 7 + 3);
        tables[1][i] = (uint8_t)(255 - i);
        tables[2][i] = (uint8_t)(i * 31 ^ 0x55);
    }
    for (int level = 0; level <= (int)sli_cpu_best(); level++) {
        for (uint32_t pixels = 0; pixels <= PIXELS; pixels++) {
            memset(got, 77, sizeof(got));
            levels[level]->look_up(tables[0], line.pixels, got, (size_t)3 * pixels);
            for (uint32_t i = 0; i < 3 * pixels; i++) {
                T_EQ(got[i], tables[0][line.pixels[i]]);
            }
            T_EQ(got[3 * pixels], 77);
            levels[level]->look_up_rgb(tables[0], line.pixels, got, pixels);
            for (uint32_t i = 0; i < 3 * pixels; i++) {
                T_EQ(got[i], tables[i % 3][line.pixels[i]]);
            }
            T_EQ(got[3 * pixels], 77);
        }
    }
    free(line.pixels);
}

const t_test color_chain_tests[] = {
    T_TEST(operations_give_what_torchvision_gives),
    T_TEST(tables_are_composed),
    T_TEST(a_table_after_statistics_is_applied_once),
    T_TEST(gray_images_keep_what_needs_colours),
    T_TEST(images_of_one_value_stay),
    T_TEST(channels_have_tables_of_their_own),
    T_TEST(a_chain_is_used_again),
    T_TEST(statistics_follow_a_bitwise_table),
    T_TEST(kernels_of_all_levels_give_the_same_bytes),
    T_TEST(lines_of_each_length_are_changed_in_place),
    T_TEST(tables_are_looked_up_at_all_levels),
    T_END,
};
