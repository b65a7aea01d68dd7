/* SPDX-License-Identifier: Apache-2.0 */
/* The kernels of all levels of instructions give the same, and touch nothing outside. */
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "cpu_int.h"
#include "random_kit.h"
#include "resample_kernels.h"
#include "resample_kit.h"
#include "testing.h"

/* ---- memory behind which nothing may be touched ---------------------------------------------- */

typedef struct guarded {
    uint8_t *map;
    size_t map_size;
    uint8_t *data; /* `size` bytes, right before a page without access */
} guarded;

static guarded guarded_make(size_t size)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    const size_t pages = (size + page - 1) / page + 1;
    guarded g = {NULL, pages * page, NULL};

    g.map = mmap(NULL, g.map_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (g.map == MAP_FAILED || mprotect(g.map + (pages - 1) * page, page, PROT_NONE) != 0) {
        fprintf(stderr, "no guarded memory\n");
        exit(2);
    }
    g.data = g.map + (pages - 1) * page - size;
    return g;
}

static void guarded_free(const guarded *g)
{
    munmap(g->map, g->map_size);
}

/* ---- levels ---------------------------------------------------------------------------------- */

typedef struct level {
    sli_cpu_level least; /* of the machine */
    const resample_kernels *kernels;
} level;

static const level levels[] = {
    {SLI_CPU_PORTABLE, &sli_resample_kernels_portable},
#if defined(__x86_64__)
    {SLI_CPU_V3, &sli_resample_kernels_v3},
    {SLI_CPU_V4, &sli_resample_kernels_v4},
#endif
};

/* Kernels that this machine can run; [0] are the portable ones. */
static uint32_t level_count(void)
{
    uint32_t count = 0;

    while (count < sizeof(levels) / sizeof(levels[0]) && levels[count].least <= sli_cpu_best()) {
        count++;
    }
    return count;
}

/* The weights of a resize in `axis`; they stay the resampler's. */
static const resample_axis *axis_of(image_resampler *resampler, uint32_t in, uint32_t out,
                                    const resize_filter *filter)
{
    const resample_job job = {.channels = 3,
                              .in_width = in,
                              .in_height = in,
                              .out_width = out,
                              .out_height = out + 1,
                              .window_width = out,
                              .window_height = out + 1,
                              .filter = *filter};
    image_box needed;

    T_OK(resample_prepare(resampler, &job, &needed));
    return &resampler->x;
}

static const uint32_t axes[][2] = {{1, 1},     {2, 1},     {1, 7},     {5, 9},
                                   {30, 30},   {295, 224}, {224, 224}, {500, 224},
                                   {100, 224}, {640, 7},   {4000, 3},  {17, 3}};

enum { AXES = sizeof(axes) / sizeof(axes[0]) };

/* Often black or white: their sums go farthest. */
static uint8_t some_byte(uint32_t *state)
{
    const uint32_t value = test_random(state) >> 23;

    return (uint8_t)(value < 256 ? value : value % 2 * 255);
}

/* Rows end where nothing may be read beyond what image.h allows. */
static void check_vertical(const resample_axis *axis, uint32_t at, size_t n, uint32_t *state)
{
    const uint8_t **rows = malloc(axis->taps * sizeof(*rows));
    guarded *memory = malloc(axis->taps * sizeof(*memory));
    int16_t *out[2];

    for (uint32_t k = 0; k < axis->taps; k++) {
        memory[k] = guarded_make(n + MIDDLE_SLACK);
        rows[k] = memory[k].data;
        for (size_t i = 0; i < n + MIDDLE_SLACK; i++) {
            memory[k].data[i] = some_byte(state);
        }
    }
    for (int i = 0; i < 2; i++) {
        out[i] = malloc((n + MIDDLE_SLACK) * sizeof(*out[i]));
    }
    for (uint32_t l = 0; l < level_count(); l++) {
        levels[l].kernels->vertical(rows, axis->weights + (size_t)at * axis->taps, axis->taps,
                                    out[l > 0 ? 1 : 0], n);
        T_TRUE(l == 0 || memcmp(out[0], out[1], n * sizeof(*out[0])) == 0);
    }
    for (uint32_t k = 0; k < axis->taps; k++) {
        guarded_free(&memory[k]);
    }
    free(out[0]);
    free(out[1]);
    free(memory);
    free((void *)rows);
}

static void all_levels_give_the_same_vertical_pass(void)
{
    static const size_t widths[] = {1, 3, 31, 32, 33, 96, 150};
    uint32_t state = 8;

    for (size_t n = 0; n < AXES * WAYS; n++) {
        const uint32_t *a = axes[n % AXES];
        image_resampler resampler = {0};
        const resample_axis *axis = axis_of(&resampler, a[0], a[1], &ways[n / AXES]);

        if (ways[n / AXES].filter == FILTER_BICUBIC) {
            resampler_free(&resampler);
            continue; /* negative weights are for other kernels */
        }
        for (size_t i = 0; i < sizeof(widths) / sizeof(widths[0]) && axis->taps < 300; i++) {
            check_vertical(axis, (uint32_t)(i * 31 % axis->count), widths[i], &state);
            check_vertical(axis, (uint32_t)(i % 2 * (axis->count - 1)), widths[i], &state);
        }
        resampler_free(&resampler);
    }
}

/* Outputs end where nothing may be written, inputs behind the slack of the middle. */
static void check_horizontal(const resample_axis *axis, uint32_t *state)
{
    const size_t elements = ((size_t)axis->in + axis->taps) * 3 + MIDDLE_SLACK;
    const size_t size = (size_t)axis->count * 3;
    guarded memory[STRIP];
    guarded places[2][STRIP];
    const int16_t *in[STRIP];

    for (int l = 0; l < STRIP; l++) {
        memory[l] = guarded_make(elements * sizeof(int16_t));
        in[l] = (const int16_t *)(const void *)memory[l].data;
        for (size_t i = 0; i < (size_t)axis->in * 3; i++) {
            /* What the vertical pass can give: 0 to 255, with 7 bits behind the point. */
            int16_t value = (int16_t)(test_below(state, 8) == 0 ? 32640 : test_below(state, 32641));

            memcpy(memory[l].data + i * sizeof(value), &value, sizeof(value));
        }
        places[0][l] = guarded_make(size);
        places[1][l] = guarded_make(size);
    }
    for (uint32_t v = 0; v < level_count(); v++) {
        guarded *to = places[v > 0 ? 1 : 0];
        uint8_t *const out[STRIP] = {to[0].data, to[1].data, to[2].data, to[3].data};

        levels[v].kernels->horizontal_rgb(axis, 0, in, out);
        for (int l = 0; l < STRIP && v > 0; l++) {
            T_TRUE(memcmp(places[0][l].data, places[1][l].data, size) == 0);
        }
    }
    for (int l = 0; l < STRIP; l++) {
        guarded_free(&memory[l]);
        guarded_free(&places[0][l]);
        guarded_free(&places[1][l]);
    }
}

static void all_levels_give_the_same_horizontal_pass(void)
{
    uint32_t state = 9;

    for (size_t n = 0; n < AXES * WAYS; n++) {
        const uint32_t *a = axes[n % AXES];

        for (int i = 0; i < 4; i++) {
            image_resampler resampler = {0};

            check_horizontal(axis_of(&resampler, a[0], a[1], &ways[n / AXES]), &state);
            resampler_free(&resampler);
        }
    }
}

/* ---- the passes of filters with negative weights --------------------------------------------- */

/* As check_horizontal(), from what widen() makes of bytes; right behind the slack is no access. */
static void check_horizontal_wide(const resample_axis *axis, uint32_t *state)
{
    const size_t elements = ((size_t)axis->in + axis->taps) * 3 + MIDDLE_SLACK;
    const size_t size = (size_t)axis->count * 3 * sizeof(int16_t);
    guarded bytes = guarded_make((size_t)axis->in * 3);
    guarded memory[STRIP];
    guarded places[2][STRIP];

    for (int l = 0; l < STRIP; l++) {
        memory[l] = guarded_make(elements * sizeof(int16_t));
        places[0][l] = guarded_make(size + WIDE_SLACK * sizeof(int16_t));
        places[1][l] = guarded_make(size + WIDE_SLACK * sizeof(int16_t));
    }
    for (uint32_t v = 0; v < level_count(); v++) {
        guarded *to = places[v > 0 ? 1 : 0];
        const int16_t *in[STRIP];
        int16_t *out[STRIP];
        uint32_t again = *state;

        for (int l = 0; l < STRIP; l++) {
            for (size_t i = 0; i < (size_t)axis->in * 3; i++) {
                bytes.data[i] = some_byte(&again);
            }
            in[l] = (const int16_t *)(const void *)memory[l].data;
            out[l] = (int16_t *)(void *)to[l].data;
            levels[v].kernels->widen(bytes.data, (int16_t *)(void *)memory[l].data,
                                     (size_t)axis->in * 3);
            for (size_t i = 0; i < (size_t)axis->in * 3; i++) {
                T_EQ(in[l][i], bytes.data[i]);
            }
        }
        levels[v].kernels->horizontal_wide(axis, 0, in, out);
        for (int l = 0; l < STRIP && v > 0; l++) {
            T_TRUE(memcmp(places[0][l].data, places[1][l].data, size) == 0);
        }
        if (v + 1 == level_count()) {
            *state = again;
        }
    }
    guarded_free(&bytes);
    for (int l = 0; l < STRIP; l++) {
        guarded_free(&memory[l]);
        guarded_free(&places[0][l]);
        guarded_free(&places[1][l]);
    }
}

/* Rows and output end where nothing may be touched. */
static void check_vertical_wide(const resample_axis *axis, uint32_t at, size_t n, uint32_t *state)
{
    const int16_t **rows = malloc(axis->taps * sizeof(*rows));
    guarded *memory = malloc(axis->taps * sizeof(*memory));
    guarded out[2] = {guarded_make(n), guarded_make(n)};

    for (uint32_t k = 0; k < axis->taps; k++) {
        memory[k] = guarded_make(n * sizeof(int16_t));
        rows[k] = (const int16_t *)(const void *)memory[k].data;
        for (size_t i = 0; i < n; i++) {
            int16_t value = (int16_t)(test_below(state, 4) == 0   ? 32640
                                      : test_below(state, 4) == 0 ? 0
                                                                  : test_below(state, 32641));

            memcpy(memory[k].data + i * sizeof(value), &value, sizeof(value));
        }
    }
    for (uint32_t l = 0; l < level_count(); l++) {
        levels[l].kernels->vertical_wide(rows, axis->weights + (size_t)at * axis->taps, axis->taps,
                                         out[l > 0 ? 1 : 0].data, n);
        T_TRUE(l == 0 || memcmp(out[0].data, out[1].data, n) == 0);
    }
    for (uint32_t k = 0; k < axis->taps; k++) {
        guarded_free(&memory[k]);
    }
    guarded_free(&out[0]);
    guarded_free(&out[1]);
    free(memory);
    free((void *)rows);
}

static void all_levels_give_the_same_passes_with_negative_weights(void)
{
    static const size_t widths[] = {1, 3, 15, 16, 17, 48, 150};
    uint32_t state = 10;

    for (size_t n = 0; n < AXES * WAYS; n++) {
        const uint32_t *a = axes[n % AXES];
        image_resampler resampler = {0};
        const resample_axis *axis = axis_of(&resampler, a[0], a[1], &ways[n / AXES]);

        check_horizontal_wide(axis, &state);
        for (size_t i = 0; i < sizeof(widths) / sizeof(widths[0]) && axis->taps < 300; i++) {
            check_vertical_wide(axis, (uint32_t)(i * 31 % axis->count), widths[i], &state);
        }
        resampler_free(&resampler);
    }
}

/* ---- bounds ---------------------------------------------------------------------------------- */

/* Both ends of input and output lie at a page without access; the slack holds anything. */
static void nothing_outside_the_buffers_is_touched(void)
{
    uint32_t state = 12;

    for (uint32_t i = 0; i < 300; i++) {
        picture in = picture_make(1 + test_below(&state, 70), 1 + test_below(&state, 20),
                                  i % 4 == 0 ? 1 : 3, i);
        const size_t size = picture_size(&in);
        const uint32_t width = i % 7 == 0 ? in.width : 1 + test_below(&state, 90);
        const uint32_t height = i % 7 == 0 ? in.height : 1 + test_below(&state, 30);
        const resize_filter *filter = &ways[i % WAYS];
        const resample_job job = whole_job(&in, width, height, filter);
        const size_t out_size = (size_t)width * height * in.channels;
        guarded from = guarded_make(size + IMAGE_SLACK);
        guarded to = guarded_make(out_size);
        picture want = resized(&in, width, height, filter);
        const picture guarded_in = {from.data, in.width, in.height, in.channels};
        image_resampler resampler = {0};

        memcpy(from.data, in.pixels, size);
        memset(from.data + size, 0xFF, IMAGE_SLACK);
        run_job(&resampler, &job, &guarded_in, true, to.data);
        T_TRUE(memcmp(to.data, want.pixels, out_size) == 0);
        resampler_free(&resampler);
        guarded_free(&from);
        guarded_free(&to);
        free(in.pixels);
        free(want.pixels);
    }
}

const t_test resample_kernels_tests[] = {
    T_TEST(all_levels_give_the_same_vertical_pass),
    T_TEST(all_levels_give_the_same_horizontal_pass),
    T_TEST(all_levels_give_the_same_passes_with_negative_weights),
    T_TEST(nothing_outside_the_buffers_is_touched),
    T_END,
};
