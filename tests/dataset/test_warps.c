/* SPDX-License-Identifier: Apache-2.0 */
/* Warps of whole images: against torchvision's results and a plain reference; their kernels. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "cpu_int.h"
#include "image_warp.h"
#include "picture_kit.h"
#include "testing.h"
#include "warp_kernels.h"

/* ---- a warp of a picture -----------------------------------------------------------------------
 */

static image_view view_of(const picture *p)
{
    return (image_view){p->pixels, (size_t)p->width * p->channels, p->width, p->height, p->channels,
                        IMAGE_U8};
}

static picture warped(const picture *from, const image_warp *warp)
{
    const image_view view = view_of(from);
    picture to = picture_empty(from->width, from->height, from->channels);

    for (uint32_t y = 0; y < from->height; y++) {
        warp_line(warp, &view, y, to.pixels + y * view.stride);
    }
    return to;
}

static image_warp make_warp(const warp_matrix *matrix, bool nearest)
{
    return (image_warp){.matrix = *matrix, .nearest = nearest, .fill = {10, 200, 90, 50}};
}

static bool same(const picture *a, const picture *b)
{
    return memcmp(a->pixels, b->pixels, picture_size(a)) == 0;
}

/* ---- torchvision -------------------------------------------------------------------------------
 */

static const struct {
    const char *output;
    warp_affine affine;
    double corners[8]; /* scale 0: instead of affine */
    uint32_t width;
    bool nearest;
    uint8_t fill[4];
} cases[] = {
    {"rotate-30.ppm", {-30, {0, 0}, 1, {0, 0}}, {0}, 70, true, {7, 7, 7}},
    {"rotate-90.ppm", {-90, {0, 0}, 1, {0, 0}}, {0}, 12, true, {7, 7, 7}},
    {"rotate--17.ppm", {17, {0, 0}, 1, {0, 0}}, {0}, 70, false, {10, 200, 90}},
    {"affine.ppm", {12, {5, -2}, 0.8, {20, -10}}, {0}, 70, false, {10, 200, 90}},
    {"affine-large.ppm", {-5, {0, 1}, 1.6, {0, 5}}, {0}, 70, true, {0}},
    {"perspective.ppm",
     {0, {0, 0}, 0, {0, 0}},
     {3, 2, 60, 0, 66, 9, 10, 11},
     70,
     false,
     {10, 200, 90}},
};

/* The first columns of a picture. */
static picture left_of(const picture *from, uint32_t width)
{
    picture p = picture_empty(width, from->height, from->channels);

    for (uint32_t y = 0; y < p.height; y++) {
        memcpy(p.pixels + (size_t)y * width * p.channels,
               from->pixels + (size_t)y * from->width * p.channels, (size_t)width * p.channels);
    }
    return p;
}

/*
 * Compares a warp with that of torchvision. Points are computed in single precision there, too, but
 * in another order: a pixel between two others may be sampled at the other one, and a value may be
 * rounded to its neighbour.
 */
static void check_output(const char *output, const image_warp *warp, const picture *from)
{
    picture want = picture_read("torchvision", output);
    picture got = warped(from, warp);
    size_t other = 0;

    for (size_t k = 0; k < picture_size(&want); k++) {
        T_TRUE(warp->nearest || abs(got.pixels[k] - want.pixels[k]) <= 1);
        other += got.pixels[k] != want.pixels[k];
    }
    if (other * 200 > picture_size(&want)) {
        fprintf(stderr, "%s: %zu of %zu values differ\n", output, other, picture_size(&want));
    }
    T_TRUE(other * 200 <= picture_size(&want));
    free(want.pixels);
    free(got.pixels);
}

static void warps_give_what_torchvision_gives(void)
{
    picture all = picture_read("torchvision", "rgb-70x12.ppm");

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        picture from = left_of(&all, cases[i].width);
        image_warp warp = {.nearest = cases[i].nearest};

        warp.matrix = warp_of_affine(&cases[i].affine, from.width, from.height);
        if (cases[i].affine.scale == 0) {
            T_TRUE(warp_of_corners(cases[i].corners, from.width, from.height, &warp.matrix));
        }
        memcpy(warp.fill, cases[i].fill, sizeof(warp.fill));
        check_output(cases[i].output, &warp, &from);
        free(from.pixels);
    }
    free(all.pixels);
}

static void warps_about_a_point_give_what_torchvision_gives(void)
{
    static const struct {
        const char *output;
        warp_affine affine;
        double centre[2];
        bool nearest;
    } points[] = {
        {"rotate-center.ppm", {-25, {0, 0}, 1, {0, 0}}, {20, 3}, true},
        {"affine-center.ppm", {12, {5, -2}, 0.8, {20, -10}}, {60, -4}, false},
    };
    picture all = picture_read("torchvision", "rgb-70x12.ppm");

    for (size_t i = 0; i < sizeof(points) / sizeof(points[0]); i++) {
        const image_warp warp = {
            .nearest = points[i].nearest,
            .fill = {10, 200, 90},
            .matrix = warp_about(&points[i].affine, points[i].centre, points[i].centre)};

        check_output(points[i].output, &warp, &all);
    }
    free(all.pixels);
}

/* ---- a plain reference -------------------------------------------------------------------------
 */

/* The value of a pixel, 0 outside; *inside: 1 or 0. */
static float at(const picture *p, int x, int y, uint32_t c, float *inside)
{
    const bool is = x >= 0 && y >= 0 && x < (int)p->width && y < (int)p->height;

    *inside = is ? 1 : 0;
    return is ? p->pixels[((size_t)y * p->width + (uint32_t)x) * p->channels + c] : 0;
}

/* Pixel (x, y) of a warp in double precision; *unsure: its point is so close to the line between
 * two pixels, or its value to one between two bytes, that single precision may choose the other. */
static uint8_t reference(const picture *from, const image_warp *warp, uint32_t x, uint32_t y,
                         uint32_t c, bool *unsure)
{
    const double *m = warp->matrix.m;
    const double px = x + 0.5;
    const double py = y + 0.5;
    const double divisor = m[6] * px + m[7] * py + m[8];
    const double sx = (m[0] * px + m[1] * py + m[2]) / divisor;
    const double sy = (m[3] * px + m[4] * py + m[5]) / divisor;
    double sum = 0;
    double weight = 0;
    double value;

    if (warp->nearest) {
        float inside;
        const float v = at(from, (int)floor(sx), (int)floor(sy), c, &inside);

        *unsure = fabs(sx - rint(sx)) < 1e-3 || fabs(sy - rint(sy)) < 1e-3;
        return inside > 0 ? (uint8_t)v : warp->fill[c];
    }
    for (int k = 0; k < 4; k++) {
        const double column = floor(sx - 0.5) + (k & 1);
        const double line = floor(sy - 0.5) + (k >> 1);
        const double part = (1 - fabs(sx - 0.5 - column)) * (1 - fabs(sy - 0.5 - line));
        float inside;
        const float v = at(from, (int)column, (int)line, c, &inside);

        sum += part * (double)v;
        weight += part * (double)inside;
    }
    if (warp->constant) {
        value = sum + (1 - weight) * warp->fill[c];
    } else {
        value = weight == 1 ? sum : (sum - warp->fill[c]) * weight + warp->fill[c];
    }
    *unsure = fabs(value - floor(value) - 0.5) < 0.05;
    return (uint8_t)rint(value);
}

static void check_reference(const picture *from, const image_warp *warp)
{
    picture got = warped(from, warp);
    size_t sure = 0;

    for (uint32_t y = 0; y < from->height; y++) {
        for (uint32_t x = 0; x < from->width; x++) {
            for (uint32_t c = 0; c < from->channels; c++) {
                const uint8_t value =
                    got.pixels[((size_t)y * from->width + x) * from->channels + c];
                bool unsure;
                const uint8_t want = reference(from, warp, x, y, c, &unsure);

                if (!unsure) {
                    T_EQ(value, want);
                    sure++;
                } else if (!warp->nearest) {
                    T_NEAR(value, want, 1);
                }
            }
        }
    }
    T_TRUE(sure * 2 > picture_size(from));
    free(got.pixels);
}

/* For each number of channels, and an image of one pixel. */
static void every_pixel_is_that_of_a_plain_reference(void)
{
    static const uint32_t sizes[][2] = {{97, 41}, {1, 1}, {1, 30}, {130, 2}};
    const warp_affine affine = {33, {1, -2}, 0.7, {10, 15}};

    for (uint32_t channels = 1; channels <= 4; channels++) {
        for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
            picture from = picture_make(sizes[i][0], sizes[i][1], channels, 5);
            image_warp warp = {0};

            for (int kind = 0; kind < 3; kind++) {
                const warp_matrix matrix = warp_of_affine(&affine, from.width, from.height);

                warp = make_warp(&matrix, kind == 1);
                warp.constant = kind == 2;
                check_reference(&from, &warp);
            }
            warp.constant = false;
            if (i == 0) {
                const double corners[8] = {-5, 3, 80, -4, 90, 39, 11, 36};

                T_TRUE(warp_of_corners(corners, from.width, from.height, &warp.matrix));
                check_reference(&from, &warp);
                warp.nearest = false;
                check_reference(&from, &warp);
            }
            free(from.pixels);
        }
    }
}

/* A white image on a white fill stays white, as in OpenCV; torchvision's blend darkens its edge. */
static void a_constant_border_has_no_dark_frame(void)
{
    static const double half[9] = {1, 0, -0.5, 0, 1, 0.5, 0, 0, 1}; /* half a pixel right, and up */
    picture from = picture_empty(40, 5, 3);
    image_warp warp = {.fill = {255, 255, 255, 255}};

    memset(from.pixels, 255, picture_size(&from));
    memcpy(warp.matrix.m, half, sizeof(half));
    for (int constant = 0; constant < 2; constant++) {
        picture got;

        warp.constant = constant;
        got = warped(&from, &warp);
        for (uint32_t i = 0; i < picture_size(&got); i++) {
            /* 255 w w + 255 (1 - w), with w = 1, 1/2 and 1/4 of the pixel inside */
            static const uint8_t masked[] = {255, 191, 207};
            const uint32_t outside = (i / 3 % 40 == 0) + (i / 120 == 4);

            T_EQ(got.pixels[i], constant ? 255 : masked[outside]);
        }
        free(got.pixels);
    }
    free(from.pixels);
}

/* ---- maps --------------------------------------------------------------------------------------
 */

/* Quarter turns move every pixel exactly, and four of them change nothing. */
static void quarter_turns_are_exact(void)
{
    const warp_affine quarter = {90, {0, 0}, 1, {0, 0}};
    picture from = picture_make(31, 31, 3, 9);

    for (int nearest = 0; nearest < 2; nearest++) {
        const warp_matrix matrix = warp_of_affine(&quarter, 31, 31);
        const image_warp warp = make_warp(&matrix, nearest);
        picture got = warped(&from, &warp);

        for (uint32_t y = 0; y < 31; y++) {
            for (uint32_t x = 0; x < 31; x++) {
                T_EQ(got.pixels[(y * 31 + x) * 3], from.pixels[((30 - x) * 31 + y) * 3]);
            }
        }
        for (int i = 0; i < 3; i++) {
            picture next = warped(&got, &warp);

            free(got.pixels);
            got = next;
        }
        T_TRUE(same(&got, &from));
        free(got.pixels);
    }
    free(from.pixels);
}

static void a_warp_after_its_inverse_is_none(void)
{
    const warp_affine affine = {20, {3, 1}, 1.3, {5, 0}};
    const warp_matrix there = warp_of_affine(&affine, 64, 48);
    warp_matrix back = {{0}};
    warp_matrix both;

    T_TRUE(warp_invert(&there, &back));
    both = warp_compose(&there, &back);
    for (int i = 0; i < 9; i++) {
        T_TRUE(fabs(both.m[i] - (i % 4 == 0 ? 1 : 0)) < 1e-12);
    }
}

/* warp_mirror() gives the same image as a flip, the warp, and another flip. */
static void a_mirrored_warp_is_that_of_flipped_images(void)
{
    const warp_affine affine = {0, {7, 2}, 1, {0, 0}};
    const warp_matrix matrix = warp_of_affine(&affine, 40, 20);
    const warp_matrix mirrored = warp_mirror(&matrix, 40, 0);
    double point[2];

    T_TRUE(warp_point(&matrix, 10, 5, point) == 1 && point[0] == 3 && point[1] == 3);
    T_TRUE(warp_point(&mirrored, 10, 5, point) == 1 && point[0] == 17 && point[1] == 3);
}

static void singular_corners_have_no_map(void)
{
    static const double points[][8] = {
        {0, 0, 10, 0, 20, 0, 0, 9},    /* three on a line */
        {5, 5, 5, 5, 5, 5, 5, 5},      /* all in one point */
        {0, 0, 10, 10, 20, 20, 5, 5},  /* all on a line */
        {0, 0, 19, 0, 19, 19, 19, 19}, /* two in one point */
    };
    const double good[8] = {0, 0, 19, 0, 19, 19, 0, 19};
    warp_matrix matrix;

    for (size_t i = 0; i < sizeof(points) / sizeof(points[0]); i++) {
        T_TRUE(!warp_of_corners(points[i], 20, 20, &matrix));
    }
    T_TRUE(warp_of_corners(good, 20, 20, &matrix));
    T_TRUE(fabs(matrix.m[0] - 1) < 1e-9 && fabs(matrix.m[2]) < 1e-9);
    T_TRUE(!warp_of_corners(good, 1, 20, &matrix));
}

/* Coordinates far outside, infinities and NaN give the fill. */
static void points_at_infinity_give_the_fill(void)
{
    static const double maps[][9] = {
        {1e30, 0, 1e30, 0, 1e30, 1e30, 0, 0, 1},
        {1, 0, 0, 0, 1, 0, 0, 0, 0},
        {0, 0, 0, 0, 0, 0, 0, 0, 0},
        {-1e30, 0, -1e30, 0, 1, 0, 0, 0, 1},
    };
    picture from = picture_make(70, 3, 3, 1);

    for (size_t i = 0; i < sizeof(maps) / sizeof(maps[0]); i++) {
        for (int nearest = 0; nearest < 2; nearest++) {
            image_warp warp = {.nearest = nearest, .fill = {10, 200, 90}};
            picture got;

            memcpy(warp.matrix.m, maps[i], sizeof(maps[i]));
            got = warped(&from, &warp);
            for (size_t k = 0; k < picture_size(&got); k++) {
                T_EQ(got.pixels[k], warp.fill[k % 3]);
            }
            free(got.pixels);
        }
    }
    free(from.pixels);
}

/* ---- kernels -----------------------------------------------------------------------------------
 */

static void kernels_of_all_levels_give_the_same_bytes(void)
{
#if defined(__x86_64__)
    static const warp_kernels *const levels[] = {&sli_warp_kernels_v3, &sli_warp_kernels_v4};
    enum { SHIFTS = 16 * WARP_BLOCK }; /* for 203 pixels, twice */
    static float shifts[SHIFTS];
    const uint8_t fill[4] = {1, 2, 3, 4};

    for (int i = 0; i < SHIFTS; i++) {
        shifts[i] = (float)(i * 37 % 101) * 0.21F - 10;
    }
    for (uint32_t channels = 1; channels <= 4; channels++) {
        picture from = picture_make(203, 90, channels, 3);
        const image_view view = view_of(&from);
        picture want = picture_empty(203, 1, channels);
        picture got = picture_empty(203, 1, channels);

        for (int level = SLI_CPU_V3; level <= (int)sli_cpu_best(); level++) {
            const warp_kernels *kernels = levels[level - SLI_CPU_V3];

            for (int k = 0; k < 40; k++) {
                warp_row row = {.points = {{(float)k * 3.3F - 20, (float)k * 2.1F - 9, 1.5F},
                                           {1.5F - (float)k * 0.07F, 0.3F, 0.001F * (float)k},
                                           k % 2 == 0},
                                .width = view.width,
                                .fill = fill,
                                .constant = k % 5 == 0};

                if (k % 4 == 3) {
                    row.shifts = shifts;
                    row.shift_stride = SHIFTS / 2;
                    row.across[0] = 0.1F * (float)k;
                    row.across[1] = 1;
                    row.across[2] = 0.01F;
                }
                sli_warp_kernels_portable.nearest(&row, &view, want.pixels);
                kernels->nearest(&row, &view, got.pixels);
                T_TRUE(same(&got, &want));
                sli_warp_kernels_portable.bilinear(&row, &view, want.pixels);
                kernels->bilinear(&row, &view, got.pixels);
                T_TRUE(same(&got, &want));
            }
        }
        free(from.pixels);
        free(want.pixels);
        free(got.pixels);
    }
#endif
}

/* Offsets in an image are 32 bits wide where that suffices. Here the lines of an image are too far
 * apart for that. */
static void lines_may_be_far_apart(void)
{
    enum { WIDTH = 50, HEIGHT = 3 };
    const size_t stride = (size_t)1 << 30;
    uint8_t *pixels = mmap(NULL, HEIGHT * stride, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    picture from = picture_make(WIDTH, HEIGHT, 3, 3);
    picture want = picture_empty(WIDTH, 1, 3);
    picture got = picture_empty(WIDTH, 1, 3);
    const image_view near = view_of(&from);
    image_view far = near;
    const uint8_t fill[4] = {1, 2, 3, 4};
    const warp_row row = {
        .points = {{-3, -0.2F, 1}, {1.1F, 0.06F, 0}, false}, .width = WIDTH, .fill = fill};

    if (pixels == MAP_FAILED) {
        T_SKIP("3 GB of address space are not available");
    }
    for (size_t y = 0; y < HEIGHT; y++) {
        memcpy(pixels + y * stride, near.pixels + y * near.stride, (size_t)3 * WIDTH);
    }
    far.pixels = pixels;
    far.stride = stride;
    sli_warp_kernels_portable.nearest(&row, &near, want.pixels);
    sli_warp_kernels_portable.nearest(&row, &far, got.pixels);
    T_TRUE(same(&got, &want));
    sli_warp_kernels_portable.bilinear(&row, &near, want.pixels);
    sli_warp_kernels_portable.bilinear(&row, &far, got.pixels);
    T_TRUE(same(&got, &want));
    munmap(pixels, HEIGHT * stride);
    free(from.pixels);
    free(want.pixels);
    free(got.pixels);
}

const t_test warps_tests[] = {
    T_TEST(warps_give_what_torchvision_gives),
    T_TEST(warps_about_a_point_give_what_torchvision_gives),
    T_TEST(every_pixel_is_that_of_a_plain_reference),
    T_TEST(a_constant_border_has_no_dark_frame),
    T_TEST(quarter_turns_are_exact),
    T_TEST(a_warp_after_its_inverse_is_none),
    T_TEST(a_mirrored_warp_is_that_of_flipped_images),
    T_TEST(singular_corners_have_no_map),
    T_TEST(points_at_infinity_give_the_fill),
    T_TEST(kernels_of_all_levels_give_the_same_bytes),
    T_TEST(lines_may_be_far_apart),
    T_END,
};
